package analysis

import "github.com/deepprof/deepprof/internal/fact"

// Codes of warnings and of missing values. internal/message has their words; a
// comment names the parameters.
const (
	NoTimeline         fact.Code = "no-timeline"         // unknown
	TimelineUnreadable fact.Code = "timeline-unreadable" // error
	TimelineLost       fact.Code = "timeline-lost"
	NoKernels          fact.Code = "no-kernels"
	NoBaseline         fact.Code = "no-baseline"
	BaselineStages     fact.Code = "baseline-stages" // time
	NoCounters         fact.Code = "no-counters"
	CountersAhead      fact.Code = "counters-ahead"  // dir
	CountersFailed     fact.Code = "counters-failed" // why, cause
	CountersEmpty      fact.Code = "counters-empty"
	NoKernelCounters   fact.Code = "no-kernel-counters"
	regionsUnderNcu    fact.Code = "regions-under-ncu" // does
	ncuTimes           fact.Code = "ncu-times"         // does
	metricsAbsent      fact.Code = "metrics-absent"    // n, units
	NoOperators        fact.Code = "no-operators"
	causesUntold       fact.Code = "causes-untold" // n, of, sections
	OperatorKernels    fact.Code = "operator-kernels"

	// ChangedFile is the warning that a file of a run is not the one that was
	// captured. file, bytes, recorded; the sizes are absent where they are equal
	// and the hash is another.
	ChangedFile fact.Code = "changed-file"
	// severalTimelines tells which of several timelines the details are about. n,
	// file
	severalTimelines fact.Code = "timelines"
	timelineDamaged  fact.Code = "timeline-damaged" // error
	ClockDamaged     fact.Code = "clock-damaged"
	scopeUnused      fact.Code = "scope-unused" // why
	// OtherCapture is the warning that the timeline of a run was captured at
	// another time than the run. began and ran, in RFC 3339
	OtherCapture       fact.Code = "other-capture"
	fileUnreadable     fact.Code = "file-unreadable"    // error
	counterImpossible  fact.Code = "counter-impossible" // counter, n, file
	stepWarning        fact.Code = "step-warning"       // step, what: the words for a note of a step
	servingNoContext   fact.Code = "serving-no-context"
	oneProcessNoRanges fact.Code = "one-process-ranges" // text
	oneProcessNoCUDA   fact.Code = "one-process-cuda"   // text
	shapesDiffer       fact.Code = "shapes-differ"      // batch, batch_nsys, prompt, prompt_nsys, new, new_nsys
	metricsIncomplete  fact.Code = "metrics-incomplete" // file, n

	// cutShort is the warning that the workload did not run to its end under a
	// profiler: it comes first. step, how; ran and unprofiled, the time that the
	// capture took at most and that an unprofiled run takes, where both are known.
	cutShort        fact.Code = "cut-short"
	cutShortTimed   fact.Code = "cut-short-timed"
	cutByDisk       fact.Code = "cut-full-disk"
	targetsStale    fact.Code = "targets-stale"    // file
	reportRemark    fact.Code = "report-remark"    // file, text
	operatorsRemark fact.Code = "operators-remark" // what
	operatorsCut    fact.Code = "operators-cut"    // n
	operatorsCover  fact.Code = "operators-cover"  // share
	LanesCut        fact.Code = "lanes-cut"        // n, of
	eventsCut       fact.Code = "events-cut"       // ns, from, most
	regionsCut      fact.Code = "regions-cut"      // n, of
	aboveRoof       fact.Code = "above-roof"       // kernel, share, dtype, memory
	executedLess    fact.Code = "executed-less"    // stage, share, coverage

	// OverheadHigh tells that a stage took longer under nsys than the limit
	// allows. stage, overhead, advice
	OverheadHigh fact.Code = "overhead"
	// serverOverhead is the same for the time between tokens of a server, against
	// idle windows. overhead, advice
	serverOverhead fact.Code = "overhead-server"

	cleanShort    fact.Code = "clean-short"     // stage, clean, busy
	CleanSlower   fact.Code = "clean-slower"    // stage, less, mean, std, nsys
	cleanMayBe    fact.Code = "clean-uncertain" // stage, less, mean, std, nsys
	cleanSpread   fact.Code = "clean-spread"    // stage, mean, std
	UseLight      fact.Code = "use-nsys-light"
	UseSampled    fact.Code = "use-nsys-sampled"
	UseDefault    fact.Code = "use-nsys-default" // costs
	onlyClean     fact.Code = "use-clean-times"
	lightAlready  fact.Code = "nsys-light-already"
	lightNoBetter fact.Code = "nsys-light-no-better"

	// ReplayMode is a step of the ladder of replay modes. mode, outcome, reason
	ReplayMode fact.Code = "replay-mode"

	// What limits the meaning of the counters of a region.
	rangesPartial    fact.Code = "ranges-partial"    // n, of
	launchesExcluded fact.Code = "launches-excluded" // n
	longerUnderNcu   fact.Code = "longer-under-ncu"  // share, does
	shorterUnderNcu  fact.Code = "shorter-under-ncu" // share, does
	scaledTime       fact.Code = "scaled-time"       // share

	// LeftOut is launches that were not counted for one reason. reason, launches,
	// share, kernels, more
	LeftOut     fact.Code = "left-out"
	KernelShare fact.Code = "kernel-share" // kernel, share

	// Why a region has no counters.
	regionNoCounters  fact.Code = "region-no-counters"
	regionNotMeasured fact.Code = "region-not-measured"
	regionNotSummed   fact.Code = "region-not-summed"
	regionNotCounted  fact.Code = "region-not-counted"

	// What is doubtful about a counted launch.
	countedNotInTimeline fact.Code = "counted-not-in-timeline"
	countedNotInScope    fact.Code = "counted-not-in-scope"
	countedAlike         fact.Code = "counted-alike"     // calls, of, share
	countedAmbiguous     fact.Code = "counted-ambiguous" // n

	// Why a scope was not found.
	scopeNoRegion fact.Code = "scope-no-region" // include
	scopeNoKernel fact.Code = "scope-no-kernel" // include
	scopeInvalid  fact.Code = "scope-invalid"   // error
)

