// Package compare holds the results of several runs against each other: what
// differs between two sides, by how much, how sure that is, where a change of the
// total comes from, and whether rules about it are kept. It writes no sentences.
//
// The unit of repetition is the process: one Run is one sample of every value,
// however many passes it made, because noise lies between processes.
//
// Samples and their statistics, differences of kernels, waterfalls, gates and
// baselines are 200 to 600 lines each.
package compare

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// Schema is the version of Comparison.
const Schema = 1

// A Run is one process of a side with what is known of its circumstances.
type Run struct {
	Name   string           `json:"name"` // as a person named it
	Result *analysis.Result `json:"result,omitempty"`
	// Config is the configuration by dotted key; nil where it is not known.
	Config map[string]string `json:"config,omitempty"`
	// Conditions are clocks, power and throttling meanwhile; nil without samples.
	Conditions *Conditions `json:"conditions,omitempty"`
	// Baseline is the name of the baseline that it was read from.
	Baseline string `json:"-"`
	// Wall is how long the process took as a whole, in seconds, where it was only
	// timed; Result may be nil then.
	Wall float64 `json:"wall_s,omitempty"`
}

// Conditions are what the GPU did while a run was measured.
type Conditions struct {
	Samples   int      `json:"samples"`
	Throttled int      `json:"throttled"` // samples in which the GPU clocked down for heat or power
	Reasons   []string `json:"reasons,omitempty"`
	ClockMHz  float64  `json:"clock_mhz"` // of the SMs, median of the busy samples
	PowerW    float64  `json:"power_w"`   // median of the busy samples
}

// A Comparison is the answer: compare --json.
type Comparison struct {
	Schema   int         `json:"schema"`
	Base     Side        `json:"base"`
	New      Side        `json:"new"`
	Settings Settings    `json:"settings"`
	Differ   Differ      `json:"comparability"`
	Rows     []Row       `json:"rows"` // by kind, then by weight
	Falls    []Fall      `json:"waterfalls"`
	Gate     *Gate       `json:"gate,omitempty"`
	Warnings []fact.Fact `json:"warnings,omitempty"`

	total, gpu *Row // time and GPU time of the whole, for the headline; nil where not measured
}

// A Side is what one side consists of.
type Side struct {
	Runs []RunInfo `json:"runs"` // each process once
}

// RunInfo names a run.
type RunInfo struct {
	Name       string      `json:"name"`
	Baseline   string      `json:"baseline,omitempty"` // that it is part of
	Run        string      `json:"run,omitempty"`      // name of the run directory
	Created    string      `json:"created,omitempty"`
	Recorded   bool        `json:"recorded,omitempty"`
	Conditions *Conditions `json:"conditions,omitempty"`
}

// Settings are how sure a verdict has to be.
type Settings struct {
	MinEffect  float64 `json:"min_effect"` // least relative change that counts
	Level      float64 `json:"level"`      // probability that an interval holds the true change
	Correction string  `json:"correction"` // for many comparisons
	Tests      int     `json:"tests"`      // comparisons that share the chance of a false alarm
	Seed       uint64  `json:"seed"`
	Resamples  int     `json:"resamples"`
}

// A Row is one value on both sides.
type Row struct {
	Key
	Unit  string `json:"unit"`            // ns, count, byte, share, flop, 1/s
	Clock Clock  `json:"clock,omitempty"` // what a time was measured by
	// BaseClock is that of the base side where it is another: there is no change and
	// no verdict then.
	BaseClock Clock  `json:"base_clock,omitempty"`
	Status    Status `json:"status"`
	// Was is the name on the base side where it is another; Alike how similar the
	// two are, 0 to 1.
	Was   string  `json:"was,omitempty"`
	Alike float64 `json:"alike,omitempty"`

	Base *float64 `json:"base"` // median over the runs; absent where the side lacks it
	New  *float64 `json:"new"`
	// Change is the relative change of the median, 0.03 is 3 % more; absent
	// where the base is 0 or absent. Low and High are its interval; absent where
	// samples are too few.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	// Noise is by how much halves of one side differ, relative; P the probability of
	// such a change by chance, after the correction. Absent like Low.
	Noise *float64 `json:"noise,omitempty"`
	P     *float64 `json:"p,omitempty"`

	Verdict Verdict `json:"verdict"`
	// Need is how many repetitions a side would tell, where the verdict is
	// cannot-tell; 0 where more of them would not.
	Need int `json:"need,omitempty"`
	// Why says what keeps a verdict from being given.
	Why fact.Fact `json:"why,omitzero"`

	BaseSamples []float64 `json:"base_samples"`
	NewSamples  []float64 `json:"new_samples"`

	weight float64 // by which rows of a kind are sorted: largest first
	est    *estimate
}

// exact reports whether the value has no noise: it is counted, and all runs of a
// side agree.
func (r *Row) exact() bool {
	return metrics[r.Metric].counted && constant(r.BaseSamples) && constant(r.NewSamples)
}

