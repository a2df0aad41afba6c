package analysis

import "github.com/deepprof/deepprof/internal/fact"

// Codes of what limits a kernel.
const (
	codeUnitUsed       fact.Code = "unit-used"       // unit, level
	codeUnitNearest    fact.Code = "unit-nearest"    // unit, level
	codeUnitsReached   fact.Code = "units-reached"   // unit, level, other, other_level
	codeUnitsNear      fact.Code = "units-near"      // the same
	codeSmallGrid      fact.Code = "small-grid"      // waves
	codeTinyGrid       fact.Code = "small-grid-tiny" // they round to 0
	codeShortKernel    fact.Code = "no-longer-than-launch"
	codeFewWarps       fact.Code = "few-warps-fit" // resource, share
	codeIssueBusy      fact.Code = "issue-busy"    // share
	codeNoUnitBusy     fact.Code = "no-unit-busy"
	codeStalled        fact.Code = "warps-stalled" // stall, share
	codeNotCounted     fact.Code = "kernel-not-counted"
	codeOnlyRanges     fact.Code = "only-ranges-counted"
	codeNothingCounted fact.Code = "nothing-counted"
	codeCountersLost   fact.Code = "kernel-counters-lost"
	codeFewBlocks      fact.Code = "few-blocks"      // blocks, sms
	codeLaunchDoubt    fact.Code = "launch-in-doubt" // doubt
	codeCountersLack   fact.Code = "counters-lack"   // counter
	codeNothingTold    fact.Code = "counters-tell-none"
	codeNeedLaunch     fact.Code = "need-like-launch"
	codeNeedSections   fact.Code = "need-sections"        // sections, set
	codeUnitBusierL2   fact.Code = "l2-busier-than-moves" // share
	codeUnitBusierL1   fact.Code = "l1-busier-than-moves" // share
	codeRulesDiffer    fact.Code = "rules-leave-out-l2"   // share
	codeVerdictHolds   fact.Code = "verdict-holds-for"    // lasts, calls, of, share
	codeNoFLOPs        fact.Code = "no-flops"
	codeNoRoofRanges   fact.Code = "roofline-ranges"    // no kernel was counted, and of no range its arithmetic
	codeRoofOfRanges   fact.Code = "roofline-of-ranges" // n: ranges have points, and no kernel
	codeNoRoofCounters fact.Code = "roofline-no-counters"
	codeNoRoofPeaks    fact.Code = "roofline-no-peaks"
	codeNoRoofFLOPs    fact.Code = "roofline-no-flops"
	codeOpNoTime       fact.Code = "operator-no-time"
	codeOpCopies       fact.Code = "operator-copies"
	codeOpNothing      fact.Code = "operator-nothing-read"
	codeOpNotSeen      fact.Code = "operator-not-seen"
	codeOpNotCounted   fact.Code = "operator-no-counters"
	codeOpNoVerdict    fact.Code = "operator-no-verdict"
)

// Codes of thresholds and of values that are no counter.
const (
	codeAtLeast      fact.Code = "at-least" // value
	codeBelow        fact.Code = "below"    // value
	codeLargest      fact.Code = "largest-stall"
	codeScarcest     fact.Code = "scarcest"
	codeGridBlocks   fact.Code = "grid-blocks"
	codeMedianNS     fact.Code = "median-duration"
	codeIdleFor      fact.Code = "idle-for"          // cause
	codeIdleIn       fact.Code = "idle-in-call"      // call; lazy where the call loads code lazily
	codeIdleInLazy   fact.Code = "idle-in-lazy-call" // call
	codeWallNsys     fact.Code = "wall-nsys"
	codeWallClean    fact.Code = "wall-unprofiled"
	codeKernelsRun   fact.Code = "kernels-run-nsys"
	codeUnitShare    fact.Code = "busiest-share" // unit, counter or work
	codeTotalTime    fact.Code = "total-time"
	codeCalls        fact.Code = "launches"
	codeChains       fact.Code = "chains"
	codeChainKernels fact.Code = "chain-launches"
	codeChainLength  fact.Code = "chain-length"
	codeChainTime    fact.Code = "chain-gpu-time"
	codeChainGaps    fact.Code = "chain-gaps"
	codeLayoutTime   fact.Code = "layout-time"
	codeLayoutShare  fact.Code = "layout-share"
)

