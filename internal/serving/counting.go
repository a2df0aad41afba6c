package serving

import (
	"cmp"
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
	Counting
	limit   time.Duration // of the load
	done    atomic.Int64
	began   time.Time
	clients int        // of ours that decode
	times   []float64  // seconds from began to each step forward
	stats   load.Stats // of the requests, up to the end of the load
	why     string     // it ended without a word of ncu's; "" where it went its way
	// complete: what was to be counted has been counted, or every step that was to
	// come has come.
	complete bool
	giveUp   context.CancelCauseFunc
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
	Wanted   int           // launches; 0 where that is not known
	Expected time.Duration // that it takes; 0 where that is not known
	Logs     string        // folder of ncu's logs, which hold those of the server
	// Prompts are the steps to count that have prompts: the tokens of each, 0 for as
	// many as the load draws. None is one such prompt.
	Prompts [][]int
	// Batch is how many sequences decode in a step; 0 where that is not known.
	Batch int
	// Take starts ncu, tells how far it is, and returns when it has ended.
	Take func(context.Context, func(capture.Progress)) (capture.Outcome, error)
}

// Count drives the server while ncu counts its launches. The record has no window
// where no client of deepprof's own drove it.
func (s Setup) Count(ctx context.Context, n Counting) (Measured, error) {
	c := &counted{served: s.begin(), Counting: n, limit: max(s.CountersTime, 2*n.Expected), began: time.Now()}
	if len(c.Prompts) == 0 {
		c.Prompts = [][]int{{0}}
	}
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
	if o.Usable && c.done.Load() >= int64(c.Wanted) || o.Kind == capture.Interrupted {
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
		err = c.drive(ctx, c.few)
	}
	if err != nil {
		if ctx.Err() == nil { // else ncu has ended, and says why
			c.why = err.Error()
			c.end(ctx)
		}
		return
	}
	start, stop, own := c.Engine.ProfileURLs(c.Base)
	var counting atomic.Int64 // the moment on the clock of the requests, from which steps are counted; 0 for not yet
	if !own {
		counting.Store(1)
	}
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	prompted := make(chan struct{})
	go func() {
		defer close(prompted)
		c.prompt(asking, &counting)
	}()
	if own {
		c.untilDecoding(ctx)
		c.switchProfiler(ctx, start, c.Engine.Profile.Body, time.Minute)
		if c.load != nil {
			counting.Store(c.load.Now())
		}
	}
	c.complete = c.untilCounted(ctx, prompted, &counting)
	if own {
		c.switchProfiler(ctx, stop, "", stopTime) // SIGTERM ends it as well
	}
	stopAsking()
	<-prompted
	c.stopLoad()
	c.end(ctx)
}

// few are the clients that decode while launches are counted: the others' prompts
// are sent one step at a time, by prompt. Requests may take as long as the counting.
func (c *counted) few(o *load.Options) {
	most := 0
	for _, p := range c.Prompts {
		most = max(most, len(p))
	}
	if o.Rate > 0 {
		o.Concurrency = cmp.Or(c.Batch, o.Concurrency)
	} else {
		o.Concurrency = max(0, o.Concurrency-most)
	}
	o.Rate, o.Timeout = 0, requestTime*c.limit
	c.clients, o.Quiet = o.Concurrency, o.Concurrency == 0
}

// prompt sends prompts until each step that is to be counted has come, one after the
// other: under ncu a step takes seconds, and the answers of clients take minutes, so
// that none would come by itself. Before counting is on the first ones come again and
// again, so that one is under way when it begins. Where nobody else decodes, they have
// answers of some tokens.
func (c *counted) prompt(ctx context.Context, counting *atomic.Int64) {
	if c.load == nil {
		return
	}
	output := 1
	if c.clients == 0 {
		output = 3
	}
	c.untilDecoding(ctx)
	for k, failures := 0, 0; k < len(c.Prompts) && ctx.Err() == nil; {
		ok := c.load.Ask(ctx, c.Prompts[k], output)
		if !ok {
			failures++
			wait(ctx, 100*time.Millisecond)
		}
		if passed := c.passed(c.load.Now(), counting); passed && (ok || failures > 2) {
			k, failures = k+1, 0
		}
	}
}

// passed tells whether what came at a moment was computed while launches were counted.
func (c *counted) passed(at int64, counting *atomic.Int64) bool {
	on := counting.Load()
	return on > 0 && at > on+int64(onTime)
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

// untilDecoding waits until every client has its first token.
func (c *counted) untilDecoding(ctx context.Context) {
	if c.load == nil {
		return
	}
	for until := time.Now().Add(c.WarmupLimit); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 10*time.Millisecond) {
		if open, waiting := c.load.Open(); open-waiting >= c.clients {
			return
		}
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
	status, said, err := Call(ctx, http.MethodPost, url, body, limit)
	if ctx.Err() == nil && (err != nil || status != http.StatusOK) {
		params := []fact.Param{fact.Name("url", url), fact.Count("status", status), fact.Vendor("answer", tool.Quote(said))}
		if err != nil {
			params = append(params, fact.Error("error", err))
		}
		c.Tell(profilerSwitch, params...)
	}
}

// untilCounted waits until ncu has what it was asked for or every step that was to come
// has come; false where the time was over before. Under a load of the user's nothing tells of steps:
// there it waits until nothing more is counted for a while.
func (c *counted) untilCounted(ctx context.Context, prompted <-chan struct{}, counting *atomic.Int64) bool {
	last, since := int64(-1), time.Now()
	for until := time.Now().Add(c.limit); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		if now := c.done.Load(); now != last {
			last, since = now, time.Now()
		}
		if c.Wanted > 0 && last >= int64(c.Wanted) {
			return true
		}
		if c.load == nil && last > 0 && time.Since(since) > quietTime {
			return true
		}
		select {
		case <-prompted:
			if c.load != nil && c.decoded(counting) {
				return true
			}
		default:
		}
	}
	return false
}

// decoded tells whether a step of decode came to its end while launches were counted.
func (c *counted) decoded(counting *atomic.Int64) bool {
	for _, r := range c.load.Requests() {
		for i, at := range r.Tokens {
			if i > 0 && c.passed(at, counting) {
				return true
			}
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
	// Inside a step that ncu slows down a worker hears no signal, so that ncu was ended
	// with it: nothing is missing for that.
	if c.complete && o.Usable && o.Kind == capture.TimedOut {
		o.Kind, o.What = capture.WithWarnings, fact.New(serverCounted, fact.Count("n", c.done.Load()))
		o.Cause = fact.Fact{}
		o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(serverKilled, fact.NS("limit", c.Stop))})
	}
	if c.why != "" && o.Kind != capture.Interrupted {
		o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(underNcu, fact.ErrorText("error", tool.Quote(c.why)))})
	}
	if c.load == nil {
		return
	}
	c.record.Counted = c.times
	c.record.Window = append(c.record.Window, load.Window{Name: "counters", Kind: load.Counted, To: c.load.Now(), Stats: &c.stats})
}