// A Note is a fact of the result with the part of the run that it is about.
type Note struct {
	fact.Fact
	Step  string `json:"step,omitempty"`  // pipeline step, by its name in the manifest
	Stage string `json:"stage,omitempty"` // of the workload
	File  string `json:"file,omitempty"`  // relative to the run
	Scope string `json:"scope,omitempty"` // what a warning of a step is about; absent for the whole step
}

// AsFact is the fact to put into words, with the step that it is about where there is one.
func (n *Note) AsFact() fact.Fact {
	if n.Step == "" {
		return n.Fact
	}
	return fact.New(stepWarning, fact.Name("step", n.Step), fact.Because("what", n.Fact))
}

// equalTo compares all of two notes; their facts may be about the same and not be equal.
func (n *Note) equalTo(m Note) bool {
	return n.Step == m.Step && n.Stage == m.Stage && n.File == m.File && n.Scope == m.Scope && n.Fact.Equal(m.Fact)
}

// HasTimeline tells whether the times, calls and launches of a result mean
// anything.
func (r *Result) HasTimeline() bool {
	return !r.Lacks(NoTimeline, TimelineUnreadable, TimelineLost) && (r.Totals.WallNS > 0 || r.Totals.Launches > 0)
}

// Lacks tells whether the result says with one of the codes that something is
// missing.
func (r *Result) Lacks(codes ...fact.Code) bool {
	_, ok := r.Why(codes...)
	return ok
}

// Why is the note on what is missing with the first of the codes that there is.
func (r *Result) Why(codes ...fact.Code) (Note, bool) {
	for _, c := range codes {
		for _, n := range r.Missing {
			if n.Code == c {
				return n, true
			}
		}
	}
	return Note{}, false
}