// Codes of findings, and of what follows in them.
const (
	codeDamaged         fact.Code = "damaged-timeline" // damage
	codeLost            fact.Code = "lost-timeline"
	codeContradiction   fact.Code = "contradiction" // measure, stage, method, peak, raw
	codeStageBusy       fact.Code = "stage-busy"    // stage, share, busy, busy_share, wall, passes or steps, of, of_share, times, limits
	codeWarmUp          fact.Code = "warm-up"       // stage, n (first passes), passes, ns (of these), of (of all), share, median (of the others)
	codeStageIdle       fact.Code = "stage-idle"    // the same without limits; cause, cause_ns, copies, copied (the same where it is not the cause), more
	codeProgramRanges   fact.Code = "program-without-ranges"
	codeWaitsBefore     fact.Code = "waits-before"      // stage, passes or steps, busy, waits, share, of, cause
	codeLaunchBound     fact.Code = "launch-bound"      // stage, busy_share, wall, passes or steps, wait_share, more, ...
	codeGraphsGain      fact.Code = "graphs-gain"       // gain, share, of, passes or steps, times
	codeAheadGain       fact.Code = "launch-ahead-gain" // the same
	codeHostFrames      fact.Code = "host-frames"       // frame, share, n; then
	codeHostStretches   fact.Code = "host-stretches"    // host, longer, region
	codeProfilerWaits   fact.Code = "profiler-waits"
	codeLaunchesFirst   fact.Code = "launches-first"
	codeStageOverlaps   fact.Code = "stage-overlaps" // sum, once
	codePassTimes       fact.Code = "pass-times"     // clock, clean, nsys, overhead; without overhead the difference is noise
	codeSampled         fact.Code = "sampled-use"    // region, or kind and batch of steps; tensor, dram, sm, readings
	codeNextToken       fact.Code = "next-token"     // period, steps, busy, idle, gap; mixed, prefill, other, batch_min, batch and mbu where known
	codeIdleSync        fact.Code = "idle-sync"      // stage, share, ns, of
	codeIdleCopy        fact.Code = "idle-copy"
	codeIdleAlloc       fact.Code = "idle-alloc"
	codeIdleCall        fact.Code = "idle-call"             // and call
	codeExposed         fact.Code = "exposed-communication" // stage, exposed, share, of, all, overlapped, n, gpus
	codeOutsideStages   fact.Code = "outside-stages"        // share, outside, of, stages, gpu_time, region, region_ns; launch-bound
	codeCleanTimes      fact.Code = "unprofiled-times"      // total, times
	codeStageTime       fact.Code = "stage-time"            // stage, ns
	codeLargestOperator fact.Code = "largest-operator"      // operator, where, ns, of, share, n
	codeLargestPart     fact.Code = "largest-category"      // category, share, ns, base, more
	codeLargestHalf     fact.Code = "largest-category-half" // the same
	codeLargestKernel   fact.Code = "largest-kernel"        // kernel, share, shapes, limiter; or grid, grid_share, grid_limiter
	codeGraphsWhole     fact.Code = "graphs-whole"          // n, ns
	codeNoKernels       fact.Code = "no-kernels-seen"
	codeLimitedMostly   fact.Code = "limited-mostly"     // covered, base, share, kind
	codeLimitedOften    fact.Code = "limited-most-often" // the same
	codeRegionLimited   fact.Code = "region-limited"     // region, limiter, kind, why, ranges, ns
	codeKernelLimited   fact.Code = "kernel-limited"     // kernel, limiter, kind, why
	codeFirstSaving     fact.Code = "first-saving"       // change, gain, share, of, scope, times
	codeNextSaving      fact.Code = "next-saving"        // the same
	codeUtilization     fact.Code = "utilization"        // stage, values, more
	codeUsedShare       fact.Code = "used-share"         // measure, value, method, peak, of; roof_value and clock
	codeUsedAbout       fact.Code = "used-about"
	codeUsedAtLeast     fact.Code = "used-at-least"
	codeIdleMostly      fact.Code = "idle-mostly"
	codeClockReached    fact.Code = "clock-reached"    // clock, highest, value
	codeExecutedMore    fact.Code = "executed-more"    // stage, factor; partly where not all was counted
	codeExecutedPadding fact.Code = "executed-padding" // the same
)

// Codes of what a utilization rests on.
const (
	codeOverNsys       fact.Code = "over-nsys-no-unprofiled"
	codeOverNsysStage  fact.Code = "over-nsys-no-stage-time"
	codeOverNsysShape  fact.Code = "over-nsys-other-shape"
	codeNoTypePeak     fact.Code = "dtype-without-peak" // dtype
	codeRanAsTF32      fact.Code = "ran-as-tf32"
	codeNoGPU          fact.Code = "gpu-not-named"
	codeNoStageTime    fact.Code = "stage-time-unknown"
	codeNoPeak         fact.Code = "peak-unknown"     // peak
	codeOverPeak       fact.Code = "above-the-peak"   // raw
	codeCoverTooLow    fact.Code = "coverage-too-low" // what, share
	codeCoverNone      fact.Code = "coverage-none"    // what
	codeCoverPart      fact.Code = "coverage-part"    // share
	codeNoFloats       fact.Code = "no-float-work"    // share where not all was counted
	codeScaledPart     fact.Code = "scaled-by-time"   // what, share
	codeCachesFlushed  fact.Code = "caches-flushed"
	codeFewerThanModel fact.Code = "fewer-flops-than-model" // share, coverage
)

