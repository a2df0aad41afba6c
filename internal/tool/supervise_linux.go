package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supervise runs job to its end. When it returns, nothing that the job has
// started is alive, save what Ended.Alive names. The error is set only where
// the program could not be started; how it ended is for the caller to judge.
func Supervise(ctx context.Context, job Job) (Ended, error) {
	if err := ctx.Err(); err != nil {
		return Ended{Exit: Exit{Code: -1}}, fmt.Errorf("run %s: %w", filepath.Base(job.Command.Path), err)
	}
	if err := becomeSubreaper(); err != nil {
		return Ended{Exit: Exit{Code: -1}}, fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	s := &supervisor{job: job, limits: job.Limits.withDefaults(), exited: make(chan Exit, 1)}
	if err := s.start(); err != nil {
		return Ended{Exit: Exit{Code: -1}}, err
	}
	defer s.tree.forget()
	if s.guard != nil {
		defer s.guard.dismiss()
	}
	s.watch(ctx)
	s.settle(ctx)
	s.finish()
	return s.ended, nil
}

// A supervisor is the state of one run. All of it belongs to the goroutine
// that called Supervise, save exited.
type supervisor struct {
	job    Job
	limits Limits
	tree   *tree
	guard  *guard
	exited chan Exit

	out, err *tail
	began    time.Time
	scanned  time.Time

	target     bool // alive at the last scan
	targetGone time.Time
	generating bool      // nsys writes a report
	full       time.Time // the report's progress bar reached 100 %

	requests int       // to stop
	pressed  bool      // one of them came through Job.Interrupts
	asked    time.Time // first request
	pending  bool      // the signal could not be sent yet
	lastOut  time.Time
	lastBusy time.Time
	busyMark time.Duration
	members  int
	forked   map[proc]bool // seen so far; of a proc only pid and start

	ended Ended
}

func (s *supervisor) start() error {
	c := s.job.Command
	stdout, err := outputFile(s.job.Stdout)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	defer stdout.Close()
	stderr, err := outputFile(s.job.Stderr)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	defer stderr.Close()
	if s.out, err = openTail(s.job.Stdout, func(text string) { s.line(false, text) }); err != nil {
		return fmt.Errorf("follow log: %w", err)
	}
	if s.err, err = openTail(s.job.Stderr, func(text string) { s.line(true, text) }); err != nil {
		return fmt.Errorf("follow log: %w", err)
	}
	marker := newMarker()
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, Environ(env, RunMarker+"="+marker)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, stdout, stderr
	// A session of its own keeps the terminal's Ctrl-C away from the profiler.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.guard, err = startGuard(); err != nil {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM // second best, where this executable is gone
	}

	started := make(chan error, 1)
	go s.run(cmd, marker, started)
	if err := <-started; err != nil {
		if s.guard != nil {
			s.guard.dismiss()
		}
		return fmt.Errorf("start %s: %w", c.Path, startError(err))
	}
	if s.guard != nil {
		s.guard.watch(s.job.Profiler, s.tree, s.limits.Grace)
	}
	s.began = time.Now()
	s.lastOut, s.lastBusy = s.began, s.began
	return nil
}

// run starts and reaps the program from one thread: where there is no guard, the
// kernel delivers Pdeathsig when the thread that started the child ends.
func (s *supervisor) run(cmd *exec.Cmd, marker string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exit := Exit{Code: -1, Started: time.Now()}
	tree, err := startTree(cmd, marker)
	if err != nil {
		started <- err
		return
	}
	s.tree, exit.PID = tree, cmd.Process.Pid
	started <- nil
	_ = cmd.Wait()
	exit.Duration = time.Since(exit.Started)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		exit.Code = ws.ExitStatus()
		if ws.Signaled() {
			exit.Signal = ws.Signal()
		}
	}
	s.exited <- exit
}

