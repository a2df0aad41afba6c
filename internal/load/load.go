// Package load drives an LLM server with OpenAI-compatible endpoints and
// measures what its clients see. It owns the requests that are sent, the moment
// of each token, and the statistics of any interval of them.
package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what to send.
type Options struct {
	URL    string // of the server: http://host:port
	Chat   bool   // /v1/chat/completions instead of /v1/completions
	Model  string // name of the model in each request
	Prompt Dist   // tokens of a prompt
	Output Dist   // tokens of an answer
	// Concurrency is the number of clients that each wait for their answer (closed
	// loop). Rate, where it is above 0, sends requests at random moments, so many a
	// second, whether answers came or not (open loop); Concurrency is then the
	// largest number of open requests, and 0 is no limit.
	Concurrency int
	Rate        float64
	Seed        uint64
	// Vocabulary bounds the token ids of prompts. 0 sends words instead, about one
	// token each, as chat always does.
	Vocabulary int
	IgnoreEOS  bool          // ask for an answer of full length
	Timeout    time.Duration // of one request; 0 is none
	Requests   int           // to send; 0 goes on until the context ends
	Quiet      bool          // nothing is sent but by Ask
}

// A Request is what came of one request. Moments are nanoseconds since the start
// of the load, 0 where it did not come to that.
type Request struct {
	Sent   int64   `json:"sent_ns"`
	Tokens []int64 `json:"tokens_ns,omitempty"` // arrival of each piece of the answer
	End    int64   `json:"end_ns"`
	Prompt int     `json:"prompt_tokens"`
	// Output is the number of tokens by the server's own count, or else of pieces.
	Output int    `json:"output_tokens"`
	Error  string `json:"error,omitempty"` // an ErrorKind, "" for a good answer
	Detail string `json:"detail,omitempty"`
}

// A Load is one that runs.
// Its methods may be called from any goroutine.
type Load struct {
	o      Options
	client *http.Client
	began  time.Time
	done   chan struct{}
	ctx    context.Context // ends with the load
	cancel context.CancelFunc
	added  sync.WaitGroup // clients that came later; mu

	mu       sync.Mutex
	finished []Request
	open     map[*Request]bool
	sent     int
}

// Start begins to send. Stop, or the end of the context, ends it.
// It returns at once. Requests that fail are recorded, not retried; a closed-loop client
// pauses before its next one.
func Start(ctx context.Context, o Options) *Load {
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{o: o, began: time.Now(), done: make(chan struct{}), ctx: ctx, cancel: cancel, open: map[*Request]bool{}}
	l.client = &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 4096, DisableCompression: true,
	}}
	go func() {
		defer close(l.done)
		defer cancel()
		switch {
		case o.Quiet:
			<-ctx.Done()
		case o.Rate > 0:
			l.openLoop(ctx)
		default:
			l.closedLoop(ctx)
		}
		l.mu.Lock()
		cancel() // none is added any more
		l.mu.Unlock()
		l.added.Wait()
		l.client.CloseIdleConnections()
	}()
	return l
}

// Grow adds clients that each wait for their answer, until the load ends or the
// function is called that it gives; that drops their open requests.
func (l *Load) Grow(n int) (shrink func()) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		if l.ctx.Err() == nil {
			l.added.Go(func() { l.loop(ctx) })
		}
	}
	return cancel
}

// Stop ends the load; open requests are dropped, and are not errors.
func (l *Load) Stop() {
	l.cancel()
	<-l.done
}

// Now is the moment on the clock of the requests.
func (l *Load) Now() int64 { return int64(time.Since(l.began)) }

// Requests are those that ended, and those that are open as far as they came.
// The slice is the caller's own; the order is that in which requests ended.
func (l *Load) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]Request(nil), l.finished...)
	for r := range l.open {
		one := *r
		one.Tokens = append([]int64(nil), r.Tokens...)
		out = append(out, one)
	}
	return out
}

// Open counts the requests that wait for their end, and those of them that wait
// for their first token.
func (l *Load) Open() (open, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.open {
		if len(r.Tokens) == 0 {
			waiting++
		}
	}
	return len(l.open), waiting
}

