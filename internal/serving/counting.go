package serving

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// A counted drives the server while ncu counts its launches: requests wait for
// each counted launch, and nothing but the server's own end ends ncu.
type counted struct {
	*served
	Counting
	limit time.Duration // of the load
	began time.Time
	base  int // clients of ours that decode all the time
	batch int // sequences of ours that decode in a step without prompts
	// complete: what was to be counted has been counted, or every step that was to
	// come has come.
	complete bool
	why      string     // it ended without a word of ncu's; "" where it went its way
	stats    load.Stats // of the requests, up to the end of the load
	giveUp   context.CancelCauseFunc
	flooded  atomic.Bool

	tally tally
}

// quietTime is how long no launch may be counted under a load of the user's before
// none is expected any more.
const quietTime = 30 * time.Second

// stopTime is how long the server may take to switch its profiler off: a step
// under ncu can last for minutes.
const stopTime = 5 * time.Second

// requestTime is how many times the limit of the load a request may take: one that
// is given up makes the server compute its prompt again.
const requestTime = 4

// onTime is how long after counting was switched on a token may still come of a step
// that began before.
const onTime = time.Second

// A Counting is what ncu is to count of a server.
type Counting struct {
	// Kernels are the launches to count, by the name that ncu prints, and nothing else
	// is let through by its filter; nil where that is not known.
	Kernels map[string]int
	// Asked are those of Kernels that were chosen. The others need not come: they are of
	// steps that nobody makes. Nil where that is not known.
	Asked    map[string]int
	Expected time.Duration // that it takes; 0 where that is not known
	Logs     string        // folder of ncu's logs, which hold those of the server
	// Prompts are the steps to count that have prompts. None is one with one prompt.
	Prompts []Prompting
	// Batch is how many sequences decode in a step without prompts; 0 where that is not
	// known.
	Batch int
	// Gate is a file that lets ncu count while it is there; "" where the engine's own
	// profiler does, or nothing is to be switched.
	Gate string
	// Take starts ncu, tells the name of each launch that it has counted, and returns
	// when it has ended.
	Take func(ctx context.Context, counted func(kernel string)) (capture.Outcome, error)
}

// Count drives the server while ncu counts its launches. The record has no window
// where no client of deepprof's own drove it.
func (s Setup) Count(ctx context.Context, n Counting) (Measured, error) {
	c := &counted{served: s.begin(), Counting: n, limit: max(s.CountersTime, 2*n.Expected), began: time.Now()}
	if len(c.Prompts) == 0 {
		c.Prompts = []Prompting{{Lengths: []int{0}, Decoding: -1}}
	}
	counting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	c.giveUp = giveUp
	driving, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { c.follow(driving) })
	working.Go(func() { c.watchLogs(driving) })
	o, err := n.Take(counting, func(kernel string) { c.tally.note(kernel, time.Since(c.began)) })
	cancel()
	working.Wait()
	c.finishCounting(&o)
	c.judgeWatchdog(&o, n.Logs)
	return Measured{Outcome: o, Record: c.record}, err
}

// logNames are the logs of a process of ncu.
var logNames = []string{runs.StderrName, runs.StdoutName}

// watchLogs ends a server that prints without end, as one is ended without ncu.
func (c *counted) watchLogs(ctx context.Context) {
	for ; ctx.Err() == nil; wait(ctx, 250*time.Millisecond) {
		for _, name := range logNames {
			if tooLong(filepath.Join(c.Logs, name), int64(c.MaxLog)*1e6) {
				c.flooded.Store(true)
				c.end(ctx)
				return
			}
		}
	}
}

// judgeWatchdog says that the server did not survive replay where its log, which
// ncu's log holds, tells so.
func (c *counted) judgeWatchdog(o *capture.Outcome, dir string) {
	if o.Usable && c.complete || o.Kind == capture.Interrupted {
		return
	}
	for _, name := range logNames {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !engine.GaveUp(line) {
				continue
			}
			said := fact.New(gaveUp, fact.Vendor("said", tool.Quote(strings.TrimSpace(line))))
			o.Warnings = append(o.Warnings, capture.Warning{Fact: said})
			if !o.Usable {
				o.Kind, o.What = capture.HungCollective, said
			}
			return
		}
	}
}

// follow drives the server and ends it once everything is counted.
func (c *counted) follow(ctx context.Context) {
	err := c.untilReady(ctx, c.ReadyTimeout)
	if err == nil {
		err = c.drive(ctx, c.few)
	}
	if err != nil {
		if ctx.Err() == nil { // else ncu has ended, and says why
			c.why = err.Error()
			c.end(ctx)
		}
		return
	}
	var counting atomic.Int64 // the moment on the clock of the requests, from which steps are counted; 0 for not yet
	on, off := c.switches()
	if on == nil {
		counting.Store(1)
	}
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	prompted := make(chan struct{})
	go func() {
		defer close(prompted)
		c.rounds(asking, &counting)
	}()
	if on != nil {
		c.untilDecoding(ctx, c.base, c.WarmupLimit)
		on(ctx)
		if c.load != nil {
			counting.Store(c.load.Now())
		}
	}
	c.complete = c.untilCounted(ctx, prompted)
	if off != nil {
		off(ctx) // SIGTERM ends it as well
	}
	stopAsking()
	<-prompted
	c.stopLoad()
	c.end(ctx)
}

