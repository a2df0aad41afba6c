package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

func runCommand() command {
	var c configFlags
	return command{
		use: "run [OVERRIDE...] [-- COMMAND [ARG...]]", short: "Profile a command, or a model, from timeline to counters to a report",
		long: `Run a workload alone, then under Nsight Systems for the timeline; choose the
launches that matter, count them under Nsight Compute, and write a report that
says where the time goes and what limits each kernel.

Without a command the workload is a model that ships as configuration: workload=llm
(the default), vlm or resnet, with model=NAME. 'deepprof config groups' lists them.

What each capture gave is judged by what it produced, not by exit codes;
everything lands in a run directory with the exact commands, logs, environment
and hashes.

Ctrl-C asks the profiler to finish and keeps its report; a second one kills
everything that was started.`,
		example: `  deepprof run
  deepprof run model=llama_8b infer.max_new_tokens=64
  deepprof run -- python3 infer.py
  deepprof run pipeline.ncu.enable=false -- ./train --steps 10
  deepprof run pipeline/ncu=memory pipeline.ncu.ncu_cli.nvtx_include=[decode] -- python3 infer.py`,
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			ignore := f.Bool("ignore-blockers", false, "run in spite of what 'deepprof doctor' calls a blocker")
			dry := f.Bool("dry-run", false, "print the commands and start nothing")
			record := f.String("record", "", "also make a recording in `DIR` that can be played without a GPU: the packed run, and what each profiler printed")
			return func(ctx context.Context, args []string) error {
				if at := slices.IndexFunc(args, func(arg string) bool { return !strings.ContainsAny(arg, "=~") }); f.ArgsLenAtDash() < 0 && at >= 0 {
					line := slices.Insert(slices.Clone(args), at, "--")
					return usagef("run: %q is no override; a command goes after --: deepprof run %s", args[at], shellescape.QuoteCommand(line))
				}
				if f.ArgsLenAtDash() == len(args) {
					return usagef("run: no command stands after --; leave -- out to profile a workload that ships with deepprof")
				}
				p, composed, err := c.plan(withCommand(f, args))
				if err != nil {
					return err
				}
				root, err := composed.Resolve()
				if err != nil {
					return usage(err)
				}
				dir, err := composed.Run()
				if err != nil {
					return usage(err)
				}
				sorted, err := categories(c.sources())
				if err != nil {
					return err
				}
				w, ctx := newWatcher(ctx, s.err)
				defer w.stop()
				o := pipeline.Options{
					Categories: sorted,
					Plan:       p, Config: root.YAML(), Dir: dir.Path, Version: readVersion().String(), Argv: os.Args, IgnoreBlockers: *ignore,
					Interrupts: w.interrupts, Progress: w.progress, Say: w.say,
				}
				if *dry {
					lines, err := pipeline.DryRun(ctx, o)
					for _, l := range lines {
						fmt.Fprintln(s.out, l)
					}
					return ended(s, w, nil, err)
				}
				if *record != "" {
					if err := os.MkdirAll(*record, 0o777); err != nil {
						return usage(err)
					}
					count := map[string]int{}
					o.Record = func(stage string, r capture.Recording) {
						name := stage
						if count[stage]++; count[stage] > 1 {
							name += fmt.Sprintf(".%d", count[stage])
						}
						path := filepath.Join(*record, name+".rec")
						if err := os.WriteFile(path, []byte(r.String()), 0o666); err != nil {
							w.say(fmt.Sprintf("warning: %v", err))
						}
					}
				}
				summary, err := pipeline.Run(ctx, o)
				if summary == nil || *record == "" {
					return ended(s, w, summary, err)
				}
				packed := packRecording(ctx, s, summary, *record)
				if err = ended(s, w, summary, err); err != nil && packed != nil {
					fmt.Fprintf(s.err, "deepprof: no recording: %v\n", packed) // what went wrong first decides
					return err
				}
				return errors.Join(err, packed)
			}
		},
	}
}

// packRecording packs a run for 'deepprof demo --from', without what is the
// machine's own business.
func packRecording(ctx context.Context, s streams, summary *pipeline.Summary, dir string) error {
	if summary.Status == runs.StatusInterrupted {
		return errors.New("the run was interrupted; deepprof runs pack --strip-cubins --redact makes one of what there is")
	}
	r, err := runs.Open(ctx, summary.Dir)
	if err != nil {
		return err
	}
	defer r.Close()
	path := filepath.Join(dir, "recording"+runs.PackExt)
	packed, err := runs.Pack(ctx, r, path, runs.PackOptions{StripCubins: true, Redact: true, Overwrite: true, Strip: stripCubins})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "recording: %s, %d bytes\n", path, packed.Bytes)
	return nil
}

// withCommand turns what stands after "--" into the overrides that make it the
// workload.
func withCommand(f *pflag.FlagSet, args []string) []string {
	at := f.ArgsLenAtDash()
	if at < 0 || at == len(args) {
		return args
	}
	return append(plan.CommandOverrides(args[at:]), args[:at]...)
}

