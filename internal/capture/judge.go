package capture

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/tool"
)

// Judge decides what came of a run. A good report outweighs exit code and
// messages; without one, the first message of the table that explains the
// failure decides, then the way the run was stopped, then the exit code.
func Judge(e Evidence) Outcome {
	found := e.find()
	here, elsewhere := e.good()
	o := Outcome{What: e.what(len(here) + len(elsewhere))}
	for _, f := range append(here, elsewhere...) {
		o.Reports = append(o.Reports, f.Path)
	}
	o.noteOthers(&e)

	switch f := firstEffect(found, Always); {
	case f != nil && (len(o.Reports) > 0 || (f.Kind != MissingData && !passes(found))):
		o.verdict(f.Kind, f)
		o.warn(&e, found, f.ID)
	case !e.Tool.profiles():
		o.judgeConversion(&e, found, here)
	case len(o.Reports) > 0:
		o.judgeReport(&e, found, here)
	default:
		o.judgeNothing(&e, found)
	}
	o.Usable = usable[o.Kind] || (e.Tool.profiles() && len(o.Reports) > 0)
	o.quote()
	return o
}

// judgeReport: there is a good report. What is wrong with the run?
func (o *Outcome) judgeReport(e *Evidence, found []Finding, here []File) {
	o.warn(e, found, "")
	o.warnUnseen(e, found)
	if e.LowSpace != "" {
		o.Warnings = append([]Warning{{ID: "low_space", Text: e.LowSpace + " was nearly full during the run: the end of the capture may be missing", Next: advice[DiskFull].next}}, o.Warnings...)
	}
	missing := e.missing()
	o.lacks = missing != ""
	switch {
	case e.Stopped != tool.NotStopped:
		o.stopped(e, found)
	case len(here) == 0:
		o.verdict(OutputElsewhere, firstOf(found, "file_exists", "cannot_create"))
		o.Evidence = or(o.Evidence, o.Reports[0])
		if e.oldName(o.Reports[0]) {
			o.Cause = "nsys before 2021.4 ends the names of its reports in .qdrep"
			o.Next = "the report is read where it lies; deepprof was tried with nsys 2022.4 and newer"
		}
	case e.LowSpace != "" && e.workloadFailed(found):
		o.verdict(DiskFull, nil)
		o.Evidence = e.LowSpace + " was nearly full, " + exitText(e)
	case e.workloadFailed(found):
		o.cutShort(e)
	case missing != "":
		f := firstOf(found, "diag_driver", "cupti_two_clients", "diag_not_started", "diag_no_events")
		o.verdict(MissingData, f)
		o.Evidence = missing
		o.judgeForks(e, f)
	case e.Tool == Ncu && !has(found, "ncu_report") && e.Content == nil:
		o.verdict(Partial, nil)
		o.Evidence = "ncu did not say that the report is complete"
	case e.Code != 0:
		o.verdict(WithWarnings, nil)
		o.Evidence = exitText(e)
		o.warnExit(e, found)
	case len(o.Warnings) > 0:
		o.verdict(WithWarnings, nil)
		o.Evidence, o.Next = o.Warnings[0].Text, or(o.Warnings[0].Next, o.Next)
	default:
		o.Kind = Captured
	}
}

// workloadFailed: the workload did not end as it should, and nobody asked it to.
func (e *Evidence) workloadFailed(found []Finding) bool {
	return e.Code != 0 && e.Killer == 0 && !e.endedAsAsked(found)
}

// cutShort: the report is good, and the workload failed under the profiler: what
// it would have done is not in it.
func (o *Outcome) cutShort(e *Evidence) {
	kind := WorkloadFailed
	if e.workloadSignal() != 0 {
		kind = WorkloadCrashed
	}
	o.verdict(kind, nil)
	o.Evidence = exitText(e)
	o.Cause = "the workload did not run to its end under the profiler; what it would have done after is missing"
	o.Next = "read the workload's output; fix the workload and run again for a whole capture"
	o.Warnings = append([]Warning{{ID: "exit", Text: "the workload ended with " + exitText(e), Next: o.Next}}, o.Warnings...)
}

