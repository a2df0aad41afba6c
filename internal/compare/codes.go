package compare

import "github.com/deepprof/deepprof/internal/fact"

// What keeps a verdict from being given.
const (
	OneSample   fact.Code = "compare-one-sample"   // a side has one process: its noise is not known
	TooFew      fact.Code = "compare-too-few"      // have: processes a side; need: that would tell
	TooNoisy    fact.Code = "compare-too-noisy"    // have; most: even so many would not tell
	OneSided    fact.Code = "compare-one-sided"    // status: compare.status
	NotPositive fact.Code = "compare-not-positive" // a sample is 0
	Forbidden   fact.Code = "compare-forbidden"    // why: the difference
	OtherTime   fact.Code = "compare-other-time"   // base, new: compare.clock
)

// Circumstances that differ; base and new have the values.
const (
	OtherGPU        fact.Code = "compare-other-gpu"
	OtherDriver     fact.Code = "compare-other-driver"
	OtherCUDA       fact.Code = "compare-other-cuda"
	OtherCPU        fact.Code = "compare-other-cpu"
	OtherNsys       fact.Code = "compare-other-nsys"
	OtherNcu        fact.Code = "compare-other-ncu"
	OtherSoftware   fact.Code = "compare-other-software"
	OtherModel      fact.Code = "compare-other-model"
	OtherInputs     fact.Code = "compare-other-inputs"
	OtherAnnotation fact.Code = "compare-other-annotation"
	OtherScope      fact.Code = "compare-other-scope"
	OtherPasses     fact.Code = "compare-other-passes"
	OtherTrace      fact.Code = "compare-other-trace"
	OtherLoad       fact.Code = "compare-other-load"
	OtherWorld      fact.Code = "compare-other-world"   // processes of a job
	OtherRank       fact.Code = "compare-other-rank"    // that details are of
	OtherSetting    fact.Code = "compare-other-setting" // key
	OtherKeys       fact.Code = "compare-other-keys"    // keys: how many only one side has
	OtherClocks     fact.Code = "compare-other-clocks"
	Throttled       fact.Code = "compare-throttled"    // side, share, reasons
	NotKnown        fact.Code = "compare-not-known"    // side; of: compare.circumstance, which the runs do not tell
	SideLacks       fact.Code = "compare-side-lacks"   // side, kind: nothing of it was measured
	SameProcess     fact.Code = "compare-same-process" // n: processes that are on both sides
)

// GivenAgain: runs that were named more than once and count once.
const GivenAgain fact.Code = "compare-given-again"

// Why a rule could not be evaluated.
const (
	RuleNoInterval fact.Code = "compare-rule-no-interval" // why: what keeps the verdict
	RuleNoBase     fact.Code = "compare-rule-no-base"     // the base side lacks it
)

// Verdicts as they stand in a table.
const (
	SaidFaster     fact.Code = "compare-said-faster"
	SaidSlower     fact.Code = "compare-said-slower"
	SaidNoChange   fact.Code = "compare-said-no-change"
	SaidMore       fact.Code = "compare-said-more"
	SaidFewer      fact.Code = "compare-said-fewer"
	SaidNew        fact.Code = "compare-said-new"
	SaidGone       fact.Code = "compare-said-gone"
	SaidNeeds      fact.Code = "compare-said-needs"      // need: repetitions a side
	SaidNeedsMany  fact.Code = "compare-said-needs-many" // most
	SaidCannotTell fact.Code = "compare-said-cannot-tell"
)

// What came of the whole; base, new, change, low and high where there is an
// interval, and gpu, the verdict on GPU time, where it was measured.
const (
	HeadFaster     fact.Code = "compare-head-faster"
	HeadSlower     fact.Code = "compare-head-slower"
	HeadNoChange   fact.Code = "compare-head-no-change" // within
	HeadCannotTell fact.Code = "compare-head-cannot-tell"
	HeadNothing    fact.Code = "compare-head-nothing"
)
