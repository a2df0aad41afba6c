package capture

import (
	"slices"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/tool"
)

// judge decides what came of a run. A good report outweighs exit code and
// messages; without one, the first message of the table that explains the
// failure decides, then the way the run was stopped, then the exit code.
func judge(e Evidence) Outcome {
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
	return o
}

// judgeReport: there is a good report. What is wrong with the run?
func (o *Outcome) judgeReport(e *Evidence, found []Finding, here []File) {
	o.warn(e, found, "")
	o.warnUnseen(e, found)
	if e.LowSpace != "" {
		o.Warnings = slices.Insert(o.Warnings, 0, warningOf(warnSpace, fact.File("dir", e.LowSpace)))
	}
	missing := e.missing()
	o.lacks = !missing.IsZero()
	switch {
	case e.Stopped != tool.NotStopped:
		o.stopped(e, found)
	case len(here) == 0:
		o.verdict(OutputElsewhere, firstOf(found, "file_exists", "cannot_create"))
		o.evidenceOr(ofFile(foundFile, o.Reports[0]))
		if e.oldName(o.Reports[0]) {
			o.Cause = fact.New(causeOldName)
		}
	case e.LowSpace != "": // also with exit code 0: what could not be written is missing
		o.verdict(DiskFull, nil)
		o.Evidence = e.nearlyFull(e.exit())
	case e.workloadFailed(found):
		o.cutShort(e)
	case o.lacks:
		f := firstOf(found, "diag_driver", "cupti_two_clients", "diag_not_started", "diag_no_events")
		o.verdict(MissingData, f)
		o.Evidence = missing
		o.judgeForks(e, f)
	case e.Tool == Ncu && !has(found, "ncu_report") && e.Content == nil:
		o.verdict(Partial, nil)
		o.Evidence = fact.New(notAnnounced)
	case e.Code != 0:
		o.verdict(WithWarnings, nil)
		o.Evidence = e.exit()
		o.warnExit(e, found)
	case len(o.Warnings) > 0:
		o.verdict(WithWarnings, nil)
		o.Evidence = o.Warnings[0].Fact
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
	o.Evidence, o.Cause = e.exit(), fact.New(causeCut)
	o.Warnings = slices.Insert(o.Warnings, 0, warningOf(warnCut, fact.Because("exit", e.exit())))
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
		o.Evidence = e.nearlyFull(e.exit())
		if fail != nil {
			o.Evidence = e.nearlyFull(linePrinted(fail.Line))
		}
	case fail != nil && fail.Kind != NothingMatched:
		o.verdict(fail.Kind, fail)
	case e.unreadable() != nil:
		o.verdict(ReportUnreadable, nil)
		o.Evidence = fact.New(fileError, fact.File("file", e.unreadable().Path), fact.ErrorText("error", tool.Quote(e.unreadable().Err)))
	case len(o.Streams) > 0:
		o.verdict(ImportFailed, nil)
		o.Evidence = ofFile(foundOnly, o.Streams[0])
	case e.Killer != 0:
		o.verdict(ToolCrashed, nil)
		o.Evidence = e.exit()
	case e.hasFormat(CutStream):
		o.verdict(ReportLost, nil)
	case e.Tool == Ncu && e.Code > 128 && !has(found, "ncu_app_rc"):
		o.verdict(ToolCrashed, nil)
		o.Evidence = e.exit()
	case e.Code != 0 && e.workloadSignal() != 0:
		o.verdict(WorkloadCrashed, firstOf(found, "ncu_app_rc"))
		o.evidenceOr(e.exit())
	case e.Code != 0:
		o.verdict(WorkloadFailed, firstOf(found, "ncu_app_rc"))
		o.evidenceOr(e.exit())
	case shut:
		o.verdict(GateNeverOpened, firstOf(found, "generated_none_2025", "generated_empty"))
		o.Evidence = fact.New(gateSilent)
		if has(found, "gate_opened") { // words of the workload
			o.Evidence = fact.New(gateShut)
		}
	case fail != nil:
		o.verdict(NothingMatched, fail)
		if hint := firstEffect(found, Hint); hint != nil {
			o.Evidence, o.Cause = linePrinted(hint.Line), fact.New(fact.Code(hint.ID))
		}
	case e.Tool == Ncu:
		o.verdict(NothingMatched, nil)
		o.Evidence = fact.New(namesNothing, e.Tool.param())
	default:
		o.verdict(NothingCollected, nil)
		o.Evidence = fact.New(namesNothing, e.Tool.param())
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
		o.evidenceOr(ofFile(foundFile, o.Stale[0]))
	case fail != nil && fail.Kind == NoRows && statsRows(e.Stdout):
		o.verdict(WithWarnings, fail)
		o.Warnings = append(o.Warnings, Warning{Fact: fail.fact()})
	case fail != nil:
		o.verdict(fail.Kind, fail)
	case e.Code != 0:
		o.verdict(ToolCrashed, nil)
		o.Evidence = e.exit()
	case e.Want != "" && len(here) == 0:
		o.verdict(NothingCollected, nil)
		o.Evidence = ofFile(notFound, e.Want)
	case !e.missing().IsZero():
		o.verdict(MissingData, nil)
		o.Evidence = e.missing()
	case e.Tool == NcuImport && strings.TrimSpace(e.Stdout) == "":
		o.verdict(NoRows, nil)
		o.Evidence = fact.New(printsNothing)
	default:
		o.Kind = Captured
	}
}