// judgeNothing: a profiler left no good report. Why?
func (o *Outcome) judgeNothing(e *Evidence, found []Finding) {
	o.warn(e, found, "")
	fail := firstFailure(found, e.Tool == Nsys && e.TargetSeen)
	// A gate that opened leads to a stream; the words alone may be the workload's.
	shut := e.Tool == Nsys && e.Gated && !(has(found, "gate_opened") && has(found, "generating"))
	switch {
	case e.Stopped != tool.NotStopped:
		o.stopped(e, found)
	case e.LowSpace != "" && (e.segfault() || e.cutShort(fail)):
		o.verdict(DiskFull, nil)
		o.Evidence = e.LowSpace + " was nearly full, " + exitText(e)
		if fail != nil {
			o.Evidence = e.LowSpace + " was nearly full: " + fail.Line
		}
	case fail != nil && fail.Kind != NothingMatched:
		o.verdict(fail.Kind, fail)
	case e.unreadable() != nil:
		o.verdict(ReportUnreadable, nil)
		o.Evidence = e.unreadable().Path + ": " + e.unreadable().Err
	case len(o.Streams) > 0:
		o.verdict(ImportFailed, nil)
		o.Evidence = "only " + o.Streams[0]
	case e.Killer != 0:
		o.verdict(ToolCrashed, nil)
		o.Evidence = exitText(e)
	case e.hasFormat(CutStream):
		o.verdict(ReportLost, nil)
	case e.Tool == Ncu && e.Code > 128 && !has(found, "ncu_app_rc"):
		o.verdict(ToolCrashed, nil)
		o.Evidence = exitText(e)
	case e.Code != 0 && e.workloadSignal() != 0:
		o.verdict(WorkloadCrashed, firstOf(found, "ncu_app_rc"))
		o.Evidence = or(o.Evidence, exitText(e))
	case e.Code != 0:
		o.verdict(WorkloadFailed, firstOf(found, "ncu_app_rc"))
		o.Evidence = or(o.Evidence, exitText(e))
	case shut:
		o.verdict(GateNeverOpened, firstOf(found, "generated_none_2025", "generated_empty"))
		o.Evidence = "nsys did not say that the capture range started"
		if has(found, "gate_opened") { // words of the workload
			o.Evidence = "nsys began no capture"
		}
	case fail != nil:
		o.verdict(NothingMatched, fail)
		if hint := firstEffect(found, Hint); hint != nil {
			o.Evidence, o.Cause, o.Next = hint.Line, hint.Cause, hint.Next
		}
	case e.Tool == Ncu:
		o.verdict(NothingMatched, nil)
		o.Evidence = "ncu names no report"
	default:
		o.verdict(NothingCollected, nil)
		o.Evidence = "nsys names no report"
	}
}

// judgeConversion: nsys stats, export, import, or ncu --import. A message
// outweighs the file here: a failed export leaves a partial one.
func (o *Outcome) judgeConversion(e *Evidence, found []Finding, here []File) {
	fail := firstFailure(found, false)
	switch {
	case e.Stopped != tool.NotStopped:
		o.stopped(e, found)
	case len(o.Stale) > 0 && e.Tool == NsysStats:
		o.verdict(StaleOutput, firstOf(found, "stats_stale"))
		o.Evidence = or(o.Evidence, o.Stale[0])
	case fail != nil && fail.Kind == NoRows && statsRows(e.Stdout):
		o.verdict(WithWarnings, fail)
		o.Warnings = append(o.Warnings, Warning{ID: fail.ID, Text: fail.Line})
	case fail != nil:
		o.verdict(fail.Kind, fail)
	case e.Code != 0:
		o.verdict(ToolCrashed, nil)
		o.Evidence = exitText(e)
	case e.Want != "" && len(here) == 0:
		o.verdict(NothingCollected, nil)
		o.Evidence = "no " + e.Want
	case e.missing() != "":
		o.verdict(MissingData, nil)
		o.Evidence = e.missing()
	case e.Tool == NcuImport && strings.TrimSpace(e.Stdout) == "":
		o.verdict(NoRows, nil)
		o.Evidence = "nothing was printed"
	default:
		o.Kind = Captured
	}
}

