package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// baseline runs the workload alone: the time that overhead is measured
// against, and the proof that the workload runs at all.
func (r *run) baseline(ctx context.Context) (capture.Outcome, error) {
	if r.shipped() {
		return r.baselineSession(ctx)
	}
	command := r.workload()
	if err := r.store.WriteFile("workload/cmd.txt", r.commandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	program, missing := capture.FindTarget(r.Plan.Pipeline.Workload.Command, command.Dir, command.Env)
	if missing != nil {
		return *missing, r.refused("unprofiled", command, *missing)
	}
	if found, err := exec.LookPath(command.Path); err != nil || found != program {
		command.Path = program // by the PATH of the workload, not of this process
	}
	return r.repeated(func(n int) (capture.Outcome, error) {
		out, errs := fmt.Sprintf("workload/stdout.%d.log", n), fmt.Sprintf("workload/stderr.%d.log", n)
		return r.attempt(ctx, attempt{
			stage: "unprofiled", command: command, shown: r.Plan.Pipeline.Workload.Command, stdout: out, stderr: errs,
			timeout: r.Plan.Pipeline.Unprofiled.Timeout, judge: func(ended tool.Ended, err error) capture.Outcome {
				return judgeBaseline(ended, err, r.store.Path(out), r.store.Path(errs))
			},
		})
	})
}

// repeated does one thing pipeline.unprofiled.repeats times, until it fails.
func (r *run) repeated(do func(n int) (capture.Outcome, error)) (capture.Outcome, error) {
	all := capture.Outcome{Kind: capture.Captured, What: "the workload ran to its end", Usable: true}
	for i := range r.Plan.Pipeline.Unprofiled.Repeats {
		outcome, err := do(i + 1)
		if err != nil || !outcome.Usable {
			return outcome, err
		}
		if outcome.Kind != all.Kind {
			all = outcome
		}
	}
	return all, nil
}

// refused records that a command was not started at all.
func (r *run) refused(stage string, command tool.Command, o capture.Outcome) error {
	if err := r.store.StartAttempt(stage, command.Dir, r.Plan.Pipeline.Workload.Command...); err != nil {
		return err
	}
	return r.store.EndAttempt(stage, runs.Result{Outcome: record(o)})
}

// attempt is one start of the workload without a profiler.
type attempt struct {
	stage          string
	command        tool.Command
	shown          []string // the command, for the manifest
	stdout, stderr string   // within the run
	timeout        time.Duration
	judge          func(tool.Ended, error) capture.Outcome
	files          func() []string // that it left beside its logs; nil for none
}

// attempt runs the workload once and records what came of it.
func (r *run) attempt(ctx context.Context, a attempt) (capture.Outcome, error) {
	if err := r.store.StartAttempt(a.stage, a.command.Dir, a.shown...); err != nil {
		return capture.Outcome{}, err
	}
	start := time.Now()
	ended, err := tool.Supervise(ctx, tool.Job{
		Command: a.command, Stdout: r.store.Path(a.stdout), Stderr: r.store.Path(a.stderr),
		Limits: r.limits(a.timeout), Interrupts: r.Interrupts,
		OnTick: func(tool.Tick) {
			r.live(fmt.Sprintf("%s: %s", a.stage, time.Since(start).Round(time.Second)))
		},
	})
	outcome := a.judge(ended, err)
	if !outcome.Usable && outcome.Kind != capture.Interrupted && diskFull(r.store.Dir()) {
		outcome.Kind, outcome.Cause = capture.DiskFull, "the file system of "+r.store.Dir()+" is full: the output of the workload goes there"
		outcome.Next = "free space, or choose another place with hydra.run.dir=DIR"
	}
	result := runs.Result{Outcome: record(outcome)}
	if err == nil {
		if ended.Exit.Signal == 0 {
			code := ended.Exit.Code
			result.ExitCode = &code
		} else {
			result.Signal = unix.SignalName(ended.Exit.Signal)
		}
		files := []string{a.stdout, a.stderr}
		if a.files != nil {
			files = append(files, a.files()...)
		}
		if result.Files, err = r.store.HashFiles(context.WithoutCancel(ctx), files...); err != nil {
			return capture.Outcome{}, err
		}
	}
	return outcome, r.store.EndAttempt(a.stage, result)
}

// diskFull reports whether a file system has next to nothing left.
func diskFull(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && int64(st.Bavail)*int64(st.Bsize) < 256<<10
}

// workload is the program without a profiler.
func (r *run) workload() tool.Command {
	w := r.Plan.Pipeline.Workload
	return tool.Command{Path: w.Command[0], Args: w.Command[1:], Dir: r.dir, Env: r.env}
}

// judgeBaseline words the end of the baseline.
func judgeBaseline(ended tool.Ended, err error, stdout, stderr string) capture.Outcome {
	return judgeAlone(ended, err, stdout, stderr, "pipeline.unprofiled.timeout_s")
}

// judgeAlone words the end of a workload without a profiler. The error is that
// of the start, limit the setting that bounds its time.
func judgeAlone(ended tool.Ended, err error, stdout, stderr, limit string) capture.Outcome {
	o := capture.Outcome{}
	log, evidence := stderr, lastLine(stderr)
	if evidence == "" {
		log, evidence = stdout, lastLine(stdout)
	}
	if !ended.Exit.OK() {
		o.Evidence = evidence
	}
	switch {
	case errors.Is(err, context.Canceled):
		o.Kind, o.What, o.Evidence = capture.Interrupted, "stopped by a signal", ""
	case runs.IsDiskFull(err):
		o.Kind, o.What, o.Evidence = capture.DiskFull, "the workload was not started", err.Error()
		o.Next = "free space, or choose another place with hydra.run.dir=DIR"
	case err != nil:
		o.Kind, o.What, o.Evidence = capture.WorkloadMissing, "the workload could not be started", err.Error()
		o.Next = "check the command and its working directory"
	case ended.Stopped == tool.Interrupted:
		o.Kind, o.What = capture.Interrupted, "stopped by a signal"
	case ended.Stopped == tool.Stalled:
		o.Kind, o.What = capture.Stalled, "the workload showed no sign of life and was stopped"
		o.Next = "raise pipeline.supervision.stall_s if it is only slow"
	case ended.Stopped != tool.NotStopped:
		o.Kind, o.What = capture.TimedOut, "the workload took too long and was stopped"
		o.Next = "raise " + limit
	case !ended.Exit.OK():
		o.Kind, o.What = capture.WorkloadFailed, fmt.Sprintf("the workload ended with %s", ended.Exit)
		if s := signalOf(ended.Exit); s != 0 {
			o.Kind = capture.WorkloadCrashed
			o.What = fmt.Sprintf("the workload was ended by signal %d (%s)", int(s), s)
		}
		o.Next = "read " + log
		if evidence == "" {
			o.Next = "it printed nothing; run it by hand"
		}
	default:
		o.Kind, o.What, o.Usable = capture.Captured, "the workload ran to its end", true
	}
	if len(ended.Left) > 0 && o.Usable {
		var left []string
		for _, p := range ended.Left {
			left = append(left, p.String())
		}
		o.Kind, o.Evidence = capture.WithWarnings, "it left processes"
		o.Warnings = append(o.Warnings, capture.Warning{
			ID: "left", Text: "still running after the workload and ended: " + strings.Join(left, ", "), Next: "make the workload end its processes",
		})
	}
	return o
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

func (r *run) limits(timeout time.Duration) tool.Limits {
	s := r.Plan.Pipeline.Supervision
	return tool.Limits{Timeout: timeout, Stall: s.Stall, Grace: s.StopGrace}
}
