package compare

import "github.com/deepprof/deepprof/internal/fact"

// What keeps a verdict from being given.
const (
	oneSample   fact.Code = "compare-one-sample"   // a side has one process: its noise is not known
	tooFew      fact.Code = "compare-too-few"      // have: processes a side; need: that would tell
	tooNoisy    fact.Code = "compare-too-noisy"    // have; most: even so many would not tell
	oneSided    fact.Code = "compare-one-sided"    // status: compare.status
	notPositive fact.Code = "compare-not-positive" // a sample is 0
	Forbidden   fact.Code = "compare-forbidden"    // why: the difference
	otherTime   fact.Code = "compare-other-time"   // base, new: compare.clock
)

// Circumstances that differ; base and new have the values.
const (
	otherGPU        fact.Code = "compare-other-gpu"
	otherDriver     fact.Code = "compare-other-driver"
	otherCUDA       fact.Code = "compare-other-cuda"
	otherCPU        fact.Code = "compare-other-cpu"
	otherNsys       fact.Code = "compare-other-nsys"
	otherNcu        fact.Code = "compare-other-ncu"
	otherSoftware   fact.Code = "compare-other-software"
	otherModel      fact.Code = "compare-other-model"
	otherInputs     fact.Code = "compare-other-inputs"
	otherAnnotation fact.Code = "compare-other-annotation"
	otherScope      fact.Code = "compare-other-scope"
	otherPasses     fact.Code = "compare-other-passes"
	otherTrace      fact.Code = "compare-other-trace"
	otherLoad       fact.Code = "compare-other-load"
	otherWorld      fact.Code = "compare-other-world"   // processes of a job
	otherRank       fact.Code = "compare-other-rank"    // that details are of
	otherSetting    fact.Code = "compare-other-setting" // key
	otherKeys       fact.Code = "compare-other-keys"    // keys: how many only one side has
	otherClocks     fact.Code = "compare-other-clocks"
	Throttled       fact.Code = "compare-throttled"    // side, share, reasons
	notKnown        fact.Code = "compare-not-known"    // side; of: compare.circumstance, which the runs do not tell
	sideLacks       fact.Code = "compare-side-lacks"   // side, kind: nothing of it was measured
	sameProcess     fact.Code = "compare-same-process" // n: processes that are on both sides
)

// givenAgain: runs that were named more than once and count once.
const givenAgain fact.Code = "compare-given-again"

// Why a rule could not be evaluated.
const (
	ruleNoInterval fact.Code = "compare-rule-no-interval" // why: what keeps the verdict
	ruleNoBase     fact.Code = "compare-rule-no-base"     // the base side lacks it
)

// Verdicts as they stand in a table.
const (
	verdictFaster     fact.Code = "compare-said-faster"
	verdictSlower     fact.Code = "compare-said-slower"
	verdictNoChange   fact.Code = "compare-said-no-change"
	verdictMore       fact.Code = "compare-said-more"
	verdictFewer      fact.Code = "compare-said-fewer"
	verdictNew        fact.Code = "compare-said-new"
	verdictGone       fact.Code = "compare-said-gone"
	verdictNeeds      fact.Code = "compare-said-needs"      // need: repetitions a side
	verdictNeedsMany  fact.Code = "compare-said-needs-many" // most
	verdictCannotTell fact.Code = "compare-said-cannot-tell"
)

// What came of the whole; base, new, change, low and high where there is an
// interval, and gpu, the verdict on GPU time, where it was measured.
const (
	headFaster     fact.Code = "compare-head-faster"
	headSlower     fact.Code = "compare-head-slower"
	headNoChange   fact.Code = "compare-head-no-change" // within
	headCannotTell fact.Code = "compare-head-cannot-tell"
	headNothing    fact.Code = "compare-head-nothing"
)
