package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Program is the workload without a profiler.
type Program struct {
	Command        tool.Command
	Stdout, Stderr string // logs
	Limits         tool.Limits
	LimitKey       string // the setting that bounds its time, for advice
	Interrupts     <-chan os.Signal
	Progress       func(elapsed time.Duration) // about four times a second
}

// RunProgram runs a program without a profiler and judges its end. The exit is
// nil where it was not started.
func RunProgram(ctx context.Context, p Program) (Outcome, *tool.Exit) {
	ended, err := tool.Supervise(ctx, tool.Job{
		Command: p.Command, Stdout: p.Stdout, Stderr: p.Stderr, Limits: p.Limits, Interrupts: p.Interrupts,
		OnTick: func(t tool.Tick) { p.Progress(t.Elapsed) },
	})
	o := p.judge(ended, err)
	if dir := filepath.Dir(p.Stdout); !o.Usable && o.Kind != Interrupted && nearlyFull(dir) {
		o.Kind, o.Cause = DiskFull, "the file system of "+dir+" is full: the output of the workload goes there"
		o.Next = nextFreeSpace
	}
	if err != nil {
		return o, nil
	}
	return o, &ended.Exit
}

const nextFreeSpace = "free space, or choose another place with hydra.run.dir=DIR"

// judge words the end of a program. The error is that of its start.
func (p Program) judge(ended tool.Ended, err error) Outcome {
	o := Outcome{}
	log, evidence := p.Stderr, lastLine(p.Stderr)
	if evidence == "" {
		log, evidence = p.Stdout, lastLine(p.Stdout)
	}
	if !ended.Exit.OK() {
		o.Evidence = evidence
	}
	switch {
	case errors.Is(err, context.Canceled):
		o.Kind, o.What, o.Evidence = Interrupted, "stopped by a signal", ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		o.Kind, o.What, o.Evidence = DiskFull, "the workload was not started", err.Error()
		o.Next = nextFreeSpace
	case err != nil:
		o.Kind, o.What, o.Evidence = WorkloadMissing, "the workload could not be started", err.Error()
		o.Next = "check the command and its working directory"
	case ended.Stopped == tool.Interrupted:
		o.Kind, o.What = Interrupted, "stopped by a signal"
	case ended.Stopped == tool.Stalled:
		o.Kind, o.What = Stalled, "the workload showed no sign of life and was stopped"
		o.Next = "raise pipeline.supervision.stall_s if it is only slow"
	case ended.Stopped != tool.NotStopped:
		o.Kind, o.What = TimedOut, "the workload took too long and was stopped"
		o.Next = "raise " + p.LimitKey
	case !ended.Exit.OK():
		o.Kind, o.What = WorkloadFailed, fmt.Sprintf("the workload ended with %s", ended.Exit)
		if s := signalOf(ended.Exit); s != 0 {
			o.Kind = WorkloadCrashed
			o.What = fmt.Sprintf("the workload was ended by signal %d (%s)", int(s), s)
		}
		o.Next = "read " + log
		if evidence == "" {
			o.Next = "it printed nothing; run it by hand"
		}
	default:
		o.Kind, o.What, o.Usable = Captured, "the workload ran to its end", true
	}
	if len(ended.Left) > 0 && o.Usable {
		o.warnLeft(ended.Left)
	}
	return o
}

func (o *Outcome) warnLeft(list []tool.Process) {
	var left []string
	for _, p := range list {
		left = append(left, p.String())
	}
	o.Kind, o.Evidence = WithWarnings, "it left processes"
	o.Warnings = append(o.Warnings, Warning{ID: "left", Text: "still running after the workload and ended: " + strings.Join(left, ", "), Next: "make the workload end its processes"})
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
	free, err := freeSpace(dir)
	return err == nil && free < 256<<10
}
