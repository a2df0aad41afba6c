package analysis

import (
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// Sections of ncu that rules name where their counters are missing.
const (
	sectionTables = "MemoryWorkloadAnalysis_Tables"
	sectionStalls = "WarpStateStats"
	sectionLight  = "SpeedOfLight"
	sectionLaunch = "LaunchStats"
)

// The limiters behind which causes of a kind can stand.
var (
	memoryLimits = []string{limitDRAM, limitL2, limitL1, limitMixed, limitLatency, limitOccupancy}
	idleLimits   = []string{limitSmall, limitLatency, limitOccupancy, limitLaunch}
	waitLimits   = []string{limitLatency, limitOccupancy}
)

// causeRules are tried in this order: first what keeps all units from working,
// then what wastes the work of the unit that is busy, then what remains.
var causeRules = []causeRule{
	{code: causeHostMemory, remedy: "copy-to-device", test: hostMemory},
	{code: causeAtomics, remedy: "aggregate-atomics", behind: []string{limitL2, limitL1, limitLatency, limitOccupancy, limitSmall, limitLaunch}, need: sectionTables, test: contendedAtomics},
	{code: causeSharedAtomics, remedy: "privatize-shared-atomics", behind: []string{limitL1, limitLatency, limitOccupancy}, need: sectionTables, test: sharedAtomics},
	{code: CauseFewBlocks, remedy: "more-blocks", behind: idleLimits, need: sectionLight, test: fewBlocks},
	{code: causeTailWave, remedy: "fill-last-wave", need: sectionLight, test: tailWave},
	{code: causeUnevenBlocks, remedy: "even-blocks", test: unevenBlocks},
	{code: causeSpills, remedy: "fewer-live-registers", behind: memoryLimits, need: sectionTables, test: spills},
	{code: causeLocalMemory, remedy: "static-indices", behind: memoryLimits, need: sectionTables, test: localMemory},
	{code: causeBankConflicts, remedy: "pad-shared-memory", behind: []string{limitL1, limitLatency, limitOccupancy, limitMixed}, need: sectionTables, test: bankConflicts},
	{code: causeTensorStarved, remedy: "stage-operands", behind: []string{limitL1, limitL2, limitLatency, limitOccupancy}, test: tensorStarved},
	{code: causeUncoalesced, remedy: "coalesce", behind: memoryLimits, need: sectionTables, test: uncoalesced},
	{code: causeManyAtomics, remedy: "aggregate-atomics", behind: []string{limitL2, limitLatency}, test: manyAtomics},
	{code: causeBarriers, remedy: "fewer-barriers", behind: []string{limitLatency, limitOccupancy, limitCompute, limitL1}, need: sectionStalls, test: barriers},
	{code: causeICache, remedy: "smaller-code", behind: waitLimits, need: sectionStalls, test: stalled("no_instruction")},
	{code: causeConstants, remedy: "constants-to-memory", behind: []string{limitCompute, limitMixed, limitLatency, limitOccupancy}, test: constants},
	{code: causePartialWarps, remedy: "whole-warps", behind: []string{limitCompute, limitMixed, limitLatency}, need: sectionStalls, test: partialWarps},
	{code: causeDivergence, remedy: "converge", behind: []string{limitCompute, limitMixed, limitLatency, limitOccupancy}, need: sectionStalls, test: divergence},
	{code: CauseFewBlocks, remedy: "more-blocks", behind: waitLimits, rest: true, test: fewWarps},
	{code: causeRegisters, remedy: "fewer-registers", behind: waitLimits, need: sectionLaunch, test: occupancyBy("launch__occupancy_limit_registers")},
	{code: causeSharedMemory, remedy: "less-shared-memory", behind: waitLimits, test: occupancyBy("launch__occupancy_limit_shared_mem")},
	{code: causeBlockSize, remedy: "other-block-size", behind: waitLimits, test: occupancyBy("launch__occupancy_limit_warps", "launch__occupancy_limit_blocks", "launch__occupancy_limit_barriers")},
	{code: causeFP64, remedy: "single-precision", behind: []string{limitCompute}, test: busyPipe("fp64", "tensor_fp64")},
	{code: causeSpecial, remedy: "cheaper-functions", behind: []string{limitCompute}, test: busyPipe("xu")},
	{code: causeInteger, remedy: "cheaper-indices", behind: []string{limitCompute}, rest: true, test: busyPipe("int")},
	{code: causeLoadLatency, remedy: "more-loads-in-flight", behind: []string{limitLatency, limitOccupancy, limitDRAM, limitL2}, rest: true, test: loadLatency},
	{code: causeDependentMath, remedy: "independent-instructions", behind: waitLimits, rest: true, test: stalled("wait", "short_scoreboard", "math_pipe_throttle", "branch_resolving", "dispatch_stall", "mio_throttle", "imc_miss")},
	{code: causeL2Misses, remedy: "reorder-blocks", behind: []string{limitDRAM}, need: sectionTables, test: l2Misses},
	{code: causeStreaming, remedy: "move-fewer-bytes", behind: []string{limitDRAM, limitL2}, need: sectionTables, rest: true, test: streaming},
	{code: causeSharedTraffic, remedy: "reuse-in-registers", behind: []string{limitL1}, need: sectionTables, rest: true, test: sharedTraffic},
	{code: causeL1Traffic, remedy: "wider-loads", behind: []string{limitL1}, rest: true, test: remains},
	{code: causeL2Traffic, remedy: "reuse-in-shared-memory", behind: []string{limitL2}, rest: true, test: remains},
	{code: causeShortKernel, remedy: "fuse-launches", behind: []string{limitLaunch}, rest: true, test: remains},
	{code: causePipeBusy, remedy: "less-arithmetic", behind: []string{limitCompute, limitMixed}, rest: true, test: pipeBusy},
}

// remains holds where no rule before it does: the level of the limiter is its
// evidence.
func remains(s *causeInput) (finding, answer) {
	for _, r := range s.all {
		if r.kind == s.kind || s.kind == limitMixed {
			return finding{[]fact.Param{fact.Share("level", r.level)}, []CauseEvidence{told(r.counter, 100*r.level, "%")}}, yes
		}
	}
	if name, ns, ok := s.first("gpu__time_duration.sum", "gpu__time_duration.avg"); ok && s.kind == limitLaunch {
		return finding{evidence: []CauseEvidence{told(name, ns, "ns")}}, yes
	}
	return finding{}, yes
}

// hostMemory: L2 is filled from the host over the bus.
func hostMemory(s *causeInput) (finding, answer) {
	v, ok := s.several(counterHostFill, counterDeviceFill)
	if !ok || v[0] < hostFillLimit || v[0] < hostLimit*(v[0]+v[1]) {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("part", v[0]/(v[0]+v[1]))},
		[]CauseEvidence{reaches(counterHostFill, v[0], "%", hostFillLimit), told(counterDeviceFill, v[1], "%")}}, yes
}

