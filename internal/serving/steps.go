package serving

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deepprof/deepprof/internal/load"
)

// A Prompting is a step with prompts that is to be counted.
type Prompting struct {
	Lengths  []int // tokens of each prompt, 0 for as many as the load draws
	Decoding int   // sequences that decode beside them; -1 where that is not known
}

// few leaves as many clients as decode in every step that is to be counted: the
// others are added for single steps, and prompts are sent one step at a time.
// Requests may take as long as the counting.
func (c *counted) few(o *load.Options) {
	c.batch = cmp.Or(c.Batch, o.Concurrency)
	c.base = c.batch
	c.Prompts = slices.Clone(c.Prompts)
	for i := range c.Prompts {
		p := &c.Prompts[i]
		if p.Decoding < 0 {
			p.Decoding = max(0, c.batch-len(p.Lengths))
		}
		c.base = min(c.base, p.Decoding)
	}
	slices.SortStableFunc(c.Prompts, func(x, y Prompting) int { return cmp.Compare(x.Decoding, y.Decoding) })
	o.Rate, o.Timeout = 0, requestTime*c.limit
	o.Concurrency, o.Quiet = c.base, c.base == 0
}

// rounds makes the server compute each step that is to be counted, again and again
// until a round has brought what was chosen, or nothing new: under ncu a step takes seconds, and
// the answers of clients take minutes, so that none would come by itself. Names do not tell
// sizes, but ncu counts the first launch of each, and a round has all that were chosen.
func (c *counted) rounds(ctx context.Context, counting *atomic.Int64) {
	if c.load == nil {
		return
	}
	c.untilDecoding(ctx, c.base, c.WarmupLimit)
	for before := -1; ctx.Err() == nil; {
		c.round(ctx, counting)
		done := c.tally.done()
		if done == before || c.tally.has(c.Asked) {
			return
		}
		before = done
		for range 2 { // a server notices at a token that nobody listens any more
			c.untilDecoded(ctx, c.base)
		}
	}
}

// round sends the prompts of one step after the other, each beside as many sequences
// that decode as it is to have, and then has the whole batch decode.
func (c *counted) round(ctx context.Context, counting *atomic.Int64) {
	open := c.base
	var added []func()
	defer func() {
		for _, drop := range added {
			drop()
		}
	}()
	grow := func(to int) {
		if to > open && ctx.Err() == nil {
			added = append(added, c.load.Grow(to-open))
			open = to
			c.untilDecoding(ctx, open, c.limit)
		}
	}
	for _, p := range c.Prompts {
		grow(p.Decoding)
		c.ask(ctx, p, counting)
	}
	grow(c.batch)
	c.untilDecoded(ctx, c.batch)
}

// ask sends the prompts of a step until it was counted. Before counting is on they
// come again and again, so that some are under way when it begins.
func (c *counted) ask(ctx context.Context, p Prompting, counting *atomic.Int64) {
	output := 1
	if c.batch == 0 { // nobody else decodes
		output = 3
	}
	for failures := 0; ctx.Err() == nil; {
		ok := c.load.Ask(ctx, p.Lengths, output)
		if !ok {
			failures++
			wait(ctx, 100*time.Millisecond)
		}
		if on := counting.Load(); on > 0 && c.load.Now() > on+int64(onTime) && (ok || failures > 2) {
			return
		}
	}
}

// untilDecoding waits until so many requests have their first token.
func (c *counted) untilDecoding(ctx context.Context, n int, limit time.Duration) {
	if c.load == nil {
		return
	}
	for until := time.Now().Add(limit); time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 10*time.Millisecond) {
		if open, waiting := c.load.Open(); open-waiting >= n {
			return
		}
	}
}

// untilDecoded waits for the end of a step that begins from now on, where n sequences
// decode: the tokens of one that goes on already come together.
func (c *counted) untilDecoded(ctx context.Context, n int) {
	from := c.load.Now()
	var first int64
	for until := time.Now().Add(c.limit); n > 0 && time.Now().Before(until) && ctx.Err() == nil; wait(ctx, 10*time.Millisecond) {
		for _, r := range c.load.Requests() {
			for i := len(r.Tokens) - 1; i > 0 && r.Tokens[i] > from; i-- {
				at := r.Tokens[i]
				if first == 0 || at < first {
					first = at
				}
				if at > first+int64(together) {
					return
				}
			}
		}
	}
}

// together is how far apart the tokens of one step may arrive.
const together = 5 * time.Millisecond

// A tally is what ncu has counted so far. Its methods may be called from any
// goroutine.
type tally struct {
	mu      sync.Mutex
	kernels map[string]int // by the name that ncu printed
	at      []float64      // seconds
}

func (t *tally) note(kernel string, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kernels == nil {
		t.kernels = map[string]int{}
	}
	t.kernels[kernel]++
	t.at = append(t.at, at.Seconds())
}

func (t *tally) done() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.at)
}

func (t *tally) times() []float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.at)
}

// cutName ends a name that ncu printed in part: a long function name.
const cutName = "..."

// has tells whether so many launches of each kernel were counted; false for none.
// The sum tells nothing: a filter lets launches of other sizes through as well.
func (t *tally) has(kernels map[string]int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	need := map[string]int{} // by what ncu prints
	for name, n := range kernels {
		for printed := range t.kernels {
			if start, cut := strings.CutSuffix(printed, cutName); cut && strings.HasPrefix(name, start) {
				name = printed
				break
			}
		}
		need[name] += n
	}
	for name, n := range need {
		if t.kernels[name] < n {
			return false
		}
	}
	return len(need) > 0
}