// stopped: the run ended because we ended it.
func (o *Outcome) stopped(e *Evidence, found []Finding) {
	kind := map[tool.StopReason]Kind{tool.Interrupted: Interrupted, tool.TimedOut: TimedOut, tool.Stalled: Stalled}[e.Stopped]
	slow := firstOf(found, "ncu_slow")
	last := strings.TrimSpace(e.LastLine)
	switch {
	case kind != Interrupted && (slow != nil || collective.MatchString(last)):
		o.verdict(HungCollective, slow)
		if collective.MatchString(last) {
			o.Evidence = last
		}
	case kind == TimedOut && has(found, "hang_fsm"):
		o.verdict(TimedOut, firstOf(found, "hang_fsm"))
	default:
		o.verdict(kind, nil)
		o.Evidence = last
	}
	if e.NotOpened {
		o.Warnings = append(o.Warnings, Warning{ID: "not-opened", Text: "the report was not opened: the user would not wait", Next: "resume the run, or give the report to deepprof, to read it"})
		o.Evidence = or(o.Evidence, "while the report was read")
	}
}

// collective matches the launch or message in which a hung collective shows.
var collective = regexp.MustCompile(`(?i)(nccl\w*|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|Watchdog caught collective operation timeout)`)

var slowLaunch = regexp.MustCompile(`Launching the workload is taking more time than expected`)

// statsRows reports whether nsys stats printed rows besides its remarks.
func statsRows(stdout string) bool {
	for line := range strings.Lines(stdout) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, "PROCESSED") {
			return true
		}
		if line != "" && !strings.HasPrefix(line, "SKIPPED:") && !strings.HasPrefix(line, "Processing [") &&
			!strings.HasPrefix(line, "Generating SQLite") && !strings.HasPrefix(line, "NOTICE:") {
			return true
		}
	}
	return false
}

// missing says what the report lacks of what was expected.
func (e *Evidence) missing() string {
	if e.Content == nil {
		return ""
	}
	if what := e.lacking(); what != "" {
		return "the report holds no " + what
	}
	return ""
}

// lacking names what the report lacks, as the expectation calls it.
func (e *Evidence) lacking() string {
	for _, t := range e.Expect.Tables {
		if e.Content.Rows[t] == 0 {
			return t
		}
	}
	if e.Tool == Ncu && e.Content.Launches == 0 {
		return "results"
	}
	return ""
}

// workloadSignal is the signal that ended the workload according to the exit
// code. nsys shows 128+N; ncu shows N itself, so that only the codes that
// hardly any program chooses are taken for signals.
func (e *Evidence) workloadSignal() syscall.Signal {
	switch {
	case e.Killer != 0:
		return 0
	case e.Tool == Nsys && e.Code > 128 && e.Code < 128+65:
		return syscall.Signal(e.Code - 128)
	case e.Tool == Ncu:
		switch s := syscall.Signal(e.Code); s {
		case syscall.SIGABRT, syscall.SIGKILL, syscall.SIGSEGV:
			return s
		}
	}
	return 0
}

// cutShort: a failure that a full disk brings about in another guise.
func (e *Evidence) cutShort(fail *Finding) bool {
	if fail != nil {
		switch fail.Kind {
		case ImportFailed, ReportLost, ToolCrashed, AgentLost:
			return true
		}
		return false
	}
	return e.unreadable() != nil || e.hasFormat(Stream) || e.hasFormat(CutStream)
}

// segfault: the code that nsys puts into the workload writes to mapped files,
// so a full disk kills the workload.
func (e *Evidence) segfault() bool {
	s := e.workloadSignal()
	return e.Tool == Nsys && (s == syscall.SIGSEGV || s == syscall.SIGBUS)
}

