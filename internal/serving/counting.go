package serving

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/tool"
)

// A counted drives the server while ncu counts its launches: requests wait for
// each counted launch, and nothing but the server's own end ends ncu.
type counted struct {
	*served
	wanted int           // launches; 0 where that is not known
	limit  time.Duration // of the load
	done   atomic.Int64
	began  time.Time
	times  []float64  // seconds from began to each step forward
	stats  load.Stats // of the requests, up to the end of the load
	why    string     // it ended without a word of ncu's; "" where it went its way
	giveUp context.CancelCauseFunc
}

// quietTime is how long no launch may be counted under load before none is
// expected any more.
const quietTime = 30 * time.Second

// stopTime is how long the server may take to switch its profiler off: a step
// under ncu can last for minutes.
const stopTime = 5 * time.Second

// requestTime is how many times the limit of the load a request may take: one that
// is given up makes the server compute its prompt again.
const requestTime = 4

// A Counting is what ncu is to count of a server.
type Counting struct {
	Wanted   int           // launches; 0 where that is not known
	Expected time.Duration // that it takes; 0 where that is not known
	Logs     string        // folder of ncu's logs, which hold those of the server
	// Take starts ncu, tells how far it is, and returns when it has ended.
	Take func(context.Context, func(capture.Progress)) (capture.Outcome, error)
}

// Count drives the server while ncu counts its launches. The record has no window
// where no client of deepprof's own drove it.
func (s Setup) Count(ctx context.Context, n Counting) (Measured, error) {
	c := &counted{served: s.begin(), wanted: n.Wanted, limit: max(s.CountersTime, 2*n.Expected), began: time.Now()}
	counting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	c.giveUp = giveUp
	driving, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.follow(driving)
	}()
	o, err := n.Take(counting, func(p capture.Progress) {
		if p.Stage == capture.Profiling {
			c.note(int64(p.Done))
		}
	})
	cancel()
	<-ended
	c.finishCounting(&o)
	c.judgeWatchdog(&o, n.Logs)
	return Measured{Outcome: o, Record: c.record}, err
}

// judgeWatchdog says that the server did not survive replay where its log, which
// ncu's log holds, tells so.
func (c *counted) judgeWatchdog(o *capture.Outcome, dir string) {
	if o.Usable && c.done.Load() >= int64(c.wanted) || o.Kind == capture.Interrupted {
		return
	}
	for _, name := range []string{"stderr.log", "stdout.log"} {
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

// note keeps when launches were counted.
func (c *counted) note(done int64) {
	if c.done.Swap(done) != done {
		c.times = append(c.times, time.Since(c.began).Seconds())
	}
}

// follow drives the server and ends it once everything is counted.
func (c *counted) follow(ctx context.Context) {
	err := c.untilReady(ctx, c.ReadyTimeout)
	if err == nil {
		err = c.drive(ctx, requestTime*c.limit)
	}
	if err != nil {
		if ctx.Err() == nil { // else ncu has ended, and says why
			c.why = err.Error()
			c.end(ctx)
		}
		return
	}
	start, stop, own := c.Engine.ProfileURLs(c.Base)
	if own {
		c.untilPrompted(ctx, c.WarmupLimit)
		c.switchProfiler(ctx, start, c.Engine.Profile.Body, time.Minute)
	}
	c.untilCounted(ctx, c.limit)
	if own {
		c.switchProfiler(ctx, stop, "", stopTime) // SIGTERM ends it as well
	}
	c.stopLoad()
	c.end(ctx)
}

// stopLoad ends the requests and keeps what they showed.
func (c *counted) stopLoad() {
	if c.load != nil {
		c.stats = load.Between(c.load.Requests(), 0, c.load.Now(), load.Target{}) // those that are open leave no record
		c.load.Stop()
	}
	if c.loader != nil {
		c.loader.Stop()
	}
}

// countedPrompts is how many prompts are counted before steps that only decode: a
// step takes seconds under ncu, and the prompts of all clients would take minutes.
const countedPrompts = 2

// untilPrompted waits until few clients wait for their first token, so that steps
// of both kinds are counted soon.
func (c *counted) untilPrompted(ctx context.Context, limit time.Duration) {
	if c.load == nil {
		return
	}
	all := 1
	if l := c.Load; l.Rate == 0 {
		all = max(1, l.Concurrency)
	}
	for until := time.Now().Add(limit); time.Now().Before(until) && ctx.Err() == nil; {
		if open, waiting := c.load.Open(); open >= all && waiting <= countedPrompts {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
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
	status, said, err := Call(ctx, http.MethodPost, url, body, limit)
	if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
		params := []fact.Param{fact.Name("url", url), fact.Count("status", status), fact.Vendor("answer", tool.Quote(said))}
		if err != nil {
			params = append(params, fact.Error("error", err))
		}
		c.Tell(profilerSwitch, params...)
	}
}

// untilCounted waits until ncu has what it was asked for, nothing more comes, or
// the time is over.
func (c *counted) untilCounted(ctx context.Context, limit time.Duration) {
	last, since, renewed := int64(-1), time.Now(), time.Time{}
	var from int64 // the moment of since on the clock of the requests
	for until := time.Now().Add(limit); time.Now().Before(until) && ctx.Err() == nil; {
		if now := c.done.Load(); now != last {
			last, since = now, time.Now()
			if c.load != nil {
				from = c.load.Now()
			}
		}
		if c.wanted > 0 && last >= int64(c.wanted) || last > 0 && time.Since(since) > quietTime && (c.load == nil || bothPassed(c.load.Requests(), from)) {
			return
		}
		if time.Since(since) > renewTime && time.Since(renewed) > renewTime || renewed.IsZero() {
			c.renewPrompts()
			renewed = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// renewTime is how long nothing may be counted before prompts are sent: launches of
// prompts may be what is left, and answers take minutes under ncu.
const renewTime = 10 * time.Second

// renewPrompts has some clients give up their answers for new prompts, where none
// waits.
func (c *counted) renewPrompts() {
	if c.load == nil || c.Load.Rate > 0 { // in an open loop they come by themselves
		return
	}
	if _, waiting := c.load.Open(); waiting == 0 {
		c.load.Renew(countedPrompts)
	}
}

// bothPassed tells whether both kinds of step came to their end after a moment: a
// prompt has its first token, and an answer another one. A step can take longer
// than quietTime under ncu without a launch that is counted.
func bothPassed(requests []load.Request, from int64) bool {
	var prompt, decode bool
	for _, r := range requests {
		for i, at := range r.Tokens {
			prompt = prompt || i == 0 && at > from
			decode = decode || i > 0 && at > from
		}
	}
	return prompt && decode
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
		if !signalHolder(Address(c.Base), s.signal) {
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

// signalHolder sends a signal to the process that listens on an address, which ncu
// started; false where none does.
func signalHolder(address string, signal syscall.Signal) bool {
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		return false
	}
	p, ok := tool.PortHolder(port)
	if !ok {
		return false
	}
	process, err := os.FindProcess(p.PID)
	return err == nil && process.Signal(signal) == nil
}

// finishCounting adds what the requests showed to the verdict on ncu.
func (c *counted) finishCounting(o *capture.Outcome) {
	if c.why != "" && o.Kind != capture.Interrupted {
		o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(underNcu, fact.ErrorText("error", tool.Quote(c.why)))})
	}
	if c.load == nil {
		return
	}
	c.record.Counted = c.times
	c.record.Window = append(c.record.Window, load.Window{Name: "counters", Kind: load.Counted, To: c.load.Now(), Stats: &c.stats})
}
