package nsys

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// missing stands for a value that a reading lacks.
var missing = float32(math.NaN())

// sampledUnit is the unit of the metrics that are kept.
const sampledUnit = " [Throughput %]"

// samples reads the sampled counters listed in timeline.SampledMetrics, as shares of 1. A file without them is as
// good as any: sampling is an extra.
// Sets come by device. One worker reads them, since readings must come in the order of time.
func (b *builder) samples(ctx context.Context) error {
	if !b.f.hasSamples() {
		return nil
	}
	names, err := b.f.sampleNames(ctx)
	if err != nil {
		return err
	}
	kept := map[sampleKey]int{}
	for key, name := range names {
		name, ok := strings.CutSuffix(name, sampledUnit)
		if at := slices.IndexFunc(timeline.SampledMetrics, func(m timeline.SampledMetric) bool { return m.Name == name }); ok && at >= 0 {
			kept[key] = at
		}
	}
	sets := map[int64]*timeline.Samples{}
	_, err = scanTable(ctx, b.f, sampleLayout, 1, func(_ *struct{}, r row) bool {
		at, ok := kept[sampleKey{r.int(1), r.int(2)}]
		if !ok {
			return true
		}
		s := sets[r.int(1)]
		if s == nil {
			s = &timeline.Samples{Device: int(r.int(1) & 0xff), Values: make([][]float32, len(timeline.SampledMetrics))}
			sets[r.int(1)] = s
		}
		return takeSample(s, r.int(0), at, r.int(3))
	})
	for _, s := range sets {
		s.Square()
		b.t.Samples = append(b.t.Samples, *s)
	}
	slices.SortFunc(b.t.Samples, func(x, y timeline.Samples) int { return x.Device - y.Device })
	return err
}

// takeSample adds one value; false for one that no percentage is. The rows of a
// reading follow each other, and readings come in the order of time.
// value is in percent and stored as a share of 1; a metric that a reading lacks is NaN.
func takeSample(s *timeline.Samples, at int64, metric int, value int64) bool {
	if value < 0 || value > 100 {
		return false
	}
	n := len(s.Times)
	switch {
	case n > 0 && at < s.Times[n-1]:
		return false
	case n == 0 || at > s.Times[n-1]:
		s.Times = append(s.Times, at)
		n++
	}
	for len(s.Values[metric]) < n-1 { // a reading that lacks the metric
		s.Values[metric] = append(s.Values[metric], missing)
	}
	if len(s.Values[metric]) < n {
		s.Values[metric] = append(s.Values[metric], float32(value)/100)
	}
	return true
}