// contendedAtomics: one slice of L2 takes atomics most of the time while the
// others have few.
func contendedAtomics(s *causeInput) (finding, answer) {
	if n, ok := s.sum(counterRed, counterAtom, counterCAS); ok && n == 0 {
		return finding{}, no
	}
	v, ok := s.several(counterSliceMax, counterSliceAvg)
	if !ok {
		return finding{}, unknown
	}
	least, skew := sliceLimit, skewLimit
	_, many := manyAtomics(s)
	if many == yes && !slices.ContainsFunc(s.all, func(r reading) bool { return r.level >= busyLimit }) { // little else is asked for
		least, skew = sliceAloneLimit, skewAloneLimit
	}
	if v[0] < 100*least || v[0] < skew*v[1] {
		return finding{}, no
	}
	f := finding{params: []fact.Param{fact.Share("slice", share(v[0])), fact.Share("mean", share(v[1]))},
		evidence: []CauseEvidence{reaches(counterSliceMax, v[0], "%", 100*least), stays(counterSliceAvg, v[1], "%", v[0]/skew)}}
	if n, ok := s.sum(counterRed, counterAtom, counterCAS); ok {
		f.params = append(f.params, fact.Count("requests", int64(n)))
	}
	return f, yes
}

// sharedAtomics: threads of a warp add to the same words of shared memory, so that
// an instruction takes several passes.
func sharedAtomics(s *causeInput) (finding, answer) {
	v, ok := s.several(counterAtomicPasses, counterSharedAtomics, counterPasses)
	if !ok {
		return finding{}, unknown
	}
	if v[1] <= 0 || v[2] <= 0 || v[0]/v[1] < waysLimit || v[0]/v[2] < conflictsLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Num("ways", fact.KindNumber, math.Round(v[0]/v[1]))},
		[]CauseEvidence{reaches(counterAtomicPasses, v[0], "passes", waysLimit*v[1]), told(counterSharedAtomics, v[1], "inst")}}, yes
}