// It is true for no values.
func constant(x []float64) bool {
	return len(x) == 0 || !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// A Verdict is what can be said of a change.
type Verdict string

// Verdicts on times and rates.
const (
	Faster     Verdict = "faster"
	Slower     Verdict = "slower"
	NoChange   Verdict = "no-change" // within Settings.MinEffect
	CannotTell Verdict = "cannot-tell"
)

// Facts without noise, which are judged by no statistics.
const (
	More  Verdict = "more"
	Fewer Verdict = "fewer"
)

// A Status says on which sides something is.
type Status string

// Statuses of rows.
const (
	Common       Status = "common"
	OnlyNew      Status = "new"
	Gone         Status = "gone"
	Renamed      Status = "renamed"      // a kernel under another name
	Reconfigured Status = "reconfigured" // a kernel with other grids or blocks
	NotMeasured  Status = "not-measured" // a side measured nothing of this kind
)

// Compare compares two sides. An error says why nothing can be compared.
// base and fresh are not changed; a process that was given twice counts once. The same
// input and seed give the same answer.
func Compare(base, fresh []Run, o Options) (*Comparison, error) {
	if err := comparable(base, fresh, o); err != nil {
		return nil, err
	}
	base, again := Distinct(base)
	fresh, more := Distinct(fresh)
	c := &Comparison{Schema: Schema, Base: sideOf(base), New: sideOf(fresh),
		Settings: Settings{MinEffect: o.effect(), Level: 1 - o.alpha(), Correction: "benjamini-hochberg", Seed: o.Seed, Resamples: resamples}}
	if again = append(again, more...); len(again) > 0 {
		c.Warnings = append(c.Warnings, Repeated(again))
	}
	c.Differ = differ(base, fresh)
	source := operatorSource(base, fresh)
	a, b := collect(base, source), collect(fresh, source)
	a.alignTimes(b)
	pairs := matchKernels(base, fresh)
	a.addKernels(pairs, base, true)
	b.addKernels(pairs, fresh, false)
	c.Rows = join(a, b)
	if err := sound(c.Rows, pairs); err != nil {
		return nil, err
	}
	c.Differ = append(c.Differ, notMeasured(c.Rows)...)
	c.judge(o)
	c.Falls = c.falls(base, fresh, pairs)
	c.total, c.gpu = c.copyOf(Key{Total, "", Time}), c.copyOf(Key{Total, "", GPUTime})
	return c, nil
}

// sideOf never leaves Runs nil, so that JSON has a list.
func sideOf(side []Run) Side {
	s := Side{Runs: []RunInfo{}}
	for _, r := range side {
		info := RunInfo{Name: r.Name, Baseline: r.Baseline, Conditions: r.Conditions}
		if r.Result != nil {
			info.Run, info.Created, info.Recorded = r.Result.Source.Run, r.Result.Source.Created, r.Result.Source.Recorded
		}
		s.Runs = append(s.Runs, info)
	}
	return s
}

// join pairs the values of both sides.
func join(a, b *samples) []Row {
	var rows []Row
	for _, k := range union(a.order, b.order) {
		x, y := a.of[k], b.of[k]
		r := Row{Key: k, BaseSamples: []float64{}, NewSamples: []float64{}}
		switch {
		case x == nil:
			r.Status, r.Clock = OnlyNew, y.clock
		case y == nil:
			r.Status, r.Clock = Gone, x.clock
		default:
			r.Status, r.Clock = Common, y.clock
			if x.clock != y.clock {
				r.BaseClock = x.clock
			}
		}
		if x != nil {
			r.BaseSamples, r.weight = x.values, x.weight
		}
		if y != nil {
			r.NewSamples, r.weight = y.values, max(r.weight, y.weight)
			if y.status != "" {
				r.Status, r.Was, r.Alike = y.status, y.was, y.alike
			}
		}
		r.summarize()
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		return cmp.Or(kindOrder(x.Kind)-kindOrder(y.Kind), cmp.Compare(y.weight, x.weight), cmp.Compare(x.Name, y.Name))
	})
	return rows
}

// summarize takes the medians of the samples.
func (r *Row) summarize() {
	r.Unit = metrics[r.Metric].unit
	if len(r.BaseSamples) > 0 {
		r.Base = new(median(r.BaseSamples))
	}
	if len(r.NewSamples) > 0 {
		r.New = new(median(r.NewSamples))
	}
	if r.Base != nil && r.New != nil && *r.Base != 0 && r.BaseClock == "" {
		r.Change = new(*r.New / *r.Base - 1)
	}
}

// copyOf is a row that stays when rows are left out; nil where there is none.
func (c *Comparison) copyOf(k Key) *Row {
	r := c.find(k)
	if r == nil {
		return nil
	}
	row := *r
	return &row
}

// union is the keys of both in the order of the second, with what only the first
// has at the end.
func union(a, b []Key) []Key {
	out := slices.Clone(b)
	seen := map[Key]bool{}
	for _, k := range b {
		seen[k] = true
	}
	for _, k := range a {
		if !seen[k] {
			out = append(out, k)
		}
	}
	return out
}

