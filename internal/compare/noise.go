package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// SelfNoise is how much runs of one program differ from each other: compare
// --self.
type SelfNoise struct {
	Schema int     `json:"schema"`
	Runs   Side    `json:"runs"`
	Differ Differ  `json:"comparability"` // between the runs
	Rows   []Noise `json:"rows"`
}

// Noise is that of one value.
type Noise struct {
	Key
	Unit   string  `json:"unit"`
	Clock  Clock   `json:"clock,omitempty"`
	Median float64 `json:"median"`
	// Spread is the deviation between processes, and Halves by how much halves of
	// the runs differ; both relative.
	Spread float64 `json:"spread"`
	Halves float64 `json:"halves"`
	// Threshold is a limit that as many runs of the same program a side would keep,
	// in steps of half a percent; Rule is the rule with it. Absent where the noise
	// is so large that a limit would be 100 % or more.
	Threshold *float64  `json:"threshold"`
	Rule      string    `json:"rule,omitempty"`
	Samples   []float64 `json:"samples"`
}

// Self measures the noise of runs of one program.
// Values without noise, and those that a run lacks, have no row.
func Self(side []Run, o Options) (*SelfNoise, error) {
	if len(side) < 2 {
		return nil, errors.New("compare --self: one run has no noise to measure; name several runs of the same program")
	}
	if err := distinctOnly(side); err != nil {
		return nil, err
	}
	half := len(side) / 2
	c, err := Compare(side[:half], side[half:], o)
	if err != nil {
		return nil, err
	}
	n := &SelfNoise{Schema: Schema, Runs: sideOf(side), Differ: c.Differ, Rows: []Noise{}}
	for i := range c.Rows {
		r := &c.Rows[i]
		all := append(r.BaseSamples[:len(r.BaseSamples):len(r.BaseSamples)], r.NewSamples...)
		if r.exact() && constant(all) || len(all) < len(side) || !positive(all) {
			continue
		}
		n.Rows = append(n.Rows, noiseOf(r, all, o))
	}
	return n, nil
}

// noiseOf measures how far the samples of all runs differ, which are positive; r has the
// key, by which its random numbers are drawn.
func noiseOf(r *Row, all []float64, o Options) Noise {
	x := logs(all)
	rng := rand.New(rand.NewPCG(o.Seed, r.hash()))
	sd, halves := math.Sqrt(variance(x)), selfDifference(x, rng)
	k := float64(len(all))
	wide := studentQuantile(o.alpha(), 2*k-2) * medianCost * sd * math.Sqrt(2/k)
	v := Noise{Key: r.Key, Unit: r.Unit, Clock: r.Clock, Median: median(all), Spread: math.Expm1(sd), Halves: math.Expm1(halves), Samples: all}
	v.suggest(max(wide+halves, math.Log1p(o.effect())))
	return v
}

// suggest writes a rule that a change by the factor exp(most), up or down, keeps.
func (v *Noise) suggest(most float64) {
	if metrics[v.Metric].neutral {
		return
	}
	form, change := "%s < +%g%%", math.Expm1(most)
	if metrics[v.Metric].higherIsBetter {
		form, change = "%s > -%g%%", -math.Expm1(-most)
	}
	halves := math.Ceil(200 * change) // of a percent
	if halves >= 200 {
		return
	}
	v.Threshold, v.Rule = new(halves/200), fmt.Sprintf(form, v.Key.selector(), halves/2)
}

// selector names the value as rules do.
func (k Key) selector() string {
	switch k.Kind {
	case Total:
		return fmt.Sprintf("%s.%s", k.Kind, k.Metric)
	case MFU, MBU, Workload:
		return fmt.Sprintf("%s:%s", k.Kind, k.Name)
	}
	return fmt.Sprintf("%s:%s.%s", k.Kind, k.Name, k.Metric)
}
