package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Line is one thing for people: what matters most of it, with its launches.
type Line struct {
	*Row
	Launches *Row // nil where they are not known
	// Delta is the change of Row in its unit; 0 where a side lacks the value.
	Delta float64
}

// shown are the metrics that have lines of their own.
var shown = []Metric{Time, Share, Throughput, Rate, Value, Memory, Errors, Communication, Exposed}

// Lines are the things of a kind, by the size of their change; stages keep the
// order of the workload.
func (c *Comparison) Lines(kind Kind) []Line {
	var lines []Line
	for i := range c.Rows {
		r := &c.Rows[i]
		gpu := r.Metric == GPUTime && (kind == Total || kind == Stage || kind == Rank)
		if r.Kind != kind || !slices.Contains(shown, r.Metric) && !gpu || !r.both() && !r.structural() {
			continue
		}
		l := Line{Row: r, Delta: value(r.New) - value(r.Base)}
		if r.Metric == Time || gpu {
			l.Launches = c.find(Key{kind, r.Name, Launches})
		}
		lines = append(lines, l)
	}
	if kind != Total && kind != Stage && kind != MFU && kind != MBU && kind != Request {
		slices.SortStableFunc(lines, func(x, y Line) int { return cmp.Compare(math.Abs(y.Delta), math.Abs(x.Delta)) })
	}
	return lines
}

// find is nil where there is none. The row is that of c and is valid until rows are left out
// or sorted.
func (c *Comparison) find(k Key) *Row {
	for i := range c.Rows {
		if c.Rows[i].Key == k {
			return &c.Rows[i]
		}
	}
	return nil
}

// saidVerdicts are the verdicts that say all by themselves.
var saidVerdicts = map[Verdict]fact.Code{Faster: verdictFaster, Slower: verdictSlower, NoChange: verdictNoChange, More: verdictMore, Fewer: verdictFewer}

// AsFact is the verdict on a row as a fact.
func (r *Row) AsFact() fact.Fact {
	code, said := saidVerdicts[r.Verdict]
	switch {
	case said:
		return fact.New(code)
	case r.Status == OnlyNew:
		return fact.New(verdictNew)
	case r.Status == Gone:
		return fact.New(verdictGone)
	case r.Need >= mostRepeats:
		return fact.New(verdictNeedsMany, fact.Count("most", mostRepeats))
	case r.Need > 0:
		return fact.New(verdictNeeds, fact.Count("need", r.Need))
	}
	return fact.New(verdictCannotTell)
}

// Headline is what came of the whole: the verdict on its time, and on its GPU time,
// which differs less between processes.
func (c *Comparison) Headline() fact.Fact {
	r := c.total
	if r == nil || r.Change == nil {
		return fact.New(headNothing)
	}
	p := []fact.Param{fact.NS("base", *r.Base), fact.NS("new", *r.New), fact.Share("change", math.Abs(*r.Change)), fact.ID("clock", "compare.clock", string(r.Clock))}
	if r.Low != nil {
		p = append(p, fact.Share("low", *r.Low), fact.Share("high", *r.High))
	}
	if c.gpu != nil && c.gpu.Change != nil {
		p = append(p, fact.Share("gpu_change", *c.gpu.Change), fact.Because("gpu", c.gpu.AsFact()))
	}
	switch r.Verdict {
	case Faster:
		return fact.New(headFaster, p...)
	case Slower:
		return fact.New(headSlower, p...)
	case NoChange:
		return fact.New(headNoChange, append(p, fact.Share("within", c.Settings.MinEffect))...)
	}
	return fact.New(headCannotTell, append(p, fact.Because("why", r.Why))...)
}