// Judge gives rows that hold nothing but their keys and samples their values and
// verdicts, as Compare does.
func Judge(rows []Row, o Options) []Row {
	c := Comparison{Rows: rows}
	for i := range rows {
		rows[i].summarize()
	}
	c.judge(o)
	return rows
}

// judge gives every row its verdict. Each row draws from its own stream of random
// numbers, so that no row depends on another.
func (c *Comparison) judge(o Options) {
	var tested []*Row
	var p []float64
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.needsTest() {
			e := measure(r.BaseSamples, r.NewSamples, o, rand.New(rand.NewPCG(o.Seed, r.hash())))
			r.est, tested, p = &e, append(tested, r), append(p, e.p)
			r.Low, r.High, r.Noise = new(math.Expm1(e.low)), new(math.Expm1(e.high)), new(math.Expm1(e.floor))
		}
	}
	c.Settings.Tests = len(tested)
	for i, q := range correct(p) {
		tested[i].P = new(q)
	}
	for i := range c.Rows {
		c.Rows[i].decide(o, len(tested), c.Differ)
	}
}

// needsTest tells a value with noise of which both sides have several samples.
func (r *Row) needsTest() bool {
	return r.BaseClock == "" && !r.exact() && min(len(r.BaseSamples), len(r.NewSamples)) >= 2 && positive(r.BaseSamples) && positive(r.NewSamples)
}

// Changes are logarithms of ratios, which 0 has none.
func positive(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v <= 0 })
}

// hash depends on the key alone, so that the random numbers of a row stay when others
// come or go.
func (r *Row) hash() uint64 {
	h := fnv.New64a()
	for _, s := range []string{string(r.Kind), r.Name, string(r.Metric)} {
		h.Write([]byte(s + "\x00"))
	}
	return h.Sum64()
}

// decide is the verdict on one row.
func (r *Row) decide(o Options, tests int, d Differ) {
	r.Verdict = CannotTell
	switch why := d.forbids(r); {
	case !why.IsZero():
		r.Why = why
	case r.BaseClock != "":
		r.Why = fact.New(otherTime, fact.ID("base", "compare.clock", string(r.BaseClock)), fact.ID("new", "compare.clock", string(r.Clock)))
	case r.exact() && (r.both() || r.structural()):
		r.decideExact()
	case !r.both():
		r.Why = fact.New(oneSided, fact.ID("status", "compare.status", string(r.Status)))
	case min(len(r.BaseSamples), len(r.NewSamples)) < 2:
		r.Why, r.Need = fact.New(oneSample), pilotRepeats
	case r.est == nil:
		r.Why = fact.New(notPositive)
	default:
		r.decideTested(o, tests)
	}
}

// both tells a value that both sides have.
func (r *Row) both() bool { return len(r.BaseSamples) > 0 && len(r.NewSamples) > 0 }

// structural tells what a program has or has not: where a side lacks it, it did not
// run there. Other values are missing because nobody measured them.
func (r *Row) structural() bool {
	return r.Status != NotMeasured && kindOrder(r.Kind) >= kindOrder(Step)
}

// What a side lacks counts 0. The interval is the change itself, because there is no noise.
func (r *Row) decideExact() {
	x, y := value(r.Base), value(r.New)
	switch {
	case x == y:
		r.Verdict = NoChange
	case y > x:
		r.Verdict = More
	default:
		r.Verdict = Fewer
	}
	if r.Change != nil {
		r.Low, r.High = r.Change, r.Change
	}
}

// A verdict needs three things at once: the corrected probability, an interval on one
// side of 0, and a change above the least that counts and above the noise of a side.
func (r *Row) decideTested(o Options, tests int) {
	e := r.est
	apart := math.Log1p(o.effect())
	n := min(len(r.BaseSamples), len(r.NewSamples))
	enough := len(r.BaseSamples)+len(r.NewSamples) >= 2*leastRepeats
	switch least := max(apart, e.floor); {
	case enough && *r.P <= o.alpha() && (e.low > 0 || e.high < 0) && math.Abs(e.change) >= least:
		switch m := metrics[r.Metric]; {
		case m.neutral && e.change > 0:
			r.Verdict = More
		case m.neutral:
			r.Verdict = Fewer
		case (e.change < 0) != m.higherIsBetter:
			r.Verdict = Faster
		default:
			r.Verdict = Slower
		}
	case enough && e.low >= -apart && e.high <= apart:
		r.Verdict = NoChange
	default:
		r.Need = e.repeats(o, n, tests)
		r.Why = fact.New(tooFew, fact.Count("have", n), fact.Count("need", r.Need))
		if r.Need >= mostRepeats {
			r.Why = fact.New(tooNoisy, fact.Count("have", n), fact.Count("most", mostRepeats))
		}
	}
}

// value takes absent for 0; only for counts and sums.
func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
