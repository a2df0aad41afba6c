package serving

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// errLoad says that the load has ended or fails; its text is the evidence.
var errLoad = errors.New("the load failed")

// drive starts what sends requests. Change, where it is not nil, has the last word
// about the built-in client.
// Without a load of ours it waits for the traffic of others. A load command that cannot be
// started is found later, by healthy.
func (s *served) drive(ctx context.Context, change func(*load.Options)) error {
	l := s.Load
	switch l.Kind {
	case plan.LoadNone:
		return s.awaitTraffic(ctx)
	case plan.LoadCommand:
		s.loader = Start(ctx, Options{
			Command: tool.Command{Path: l.Command[0], Args: l.Command[1:], Dir: s.Dir, Env: s.Env}, Stop: s.Stop,
			Stdout: filepath.Join(s.Folder, runs.LoadStdout), Stderr: filepath.Join(s.Folder, runs.LoadStderr),
		})
		return nil
	}
	o, err := s.clientOptions(ctx)
	if err != nil {
		return err
	}
	if change != nil {
		change(&o)
	}
	s.record.Shape = &load.Shape{Endpoint: l.Endpoint, Model: o.Model, Concurrency: l.Concurrency, Rate: l.Rate, Prompt: l.Prompt, Output: l.Output, Seed: l.Seed}
	s.load = load.Start(ctx, o)
	return nil
}

// clientOptions are those of deepprof's own client. A model that nobody named is asked of
// the server.
func (s *served) clientOptions(ctx context.Context) (load.Options, error) {
	l := s.Load
	prompt, err := load.ParseDist(l.Prompt)
	if err != nil {
		return load.Options{}, err
	}
	output, err := load.ParseDist(l.Output)
	if err != nil {
		return load.Options{}, err
	}
	o := load.Options{
		URL: s.Base, Chat: l.Endpoint == "chat", Model: l.Model, Prompt: prompt, Output: output, Concurrency: l.Concurrency, Rate: l.Rate,
		Seed: uint64(l.Seed), Vocabulary: l.Vocabulary, IgnoreEOS: l.IgnoreEOS, Timeout: l.Timeout,
	}
	if o.Model == "" {
		o.Model, err = s.firstModel(ctx)
	}
	return o, err
}

// firstModel asks the server which model it has.
// The error wraps errLoad.
func (s *served) firstModel(ctx context.Context) (string, error) {
	status, text, err := Call(ctx, http.MethodGet, strings.TrimSuffix(s.Base, "/")+"/v1/models", "", 10*time.Second)
	var list struct{ Data []struct{ ID string } }
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal([]byte(text), &list)
	}
	if err != nil || len(list.Data) == 0 {
		return "", fmt.Errorf("%w: %s/v1/models lists no model (HTTP %d); name it with pipeline.server.load.model", errLoad, s.Base, status)
	}
	return list.Data[0].ID, nil
}

// healthy tells that the server lives and that the load goes on.
func (s *served) healthy() error {
	if s.server.Died() || !s.server.Alive() {
		return errors.New("the server has ended")
	}
	if s.loader != nil && !s.loader.Alive() {
		ended, err := s.loader.Result()
		if err != nil {
			return fmt.Errorf("%w: %w", errLoad, err)
		}
		printed := strings.Join(s.loader.Output(), "\n")
		return fmt.Errorf("%w: the command ended with %s before the last window: %s", errLoad, ended.Exit, printed[strings.LastIndexByte(printed, '\n')+1:])
	}
	return nil
}

// hold waits for a time in which the server and the load must go on.
// done is asked about every 50 ms and ends the wait early; nil never does. nil comes back also
// when the time is over. The end of ctx is returned as its cause.
func (s *served) hold(ctx context.Context, d time.Duration, done func() bool) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(50*time.Millisecond, time.Until(until))):
		}
		if err := s.healthy(); err != nil {
			return err
		}
		if done != nil && done() {
			return nil
		}
	}
	return nil
}

// errSilent says that the server lives and answers nothing any more.
var errSilent = errors.New("the server stopped answering")

// silence is how long no token may come after a window: nsys stops the process
// for a moment while it takes what was collected, and has been seen not to let it
// go on.
const silence = 20 * time.Second

// answers waits after a window until tokens come again, a second at least.
func (s *served) answers(ctx context.Context, window string) error {
	if s.load == nil {
		return s.hold(ctx, time.Second, nil)
	}
	from := s.load.Now()
	came := func() bool {
		return time.Duration(s.load.Now()-from) > time.Second && load.Between(s.load.Requests(), from, s.load.Now(), load.Target{}).Tokens > 0
	}
	if err := s.hold(ctx, silence, came); err != nil || came() {
		return err
	}
	if since := load.Between(s.load.Requests(), from, s.load.Now(), load.Target{}); since.Errors > 0 { // it answers, but does not serve: a worker of it is gone
		return fmt.Errorf("%w: no token came after %s, %d errors %v: %s", errLoad, window, since.Errors, slices.Sorted(maps.Keys(since.ErrorKinds)), since.Sample)
	}
	return fmt.Errorf("%w: no token came for %s after %s", errSilent, silence, window)
}