// endedAsAsked: nsys itself ended the workload because its window was over.
func (e *Evidence) endedAsAsked(found []Finding) bool {
	closed := has(found, "gate_closed")
	switch e.workloadSignal() {
	case syscall.SIGTERM:
		return closed || (e.EndsTarget && !e.Gated)
	case syscall.SIGKILL:
		return e.EndsTarget && (closed || !e.Gated)
	}
	return false
}

// warnUnseen: the report is there, but the profiler did not say what it says of
// a good one.
func (o *Outcome) warnUnseen(e *Evidence, found []Finding) {
	switch {
	case e.Tool == Ncu && !has(found, "ncu_report"):
		o.Warnings = append(o.Warnings, Warning{ID: "unannounced", Text: "ncu did not say that the report is complete", Next: "look at the number of results in it"})
	case e.Tool == Nsys && e.Gated && !has(found, "gate_opened"):
		o.Warnings = append(o.Warnings, Warning{ID: "gate-unseen", Text: "nsys did not say that the gate opened", Next: "check that the report covers the range"})
	}
}

func (o *Outcome) warnExit(e *Evidence, found []Finding) {
	w := Warning{ID: "exit", Text: "the workload ended with exit code " + fmt.Sprint(e.Code), Next: "the report is complete; look at the workload's output"}
	switch {
	case e.Killer != 0:
		w.Text = fmt.Sprintf("%s itself was ended by %s; the report was written by what was left of it", e.Tool, exitText(e))
		w.Next = "mistrust the end of the timeline; look at dmesg for the OOM killer"
		o.Cause, o.Next = "somebody or the kernel ended the profiler", w.Next
	case e.endedAsAsked(found):
		w.Text = fmt.Sprintf("nsys ended the workload when the capture was over (exit code %d)", e.Code)
		w.Next = "use capture_range_end=stop to let the workload run on"
		o.Cause, o.Next = "the capture range or the duration ended and nsys was told to stop the workload then", w.Next
	}
	o.Warnings = append([]Warning{w}, o.Warnings...)
}

// noteOthers lists what lies about besides good reports.
func (o *Outcome) noteOthers(e *Evidence) {
	for _, f := range e.Files {
		switch {
		case f.Format == Stream && f.Fresh:
			o.Streams = append(o.Streams, f.Path)
		case !f.Fresh && f.Format != MissingFile && (e.atWant(f.Path) || e.beside(f.Path)):
			o.Stale = append(o.Stale, f.Path)
		}
	}
}

// unreadable is a report of this run that a checker could not open.
func (e *Evidence) unreadable() *File {
	for i, f := range e.Files {
		if f.Err != "" && f.Fresh {
			return &e.Files[i]
		}
	}
	return nil
}

func (e *Evidence) hasFormat(want Format) bool {
	for _, f := range e.Files {
		if f.Format == want && f.Fresh {
			return true
		}
	}
	return false
}

// what is the sentence that says what happened, without judging it.
func (e *Evidence) what(reports int) string {
	left := "no report"
	switch {
	case !e.Tool.profiles() && reports == 0:
		return string(e.Tool) + " ended with " + exitText(e)
	case reports == 1:
		left = "one good report"
	case reports > 1:
		left = fmt.Sprintf("%d good reports", reports)
	case e.hasFormat(Stream):
		left = "only a .qdstrm"
	case e.unreadable() != nil:
		left = "a report that does not open"
	}
	if e.Stopped != tool.NotStopped {
		return fmt.Sprintf("%s was stopped (%s), ended with %s and left %s", e.Tool, e.Stopped, exitText(e), left)
	}
	return fmt.Sprintf("%s ended with %s and left %s", e.Tool, exitText(e), left)
}

func exitText(e *Evidence) string {
	if e.Killer != 0 {
		return fmt.Sprintf("signal %d (%s)", e.Killer, syscall.Signal(e.Killer))
	}
	if s := e.workloadSignal(); s != 0 {
		return fmt.Sprintf("exit code %d (signal %d, %s, in the workload)", e.Code, int(s), s)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