func newMarker() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// watch returns when the program itself has ended.
func (s *supervisor) watch(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	done := ctx.Done()
	for {
		select {
		case s.ended.Exit = <-s.exited:
			return
		case <-done:
			done = nil
			s.canceled(ctx)
		case <-s.job.Interrupts:
			s.press(ctx)
		case now := <-tick.C:
			if s.ended.Killed {
				if len(s.ended.Alive) > 0 { // stuck in the kernel: nothing to wait for
					s.ended.Exit = Exit{Code: -1, Signal: syscall.SIGKILL, PID: s.tree.root, Started: s.began, Duration: now.Sub(s.began)}
					return
				}
				continue
			}
			s.observe(now)
			s.enforce(now)
		}
	}
}

// observe reads what was printed and, less often, looks at the processes.
func (s *supervisor) observe(now time.Time) {
	a, b := s.out.read(tailBudget), s.err.read(tailBudget)
	if a || b {
		s.lastOut = now
	}
	if now.Sub(s.scanned) < scanEvery {
		return
	}
	s.scanned = now
	if s.tree.scan() != nil {
		return
	}
	s.noteTarget(now)
	s.noteForks()
	s.noteBusy(now)
	if s.job.OnTick != nil {
		s.job.OnTick(Tick{
			Elapsed: now.Sub(s.began), CPU: s.tree.cpu(), Processes: len(s.tree.known),
			Target: s.target, Stopping: s.requests > 0,
		})
	}
}

// noteTarget looks for the profiled program. A process must live for two scans
// to count: wrapper scripts run short helpers of their own.
func (s *supervisor) noteTarget(now time.Time) {
	before := s.target
	s.target = s.job.Profiler == ""
	for _, p := range s.tree.known {
		switch {
		case p.pid != s.tree.root:
			s.target = s.target || !s.ofProfiler(p)
		case s.ended.Real == "" || now.Sub(s.began) < 5*time.Second:
			if real, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid)); err == nil {
				s.ended.Real = real
			}
		}
	}
	if s.target {
		s.ended.TargetSeen = s.ended.TargetSeen || before
		s.targetGone = time.Time{}
	} else if s.ended.TargetSeen && s.targetGone.IsZero() {
		s.targetGone = now
	}
}

// execTime is within what a child that is to run another program has called
// exec, as a rule.
const execTime = 200 * time.Millisecond

// noteForks remembers the children of the target that go on without exec. One
// that a busy machine kept from its exec for long is forgotten again.
func (s *supervisor) noteForks() {
	s.ended.Forked = slices.DeleteFunc(s.ended.Forked, func(p Process) bool {
		now, alive := s.tree.known[p.PID]
		return alive && !now.forked
	})
	var now unix.Timespec
	if len(s.tree.forked) == 0 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return
	}
	for _, p := range s.tree.forked {
		id := proc{pid: p.pid, start: p.start}
		age := time.Duration(now.Nano()) - time.Duration(p.start)*clockTick
		stray := p.start < s.tree.ever[s.tree.root] // of an earlier run
		if s.forked[id] || age < execTime || stray || s.ofProfiler(p) {
			continue
		}
		if s.forked == nil {
			s.forked = map[proc]bool{}
		}
		s.forked[id] = true
		s.ended.Forked = append(s.ended.Forked, Process{p.pid, p.name})
	}
}

// noteBusy counts as progress a new process, or more than two per cent of one
// core since the last progress: an agent that polls uses less.
func (s *supervisor) noteBusy(now time.Time) {
	cpu, since := s.tree.cpu(), now.Sub(s.lastBusy)
	if used := cpu - s.busyMark; len(s.tree.ever) != s.members || (used > 2*clockTick && used > since/50) {
		s.lastBusy, s.busyMark, s.members = now, cpu, len(s.tree.ever)
	}
}

// The workload shares its output with nsys and may print nearly the same, so the
// whole form counts.
var (
	nsysGenerating = regexp.MustCompile(`^Generating '/.*/nsys-report-[0-9a-f]+\.qdstrm'$`)
	nsysWritten    = regexp.MustCompile(`^\[\d+/\d+\] \[=*100%\] \S.*\.(?:nsys-rep|qdrep|sqlite)$`)
)