// ended prints what came of a run and chooses the exit code.
func ended(s streams, w *watcher, summary *pipeline.Summary, err error) error {
	w.clear()
	var blocked *pipeline.BlockedError
	if errors.As(err, &blocked) {
		for _, row := range blocked.Report.Rows {
			if row.Status == "blocker" {
				fmt.Fprintf(s.err, "blocker: %s: %s\n  fix: %s\n", row.Name, row.Evidence, row.Fix)
			}
		}
		if blocked.OfWorkload() {
			return &failure{exitWorkload, errors.New("the workload cannot run with what the configuration gives it; nothing was started")}
		}
		return &failure{exitNothing, fmt.Errorf("%w; mend it, or turn the stage off, or say --ignore-blockers", err)}
	}
	if summary == nil {
		switch {
		case err == nil:
			return nil
		case errors.Is(err, context.Canceled):
			return &failure{exitInterrupted, errors.New("interrupted before anything was captured")}
		case runs.IsDiskFull(err):
			return &failure{exitNothing, err}
		}
		return usage(err)
	}
	width := 9
	for _, st := range summary.Stages {
		width = max(width, len(st.Name))
	}
	var stages bytes.Buffer
	p := stagePrinter{w: &stages, names: width, columns: terminalWidth(s.out), brief: summary.Result != nil}
	shown := p.all(summary.Stages)
	if _, height := terminalSize(s.out); p.brief && height > 0 && report.Rows(stages.String(), p.columns) > height/4 {
		stages.Reset() // the screen is for the report
		p.tight = true
		shown = p.all(summary.Stages)
	}
	if summary.Result != nil {
		stages.WriteString("\n")
	}
	last := fmt.Sprintf("run %s: %s\n", summary.Status, summary.Dir)
	used := report.Rows(stages.String()+last, p.columns)
	if _, werr := stages.WriteTo(s.out); err == nil {
		err = werr
	}
	if summary.Result != nil {
		page := filepath.Join(summary.Dir, "report.html")
		if _, missing := os.Stat(page); missing != nil {
			page = ""
		}
		if serr := summarise(s, summary.Result, page, used, shown); err == nil {
			err = serr
		}
	}
	fmt.Fprint(s.out, last)
	if summary.Status == runs.StatusInterrupted {
		fmt.Fprintf(s.out, "next: deepprof runs resume %s\n", reference(summary.Dir))
		if summary.Captured {
			fmt.Fprintf(s.out, "next: deepprof analyze %s reports on what was captured\n", reference(summary.Dir))
		}
	}
	if err != nil {
		return err
	}
	return verdict(summary)
}

// reference is how a person names a run on the command line: by its id in the
// store ./runs, else by its path.
func reference(dir string) string {
	if store, err := filepath.Abs(runs.DefaultRoot); err == nil && filepath.Dir(dir) == store {
		return filepath.Base(dir)
	}
	return shellescape.Quote(dir)
}

// plural counts things.
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// A stagePrinter prints what came of stages, in brief where a report tells the
// rest.
type stagePrinter struct {
	w       io.Writer
	names   int // width of the names
	columns int // of the terminal; 0 is none
	brief   bool
	tight   bool // briefer still: a row for each line
}

// Of a stage in brief.
const (
	briefRows     = 2 // of one line
	warningRows   = 3 // of one warning, which stands there whole or not at all
	briefWarnings = 3
	tightWarnings = 2
)

// all prints the stages and returns the warnings that it told of. In brief those
// that went well have one row: they were told as they ended.
func (p *stagePrinter) all(stages []pipeline.StageResult) (shown []string) {
	well, seconds, other := 0, 0.0, ""
	for _, st := range stages {
		switch {
		case st.Name == "provenance" && st.State == runs.StateDone:
		case p.brief && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0:
			well++
			seconds += max(0, st.Seconds)
		case p.brief && st.State == runs.StateSkipped:
		default:
			shown = append(shown, p.print(st)...)
			other = "other "
		}
	}
	if well > 0 {
		fmt.Fprintf(p.w, "%s done in %s\n", plural(well, other+"stage"), lasted(seconds))
	}
	return shown
}

// lasted writes seconds, of a long time without fractions.
func lasted(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return fmt.Sprintf("%.0f s", seconds)
}

// print prints one stage and returns the warnings that it told of.
func (p *stagePrinter) print(st pipeline.StageResult) (shown []string) {
	o := st.Outcome
	if st.State == runs.StateSkipped {
		if !p.brief {
			p.line(st.Name, "skipped: "+st.Reason)
		}
		return nil
	}
	status := string(st.State)
	if st.Seconds >= 0 {
		status += fmt.Sprintf(", %.1f s", st.Seconds)
	}
	if slices.ContainsFunc(o.Warnings, func(w capture.Warning) bool { return w.Text == o.Evidence }) {
		o.Evidence = "" // stands below
	}
	p.line(st.Name, status+": "+runs.Text(o.String()))
	p.warnings(o.Warnings)
	for _, warning := range o.Warnings {
		shown = append(shown, warning.Text)
	}
	if !o.OK() && o.Next != "" {
		whole := *p // it is there to be copied
		whole.brief, whole.tight = false, false
		whole.line("", "next: "+o.Next)
	}
	return shown
}