// switches have ncu count and no longer count; nil where it counts from the start.
func (c *counted) switches() (on, off func(context.Context)) {
	if c.Gate != "" {
		return func(context.Context) {
			if err := os.WriteFile(c.Gate, nil, 0o644); err != nil {
				c.Tell(gateShut, fact.Error("error", err))
			}
		}, func(context.Context) { os.Remove(c.Gate) }
	}
	start, stop, own := c.Engine.ProfileURLs(c.Base)
	if !own {
		return nil, nil
	}
	return func(ctx context.Context) { c.switchProfiler(ctx, start, c.Engine.Profile.Body, time.Minute) },
		func(ctx context.Context) { c.switchProfiler(ctx, stop, "", stopTime) }
}

// stopLoad ends the requests and keeps what they showed.
func (c *counted) stopLoad() {
	if c.load != nil {
		list := c.load.Requests() // those that are open leave no record
		c.stats, c.record.Steps = load.Between(list, 0, c.load.Now(), load.Target{}), load.Arrivals(list)
		c.load.Stop()
	}
	if c.loader != nil {
		c.loader.Stop()
	}
}

// wait waits for a time, or for the end of the context.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// untilReady waits until the server answers; ncu's own end cancels the context.
func (c *counted) untilReady(ctx context.Context, limit time.Duration) error {
	probe := c.probe()
	if strings.HasPrefix(probe, "log:") { // its output goes to ncu's log
		probe = "tcp:" + Address(c.Base)
	}
	return Ready(ctx, probe, limit)
}

// switchProfiler calls an endpoint of the server. The answer may wait for ncu.
func (c *counted) switchProfiler(ctx context.Context, url, body string, limit time.Duration) {
	status, answer, err := Call(ctx, http.MethodPost, url, body, limit)
	if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
		params := []fact.Param{fact.Name("url", url), fact.Count("status", status), fact.Vendor("answer", tool.Quote(answer))}
		if err != nil {
			params = append(params, fact.Error("error", err))
		}
		c.Tell(profilerSwitch, params...)
	}
}

// untilCounted waits until ncu has what it was asked for, or every step that was to
// come has come and brings nothing new; false where the time was over before. Under a load of
// the user's nothing tells of steps: there it waits until nothing more is counted for a while.
func (c *counted) untilCounted(ctx context.Context, prompted <-chan struct{}) bool {
	last, since := 0, time.Now()
	for until := time.Now().Add(c.limit); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		if now := c.tally.done(); now != last {
			last, since = now, time.Now()
		}
		if c.tally.has(c.Kernels) {
			return true
		}
		if c.load == nil {
			if last > 0 && time.Since(since) > quietTime {
				return true
			}
			continue
		}
		select {
		case <-prompted:
			return true
		default:
		}
	}
	return false
}

// end sends SIGTERM to the server, after which ncu writes its report and ends, and
// cancels the context. A server that goes on is killed after stop_s; where ncu does not
// end then either, or nothing listens that could be told, ncu is given up. A signal to
// ncu comes last, for it would cut the report.
func (c *counted) end(ctx context.Context) {
	for _, s := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, c.Stop}, {syscall.SIGKILL, stopTime}} {
		if ctx.Err() != nil {
			return
		}
		if !signalHolder(c.Base, s.signal) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.wait):
		}
	}
	c.giveUp(tool.ErrTimedOut)
}

// signalHolder sends a signal to the process that listens on the port of a URL, which ncu
// started; false where none does.
func signalHolder(url string, signal syscall.Signal) bool {
	p, ok := portHolderOf(url)
	if !ok {
		return false
	}
	process, err := os.FindProcess(p.PID)
	return err == nil && process.Signal(signal) == nil
}

// finishCounting adds what the requests showed to the verdict on ncu.
func (c *counted) finishCounting(o *capture.Outcome) {
	// Inside a step that ncu slows down a worker hears no signal, so that ncu was ended
	// with it: nothing is missing for that.
	if c.complete && o.Usable && o.Kind == capture.TimedOut {
		o.Kind, o.What = capture.WithWarnings, fact.New(serverCounted, fact.Count("n", c.tally.done()))
		o.Cause = fact.Fact{}
		o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(serverKilled, fact.NS("limit", c.Stop))})
	}
	if c.flooded.Load() && o.Kind != capture.Interrupted {
		flood := capture.Verdict(capture.WorkloadFailed, fact.New(serverFlooded, fact.Bytes("limit", int64(c.MaxLog)*1e6)))
		flood.Cause = fact.New(causeServer, fact.File("dir", c.Logs))
		o.Kind, o.What, o.Cause = flood.Kind, flood.What, flood.Cause
	}
	if c.why != "" && o.Kind != capture.Interrupted {
		o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(underNcu, fact.ErrorText("error", tool.Quote(c.why)))})
	}
	if c.load == nil {
		return
	}
	c.record.Counted = c.tally.times()
	c.record.Window = append(c.record.Window, load.Window{Name: "counters", Kind: load.Counted, To: c.load.Now(), Stats: &c.stats})
}