// stopped: the run ended because we ended it.
func (o *Outcome) stopped(e *Evidence, found []Finding) {
	kind := map[tool.StopReason]Kind{tool.Interrupted: Interrupted, tool.TimedOut: TimedOut, tool.Stalled: Stalled}[e.Stopped]
	slow := firstOf(found, "ncu_slow")
	last, repeated := strings.TrimSpace(e.LastLine), e.repeated()
	switch {
	case kind != Interrupted && (slow != nil || hangs(last)):
		o.verdict(HungCollective, slow)
		if hangs(last) {
			o.Evidence = linePrinted(last)
		}
	case kind == Stalled && repeated != "":
		o.verdict(HungCollective, nil)
		o.Evidence = linePrinted(repeated)
	case kind == TimedOut && has(found, "hang_fsm"):
		o.verdict(TimedOut, firstOf(found, "hang_fsm"))
	default:
		o.verdict(kind, nil)
		o.Evidence = linePrinted(last)
	}
	if e.NotOpened {
		o.Warnings = append(o.Warnings, warningOf(warnNotOpened))
		o.evidenceOr(fact.New(whileReading))
	}
}

// hangs tells the launch or the message in which a hung collective shows.
func hangs(line string) bool {
	return ncu.IsCollective(line) || printed("hung_watchdog").MatchString(line)
}

// repeatsCollective tells a line by which ncu names a launch that waits for
// others, and that it replays.
func repeatsCollective(line string) bool {
	return strings.HasPrefix(line, profiling) && hangs(line)
}

// repeated is the last such line that ncu printed; "" without one.
func (e *Evidence) repeated() string {
	found := ""
	if e.Tool == Ncu {
		for line := range strings.Lines(e.Stdout) {
			if repeatsCollective(line) {
				found = strings.TrimSpace(line)
			}
		}
	}
	return found
}

// profiling begins the line of a launch, which ncu ends when it has counted it.
const profiling = `==PROF== Profiling "`

// unfinished tells the line of a launch that ncu is still inside of.
func unfinished(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, profiling) && !strings.HasSuffix(line, " passes") && !strings.HasSuffix(line, " pass")
}

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

// missing says what the report lacks of what was expected; zero for nothing.
func (e *Evidence) missing() fact.Fact {
	if e.Content == nil {
		return fact.Fact{}
	}
	if what := e.lacking(); what != "" {
		return lacks(what)
	}
	return fact.Fact{}
}

// lacks states that the report holds nothing of these kinds of data.
func lacks(data ...string) fact.Fact {
	return fact.New(reportLacks, fact.IDs("what", dataDomain, data))
}

// lacking names what the report lacks, as the expectation calls it.
func (e *Evidence) lacking() string {
	for _, t := range e.Expect.Tables {
		if e.Content.Rows[t] == 0 {
			return t
		}
	}
	if e.Tool == Ncu && e.Content.Launches == 0 {
		return DataResults
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
		o.Warnings = append(o.Warnings, warningOf(warnUnannounced))
	case e.Tool == Nsys && e.Gated && !has(found, "gate_opened"):
		o.Warnings = append(o.Warnings, warningOf(warnGateUnseen))
	}
}

// warnExit tells of an exit code that a good report outweighs.
func (o *Outcome) warnExit(e *Evidence, found []Finding) {
	w := warningOf(warnExit, fact.Count("code", e.Code))
	switch {
	case e.Killer != 0:
		w = warningOf(warnKilled, e.Tool.param(), fact.Because("exit", e.exit()))
		o.Cause = fact.New(causeKilled)
	case e.endedAsAsked(found):
		w = warningOf(warnAsked, fact.Count("code", e.Code))
		o.Cause = fact.New(causeAsked)
	}
	o.Warnings = slices.Insert(o.Warnings, 0, w)
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

// hasFormat looks at files of this attempt alone, not at those of an earlier one.
func (e *Evidence) hasFormat(want Format) bool {
	for _, f := range e.Files {
		if f.Format == want && f.Fresh {
			return true
		}
	}
	return false
}

// what says what happened, without judging it.
func (e *Evidence) what(reports int) fact.Fact {
	exit := fact.Because("exit", e.exit())
	if !e.Tool.profiles() && reports == 0 {
		return fact.New(toolEnded, e.Tool.param(), exit)
	}
	left := fact.Because("left", e.leftBehind(reports))
	if e.Stopped != tool.NotStopped {
		return fact.New(toolStopped, e.Tool.param(), fact.ID("stop", "stop-reason", string(e.Stopped)), exit, left)
	}
	return fact.New(toolEnded, e.Tool.param(), exit, left)
}

// leftBehind is what the tool left, the best of it; reports are the good ones.
func (e *Evidence) leftBehind(reports int) fact.Fact {
	switch {
	case reports > 0:
		return fact.New(leftReports, fact.Count("n", reports))
	case e.hasFormat(Stream):
		return fact.New(leftStream)
	case e.unreadable() != nil:
		return fact.New(leftUnreadable)
	}
	return fact.New(leftNothing)
}

// exit is how the tool ended.
func (e *Evidence) exit() fact.Fact {
	if e.Killer != 0 {
		return fact.New(exitSignal, signalParams(syscall.Signal(e.Killer))...)
	}
	code := fact.Count("code", e.Code)
	if s := e.workloadSignal(); s != 0 {
		return fact.New(exitPassedOn, append(signalParams(s), code)...)
	}
	return fact.New(exitCode, code)
}

// signalParams name a signal by its number and in the words of the system.
func signalParams(s syscall.Signal) []fact.Param {
	return []fact.Param{fact.Count("signal", int(s)), fact.Name("name", s.String())}
}

// nearlyFull is a full disk beside what else was seen.
func (e *Evidence) nearlyFull(why fact.Fact) fact.Fact {
	return fact.New(nearlyFullDir, fact.File("dir", e.LowSpace), fact.Because("why", why))
}