func (s *supervisor) line(stderr bool, text string) {
	l := Line{Stderr: stderr, Text: text, At: time.Since(s.began)}
	// What is printed once the program was asked to stop says how it stops, not
	// what it was doing.
	if quote := Quote(text); quote != "" && s.requests == 0 {
		s.ended.LastLine = Line{Stderr: stderr, Text: quote, At: l.At}
	}
	if s.job.Profiler == Nsys && !stderr {
		switch {
		case nsysGenerating.MatchString(text):
			s.generating, s.full = true, time.Time{}
		case text == "Generated:":
			s.generating = false
		case nsysWritten.MatchString(text):
			s.full = time.Now()
		}
	}
	if s.job.OnLine != nil {
		s.job.OnLine(l)
	}
}

// settle lets what outlives the program come to its own end. Where a signal
// ended the program, the profiler's other processes may still be writing the
// report, seconds or minutes long.
func (s *supervisor) settle(ctx context.Context) {
	from := time.Now()
	done := ctx.Done()
	if ctx.Err() != nil {
		done = nil
	}
	for !s.ended.Killed {
		s.scanned = time.Time{}
		s.observe(time.Now())
		rest := s.tree.rest()
		limit := s.limits.Settle
		if s.mayStillWrite(rest) {
			limit = s.limits.Finish
		}
		if len(rest) == 0 || limit < 0 || time.Since(from) > limit || s.idle(time.Now(), from) {
			return
		}
		select {
		case <-done:
			done = nil
			if s.requests == 0 || s.pressed {
				s.noteStop()
				return
			}
		case <-s.job.Interrupts:
			s.pressed = true
			if s.requests > 0 && ctx.Err() == nil && time.Since(s.asked) < repeatWindow {
				continue
			}
			s.noteStop()
			return
		case <-time.After(pollEvery):
		}
	}
}

// idle tells that what outlives the program since then has shown no sign of life for
// longer than it may.
func (s *supervisor) idle(now, since time.Time) bool {
	limit := s.limits.Stall
	if s.requests > 0 {
		limit = s.limits.Grace
	}
	return over(limit, min(now.Sub(since), now.Sub(s.lastOut), now.Sub(s.lastBusy)))
}

// noteStop counts a request that ends the waiting for what outlives the program.
func (s *supervisor) noteStop() {
	if s.requests == 0 {
		s.ended.Stopped = Interrupted
	}
	s.requests++
	s.ended.Requests = s.requests
}

func (s *supervisor) mayStillWrite(rest []proc) bool {
	asked := s.job.Profiler == Ncu && s.requests > 0 // the script that starts ncu is gone first
	if s.ended.Exit.Signal == 0 && !asked {
		return false
	}
	for _, p := range rest {
		if s.ofProfiler(p) {
			return true
		}
	}
	return false
}

// finish ends what is left, first by SIGTERM, and delivers the last lines.
func (s *supervisor) finish() {
	_ = s.tree.scan()
	if rest := s.tree.rest(); len(rest) > 0 {
		for _, p := range rest {
			s.ended.Left = append(s.ended.Left, Process{p.pid, p.name})
			signalProc(p, unix.SIGTERM)
		}
		for until := time.Now().Add(time.Second); time.Now().Before(until) && len(s.tree.rest()) > 0; {
			time.Sleep(20 * time.Millisecond)
			_ = s.tree.scan()
		}
	}
	s.ended.Alive = s.ended.Alive[:0]
	for _, p := range s.tree.kill(10 * time.Second) {
		s.ended.Alive = append(s.ended.Alive, Process{p.pid, p.name})
	}
	s.tree.clearLeft()
	s.out.close()
	s.err.close()
	s.ended.CPU = s.tree.cpu()
}