// round leaves one digit behind the point, for numbers that are shown.
func round(x float64) float64 { return math.Round(10*x) / 10 }

// fewBlocks: the grid leaves SMs without work from the start.
func fewBlocks(s *causeInput) (finding, answer) {
	waves, ok := s.value(counterWaves[0])
	if !ok {
		return finding{}, unknown
	}
	if waves >= 1 {
		return finding{}, no
	}
	f := s.partOfWave(waves, 1)
	counter, active, ok := s.active()
	switch {
	case !ok:
		return finding{}, unknown
	case active <= activeLimit:
		f.params = append(f.params, fact.Share("active", active))
		f.evidence = append(f.evidence, stays(counter, 100*active, "percent-of-busiest-sm", 100*activeLimit))
		return f, yes
	}
	return finding{}, no
}

// fewWarps: every SM has blocks, and room for as many again that the grid lacks.
func fewWarps(s *causeInput) (finding, answer) {
	waves, ok := s.value(counterWaves[0])
	if !ok || waves > 1-occupiedLimit {
		return finding{}, no
	}
	return s.partOfWave(waves, 1-occupiedLimit), yes
}

// partOfWave says how much of a wave the grid is, where most would be enough, and its blocks
// beside the SMs where both are known.
func (s *causeInput) partOfWave(waves, most float64) finding {
	f := finding{params: []fact.Param{fact.Share("wave", waves)}, evidence: []CauseEvidence{stays(counterWaves[0], waves, "waves", most)}}
	if v, ok := s.several(counterBlocks, counterSMs); ok {
		f.params = append(f.params, fact.Count("blocks", int64(v[0])), fact.Count("sms", int64(v[1])))
	}
	return f
}

// tailWave: the last wave of blocks fills a part of the GPU, and SMs wait for it.
func tailWave(s *causeInput) (finding, answer) {
	waves, ok := s.value(counterWaves[0])
	if !ok || waves <= 1 {
		return finding{}, no
	}
	full := waves / math.Ceil(waves)
	counter, active, ok := s.active()
	switch {
	case full > tailLimit:
		return finding{}, no
	case !ok:
		return finding{}, unknown
	case active > tailLimit || active < full-(1-activeLimit): // far less is no matter of the last wave
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Num("waves", fact.KindNumber, math.Round(100*waves)/100), fact.Share("active", active)},
		[]CauseEvidence{stays(counterWaves[0], waves, "waves", tailLimit*math.Ceil(waves)), stays(counter, 100*active, "percent-of-busiest-sm", 100*tailLimit)}}, yes
}

// unevenBlocks: SMs run out of work while others have some, and not for the last
// wave: blocks differ in their work.
func unevenBlocks(s *causeInput) (finding, answer) {
	counter, active, ok := s.active()
	if !ok || active > activeLimit || s.durationNS() < 2*rampNS { // a short one is mostly start and end
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("active", active)}, []CauseEvidence{stays(counter, 100*active, "percent-of-busiest-sm", 100*activeLimit)}}, yes
}

// spills: local memory is much of what L1 moves, and the compiler put registers there.
// An array with computed indices is no spill, see localMemory.
func spills(s *causeInput) (finding, answer) {
	n, ok := s.value(counterSpills)
	f, a := localMemory(s)
	if a == yes && (!ok || n <= 0) {
		return finding{}, no
	}
	if a == yes {
		f.evidence = append(f.evidence, reaches(counterSpills, n, "inst", 1))
	}
	return f, a
}

