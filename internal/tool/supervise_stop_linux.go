package tool

import (
	"cmp"
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// press handles a request that came through Job.Interrupts. With the context
// ended as well it is the second one, in whichever order they are seen.
func (s *supervisor) press(ctx context.Context) {
	s.pressed = true
	if s.requests > 0 && ctx.Err() != nil {
		s.insist()
		return
	}
	if s.requests == 0 || time.Since(s.asked) >= repeatWindow {
		s.ask(Interrupted)
	}
}

// canceled handles the end of the context: a first request, or a second one
// after a first through Job.Interrupts. Its cause may be a limit of the caller's.
func (s *supervisor) canceled(ctx context.Context) {
	switch {
	case s.pressed:
		s.insist()
	case s.requests == 0 && errors.Is(context.Cause(ctx), ErrTimedOut):
		s.ask(TimedOut)
	case s.requests == 0:
		s.ask(Interrupted)
	}
}

// ask handles one request to stop: the first is polite, the second is not.
func (s *supervisor) ask(why StopReason) {
	if s.requests > 0 {
		s.insist()
		return
	}
	if part := Quote(s.out.pending()); part != "" { // a line that has begun
		s.ended.LastLine = Line{Text: part, At: time.Since(s.began)}
	}
	s.requests, s.asked, s.pending = 1, time.Now(), true
	s.ended.Stopped, s.ended.Requests = why, 1
}

func (s *supervisor) insist() {
	s.requests++
	s.ended.Requests = s.requests
	if !s.ended.Killed {
		s.killAll()
	}
}

// launcherEnds is how long a launcher may take to end ranks that it was told to
// end.
const launcherEnds = 3 * time.Second

func (s *supervisor) killAll() {
	s.ended.Killed = true
	s.pending = false
	if s.job.Stop != nil {
		_ = unix.Kill(s.tree.root, unix.SIGTERM)
		for until := time.Now().Add(launcherEnds); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			if _ = s.tree.scan(); len(s.tree.live()) == 0 {
				break
			}
		}
	}
	for _, p := range s.tree.kill(10 * time.Second) {
		s.ended.Alive = append(s.ended.Alive, Process{p.pid, p.name})
	}
}

// enforce sends what is due: the one polite signal, or the end of patience.
func (s *supervisor) enforce(now time.Time) {
	if s.pending && s.maySignal(now) {
		s.pending = false
		s.signal(cmp.Or(s.job.Signal, syscall.SIGINT))
	}
	spent, quiet := now.Sub(s.began), now.Sub(s.lastOut)
	reporting := s.ended.TargetSeen && !s.targetGone.IsZero()
	switch {
	case reporting && over(s.limits.Finish, now.Sub(s.targetGone)):
		if s.requests == 0 {
			s.requests, s.asked, s.ended.Stopped, s.ended.Requests = 1, now, TimedOut, 1
		}
		s.killAll()
	case reporting && s.requests == 0:
		if over(s.limits.Stall, min(quiet, now.Sub(s.lastBusy))) {
			s.ask(Stalled)
		}
	case reporting, s.requests > 0 && s.generating: // a report takes its time, but not without a sign of life
		if over(s.limits.Grace, min(now.Sub(s.asked), quiet, now.Sub(s.lastBusy))) {
			s.killAll()
		}
	case s.requests > 0:
		if over(s.limits.Grace, now.Sub(s.asked)) {
			s.killAll()
		}
	case over(s.limits.Timeout, spent):
		s.ask(TimedOut)
	case over(s.silence(), quiet), over(s.limits.Stall, min(quiet, now.Sub(s.lastBusy))):
		s.ask(Stalled)
	}
}

func (s *supervisor) silence() time.Duration {
	if s.job.Patience != nil {
		last := s.ended.LastLine.Text
		if part := s.out.pending(); part != "" {
			last = part
		}
		if d := s.job.Patience(last); d > 0 {
			return d
		}
	}
	return s.limits.Silence
}

// maySignal holds back the signal to nsys until its target lives, and while a
// report is being written; see Job.Profiler. With the target gone there is
// nothing left to stop.
func (s *supervisor) maySignal(now time.Time) bool {
	if s.job.Profiler != Nsys || s.job.Stop != nil {
		return true
	}
	if !s.targetGone.IsZero() {
		return false
	}
	if s.generating && !s.full.IsZero() && now.Sub(s.full) > 2*time.Second {
		s.generating = false
	}
	return s.target && !s.generating
}

func (s *supervisor) signal(sig unix.Signal) {
	if s.job.Stop != nil {
		s.job.Stop()
		return
	}
	if s.job.Profiler == Nsys {
		_ = unix.Kill(s.tree.root, sig)
		return
	}
	_ = unix.Kill(-s.tree.root, sig)
}
