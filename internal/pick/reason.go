package pick

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of why something is counted, left out or doubted. internal/message has
// their words; a comment names the parameters.
const (
	chosenByRank fact.Code = "chosen-by-rank" // rank, share, launches, covered
	// enough, region, of_region, share, launches, covered
	chosenByRegion fact.Code = "chosen-by-region"
	countedAlong   fact.Code = "counted-along" // why

	atMedian   fact.Code = "counted-at-median"   // others
	nearMedian fact.Code = "counted-near-median" // time, median, others
	offMedian  fact.Code = "counted-off-median"  // time, median, others

	waitsForPeer   fact.Code = "waits-for-peer"
	stepNotMade    fact.Code = "step-not-made"
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

	// What selects nothing, and why nothing is left to count.
	unmatchedCode   fact.Code = "unmatched" // key, expr, why, near
	noSuchRange     fact.Code = "no-such-range"
	noSuchKernel    fact.Code = "no-such-kernel"
	nothingChosen   fact.Code = "nothing-to-count" // why, unmatched, exist
	onlyGraphs      fact.Code = "timeline-only-graphs"
	noKernelsAtAll  fact.Code = "timeline-kernels-none"
	noneInRegions   fact.Code = "regions-no-kernels"  // elsewhere
	noneEligible    fact.Code = "regions-none-chosen" // launches
	noRegionLeft    fact.Code = "no-region-selected"
	rangesNone      fact.Code = "ranges-none"
	rangesExist     fact.Code = "ranges-exist"    // ranges, more
	causeNoRange    fact.Code = "cause-no-range"  // dir
	causeNoLaunch   fact.Code = "cause-no-launch" // dir
	causeGraphs     fact.Code = "cause-graphs-whole"
	causeNoKernels  fact.Code = "cause-no-kernels"  // window, fork
	causeRange      fact.Code = "cause-range-empty" // find, tried
	causeAppRange   fact.Code = "cause-app-range-empty"
	causeFilter     fact.Code = "cause-filter"
	causeNameFilter fact.Code = "cause-kernel-filter" // kernel, find
	findKernels     fact.Code = "find-kernels"
	compareKernels  fact.Code = "compare-kernels"
	findRanges      fact.Code = "find-ranges"
	compareFilter   fact.Code = "compare-filter"
	otherForms      fact.Code = "with-include" // include
	noInclude       fact.Code = "without-include"
	filterChanged   fact.Code = "filter-changed" // include, tried
	noneIsChosen    fact.Code = "counted-none-chosen"
	causeOtherRun   fact.Code = "cause-other-kernels" // dir
	countedOtherway fact.Code = "counted-another-way" // why
	countedNothing  fact.Code = "counted-nothing"     // why
	oneFailed       fact.Code = "one-process-failed"  // why
	missedKernels   fact.Code = "missed-kernels"      // n, kernels
	missedLaunches  fact.Code = "missed-launches"     // n, launches
	kernelShare     fact.Code = "kernel-share"        // kernel, share
	kernelLaunch    fact.Code = "kernel-launch"       // kernel, time, role

	// Doubts about the choice and what was counted.
	graphsUnchosen  fact.Code = "graphs-unchosen"     // share
	overBudget      fact.Code = "group-over-budget"   // time, budget
	graphNodes      fact.Code = "graph-nodes"         // n
	manyProcesses   fact.Code = "many-processes"      // n
	rootOnly        fact.Code = "root-only"           // processes
	scaledLaunches  fact.Code = "scaled-launches"     // share, of, allowed, why
	unknownLaunches fact.Code = "launches-unknown"    // n
	doubtful        fact.Code = "launches-doubtful"   // n
	missingNone     fact.Code = "missing-not-counted" //
	missingDoubtful fact.Code = "missing-doubtful"    //
	alreadyCounted  fact.Code = "already-counted"     //

	// Why launches are not chosen from the timeline.
	pickOff       fact.Code = "pick-off"
	pickBlind     fact.Code = "pick-no-timeline"
	pickByID      fact.Code = "pick-kernel-id"
	pickRanges    fact.Code = "pick-ranges" // mode
	pickGraphs    fact.Code = "pick-graphs"
	countingAgain fact.Code = "counting-again" // tried

	// Ways to count that were weighed, and what closes a way.
	tradeChosen   fact.Code = "trade-chosen"     // way, launches, processes, time, off
	tradeInstead  fact.Code = "trade-instead"    // the same
	tradeFurther  fact.Code = "trade-further"    // the same, else
	tradeClosed   fact.Code = "trade-closed"     // why
	tradeProcess  fact.Code = "trade-process"    // time
	closedVersion fact.Code = "way-no-configs"   // version
	closedFilter  fact.Code = "way-no-filter"    // error
	closedWindow  fact.Code = "way-no-window"    //
	closedRound   fact.Code = "way-no-round"     //
	closedThreads fact.Code = "way-many-threads" // kernel

	// What to know of one process of ncu.
	noteParts    fact.Code = "run-names-in-parts" // names, n
	noteSameName fact.Code = "run-names-shared"   // n
	noteTypical  fact.Code = "run-typical-among"  // n
	noteFirst    fact.Code = "run-first-launches" //
	noteAgain    fact.Code = "run-again"          // n

	// What passes are taken from, and what counting costs before a timeline is known.
	passesOfSet      fact.Code = "passes-of-set"         // set, n
	passesOfUnknown  fact.Code = "passes-of-unknown-set" // set, n
	passesOfSections fact.Code = "passes-of-sections"    // n
	passesOfMetrics  fact.Code = "passes-of-metrics"     // n
	// each, basis, kernels, all, process or unknown, alike, budget
	costAhead   fact.Code = "counting-cost"
	costUnknown fact.Code = "counting-cost-unknown" //
	costAlike   fact.Code = "counting-cost-alike"   //

	// What is told while counting goes on.
	// launches, kernels, processes, time, regions, all
	willCount      fact.Code = "counting-starts"
	leavesOut      fact.Code = "counting-leaves"   // launches, share, kernels, why
	countsAgain    fact.Code = "counting-retries"  // n, way, time
	hasCounted     fact.Code = "counting-done"     // regions, all
	pickUnused     fact.Code = "pick-unused"       // why
	peersUncounted fact.Code = "peers-not-counted" //
	replayMode     fact.Code = "replay-mode-tried" // mode, why

	// What keeps launches of other durations from being counted.
	whyByNumber fact.Code = "durations-not-by-number"
	whyPartial  fact.Code = "durations-partial-timeline"
	whySpread   fact.Code = "durations-spread"
	whyBudget   fact.Code = "durations-budget"
)

// A Reason is a fact. targets.json of earlier versions holds a text in its place.
type Reason = fact.Stored

// because states a reason as a value, why as an optional one.
func because(code fact.Code, params ...fact.Param) Reason {
	return Reason{Fact: fact.New(code, params...)}
}

func why(code fact.Code, params ...fact.Param) *Reason {
	return new(because(code, params...))
}
