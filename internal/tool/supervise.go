package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A Job is a long run under supervision: a profiler with its workload, or the
// workload alone. Supervise runs one.
type Job struct {
	// Command says what to start. Its Env is the whole environment; its Stdout
	// and Stderr are not used.
	Command Command

	// Stdout and Stderr are files that receive the output directly, so that
	// nothing is lost if this process dies. They are created or truncated; ""
	// discards.
	Stdout, Stderr string

	// Profiler is Nsys, Ncu or "" for a plain program. It decides how the
	// program is asked to finish:
	//   nsys  one SIGINT to nsys itself, only while the target lives and no
	//         report is being written; a second one, or one during report
	//         generation, makes nsys exit 0 without a report
	//   ncu   SIGINT to the process group: ncu is started by a shell script
	//         that does not pass signals on
	//   ""    SIGINT to the process group
	Profiler string

	// Signal asks a plain program to finish; 0 is SIGINT.
	Signal syscall.Signal

	// Stop asks a program to finish in a way of its own, instead of a signal: a
	// launcher hands signals on in ways that lose the reports of its ranks, or not
	// at all. What does not end gets SIGTERM before it is killed, so that a launcher
	// can end ranks on other hosts. Nil for a program that takes signals.
	Stop func()

	Limits Limits

	// Interrupts counts requests to stop: the first asks the program to finish
	// and keeps what it has, the second kills the whole tree. Requests within
	// repeatWindow of the first are the same key press. The end of the context
	// counts as a first request, and as a second one where a request came through
	// this channel: who passes it ends the context only to insist.
	Interrupts <-chan os.Signal

	// Patience may shorten Limits.Silence for what was printed last, which may
	// be the beginning of a line: a launch that a profiler names and that never
	// ends. 0 leaves the limit as it is.
	Patience func(last string) time.Duration

	// OnLine receives each line of output, OnTick the state about four times a
	// second; both are called from one goroutine and must return soon.
	OnLine func(Line)
	OnTick func(Tick)
}

// Limits bound a supervised run. A zero field takes its default; a negative
// one means no limit.
type Limits struct {
	// Timeout bounds the time until the target has ended. Then the program is
	// asked to finish. Default: none.
	Timeout time.Duration
	// Stall is how long the tree may neither print nor use the CPU before it is
	// asked to finish. Default: none.
	Stall time.Duration
	// Silence is how long the tree may print nothing, busy or not. A kernel
	// that never ends keeps a CPU core busy, so Stall does not see it. Default:
	// none.
	Silence time.Duration
	// Grace is how long a program that was asked to finish may keep its target
	// alive before everything is killed. Default: 30 s.
	Grace time.Duration
	// Finish is how long the profiler may work after the target has ended, for
	// example to write the report. Default: 15 min.
	Finish time.Duration
	// Settle is how long processes may outlive the program before they are
	// ended. Default: 2 s.
	Settle time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&l.Timeout, -1)
	set(&l.Stall, -1)
	set(&l.Silence, -1)
	set(&l.Grace, 30*time.Second)
	set(&l.Finish, 15*time.Minute)
	set(&l.Settle, 2*time.Second)
	return l
}

func over(limit, spent time.Duration) bool { return limit > 0 && spent > limit }

// A Line is one line of output without its end. A progress bar that is redrawn
// after a carriage return gives one line for each state.
type Line struct {
	Stderr bool
	Text   string
	At     time.Duration // since the start
}

// A Tick is the state of a run at one moment.
type Tick struct {
	Elapsed   time.Duration
	CPU       time.Duration // used by the tree so far
	Processes int
	Target    bool // the profiled program is alive; for a plain program: it is
	Stopping  bool // the program was asked to finish
}

// A StopReason says why a run was stopped from outside.
type StopReason string

const (
	NotStopped  StopReason = ""
	Interrupted StopReason = "interrupted" // by the user, or the context ended
	TimedOut    StopReason = "timed out"   // Limits.Timeout or Limits.Finish
	Stalled     StopReason = "stalled"     // Limits.Stall or Limits.Silence
)

