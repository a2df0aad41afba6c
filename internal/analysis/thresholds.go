package analysis

import (
	"strconv"
	"time"
)

// Thresholds are what the decisions hold values against. docs/limiter.md and
// docs/analysis.md explain them; a zero field takes its default.
type Thresholds struct {
	Saturated   float64 // share of a limit in use from which it is the limit
	Near        float64 // share from which a second limit makes it mixed, or a single one is named
	SmallWaves  float64 // waves below which there is too little work
	ShortNS     float64 // duration below which launching costs as much as running
	Occupancy   float64 // achieved occupancy below which it is looked at
	IssueActive float64 // share of cycles with an issue below which latency is looked at
	LaunchBound float64 // share of wall time that launching must take at least
	Covered     float64 // coverage of GPU time from which counters speak for a region
	Spoken      float64 // coverage below which they say nothing of its utilisation
	Overhead    float64 // of the timeline's capture, from which a lighter preset is advised

	HostGap time.Duration // stretch without a CUDA call that is long
}

// DefaultThresholds are those of docs/limiter.md.
var DefaultThresholds = Thresholds{
	Saturated: 0.60, Near: 0.50, SmallWaves: 1, ShortNS: 2000, Occupancy: 0.50, IssueActive: 0.60,
	LaunchBound: 0.25, Covered: 0.90, Spoken: 0.50, Overhead: 0.25, HostGap: 10 * time.Millisecond,
}

func (t Thresholds) withDefaults() Thresholds {
	d := DefaultThresholds
	for _, f := range []struct{ have, fallback *float64 }{
		{&t.Saturated, &d.Saturated}, {&t.Near, &d.Near}, {&t.SmallWaves, &d.SmallWaves}, {&t.ShortNS, &d.ShortNS},
		{&t.Occupancy, &d.Occupancy}, {&t.IssueActive, &d.IssueActive}, {&t.LaunchBound, &d.LaunchBound}, {&t.Covered, &d.Covered}, {&t.Spoken, &d.Spoken},
		{&t.Overhead, &d.Overhead},
	} {
		if *f.have == 0 {
			*f.have = *f.fallback
		}
	}
	if t.HostGap == 0 {
		t.HostGap = d.HostGap
	}
	return t
}

func percent(x float64) string { return strconv.FormatFloat(x*100, 'g', 4, 64) + " %" }

func waves(n float64) string {
	if n == 1 {
		return "1 wave of blocks"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " waves of blocks"
}

func (t Thresholds) facts() []Fact {
	return []Fact{
		{"a limit is reached at", percent(t.Saturated) + " of its peak"},
		{"several limits are near from", percent(t.Near) + " of their peaks"},
		{"too little work below", waves(t.SmallWaves)},
		{"launch overhead below", strconv.FormatFloat(t.ShortNS, 'g', 6, 64) + " ns of duration"},
		{"occupancy is low where fewer warps fit than", percent(t.Occupancy) + " of those of an SM"},
		{"issue is low below", percent(t.IssueActive) + " of cycles"},
		{"a stage is launch-bound from", percent(t.LaunchBound) + " of wall time spent on launching, and more than the GPU works"},
		{"counters speak for a region from", percent(t.Covered) + " of its kernel time; below " + percent(t.Spoken) + " they say nothing of its utilisation"},
		{"a lighter capture is advised above", percent(t.Overhead) + " of overhead"},
		{"a host stretch is long from", duration(t.HostGap.Nanoseconds()) + " without a CUDA call"},
	}
}
