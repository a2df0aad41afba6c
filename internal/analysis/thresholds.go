package analysis

import (
	"time"

	"github.com/deepprof/deepprof/internal/fact"
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
	LaunchBound float64 // share of wall time in which the GPU must wait for the host at least
	Covered     float64 // coverage of GPU time from which counters speak for a region
	Spoken      float64 // coverage below which they say nothing of its utilization
	Overhead    float64 // of the timeline's capture, from which a lighter preset is advised

	HostGap time.Duration // stretch without a CUDA call that is long
}

// defaultThresholds are those of docs/limiter.md.
var defaultThresholds = Thresholds{
	Saturated: 0.60, Near: 0.50, SmallWaves: 1, ShortNS: 2000, Occupancy: 0.50, IssueActive: 0.60,
	LaunchBound: 0.25, Covered: 0.90, Spoken: 0.50, Overhead: 0.25, HostGap: 10 * time.Millisecond,
}

func (t Thresholds) withDefaults() Thresholds {
	d := defaultThresholds
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

// Codes of the thresholds, in the order to show.
const (
	thresholdReached  fact.Code = "threshold-reached"   // share
	thresholdNear     fact.Code = "threshold-near"      // share
	thresholdSmall    fact.Code = "threshold-small"     // waves
	thresholdShort    fact.Code = "threshold-short"     // time
	thresholdOccupied fact.Code = "threshold-occupancy" // share
	thresholdIssue    fact.Code = "threshold-issue"     // share
	thresholdLaunch   fact.Code = "threshold-launch"    // share
	thresholdCovered  fact.Code = "threshold-covered"   // share, least
	thresholdOverhead fact.Code = "threshold-overhead"  // share
	thresholdHostGap  fact.Code = "threshold-host-gap"  // time
)

func (t Thresholds) facts() []fact.Fact {
	return []fact.Fact{
		fact.New(thresholdReached, fact.Share("share", t.Saturated)),
		fact.New(thresholdNear, fact.Share("share", t.Near)),
		fact.New(thresholdSmall, fact.Num("waves", fact.KindNumber, t.SmallWaves)),
		fact.New(thresholdShort, fact.NS("time", t.ShortNS)),
		fact.New(thresholdOccupied, fact.Share("share", t.Occupancy)),
		fact.New(thresholdIssue, fact.Share("share", t.IssueActive)),
		fact.New(thresholdLaunch, fact.Share("share", t.LaunchBound)),
		fact.New(thresholdCovered, fact.Share("share", t.Covered), fact.Share("least", t.Spoken)),
		fact.New(thresholdOverhead, fact.Share("share", t.Overhead)),
		fact.New(thresholdHostGap, fact.NS("time", t.HostGap.Nanoseconds())),
	}
}
