package analysis

import (
	"cmp"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// What the decisions hold values against. docs/limiter.md and docs/analysis.md
// explain them.
const (
	reachedShare     = 0.60   // of a limit in use, from which it is the limit
	nearShare        = 0.50   // of a limit, from which a second one makes it mixed, or a single one is named
	smallWaves       = 1.0    // of blocks, below which there is too little work
	shortKernelNS    = 2000.0 // below which launching costs as much as running
	occupiedShare    = 0.50   // theoretical occupancy below which it is looked at
	issuedShare      = 0.60   // of cycles with an issue, below which latency is looked at
	launchBoundShare = 0.25   // of wall time in which the GPU must wait for the host at least
	coveredShare     = 0.90   // of GPU time, from which counters speak for a region
	spokenShare      = 0.50   // of GPU time, below which they say nothing of its utilization
)

// Thresholds are those that differ between runs; a zero field takes its default.
type Thresholds struct {
	Overhead float64       // of the timeline's capture, from which a lighter preset is advised; 0.25
	HostGap  time.Duration // from which a stretch without a CUDA call is long; 10 ms
}

// defaultThresholds are those of an analysis that nobody configured.
var defaultThresholds = Thresholds{Overhead: 0.25, HostGap: 10 * time.Millisecond}

// withDefaults takes the default for every field that is zero.
func (t Thresholds) withDefaults() Thresholds {
	return Thresholds{cmp.Or(t.Overhead, defaultThresholds.Overhead), cmp.Or(t.HostGap, defaultThresholds.HostGap)}
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

// facts list all thresholds for a reader of the report.
func (t Thresholds) facts() []fact.Fact {
	return []fact.Fact{
		fact.New(thresholdReached, fact.Share("share", reachedShare)),
		fact.New(thresholdNear, fact.Share("share", nearShare)),
		fact.New(thresholdSmall, fact.Num("waves", fact.KindNumber, smallWaves)),
		fact.New(thresholdShort, fact.NS("time", shortKernelNS)),
		fact.New(thresholdOccupied, fact.Share("share", occupiedShare)),
		fact.New(thresholdIssue, fact.Share("share", issuedShare)),
		fact.New(thresholdLaunch, fact.Share("share", launchBoundShare)),
		fact.New(thresholdCovered, fact.Share("share", coveredShare), fact.Share("least", spokenShare)),
		fact.New(thresholdOverhead, fact.Share("share", t.Overhead)),
		fact.New(thresholdHostGap, fact.NS("time", t.HostGap.Nanoseconds())),
	}
}
