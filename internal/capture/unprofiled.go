package capture

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Program is the workload without a profiler.
type Program struct {
	Command        tool.Command
	Stdout, Stderr string // logs
	Limits         tool.Limits
	LimitKey       string // the setting that bounds its time, for advice
	Interrupts     <-chan os.Signal
	// must not be nil
	Progress func(elapsed time.Duration) // about four times a second

	// What StoreProgram records: the command as the user typed it, a second
	// judgment of the outcome (its exit is nil where nothing was started), and the
	// files that it wrote beside its logs. Nil functions add nothing.
	Shown []string
	Judge func(*Outcome, *tool.Exit)
	Wrote func() []string
}

// runProgram runs a program without a profiler and judges its end. The exit is
// nil where it was not started.
func runProgram(ctx context.Context, p Program) (Outcome, *tool.Exit) {
	ended, err := tool.Supervise(ctx, tool.Job{
		Command: p.Command, Stdout: p.Stdout, Stderr: p.Stderr, Limits: p.Limits, Interrupts: p.Interrupts,
		OnTick: func(t tool.Tick) { p.Progress(t.Elapsed) },
	})
	o := p.judge(ended, err)
	if dir := filepath.Dir(p.Stdout); !o.Usable && o.Kind != Interrupted && nearlyFull(dir) {
		o.Kind, o.Cause = DiskFull, fact.New(causeFullLog, fact.File("dir", dir))
	}
	if err != nil {
		return o, nil
	}
	return o, &ended.Exit
}

// judge says how a program ended. The error is that of its start.
func (p Program) judge(ended tool.Ended, err error) Outcome {
	o := Outcome{}
	log, evidence := p.Stderr, lastLine(p.Stderr)
	if evidence == "" {
		log, evidence = p.Stdout, lastLine(p.Stdout)
	}
	if !ended.Exit.OK() {
		o.Evidence = linePrinted(evidence)
	}
	switch {
	case errors.Is(err, context.Canceled):
		o.Kind, o.What, o.Evidence = Interrupted, fact.New(StoppedBySignal), fact.Fact{}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		o.Kind, o.What, o.Evidence, o.Cause = DiskFull, fact.New(workloadNotStarted), ErrorFact(err), fact.New(CauseFull)
	case err != nil:
		o.Kind, o.What, o.Evidence, o.Cause = WorkloadMissing, fact.New(workloadNotStarted), ErrorFact(err), fact.New(causeStart)
	case ended.Stopped == tool.Interrupted:
		o.Kind, o.What = Interrupted, fact.New(StoppedBySignal)
	case ended.Stopped == tool.Stalled:
		o.Kind, o.What, o.Cause = Stalled, fact.New(workloadStalled), fact.New(causeStall)
	case ended.Stopped != tool.NotStopped:
		o.Kind, o.What, o.Cause = TimedOut, fact.New(workloadTooLong), fact.New(causeLimit, fact.Key("key", p.LimitKey))
	case !ended.Exit.OK():
		o.Kind, o.What = WorkloadFailed, fact.New(workloadEnded, fact.Count("code", ended.Exit.Code))
		if s := signalOf(ended.Exit); s != 0 {
			o.Kind, o.What = WorkloadCrashed, fact.New(workloadEndedBy, signalParams(s)...)
		}
		o.Cause = fact.New(causeOwnError, fact.File("log", log))
		if evidence == "" {
			o.Cause = fact.New(causeSilent)
		}
	default:
		o.Kind, o.What, o.Usable = Captured, fact.New(WorkloadRan), true
	}
	if len(ended.Left) > 0 && o.Usable {
		o.warnLeft(ended.Left)
	}
	return o
}

// warnLeft names processes of the workload that outlived it and were ended.
func (o *Outcome) warnLeft(list []tool.Process) {
	var left []string
	for _, p := range list {
		left = append(left, p.String())
	}
	o.Warn(warningOf(warnLeft, fact.Names("processes", fact.KindName, left), fact.ID("after", "ran", "workload")))
}

// signalOf is the signal that ended a program, also where a shell around it
// only passes on its number.
func signalOf(e tool.Exit) syscall.Signal {
	switch {
	case e.Signal != 0:
		return e.Signal
	case e.Code > 128 && e.Code <= 128+64:
		return syscall.Signal(e.Code - 128)
	}
	return 0
}

// lastLine is the last line of a log that holds anything, "" where there is
// none or the log cannot be read.
func lastLine(path string) string {
	const tail = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		_, _ = f.Seek(-tail, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, tail))
	lines := strings.Split(strings.Trim(string(text), "\x00\r\n\t "), "\n")
	return tool.Quote(lines[len(lines)-1])
}

// nearlyFull reports whether a file system has next to nothing left.
func nearlyFull(dir string) bool {
	free, err := format.FreeSpace(dir)
	return err == nil && free < 256<<10
}
