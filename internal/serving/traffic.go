package serving

import (
	"context"
	"errors"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// errNoTraffic says that nobody sent requests.
var errNoTraffic = errors.New("no request came from outside")

// connections counts those that are open to the server; false where that cannot be
// told. A request of a client is one for as long as it is answered.
func (s *Setup) connections() (int, bool) {
	if n := portOf(s.Base); n > 0 {
		return tool.Connections(n)
	}
	return 0, false
}

// awaitTraffic waits until requests come from outside: the server makes steps, where
// it counts them, or else somebody is connected to its port, which the kernel tells
// without asking the server.
func (s *served) awaitTraffic(ctx context.Context) error {
	s.Tell(trafficAwaited, fact.Name("step", s.Step), fact.Name("url", s.Base), fact.NS("limit", s.Load.Wait))
	first := s.gauge(ctx, s.Engine.StepMetric)
	if _, known := s.connections(); !known && first == nil {
		s.warn("", trafficUnseen)
		return nil
	}
	for began := time.Now(); time.Since(began) < s.Load.Wait; {
		if n, _ := s.connections(); first == nil && n > 0 || s.stepped(ctx, first) {
			s.Tell(trafficCame, fact.Name("step", s.Step), fact.Seconds("time", time.Since(began).Seconds()))
			return nil
		}
		if wait(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.server != nil { // else ncu has started it
			if err := s.healthy(); err != nil {
				return err
			}
		}
	}
	return errNoTraffic
}

// stepped tells whether the server has made steps since its counter stood at first;
// nil is that it has none.
func (s *served) stepped(ctx context.Context, first *float64) bool {
	if first == nil {
		return false
	}
	now := s.gauge(ctx, s.Engine.StepMetric)
	return now != nil && *now > *first
}

// outside gives what notes in a window how much traffic comes from outside: the most
// connections, looked at all the time, and the steps since.
func (s *served) outside(ctx context.Context) func(*load.Window) {
	if s.Load.Kind != plan.LoadNone {
		return func(*load.Window) {}
	}
	first, looked := s.gauge(ctx, s.Engine.StepMetric), time.Now()
	return func(w *load.Window) {
		if n, known := s.connections(); known && (w.Connections == nil || n > *w.Connections) {
			w.Connections = &n
		}
		if first == nil || time.Since(looked) < time.Second {
			return
		}
		looked = time.Now()
		if now := s.gauge(ctx, s.Engine.StepMetric); now != nil {
			made := *now - *first
			w.EngineSteps = &made
		}
	}
}

// judgeTraffic warns of a window in which nothing came from outside.
func (s *served) judgeTraffic(w *load.Window) {
	if w.EngineSteps != nil && *w.EngineSteps == 0 || w.EngineSteps == nil && w.Connections != nil && *w.Connections == 0 {
		s.warn(w.Name, trafficless, fact.Name("window", w.Name))
	}
}
