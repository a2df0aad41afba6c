package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Cause is why a kernel is held back by what limits it, with the counters that
// prove it and what to do about it. Without a Code it says only what would tell.
type Cause struct {
	// The code is one of the Cause... constants; the parameters are the numbers of
	// its message: the share of bytes used, the ways of a conflict.
	fact.Fact
	Evidence []CauseEvidence `json:"evidence,omitempty"`
	Remedy   fact.Code       `json:"remedy,omitempty"` // what to do: "pad-shared-memory"
	// Need are the sections of ncu that would tell, where there is no code, or
	// that could name a more exact one.
	Need []string `json:"need,omitempty"`
}

// CauseEvidence is a counter, or a value made of counters, with what it was held
// against.
type CauseEvidence struct {
	Metric string  `json:"metric"` // name in the report of ncu; of derived values the counter that decides
	Value  float64 `json:"value"`
	Unit   string  `json:"unit,omitempty"`
	// Relation to the threshold: ">=", "<=", or "" for a value that only explains.
	Relation  string  `json:"relation,omitempty"`
	Threshold float64 `json:"threshold,omitempty"` // in Unit
}

// The causes. docs/limiter.md explains each.
const (
	causeUncoalesced   fact.Code = "uncoalesced"
	causeBankConflicts fact.Code = "bank-conflicts"
	causeAtomics       fact.Code = "contended-atomics"        // global, on few addresses
	causeSharedAtomics fact.Code = "contended-shared-atomics" // in shared memory
	causeManyAtomics   fact.Code = "atomic-throughput"        // spread over L2
	causeDivergence    fact.Code = "divergence"
	causePartialWarps  fact.Code = "partial-warps" // the block is no multiple of a warp
	causeRegisters     fact.Code = "occupancy-registers"
	causeSharedMemory  fact.Code = "occupancy-shared-memory"
	causeBlockSize     fact.Code = "occupancy-block-size"
	CauseFewBlocks     fact.Code = "too-few-blocks"
	causeTailWave      fact.Code = "tail-wave"
	causeUnevenBlocks  fact.Code = "uneven-blocks"
	causeSpills        fact.Code = "register-spills"
	causeLocalMemory   fact.Code = "local-memory"
	causeL2Misses      fact.Code = "l2-misses" // with reuse
	causeStreaming     fact.Code = "streaming" // no reuse possible
	causeL2Traffic     fact.Code = "l2-traffic"
	causeL1Traffic     fact.Code = "l1-traffic"
	causeSharedTraffic fact.Code = "shared-memory-traffic"
	causeHostMemory    fact.Code = "host-memory"
	causeTensorStarved fact.Code = "tensor-starved"
	causeLoadLatency   fact.Code = "load-latency"
	causeBarriers      fact.Code = "barriers"
	causeFP64          fact.Code = "fp64"
	causeSpecial       fact.Code = "special-functions"
	causeInteger       fact.Code = "integer-arithmetic"
	causeICache        fact.Code = "instruction-cache"
	causeConstants     fact.Code = "constant-memory" // threads of a warp read different constants
	causeDependentMath fact.Code = "dependent-instructions"
	causeShortKernel   fact.Code = "short-kernel"
	causePipeBusy      fact.Code = "useful-work" // the pipe does what was asked of it
)

// An answer is what a rule can tell: that it is the cause, that it is not, or
// that the report lacks what it needs.
type answer int

const (
	no answer = iota
	yes
	unknown
)

// A causeRule is a row of the table: a cause with the limiters that it can stand
// behind and the test that proves it.
type causeRule struct {
	code   fact.Code
	remedy fact.Code
	// behind are the limiters that the cause explains; nil is every one.
	behind []string
	// need is the section of ncu that the test rests on.
	need string
	// rest: the cause holds only where none before it does. Where one of those
	// could not be tested, it is not stated.
	rest bool
	test func(*causeInput) (finding, answer)
}

// A finding is what a test found: the numbers of the message and the counters. It is only
// meant where the answer is yes.
type finding struct {
	params   []fact.Param
	evidence []CauseEvidence
}

// A causeInput is what the rules see of one launch: its counters, and what limits it.
type causeInput struct {
	*launch
	kind string // of the limiter
	// all are the limits with their use, the busiest first; empty where one that every
	// verdict needs was not counted.
	all []reading
}

// causeOf names the cause behind a limiter of the launch, by its kind. The first rule that holds decides;
// the order is that of docs/limiter.md. Without a limiter there is no cause.
func causeOf(l *launch, kind string) *Cause {
	if kind == "" {
		return nil
	}
	all, _ := l.readings()
	s := &causeInput{launch: l, kind: kind, all: all}
	var need []string
	for i := range causeRules {
		r := &causeRules[i]
		if r.behind != nil && !slices.Contains(r.behind, kind) {
			continue
		}
		f, a := r.test(s)
		switch {
		case a == unknown:
			if r.need != "" && !slices.Contains(need, r.need) {
				need = append(need, r.need)
			}
		case a == yes && r.rest && len(need) > 0:
			return &Cause{Need: need}
		case a == yes:
			return &Cause{Fact: fact.New(r.code, f.params...), Evidence: f.evidence, Remedy: r.remedy}
		}
	}
	return &Cause{Need: need}
}

// reaches is evidence that is at least a threshold, in the same unit.
func reaches(metric string, v float64, unit string, threshold float64) CauseEvidence {
	return CauseEvidence{Metric: metric, Value: v, Unit: unit, Relation: ">=", Threshold: threshold}
}

// stays is at most the threshold, which is in the unit of the value.
func stays(metric string, v float64, unit string, threshold float64) CauseEvidence {
	return CauseEvidence{Metric: metric, Value: v, Unit: unit, Relation: "<=", Threshold: threshold}
}

// told has no threshold: it explains the others.
func told(metric string, v float64, unit string) CauseEvidence {
	return CauseEvidence{Metric: metric, Value: v, Unit: unit}
}