// localMemory: much of what L1 moves is local memory, for whatever reason.
func localMemory(s *causeInput) (finding, answer) {
	part, a := s.local()
	if a != yes {
		return finding{}, a
	}
	if part < localLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("part", part)}, []CauseEvidence{reaches("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 100*part, "percent-of-l1-sectors", 100*localLimit)}}, yes
}

// bankConflicts: conflicts add passes through shared memory. Where no unit is at
// its limit they matter if warps wait for shared memory.
func bankConflicts(s *causeInput) (finding, answer) {
	counter, part, mean, a := s.conflicts()
	switch {
	case a == unknown:
		return finding{}, unknown
	case a == no || part < conflictsLimit:
		return finding{}, no
	}
	if inL1, ok := s.sharedPart(); ok && part*inL1 < conflictsLimit && s.kind == limitL1 {
		return finding{}, no
	}
	if s.kind == limitLatency || s.kind == limitOccupancy {
		if _, a := s.waits("short_scoreboard", "mio_throttle"); a != yes {
			return finding{}, a
		}
	}
	ways, of := s.ways(mean)
	return finding{[]fact.Param{fact.Num("ways", fact.KindNumber, math.Round(ways)), fact.ID("of", "access", of), fact.Share("part", part)},
		[]CauseEvidence{reaches(counter, 100*part, "percent-of-passes", 100*conflictsLimit)}}, yes
}

// uncoalesced: memory moves at least twice the bytes that threads ask for. Where
// no unit is at its limit it can be felt only if one works hard.
func uncoalesced(s *causeInput) (finding, answer) {
	level := s.kind
	if level == limitLatency || level == limitOccupancy || level == limitMixed {
		level = limitL1
		if max(s.level(limitDRAM), s.level(limitL2), s.level(limitL1)) < busyLimit {
			return finding{}, no
		}
	}
	counter, used, ok := s.used(level)
	if !ok {
		return finding{}, unknown
	}
	if used > usedLimit {
		return finding{}, no
	}
	bytes, _ := s.value(counter)
	return finding{[]fact.Param{fact.Num("bytes", fact.KindNumber, round(bytes)), fact.Num("of", fact.KindNumber, sectorBytes), fact.Share("used", used),
		fact.ID("access", "access", accessOf[counter])},
		[]CauseEvidence{told(counter, bytes, "byte-of-32"), stays(counterLoadSectors, 100*used, "percent-of-moved-bytes", 100*usedLimit)}}, yes
}

// accessOf tells loads from stores by the counter that decided.
var accessOf = map[string]string{counterLoadUse: "load", counterStoreUse: "store"}

// manyAtomics: atomics are much of what L2 is asked for, over many addresses.
func manyAtomics(s *causeInput) (finding, answer) {
	n, ok := s.sum(counterRed, counterAtom, counterCAS)
	all, okAll := s.value(counterRequests)
	if !ok || !okAll || all <= 0 || n/all < atomicsLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("part", n/all)}, []CauseEvidence{reaches(counterRed, n, "request", atomicsLimit*all)}}, yes
}

// barriers: most warps wait for others of their block. A unit that is nearly always busy
// all the same has enough to do.
func barriers(s *causeInput) (finding, answer) {
	if (s.kind == limitCompute || s.kind == limitL1) && s.level(s.kind) >= fullLimit {
		return finding{}, no
	}
	return s.stalledBy("barrier")
}

// stalled is the test that the largest stall is one of some reasons.
func stalled(reasons ...string) func(*causeInput) (finding, answer) {
	return func(s *causeInput) (finding, answer) { return s.stalledBy(reasons...) }
}

// stalledBy holds where the largest stall is one of some reasons.
func (s *causeInput) stalledBy(reasons ...string) (finding, answer) {
	st, a := s.waits(reasons...)
	if a != yes {
		return finding{}, a
	}
	return finding{[]fact.Param{fact.Share("stall", st.share), fact.ID("reason", "stall", st.reason)}, []CauseEvidence{st.evidence()}}, yes
}

// constants: threads of a warp read different constants, one after the other.
func constants(s *causeInput) (finding, answer) {
	v, ok := s.value(counterConstants)
	if !ok || v < 100*constantsLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("level", share(v))}, []CauseEvidence{reaches(counterConstants, v, "%", 100*constantsLimit)}}, yes
}

// pipeBusy: the unit does its work. Of a unit that is not known nothing is said.
func pipeBusy(s *causeInput) (finding, answer) {
	if s.kind == limitCompute && busiestPipe(s.all).unit == unitSM {
		return finding{}, no
	}
	return remains(s)
}

// partialWarps: the last warp of each block is mostly empty.
func partialWarps(s *causeInput) (finding, answer) {
	threads, ok := s.value(counterBlockSize)
	fill := threads / (32 * math.Ceil(threads/32)) // share of the threads of its warps that a block has
	if !ok || threads <= 0 || fill > threadsLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Count("threads", int64(threads)), fact.Share("fill", fill)}, []CauseEvidence{stays(counterBlockSize, threads, "threads", 32*threadsLimit)}}, yes
}