// Codes of the lanes of a timeline, and of what they stand under.
const (
	laneRanges   fact.Code = "lane-ranges"           // domain, thread
	laneStartEnd fact.Code = "lane-ranges-start-end" // the same
	laneStream   fact.Code = "lane-stream"           // device, stream
	laneCopies   fact.Code = "lane-copies"           // device, stream
	laneCalls    fact.Code = "lane-calls"            // thread
	laneSteps    fact.Code = "lane-steps"
	laneLayers   fact.Code = "lane-layers"          // device, stream
	groupGPU     fact.Code = "lanes-of-gpu"         // device
	groupProcess fact.Code = "lanes-of-process"     // pid, program
	groupUnnamed fact.Code = "lanes-of-unnamed"     // pid
	groupUnknown fact.Code = "lanes-of-any-process" // the process is not known
	groupModel   fact.Code = "lanes-of-model"
)

// Codes of opportunities: the change, what its bound rests on, what to do.
const (
	codeCloseGaps      fact.Code = "close-launch-gaps"  // stage
	codeCloseGraphGaps fact.Code = "close-graph-gaps"   // stage
	codeFewerNodes     fact.Code = "fewer-graph-nodes"  // stage
	codeHostOut        fact.Code = "host-work-out"      // stage
	codeHostLess       fact.Code = "host-work-less"     // stage
	codeWaitLess       fact.Code = "wait-less"          // stage
	codeFewerCopies    fact.Code = "copies-beside"      // stage
	codeAllocBefore    fact.Code = "allocate-before"    // stage
	codeAllocLess      fact.Code = "allocate-less"      // stage
	codeLoadBefore     fact.Code = "load-before"        // stage
	codeLoadLess       fact.Code = "load-less"          // stage
	codeReachPeak      fact.Code = "reach-peak"         // kernel, grid, unit
	codeReachNextRoof  fact.Code = "reuse-to-next-roof" // kernel, grid, unit
	codeFewerBytes     fact.Code = "fewer-bytes"        // kernel, grid, unit
	codeLiftOccupancy  fact.Code = "lift-occupancy"     // kernel, grid
	codeFuseChains     fact.Code = "fuse-chains"
	codeKeepLayout     fact.Code = "keep-layout"

	codeAssumeGaps       fact.Code = "assume-gaps"
	codeAssumeGraphGaps  fact.Code = "assume-graph-gaps"
	codeAssumeNodes      fact.Code = "assume-nodes"
	codeAssumeHost       fact.Code = "assume-host"
	codeAssumeSync       fact.Code = "assume-sync"
	codeAssumeCopies     fact.Code = "assume-copies"
	codeAssumeAlloc      fact.Code = "assume-alloc"
	codeAssumeLoad       fact.Code = "assume-load"
	codeAssumeOverlap    fact.Code = "assume-streams" // ns
	codeAssumePeak       fact.Code = "assume-peak"
	codeAssumeNextRoof   fact.Code = "assume-next-roof"   // unit
	codeAssumeFewerBytes fact.Code = "assume-fewer-bytes" // unit
	codeAssumeOccupancy  fact.Code = "assume-occupancy"
	codeAssumeFusion     fact.Code = "assume-fusion"
	codeAssumeLayout     fact.Code = "assume-layout"
	codeTimesNsys        fact.Code = "bound-nsys"
	codeTimesCapped      fact.Code = "bound-unprofiled" // passes, clean, busy
	codeTimesScaled      fact.Code = "bound-scaled"     // the same
	codeOnlyIdle         fact.Code = "only-idle-goes"
	codePadded           fact.Code = "point-padded" // stage, factor
	codeBoundsOverlap    fact.Code = "bounds-overlap"

	codeHowGraph       fact.Code = "how-graph"
	codeHowNextGraph   fact.Code = "how-next-graph"
	codeHowNodesTraced fact.Code = "how-nodes-traced"
	codeHowFuseNodes   fact.Code = "how-fuse-nodes"
	codeHowHost        fact.Code = "how-host"
	codeHowSync        fact.Code = "how-sync"
	codeHowCopies      fact.Code = "how-copies"
	codeHowAlloc       fact.Code = "how-alloc"
	codeHowLoad        fact.Code = "how-load"
	codeHowLoadLess    fact.Code = "how-load-less"
	codeHowFuse        fact.Code = "how-fuse"
	codeHowLayout      fact.Code = "how-layout"
	codeHowResource    fact.Code = "how-resource" // resource
	codeHowSmall       fact.Code = "how-small"
	codeHowLatency     fact.Code = "how-latency"
	codeHowL1          fact.Code = "how-l1"
	codeHowL2          fact.Code = "how-l2"
	codeHowStream      fact.Code = "how-stream"
	codeHowDRAM        fact.Code = "how-dram"
	codeHowFewerBytes  fact.Code = "how-fewer-bytes"
	codeHowCompute     fact.Code = "how-compute"
	codeHowMixed       fact.Code = "how-mixed"
	codeHowLimiter     fact.Code = "how-limiter" // limiter
)

// forTorch is the same advice for a program that uses PyTorch.
func forTorch(code fact.Code) fact.Code { return code + "-torch" }
