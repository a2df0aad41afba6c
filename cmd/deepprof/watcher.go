package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// A watcher shows progress on a terminal and passes Ctrl-C on.
type watcher struct {
	w          io.Writer
	terminal   io.Writer // behind w, for sequences of our own
	live       bool      // w is a terminal on which a line can be rewritten
	width      int       // columns; 0 where not live
	shown      bool      // a progress line stands on the screen
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

// options are what every run gets from its watcher and from this process.
func (w *watcher) options() pipeline.Options {
	return pipeline.Options{Version: readVersion().String(), Argv: os.Args, Interrupts: w.interrupts, Progress: w.progress, Say: w.say}
}

// newWatcher returns the context of the run: a first Ctrl-C does not end it,
// because the profiler is asked to finish and its report is read afterwards; a
// second one does.
func newWatcher(ctx context.Context, w io.Writer) (*watcher, context.Context) {
	early := ctx.Done() // by a signal that came before this watches for them
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &watcher{w: w, signals: make(chan os.Signal, 4), interrupts: make(chan os.Signal, 4)}
	// The line needs a terminal that can go back, not color.
	if f, ok := fileOf(w); ok && os.Getenv("TERM") != "dumb" {
		x.terminal = f
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
			case <-early:
				if early = nil; first.IsZero() {
					first = time.Now()
					x.interrupts <- os.Interrupt
				}
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

// progress rewrites one line, cut to the width; without a terminal it prints nothing.
func (x *watcher) progress(line string) {
	if !x.live {
		return
	}
	if r := []rune(runs.Text(line)); len(r) >= x.width {
		line = string(r[:max(0, x.width-1)])
	} else {
		line = string(r)
	}
	io.WriteString(x.terminal, "\r\033[K")
	io.WriteString(x.w, line)
	x.shown = true
}

// clear removes the progress line before anything else is printed.
func (x *watcher) clear() {
	if x.shown {
		io.WriteString(x.terminal, "\r\033[K")
		x.shown = false
	}
}

// say prints a line that stays.
func (x *watcher) say(line string) {
	x.clear()
	if x.live {
		line = report.Wrap(line, x.width, "  ")
	}
	fmt.Fprintln(x.w, line)
}

// A stepPrinter prints what came of pipeline steps, in brief where a report tells the
// rest.
type stepPrinter struct {
	w       io.Writer
	names   int // width of the names
	columns int // of the terminal; 0 is none
	brief   bool
	tight   bool // briefer still: a row for each line
}

// Of a step in brief.
const (
	briefRows     = 2 // of one line
	warningRows   = 3 // of one warning, which stands there whole or not at all
	briefWarnings = 3
	tightWarnings = 2
)

// all prints the steps and returns the warnings that it told of. In brief those
// that went well have one row: they were told as they ended.
func (p *stepPrinter) all(steps []pipeline.StepResult) (shown []fact.Fact) {
	well, seconds, other := 0, 0.0, ""
	played, then := 0, 0.0 // out of a recording, and the time that they took when it was made
	for _, st := range steps {
		switch {
		case st.Quiet && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0:
		case p.brief && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0 && st.Recorded:
			played++
			then += max(0, st.Seconds)
		case p.brief && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0:
			well++
			seconds += max(0, st.Seconds)
		case p.brief && st.State == runs.StateSkipped:
		default:
			shown = append(shown, p.print(st)...)
			other = "other "
		}
	}
	var told []string
	if played > 0 {
		told = append(told, fmt.Sprintf("%s played (%s when recorded)", plural(played, other+"step"), report.RunTime(then)))
	}
	if well > 0 {
		told = append(told, fmt.Sprintf("%s done in %s", plural(well, other+"step"), report.RunTime(seconds)))
	}
	if len(told) > 0 {
		fmt.Fprintln(p.w, report.Wrap(strings.Join(told, ", "), p.columns, "  "))
	}
	return shown
}

// print prints one step and returns the warnings that it told of.
func (p *stepPrinter) print(st pipeline.StepResult) (shown []fact.Fact) {
	o := st.Outcome
	if st.State == runs.StateSkipped {
		if !p.brief {
			p.line(st.Name, "skipped: "+message.Text(st.Reason))
		}
		return nil
	}
	status := string(st.State)
	if st.Seconds >= 0 {
		status += ", " + report.RunTime(st.Seconds)
		if st.Recorded {
			status += " when recorded"
		}
	}
	if slices.ContainsFunc(o.Warnings, func(w capture.Warning) bool { return w.Equal(o.Evidence) }) {
		o.Evidence = fact.Fact{} // stands below
	}
	p.line(st.Name, status+": "+runs.Text(message.Verdict(string(o.Kind), o.What, o.Evidence)))
	p.warnings(o.Warnings)
	for _, warning := range o.Warnings {
		shown = append(shown, warning.Fact)
	}
	if next := message.Next(o.Cause); !o.OK() && next != "" {
		whole := *p // it is there to be copied
		whole.brief, whole.tight = false, false
		whole.line("", "next: "+next)
	}
	return shown
}

// warnings prints warnings with what to do about them. In brief on a terminal
// those that are too long or too many are counted.
func (p *stepPrinter) warnings(list []capture.Warning) {
	most, rows := briefWarnings, warningRows
	if p.tight {
		most, rows = tightWarnings, 1
	}
	whole := *p
	whole.brief, whole.tight = false, false
	printed, left := 0, 0
	for i, warning := range list {
		text := "warning: " + runs.Text(message.Text(warning.Fact))
		if next := message.Next(warning.Fact); next != "" {
			text += "; next: " + runs.Text(next)
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
func (p *stepPrinter) line(name, text string) { io.WriteString(p.w, p.text(name, text)) }

// text ends with a line feed. Outside a terminal (columns 0) nothing is cut.
func (p *stepPrinter) text(name, text string) string {
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