// divergence: instructions work for a part of a warp's threads. A kernel that
// waits for memory would not run faster with all of them.
func divergence(s *causeInput) (finding, answer) {
	if s.kind != limitCompute && s.kind != limitMixed {
		if _, a := s.waits("long_scoreboard", "lg_throttle", "barrier", "drain"); a != no {
			return finding{}, map[answer]answer{yes: no, unknown: unknown}[a]
		}
	}
	threads, ok := s.value(counterThreads)
	if !ok {
		return finding{}, unknown
	}
	if threads > 32*threadsLimit {
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Num("threads", fact.KindNumber, round(threads))}, []CauseEvidence{stays(counterThreads, threads, "threads-of-32", 32*threadsLimit)}}, yes
}

// tensorStarved: the kernel's FLOPs are on the tensor pipe, which waits for its
// operands: loads, caches or shared memory are much busier than it is.
func tensorStarved(s *causeInput) (finding, answer) {
	work := s.tensorWork()
	if work < tensorLimit {
		return finding{}, no
	}
	level, counter := 0.0, ""
	for _, r := range s.all {
		if r.tensor() && r.level > level {
			level, counter = r.level, r.counter
		}
	}
	most := min(starvedLimit, fullLimit*max(s.level(limitL1), s.level(limitL2)))
	if s.kind == limitLatency || s.kind == limitOccupancy {
		most = starvedLimit
	}
	if counter == "" || level > most {
		return finding{}, no
	}
	f := finding{[]fact.Param{fact.Share("tensor", level)}, []CauseEvidence{stays(counter, 100*level, "%", 100*most)}}
	if s.kind == limitLatency || s.kind == limitOccupancy {
		st, a := s.waits("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier")
		if a != yes {
			return finding{}, a
		}
		f.params = append(f.params, fact.Share("stall", st.share), fact.ID("reason", "stall", st.reason))
		f.evidence = append(f.evidence, st.evidence())
	}
	return f, yes
}

// occupancyBy holds where few warps fit and one of some resources is the scarcest.
// More warps help only one that waits, for its own data or instructions.
func occupancyBy(resources ...string) func(*causeInput) (finding, answer) {
	return func(s *causeInput) (finding, answer) {
		fits, ok := s.value(counterTheoretical[0])
		counter, blocks, okLimit := s.scarcest()
		if !ok || !okLimit {
			return finding{}, unknown
		}
		if !slices.Contains(resources, counter) || fits > 100*occupiedLimit || s.tensorWork() >= tensorLimit { // products keep the tensor pipe busy with few warps
			return finding{}, no
		}
		if s.kind == limitLatency && len(s.stalls()) == 0 {
			return finding{}, unknown
		}
		f := finding{[]fact.Param{fact.Share("fits", fits/100), fact.Count("blocks", int64(blocks))},
			[]CauseEvidence{stays(counterTheoretical[0], fits, "%", 100*occupiedLimit), told(counter, blocks, "block")}}
		for _, r := range []struct {
			counter, key string
			kind         fact.Kind
		}{{"launch__registers_per_thread", "registers", fact.KindCount}, {"launch__shared_mem_per_block", "shared", fact.KindBytes}, {counterBlockSize, "threads", fact.KindCount}} {
			if v, ok := s.value(r.counter); ok {
				f.evidence = append(f.evidence, told(r.counter, v, ""))
				f.params = append(f.params, fact.Num(r.key, r.kind, v))
			}
		}
		return f, yes
	}
}

// busyPipe holds where one of some pipes is the busiest unit of the SM.
func busyPipe(ids ...string) func(*causeInput) (finding, answer) {
	return func(s *causeInput) (finding, answer) {
		for _, id := range ids {
			if counter, level := s.pipe(id); counter != "" && level >= s.level(limitCompute) {
				return finding{[]fact.Param{fact.Share("level", level)}, []CauseEvidence{told(counter, 100*level, "%")}}, yes
			}
		}
		return finding{}, no
	}
}

// loadLatency: warps wait for loads, and no unit is at its limit. A memory that is
// only near to its limit could move more if more were asked of it at once.
func loadLatency(s *causeInput) (finding, answer) {
	if s.level(s.kind) >= reachedShare {
		return finding{}, no
	}
	f, a := s.stalledBy("long_scoreboard", "lg_throttle")
	if a == unknown && (s.kind == limitDRAM || s.kind == limitL2) {
		return f, no
	}
	return f, a
}
