package pick

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of why something is counted, left out or doubted. internal/message has
// their words; a comment names the parameters.
const (
	chosenByRank   fact.Code = "chosen-by-rank"   // rank, share, launches, covered
	chosenByRegion fact.Code = "chosen-by-region" // enough, region, of_region, share, launches, covered
	countedAlong   fact.Code = "counted-along"    // why

	atMedian   fact.Code = "counted-at-median"   // others
	nearMedian fact.Code = "counted-near-median" // time, median, others
	offMedian  fact.Code = "counted-off-median"  // time, median, others

	waitsForPeer   fact.Code = "waits-for-peer"
	excludedBy     fact.Code = "excluded-by"     // key
	notAmong       fact.Code = "not-among"       // key
	limitTopN      fact.Code = "limit-top-n"     // n
	limitCoverage  fact.Code = "limit-coverage"  // share, each_region
	limitBudget    fact.Code = "limit-budget"    // time
	noWayToCount   fact.Code = "no-way-to-count" //
	graphsWhole    fact.Code = "left-graphs-whole"
	outsideRegions fact.Code = "left-outside-regions"

	stepNoRegion   fact.Code = "replay-no-region"
	stepGraphs     fact.Code = "replay-graphs-whole"
	stepNoKernel   fact.Code = "replay-no-kernel"
	stepMeasured   fact.Code = "replay-measured"
	stepUnmeasured fact.Code = "replay-unmeasured"   // regions, evidence
	stepVerdict    fact.Code = "replay-verdict"      // kind, evidence
	stepHopeless   fact.Code = "replay-hopeless"     // kind
	stepFailed     fact.Code = "replay-failed"       // what, evidence
	stepNoAppRange fact.Code = "replay-no-app-range" // version
	stepOverBudget fact.Code = "replay-over-budget"  // passes, time, budget
	stepLast       fact.Code = "replay-last"

	matchWhole     fact.Code = "match-whole"
	matchUnknown   fact.Code = "match-unknown"
	matchOutside   fact.Code = "match-outside"  // regions
	matchDuration  fact.Code = "match-duration" // ncu, timeline
	matchUnplanned fact.Code = "match-unplanned"
	matchMore      fact.Code = "match-more"
	matchElsewhere fact.Code = "match-elsewhere" // planned, counted

	regionGraphs   fact.Code = "region-graphs-whole"
	regionEmpty    fact.Code = "region-empty"
	regionNothing  fact.Code = "region-nothing-counted"
	regionNoneOfIt fact.Code = "region-not-counted"
	regionLess     fact.Code = "region-less-than-planned" // planned
)

// A Reason is a fact. targets.json of earlier versions holds a text in its place.
type Reason = fact.Stored

func because(code fact.Code, params ...fact.Param) Reason {
	return Reason{Fact: fact.New(code, params...)}
}

func why(code fact.Code, params ...fact.Param) *Reason {
	r := because(code, params...)
	return &r
}
