package nsys

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/timeline"
)

const tableSamples = "GPU_METRICS"

var (
	sampleLayout     = layout{table: tableSamples, need: []string{"timestamp", "typeId", "metricId", "value"}, known: []string{"rawTimestamp"}}
	sampleNameLayout = layout{table: "TARGET_INFO_GPU_METRICS", need: []string{"typeId", "metricId", "metricName"}, known: []string{"sourceId", "typeName"}}
)

// hasSamples reports whether metrics of the GPU were sampled.
func (f *File) hasSamples() bool { return f.Has(tableSamples) }

// EachSample goes through the sampled metrics of the GPUs in the order of the
// file. The sample is valid until fn returns.
// Values are in the unit that the name of the metric states, mostly percent. Without
// sampled metrics fn is never called and the error is nil.
func (f *File) EachSample(ctx context.Context, fn func(*timeline.MetricSample) error) error {
	if !f.hasSamples() {
		return nil
	}
	names, err := f.sampleNames(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	var s timeline.MetricSample
	return f.eachRow(ctx, sampleLayout, func(r *ints) (bool, error) {
		if !r.whole(0) || !r.whole(3) {
			return false, nil
		}
		key := sampleKey{r.Int[1], r.Int[2]}
		s = timeline.MetricSample{Time: r.Int[0], Source: key.source, Metric: names[key], Value: float64(r.Int[3])}
		if s.Metric == "" {
			s.Metric = placeholder(key.metric)
		}
		return true, fn(&s)
	})
}

// A sampleKey tells metrics apart: their numbers are those of a source.
type sampleKey struct{ source, metric int64 }

// sampleNames: names carry their unit in brackets, such as " [Throughput %]".
// A metric without a row there has no entry.
func (f *File) sampleNames(ctx context.Context) (map[sampleKey]string, error) {
	names := map[sampleKey]string{}
	_, err := scanTable(ctx, f, sampleNameLayout, 1, func(_ *struct{}, r row) bool {
		names[sampleKey{r.int(0), r.int(1)}] = r.text(2)
		return true
	})
	return names, err
}