// Ask sends requests beside those of the load, one for each prompt length (0 is
// drawn as the load draws it), which all ask for so many tokens, and returns when
// they have ended: true where all were answered. They are recorded as others are.
func (l *Load) Ask(ctx context.Context, prompts []int, output int) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	var failed atomic.Bool
	var wg sync.WaitGroup
	for _, n := range prompts {
		s, _ := l.next()
		s.prompt, s.output = cmp.Or(n, s.prompt), output
		wg.Go(func() {
			if l.one(ctx, s) != "" {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return !failed.Load()
}

// shape is what one request asks for.
type shape struct {
	prompt, output int
	seed           uint64
}

// next draws the shape of the next request; false where all were sent. The n-th
// request of a seed is always the same, whoever sends it.
func (l *Load) next() (shape, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Requests > 0 && l.sent >= l.o.Requests {
		return shape{}, false
	}
	n := uint64(l.sent)
	l.sent++
	r := rand.New(rand.NewPCG(l.o.Seed, n))
	return shape{l.o.Prompt.draw(r), l.o.Output.draw(r), r.Uint64()}, true
}

// retryPause keeps a client from flooding a server that refuses everything.
const retryPause = 100 * time.Millisecond

// At least one client runs, whatever Concurrency says.
func (l *Load) closedLoop(ctx context.Context) {
	var wg sync.WaitGroup
	for range max(1, l.o.Concurrency) {
		wg.Go(func() { l.loop(ctx) })
	}
	wg.Wait()
}

// loop is one client.
func (l *Load) loop(ctx context.Context) {
	for ctx.Err() == nil {
		s, ok := l.next()
		if !ok {
			return
		}
		if l.one(ctx, s) != "" {
			pause(ctx, retryPause)
		}
	}
}

// Gaps are exponential, so that arrivals are a Poisson process of Rate.
func (l *Load) openLoop(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	r := rand.New(rand.NewPCG(l.o.Seed, 1<<63))
	at := time.Now()
	for {
		at = at.Add(time.Duration(r.ExpFloat64() / l.o.Rate * float64(time.Second)))
		pause(ctx, time.Until(at))
		if ctx.Err() != nil {
			return
		}
		s, ok := l.next()
		if !ok {
			return
		}
		if l.full() {
			l.finish(&Request{Sent: l.Now(), Prompt: s.prompt}, ErrorDropped, "")
			continue
		}
		wg.Go(func() { l.one(ctx, s) })
	}
}

// full tells that the open loop may have no further request open.
func (l *Load) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.o.Concurrency > 0 && len(l.open) >= l.o.Concurrency
}

// finish moves a request from open to finished; kind "" is a good answer.
func (l *Load) finish(r *Request, kind, detail string) {
	l.mu.Lock() // Requests may be copying it
	defer l.mu.Unlock()
	r.End, r.Error, r.Detail = l.Now(), kind, detail
	delete(l.open, r)
	l.finished = append(l.finished, *r)
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// A Dist is a distribution of lengths in tokens.
type Dist struct {
	kind string // "fixed", "uniform", "normal" or "lognormal"
	a, b float64
}

// distForm says what ParseDist takes.
const distForm = "N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"

// ParseDist reads a distribution in distForm. Lengths are at least 1.
// The zero Dist is not valid; draw needs one from here.
func ParseDist(text string) (Dist, error) {
	kind, rest, named := strings.Cut(text, ":")
	var d Dist
	var parts []string
	switch {
	case named:
		d.kind, parts = kind, strings.Split(rest, ":")
	case strings.Contains(text, "-"):
		d.kind, parts = "uniform", strings.Split(text, "-")
	default:
		d.kind, parts = "fixed", []string{text, "0"}
	}
	if d.kind != "fixed" && d.kind != "uniform" && d.kind != "normal" && d.kind != "lognormal" || len(parts) != 2 {
		return Dist{}, fmt.Errorf("length %q: want %s", text, distForm)
	}
	for i, into := range []*float64{&d.a, &d.b} {
		v, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1e7 {
			return Dist{}, fmt.Errorf("length %q: %q is not a length; want %s", text, parts[i], distForm)
		}
		*into = v
	}
	if d.a < 1 || d.kind == "uniform" && d.b < d.a || d.kind == "lognormal" && d.b > 10 {
		return Dist{}, fmt.Errorf("length %q: want at least one token, and the larger bound last", text)
	}
	return d, nil
}

// Mean is the mean length.
// It is in tokens, before lengths below 1 are raised to 1.
func (d Dist) Mean() float64 {
	switch d.kind {
	case "uniform":
		return (d.a + d.b) / 2
	case "lognormal":
		return d.a * math.Exp(d.b*d.b/2)
	}
	return d.a
}

// draw takes one length.
func (d Dist) draw(r *rand.Rand) int {
	v := d.a
	switch d.kind {
	case "uniform":
		return int(d.a) + r.IntN(int(d.b)-int(d.a)+1)
	case "normal":
		v += d.b * r.NormFloat64()
	case "lognormal":
		v *= math.Exp(d.b * r.NormFloat64())
	}
	return int(max(1, math.Round(v)))
}
