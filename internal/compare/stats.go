package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Options are how sure a verdict has to be. The zero value takes the defaults.
type Options struct {
	// MinEffect is the least relative change that counts: a smaller one is no
	// change. 0 is DefaultMinEffect.
	MinEffect float64
	// Level is the probability that an interval holds the true change. 0 is 0.95.
	Level float64
	// Seed of the bootstrap, so that the same input gives the same answer.
	Seed uint64
	// Partial takes runs that did not end, and captures of which a part is lost;
	// AcrossGPUs sides that ran on different GPUs.
	Partial, AcrossGPUs bool
}

// DefaultMinEffect is the least change that counts where nobody says otherwise.
const DefaultMinEffect = 0.02

// ParseEffect reads a relative change as a person writes it: 2%, or 0.02.
func ParseEffect(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	effect, err := strconv.ParseFloat(number, 64)
	if percent {
		effect /= 100
	}
	if err != nil || !(effect > 0 && effect < 1) {
		return 0, fmt.Errorf("%s is no share between 0 and 1; write it like 2%%", text)
	}
	return effect, nil
}

// resamples is how often each side is drawn anew: enough that an interval moves
// by less than a tenth of its width with another seed.
const resamples = 1000

// Numbers of repetitions that are proposed, of one side.
const (
	leastRepeats = 3   // on average; below it no verdict is given, however alike samples are
	pilotRepeats = 5   // where nothing tells how large the noise is
	mostRepeats  = 100 // beyond it another way to measure is needed
)

// effect is the least change that counts.
func (o Options) effect() float64 { return cmp.Or(o.MinEffect, DefaultMinEffect) }

// alpha is the chance of a false alarm.
func (o Options) alpha() float64 { return 1 - cmp.Or(o.Level, 0.95) }

// An estimate is what the samples of both sides tell of a change. Changes are
// logarithms of ratios.
type estimate struct {
	change    float64 // of medians
	low, high float64
	p         float64 // of a change as large without any true one
	sd        float64 // between the processes of a side
	floor     float64 // by which a side differs from itself
}

// medianCost is how much wider the distribution of a median is than that of a
// mean, for large samples of a normal distribution: sqrt(pi/2).
const medianCost = 1.2533

// measure compares two sides of at least two positive samples each.
//
// The interval is the wider of two: the bootstrap of the ratio of medians, which
// assumes no distribution but is too narrow for few samples, since it cannot leave
// their range; and Student's, which is wide for few samples.
func measure(base, fresh []float64, o Options, rng *rand.Rand) estimate {
	a, b := logs(base), logs(fresh)
	e := estimate{change: median(b) - median(a)}
	va, vb := variance(a)/float64(len(a)), variance(b)/float64(len(b))
	se := math.Sqrt(va+vb) * medianCost
	df := welch(va, vb, len(a), len(b))
	half := 0.0
	if se > 0 {
		half = studentQuantile(o.alpha(), df) * se
		e.p = studentTail(math.Abs(e.change)/se, df)
	} else if e.change == 0 {
		e.p = 1
	}
	e.low, e.high = bootstrap(a, b, o.alpha(), rng)
	e.low, e.high = min(e.low, e.change-half), max(e.high, e.change+half)
	e.sd = math.Sqrt((variance(a)*float64(len(a)-1) + variance(b)*float64(len(b)-1)) / float64(len(a)+len(b)-2))
	e.floor = max(selfDifference(a, rng), selfDifference(b, rng))
	return e
}

// logs needs positive values.
func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = math.Log(x[i])
	}
	return out
}

// welch are the degrees of freedom of two variances of means.
func welch(va, vb float64, na, nb int) float64 {
	if va+vb == 0 {
		return float64(na + nb - 2)
	}
	return (va + vb) * (va + vb) / (va*va/float64(na-1) + vb*vb/float64(nb-1))
}

// bootstrap is the percentile interval of the difference of medians.
func bootstrap(a, b []float64, alpha float64, rng *rand.Rand) (low, high float64) {
	drawn := make([]float64, resamples)
	scratch := make([]float64, max(len(a), len(b)))
	draw := func(from []float64) float64 {
		to := scratch[:len(from)]
		for i := range to {
			to[i] = from[rng.IntN(len(from))]
		}
		return medianOf(to)
	}
	for i := range drawn {
		drawn[i] = draw(b) - draw(a)
	}
	slices.Sort(drawn)
	return quantile(drawn, alpha/2), quantile(drawn, 1-alpha/2)
}

// selfDifference is how far halves of one side lie apart: no difference below it
// can be blamed on a change. Of all ways to halve a side, 95 in 100 differ less.
func selfDifference(x []float64, rng *rand.Rand) float64 {
	if len(x) < 2 {
		return 0
	}
	const splits = 200
	order := slices.Clone(x)
	apart := make([]float64, splits)
	for i := range apart {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		half := len(order) / 2
		apart[i] = math.Abs(median(order[:half]) - median(order[half:]))
	}
	slices.Sort(apart)
	return quantile(apart, 0.95)
}

// correct adjusts p-values for their number, by Benjamini and Hochberg: of the
// changes that are claimed, few are none; where no side differs at all, a claim
// of any is as rare as one test alone would be wrong.
func correct(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[j], p[i]) })
	out, least := make([]float64, len(p)), 1.0
	for n, i := range order {
		least = min(least, p[i]*float64(len(p))/float64(len(p)-n))
		out[i] = least
	}
	return out
}

// repeats is how many repetitions a side would tell, where e and the samples that
// it rests on do not; tests is how many comparisons share the chance of a false
// alarm. A change is to be found in nine of ten cases.
func (e *estimate) repeats(o Options, have, tests int) int {
	margin, alpha, power := math.Abs(e.change), o.alpha()/float64(max(tests, 1)), 0.2
	if margin < o.effect() {
		margin, alpha, power = max(o.effect()-margin, o.effect()/4), o.alpha(), 0.2
	}
	least := max(leastRepeats, have+1)
	return least + sort.Search(max(mostRepeats-least, 0), func(i int) bool { // the interval narrows with every repetition
		n := float64(least + i)
		wide := studentQuantile(alpha, 2*n-2) + studentQuantile(power, 2*n-2)
		return wide*medianCost*e.sd*math.Sqrt(2/n) <= margin
	})
}

// median is that of x, which stays as it is.
func median(x []float64) float64 { return medianOf(slices.Clone(x)) }

// medianOf sorts x.
func medianOf(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}

// variance is that of a sample, divided by n-1; 0 below two values.
func variance(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(x)-1)
}

// quantile interpolates in sorted values.
// sorted is not empty; q is from 0 to 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
