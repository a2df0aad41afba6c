package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Sampled is a counter that nsys sampled: the mean share of what the unit can do,
// over readings that lie wholly in the time it is about.
type Sampled struct {
	Metric  string  `json:"metric"` // gpu_active, sm_active, sm_issue, tensor_active, dram_read, dram_write
	Mean    float64 `json:"mean"`   // 0 to 1
	Error   float64 `json:"error"`  // standard error of the mean, and what rounding to whole percents can hide
	Samples int     `json:"samples"`
}

// A SampledRegion has the sampled counters of all instances of a region, over the
// time from its first work on the GPU to its last. Where no CUDA was traced, it is
// the time of its ranges, which holds work that is still queued before it.
type SampledRegion struct {
	Path      string `json:"path"`      // with the kind of a step of a serving engine in place of its name
	Instances int    `json:"instances"` // with a reading
	// SpanNS is their time in nanoseconds, summed.
	SpanNS  int64     `json:"span_ns"` // of these
	Metrics []Sampled `json:"metrics"`
}

const (
	// minSamples is how many readings a mean needs: fewer are left out.
	minSamples = 10
	// maxSampled bounds the regions that are listed.
	maxSampled = 200
)

// moments are sums by timeline.SampledMetrics.
type moments []timeline.Moments

// add takes nil for no readings.
func (m *moments) add(more []timeline.Moments) {
	if more == nil {
		return
	}
	if *m == nil {
		*m = make(moments, len(timeline.SampledMetrics))
	}
	for i := range more {
		(*m)[i].Add(more[i])
	}
}

// rows are the means with enough readings.
func (m moments) rows() []Sampled {
	var out []Sampled
	for i, sums := range m {
		if sums.N < minSamples {
			continue
		}
		mean, err := sums.Mean()
		out = append(out, Sampled{Metric: timeline.SampledMetrics[i].ID, Mean: mean, Error: err, Samples: sums.N})
	}
	return out
}

// sampleRegions joins sampled counters to the regions of a timeline that has them,
// those that last longest first.
func (tl *timed) sampleRegions() (regions []SampledRegion) {
	t := tl.t
	type sum struct {
		SampledRegion
		moments
	}
	byPath := map[string]*sum{}
	untraced := tl.tape.WorkLen() == 0
	for _, r := range tl.tape.Long {
		start, span := r.StartNS, r.RangeNS
		if !untraced {
			if r.ProjectedStart == nil {
				continue
			}
			start, span = *r.ProjectedStart, r.ProjectedNS
		}
		path, ok := sampledPath(r.Path)
		if span < timeline.LongNS || !ok {
			continue
		}
		got := t.SampledWithin(start, start+span)
		if got == nil {
			continue
		}
		s := entry(byPath, path)
		s.Path = path
		s.Instances++
		s.SpanNS += span
		s.add(got)
	}
	for _, s := range byPath {
		if s.Metrics = s.rows(); len(s.Metrics) > 0 {
			regions = append(regions, s.SampledRegion)
		}
	}
	slices.SortFunc(regions, func(x, y SampledRegion) int {
		return cmp.Or(cmp.Compare(y.SpanNS, x.SpanNS), cmp.Compare(x.Path, y.Path))
	})
	return regions[:min(len(regions), maxSampled)]
}

// sampledPath is the region that the readings of a range count to: steps of a serving
// engine fall together by their kind, since their names differ with each batch. False
// for a step itself: steps have their counters by kind and batch size.
func sampledPath(path string) (string, bool) {
	parts := nvtx.SplitPath(path)
	for i := range parts {
		if s, ok := engine.ParseStep(parts[i]); ok {
			if i == len(parts)-1 {
				return "", false
			}
			parts[i] = string(s.Kind)
		}
	}
	return strings.Join(parts, "/"), true
}

// findSampled states what sampled counters tell where no counters were taken: of
// the decode steps of a server with most time, else of the region with most.
func (cn *conclusion) findSampled() {
	if len(cn.in.Counters) > 0 || cn.in.Preliminary {
		return
	}
	var params []fact.Param
	var metrics []Sampled
	if s := cn.res.Serving; s != nil && cn.mostDecode() != nil {
		c := cn.mostDecode()
		metrics, params = c.Sampled, []fact.Param{fact.Name("steps", string(c.Kind)), fact.Count("batch", c.BatchMax)}
	} else if len(cn.res.Sampled) > 0 {
		metrics, params = cn.res.Sampled[0].Metrics, []fact.Param{fact.Region("region", cn.res.Sampled[0].Path)}
	}
	if len(metrics) == 0 {
		return
	}
	mean, readings := map[string]float64{}, 0
	for _, m := range metrics {
		mean[m.Metric], readings = m.Mean, max(readings, m.Samples)
	}
	params = append(params, fact.Share("tensor", mean["tensor_active"]), fact.Share("dram", mean["dram_read"]+mean["dram_write"]), fact.Share("sm", mean["sm_active"]), fact.Count("readings", readings))
	cn.find("sampled-use", weightLow, codeSampled, params...)
}
