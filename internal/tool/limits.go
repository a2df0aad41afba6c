package tool

import (
	"context"
	"errors"
	"time"
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