// Ended says how a supervised run went.
type Ended struct {
	Exit Exit

	// Stopped is the first reason for which the run was asked to finish, and
	// Killed says that the whole tree had to be, or was asked to be, killed.
	Stopped StopReason
	Killed  bool

	// Requests counts how often it was asked to stop, for whatever reason.
	Requests int

	TargetSeen bool // the profiled program was alive at some time

	// Left are the processes that outlived the program and were ended; Alive
	// those that could not be (a process stuck in the kernel).
	Left, Alive []Process

	// Forked are processes of the target that were forked and never called exec:
	// what such a child does, a profiler may not see. Those that live for less
	// than about a quarter of a second may be missing.
	Forked []Process

	CPU time.Duration // of the whole tree

	// LastLine is the last one before the run was asked to stop, as Quote gives
	// it.
	LastLine Line

	// Real is the executable that Command.Path turned into: a wrapper script
	// that execs the tool shows here.
	Real string
}

// A Process is one entry of the process table.
type Process struct {
	PID  int
	Name string
}

func (p Process) String() string { return fmt.Sprintf("%s (pid %d)", p.Name, p.PID) }

// RunMarker is the environment variable by which processes of a run are found
// that left its process group and session.
const RunMarker = "DEEPPROF_RUN"

const (
	pollEvery    = 50 * time.Millisecond  // output files
	scanEvery    = 250 * time.Millisecond // process table
	repeatWindow = 100 * time.Millisecond
)

// Reasons for which Run ends a program by the limits of its context.
var (
	ErrTimedOut = errors.New("it took longer than its time limit and was ended")
	errStalled  = errors.New("it used no CPU time for too long and was ended")
)

type limitsKey struct{}

// WithLimits gives the programs that Run and Output start under the context
// Timeout and Stall of the limits, each of them on its own. 0 and less are no
// limit.
func WithLimits(ctx context.Context, l Limits) context.Context {
	return context.WithValue(ctx, limitsKey{}, l)
}

// limited applies the limits of a context to a program that is about to start.
// The function that it returns is told its process id and returns another that
// ends the watch.
func limited(ctx context.Context) (context.Context, func(pid int) (done func())) {
	l, _ := ctx.Value(limitsKey{}).(Limits)
	if l.Timeout <= 0 && l.Stall <= 0 {
		return ctx, func(int) func() { return func() {} }
	}
	inner, cancel := context.WithCancelCause(ctx)
	return inner, func(pid int) func() {
		if l.Timeout > 0 {
			time.AfterFunc(l.Timeout, func() { cancel(ErrTimedOut) })
		}
		if l.Stall > 0 {
			go watchStall(inner, pid, l.Stall, func() { cancel(errStalled) })
		}
		return func() { cancel(nil) }
	}
}

// watchStall calls stalled when the group of a process has used no CPU time for
// as long as limit. It returns with the context.
func watchStall(ctx context.Context, pid int, limit time.Duration, stalled func()) {
	tick := time.NewTicker(min(max(limit/8, 50*time.Millisecond), 2*time.Second))
	defer tick.Stop()
	used, since := groupCPU(pid), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if cpu := groupCPU(pid); cpu != used {
				used, since = cpu, now
			} else if now.Sub(since) > limit {
				stalled()
				return
			}
		}
	}
}

// UntilInterrupted does something that has nothing to finish, so that the first
// interrupt ends it: do's context is canceled, and context.Canceled is in the chain
// of the error. It also is where ctx itself ended.
func UntilInterrupted(ctx context.Context, interrupts <-chan os.Signal, do func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	interrupted, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-interrupts:
			interrupted = true
			cancel()
		case <-inner.Done():
		}
	}()
	err := do(inner)
	cancel()
	<-ended
	if !interrupted && ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted before anything was captured: %w", errors.Join(context.Canceled, err))
}