// warmUp drives the server until what its clients see holds still.
// Three intervals of a second must agree. Load that is still unsteady at WarmupLimit is a
// warning; no token at all wraps errLoad. Without a client of ours it only waits.
func (s *served) warmUp(ctx context.Context) error {
	began := time.Now()
	defer func() { s.record.Warmup = time.Since(began).Seconds() }()
	if s.load == nil {
		return s.hold(ctx, s.Warmup, nil)
	}
	const interval = time.Second
	var stats []load.Stats
	for time.Since(began) < s.WarmupLimit {
		from := s.load.Now()
		if err := s.hold(ctx, interval, nil); err != nil {
			return err
		}
		stats = append(stats, load.Between(s.load.Requests(), from, s.load.Now(), load.Target{}))
		if n := len(stats); time.Since(began) >= s.Warmup && n > 2 && load.Steady(stats[n-2], stats[n-1], s.Steady) && load.Steady(stats[n-3], stats[n-1], s.Steady) {
			s.record.Steady = true
			return nil
		}
	}
	all := load.Between(s.load.Requests(), 0, s.load.Now(), load.Target{})
	if all.Tokens == 0 {
		return fmt.Errorf("%w: no answer in %s, %d errors %v: %s", errLoad, s.WarmupLimit, all.Errors, all.ErrorKinds, all.Sample)
	}
	s.warn("", loadUnsteady, fact.NS("limit", s.WarmupLimit))
	return nil
}

// failedLoad judges an error of a window or of the warm-up.
func (s *served) failedLoad(ctx context.Context, err error) {
	if errors.Is(err, errLoad) && ctx.Err() == nil && !s.server.Died() {
		o := capture.Verdict(capture.LoadFailed, fact.New(loadFailed))
		o.Evidence = capture.ErrorFact(err)
		s.fail(o)
		return
	}
	if errors.Is(err, errNoTraffic) && ctx.Err() == nil && !s.server.Died() {
		o := capture.Verdict(capture.LoadFailed, fact.New(noTraffic, fact.NS("limit", s.Load.Wait), fact.Name("url", s.Base)))
		o.Cause = fact.New(causeNoTraffic)
		s.fail(o)
		return
	}
	if errors.Is(err, errSilent) && ctx.Err() == nil {
		o := s.quoted(capture.Verdict(capture.Stalled, capture.ErrorFact(err)))
		o.Cause = fact.New(causeSilent)
		s.fail(o)
		return
	}
	s.failed(ctx, err)
}

// target is what a good request meets.
func (s *served) target() load.Target {
	l := s.Load
	return load.Target{TTFT: int64(l.TTFT), TPOT: int64(l.TPOT)}
}

// measure holds a window open and notes what the clients saw in it.
// From and To are in ns on the clock of the client, or since the start of the window without
// one. The window is recorded also when it was cut short by an error.
func (s *served) measure(ctx context.Context, name string, kind load.WindowKind, d time.Duration, report string) error {
	w := load.Window{Name: name, Kind: kind, Report: report}
	began := time.Now()
	var done func() bool
	if s.load != nil {
		w.From = s.load.Now()
	}
	if kind == load.Profiled {
		done = s.windowDone(ctx, w.From)
	}
	look := s.outside(ctx)
	err := s.hold(ctx, d, func() bool {
		look(&w)
		return done != nil && done()
	})
	s.judgeTraffic(&w)
	w.Cut = err != nil
	if w.To = int64(time.Since(began)); s.load != nil {
		w.To = s.load.Now()
		stats := load.Between(s.load.Requests(), w.From, w.To, s.target())
		w.Stats = &stats
		s.judgeRequests(name, stats)
	}
	if err == nil {
		w.CacheUse, w.Memory = s.gauge(ctx, s.Engine.CacheMetric), s.gauge(ctx, s.Engine.MemoryMetric)
		w.CacheRead = s.gauge(ctx, s.Engine.ReadMetric)
		if s.Memory != nil {
			w.GPUMemory = s.Memory(began)
		}
	}
	s.record.Window = append(s.record.Window, w)
	return err
}

// windowDone tells when a profiled window has the requests or steps that it is to
// have; nil where only time ends it.
func (s *served) windowDone(ctx context.Context, from int64) func() bool {
	first := s.gauge(ctx, s.stepMetric())
	if first == nil && (s.load == nil || s.WindowRequests == 0) {
		return nil
	}
	return func() bool {
		if s.load != nil && s.WindowRequests > 0 && load.Between(s.load.Requests(), from, s.load.Now(), load.Target{}).Requests >= s.WindowRequests {
			return true
		}
		now := s.gauge(ctx, s.stepMetric())
		return first != nil && now != nil && *now-*first >= float64(s.WindowSteps)
	}
}

// stepMetric is the counter of steps where steps end a window; "" where not.
func (s *served) stepMetric() string {
	if s.WindowSteps == 0 {
		return ""
	}
	return s.Engine.StepMetric
}

// judgeRequests warns of requests that failed in a window.
func (s *served) judgeRequests(name string, stats load.Stats) {
	if stats.Errors > 0 {
		s.warn(name, requestErrors, fact.Count("n", stats.Errors), fact.Count("of", stats.Errors+stats.Requests),
			fact.Names("kinds", fact.KindName, slices.Sorted(maps.Keys(stats.ErrorKinds))), fact.Vendor("sample", tool.Quote(stats.Sample)), fact.Name("window", name))
	}
	if stats.Tokens == 0 {
		s.warn(name, noTokens, fact.Name("window", name))
	}
}

// gauge reads a value of /metrics; nil where there is none.
// The first sample of that name counts, whatever its labels are. Every call is a request of at
// most 5 seconds.
func (s *served) gauge(ctx context.Context, name string) *float64 {
	if name == "" {
		return nil
	}
	status, text, err := Call(ctx, http.MethodGet, strings.TrimSuffix(s.Base, "/")+"/metrics", "", 5*time.Second)
	if err != nil || status != http.StatusOK {
		return nil
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), " ")
		if i := strings.IndexByte(key, '{'); i >= 0 { // labels may hold spaces
			key = key[:i]
			value = lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); ok && err == nil && key == name {
			return &v
		}
	}
	return nil
}