// warnings prints warnings with what to do about them. In brief on a terminal
// those that are too long or too many are counted.
func (p *stagePrinter) warnings(list []capture.Warning) {
	most, rows := briefWarnings, warningRows
	if p.tight {
		most, rows = tightWarnings, 1
	}
	whole := *p
	whole.brief, whole.tight = false, false
	printed, left := 0, 0
	for i, warning := range list {
		text := "warning: " + runs.Text(warning.Text)
		if warning.Next != "" {
			text += "; next: " + runs.Text(warning.Next)
		}
		lines := whole.text("", text)
		last := i == len(list)-1 && left == 0
		if p.brief && p.columns > 0 && (report.Rows(lines, p.columns) > rows || printed >= most-1 && !last) {
			left++
			continue
		}
		printed++
		io.WriteString(p.w, lines)
	}
	switch {
	case left > 0 && printed > 0:
		p.line("", fmt.Sprintf("%s more, in the report", plural(left, "warning")))
	case left > 0:
		p.line("", fmt.Sprintf("%s, in the report", plural(left, "warning")))
	}
}

// line prints a text beside the name of a stage.
func (p *stagePrinter) line(name, text string) { io.WriteString(p.w, p.text(name, text)) }

func (p *stagePrinter) text(name, text string) string {
	head := fmt.Sprintf("%-*s ", p.names, name)
	switch indent := strings.Repeat(" ", len(head)); {
	case p.tight:
		return report.WrapMost(head+text, p.columns, indent, 1) + "\n"
	case p.brief && p.columns > 0:
		return report.WrapMost(head+text, p.columns, indent, briefRows) + "\n"
	default:
		return report.Wrap(head+text, p.columns, indent) + "\n"
	}
}

// verdict is the exit code of a run: the first stage that went wrong decides.
func verdict(summary *pipeline.Summary) error {
	if summary.Status == runs.StatusInterrupted {
		return &failure{code: exitInterrupted}
	}
	for _, st := range summary.Stages {
		switch {
		case st.State != runs.StateFailed:
		case st.Outcome.Kind == capture.WorkloadFailed, st.Outcome.Kind == capture.WorkloadCrashed, st.Outcome.Kind == capture.WorkloadMissing:
			return &failure{code: exitWorkload}
		default:
			return &failure{code: exitNothing}
		}
	}
	return nil
}

// A watcher shows progress on a terminal and passes Ctrl-C on.
type watcher struct {
	w          io.Writer
	live       bool // a line that is rewritten makes sense
	width      int
	shown      bool
	signals    chan os.Signal
	interrupts chan os.Signal
	stop       func()
}

// stopSignals are the signals that ask a run to finish. A closed terminal and
// Ctrl-\ count as well, unless whoever started us had them ignored, as nohup
// does.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// repeatWindow is the time in which signals count as one key press: a terminal
// sends it to the whole group, and the group may pass it on.
const repeatWindow = 100 * time.Millisecond

// newWatcher returns the context of the run: a first Ctrl-C does not end it,
// because the profiler is asked to finish and its report is read afterwards; a
// second one does.
func newWatcher(ctx context.Context, w io.Writer) (*watcher, context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &watcher{w: w, signals: make(chan os.Signal, 4), interrupts: make(chan os.Signal, 4)}
	// The line needs a terminal that can go back, not colour.
	if f, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			if width <= 0 {
				width = 80 // a terminal that does not tell
			}
			x.live, x.width = true, width
		}
	}
	done := make(chan struct{})
	x.stop = func() {
		signal.Stop(x.signals)
		close(done)
		cancel()
	}
	signal.Notify(x.signals, stopSignals()...)
	// A reader of our messages that goes away must not end the run: the write
	// fails, and that is all. The channel is not read and never stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case sig := <-x.signals:
				now := time.Now()
				if first.IsZero() {
					first = now
				}
				select {
				case x.interrupts <- sig:
				default: // two are enough to kill
				}
				if now.Sub(first) > repeatWindow {
					cancel()
				}
			}
		}
	}()
	return x, ctx
}

func (x *watcher) progress(line string) {
	if !x.live {
		return
	}
	if r := []rune(runs.Text(line)); len(r) >= x.width {
		line = string(r[:max(0, x.width-1)])
	} else {
		line = string(r)
	}
	fmt.Fprintf(x.w, "\r\033[K%s", line)
	x.shown = true
}

func (x *watcher) clear() {
	if x.shown {
		fmt.Fprint(x.w, "\r\033[K")
		x.shown = false
	}
}

func (x *watcher) say(line string) {
	x.clear()
	if x.live {
		line = report.Wrap(line, x.width, "  ")
	}
	fmt.Fprintln(x.w, line)
}
