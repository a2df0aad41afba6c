package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// What the rules of causes hold values against; scripts/validate/causes holds them against kernels
// that are known to have one. Shares are 0 to 1.
const (
	// usedLimit: share of the moved bytes that threads asked for. Every second word of what
	// is read, all of what is written: 67 %. A misaligned copy (80 %) stays above.
	usedLimit float64 = 0.7
	// conflictsLimit: share of the passes through shared memory that bank conflicts
	// add. Two-way conflicts on every access are 50 %; ones on a store per tile a few.
	conflictsLimit float64 = 0.3
	// waysLimit: passes per atomic of shared memory from which its threads wait for
	// each other.
	waysLimit float64 = 4
	// sliceLimit: share of the cycles in which the busiest slice of L2 takes atomics. One
	// address lives in one slice, which takes an integer in 1.2 cycles (83 %) and a
	// float in 3 (33 %).
	sliceLimit float64 = 0.25
	// sliceAloneLimit: the same where atomics are much of what L2 is asked for, nearly all
	// of them for one slice, and no unit is busy: slower atomics, as of doubles.
	sliceAloneLimit float64 = 0.08
	// skewLimit: how much busier that slice is than the mean, from which few addresses
	// are hit. Even traffic stays within 1.3.
	skewLimit float64 = 3
	// skewAloneLimit: one address stays near the number of slices, 94 in an H200.
	skewAloneLimit float64 = 10
	// atomicsLimit: share of the requests to L2 that are atomics, from which they are
	// its work.
	atomicsLimit float64 = 0.3
	// threadsLimit: share of a warp's 32 threads that an instruction works for, on
	// average. A branch that splits warps in two leaves half, and all of them for
	// what both sides share.
	threadsLimit float64 = 0.65
	// activeLimit: share of the time in which an average SM has work, compared with the
	// busiest SM. Even grids of several waves stay above 0.9.
	activeLimit float64 = 0.8
	// tailLimit: the same for the last wave of blocks, which is named from a cost of 15 % on.
	tailLimit float64 = 0.85
	// localLimit: share of the accesses through L1 that go to local memory.
	localLimit float64 = 0.3
	// hostLimit: share of what fills L2 that comes over the bus from the host, which is
	// 50 to 100 times slower than DRAM.
	hostLimit float64 = 0.05
	// hostFillLimit: the same in percent of the peak of these fills. A full bus is near
	// 1; a kernel's own arguments stay below 0.001.
	hostFillLimit float64 = 0.2
	// reuseLimit: bytes that SMs read from L2 for each byte that L2 reads from DRAM, from
	// which data is used again. 1 is a copy.
	reuseLimit float64 = 1.25
	// constantsLimit: share of the cycles in which the cache of indexed constants takes
	// requests. A warp that reads one constant takes one request; kernels of short
	// blocks, which read their arguments, reach 30 %.
	constantsLimit float64 = 0.5
	// stallLimit: share of a warp's time in the largest stall, from which it is named.
	stallLimit float64 = 0.3
	// tensorLimit: share of the FLOPs on the tensor pipe from which that is the kernel's work.
	tensorLimit float64 = 0.5
	// starvedLimit: share of the tensor pipe in use above which it does not starve.
	starvedLimit float64 = 0.5
	// occupiedLimit: share of the warps of an SM that fit, above which more would gain little.
	occupiedLimit float64 = 0.5
	// sharedLimit: share of L1's passes that are for shared memory, from which it is its work.
	sharedLimit float64 = 0.5
	// busyLimit: share of a memory unit in use from which wasted traffic can be felt,
	// where no unit is at its limit.
	busyLimit float64 = 0.3
	// fullLimit: share of a unit in use from which what warps wait for costs nothing; also
	// how far the tensor pipe must stay below what feeds it to starve.
	fullLimit float64 = 0.75
	// rampNS: start and end of a kernel, in which no SM works yet or any more.
	rampNS float64 = 2500
)

// Counters of causes beside those of evidence.go.
const (
	counterActiveAvg = "sm__cycles_active.avg"
	counterActiveMax = "sm__cycles_active.max"
	counterElapsed   = "sm__cycles_elapsed.max"
	counterSMs       = "launch__sm_count"
	counterMajor     = "device__attribute_compute_capability_major"
	counterClockRate = "device__attribute_clock_rate" // kHz
	counterBlocks    = "launch__grid_size"
	counterBlockSize = "launch__block_size"
	counterL2Bytes   = "device__attribute_l2_cache_size"

	counterSliceMax = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
	counterSliceAvg = "lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"
	counterRed      = "lts__t_requests_srcunit_tex_op_red.sum"
	counterAtom     = "lts__t_requests_srcunit_tex_op_atom_dot_alu.sum"
	counterCAS      = "lts__t_requests_srcunit_tex_op_atom_dot_cas.sum"
	counterRequests = "lts__t_requests_srcunit_tex.sum"

	counterSharedAtomics = "smsp__inst_executed_op_shared_atom.sum"
	counterAtomicPasses  = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"
	counterPasses        = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
	counterConflicts     = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
	counterPassesIdeal   = "memory_l1_wavefronts_shared_ideal"
	counterPassesSource  = "memory_l1_wavefronts_shared"
	counterDataPipe      = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
	counterDataShared    = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"

	counterConstants = "idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed"

	counterThreads = "smsp__thread_inst_executed_per_inst_executed.ratio"
	counterPredOn  = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"

	counterLoadUse      = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
	counterStoreUse     = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
	counterLoadSectors  = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
	counterStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
	counterLoads        = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
	counterStores       = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
	counterLoadMisses   = "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum"
	counterDRAMRead     = "dram__bytes_read.sum"
	counterL2Reads      = "lts__t_sectors_srcunit_tex_op_read.sum"

	counterLocalLoads  = "smsp__sass_inst_executed_op_local_ld.sum"
	counterLocalStores = "smsp__sass_inst_executed_op_local_st.sum"
	counterSpills      = "sass__inst_executed_register_spilling"
	counterHostFill    = "lts__d_sectors_fill_sysmem.avg.pct_of_peak_sustained_elapsed"
	counterDeviceFill  = "lts__d_sectors_fill_device.avg.pct_of_peak_sustained_elapsed"
)

// sectorBytes is what memory moves at least: a sector of a cache line.
const sectorBytes = 32

// causeCounters are read although they are ends of a distribution or attributes,
// which other decisions do not use.
var causeCounters = []string{counterActiveMax, counterElapsed, counterSliceMax, counterL2Bytes}

// several gives some counters; false where one was not measured.
func (l *launch) several(names ...string) ([]float64, bool) {
	out := make([]float64, len(names))
	for i, n := range names {
		v, ok := l.value(n)
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// sum of those counters that were measured; false where none was.
func (l *launch) sum(names ...string) (total float64, any bool) {
	for _, n := range names {
		if v, ok := l.value(n); ok {
			total, any = total+v, true
		}
	}
	return total, any
}

// active is the share of the time in which an average SM has work: of the time of
// the busiest SM, or, where that was not counted, of the whole duration less its
// start and end.
func (s *causeInput) active() (counter string, share float64, ok bool) {
	avg, ok := s.value(counterActiveAvg)
	if !ok {
		return "", 0, false
	}
	if most, ok := s.value(counterActiveMax); ok && most > 0 {
		return counterActiveAvg, avg / most, true
	}
	elapsed, ok := s.value(counterElapsed)
	ns := s.durationNS()
	if !ok || elapsed <= 0 || ns <= 0 {
		return "", 0, false
	}
	return counterActiveAvg, min(1, avg/elapsed+rampNS/ns), true
}

// level is how much of a kind of limit is in use, 0 to 1.
func (s *causeInput) level(kind string) float64 {
	for _, r := range s.all { // the busiest first
		if r.kind == kind {
			return r.level
		}
	}
	return 0
}

// stalls are the shares of a warp's time by what it waits for, the largest first.
// Waiting for one's turn is not among them but counts in the whole.
type stallShare struct {
	reason, counter string
	share           float64
}

// stalls are nil where none were counted. Shares are of the sum over all reasons, so
// that those returned add up to less than 1.
func (l *launch) stalls() []stallShare {
	total := 0.0
	var out []stallShare
	for _, name := range slices.Sorted(maps.Keys(l.values)) { // in one order, so that the sum is the same to the last digit
		v := l.values[name]
		r, found := strings.CutPrefix(name, stallPrefix)
		r, ends := strings.CutSuffix(r, stallSuffix)
		if !found || !ends || strings.HasSuffix(r, "_not_issued") {
			continue
		}
		total += v
		if r != "selected" && r != "not_selected" {
			out = append(out, stallShare{r, name, v})
		}
	}
	if total <= 0 {
		return nil
	}
	for i := range out {
		out[i].share /= total
	}
	slices.SortFunc(out, func(x, y stallShare) int {
		return cmp.Or(cmp.Compare(y.share, x.share), cmp.Compare(x.reason, y.reason))
	})
	return out
}

// waits reports whether the largest stall is one of some reasons and large enough
// to be named. Unknown where stalls were not counted.
func (s *causeInput) waits(reasons ...string) (stallShare, answer) {
	all := s.stalls()
	switch {
	case len(all) == 0:
		return stallShare{}, unknown
	case slices.Contains(reasons, all[0].reason) && all[0].share >= stallLimit:
		return all[0], yes
	}
	return stallShare{}, no
}

// evidence is the stall with the share that makes it matter.
func (st stallShare) evidence() CauseEvidence {
	return reaches(st.counter, 100*st.share, "percent-of-warp-time", 100*stallLimit)
}

// used is the share of the bytes moved into a level for global loads and stores
// that threads asked for, at most: bytes that are asked for twice count twice.
// The counter is that of the accesses that waste more.
func (s *causeInput) used(kind string) (counter string, share float64, ok bool) {
	load, okLoad := s.value(counterLoadUse)
	store, okStore := s.value(counterStoreUse)
	if !okLoad && !okStore {
		return "", 0, false
	}
	sectors, ok := s.several(counterLoadSectors, counterStoreSectors)
	if !ok { // a ratio without its weight: the few stores of a product scatter as well
		return "", 0, false
	}
	loads, stores := sectors[0], sectors[1]
	moved, ok := s.movedSectors(kind, loads)
	if !ok {
		return "", 0, false
	}
	asked, askedStores := load/sectorBytes*loads, store/sectorBytes*stores
	if kind == limitL1 { // an access of one word by all threads takes one sector at least
		v, ok := s.several(counterLoads, counterStores)
		if !ok {
			return "", 0, false
		}
		asked, askedStores = max(asked, v[0]), max(askedStores, v[1])
	}
	asked, askedStores = min(asked, moved), min(askedStores, stores)
	if moved+stores <= 0 {
		return counterLoadUse, 1, true
	}
	counter = counterLoadUse
	if stores-askedStores > moved-asked {
		counter = counterStoreUse
	}
	return counter, (asked + askedStores) / (moved + stores), true
}

// movedSectors are the sectors that global loads moved into a level of memory. Of
// what DRAM reads they have the part that they have of what L2 is asked for: bulk
// copies (TMA) and atomics read beside them. False where atomics were not counted
// in sectors.
func (s *causeInput) movedSectors(kind string, asked float64) (float64, bool) {
	misses, ok := s.value(counterLoadMisses)
	if !ok || kind == limitL1 {
		return asked, true
	}
	v, ok := s.several(counterDRAMRead, counterL2Reads)
	if !ok || kind != limitDRAM || v[1] <= 0 {
		return misses, true
	}
	requests, _ := s.sum(counterRed, counterAtom, counterCAS)
	atomics, counted := s.sum("lts__t_sectors_srcunit_tex_op_red.sum", "lts__t_sectors_srcunit_tex_op_atom.sum")
	return v[0] / sectorBytes * min(1, misses/(v[1]+atomics)), counted || requests == 0
}

// Counters of loads from shared memory and of stores to it, where they are counted
// apart: passes and those that conflicts add.
const (
	counterLoadPasses     = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
	counterLoadConflicts  = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
	counterStorePasses    = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
	counterStoreConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
)

// ways is how many passes an access with conflicts takes for each that it needs:
// of the loads or the stores, whichever have more conflicts, or of all accesses, as
// given, where they were not counted apart.
func (s *causeInput) ways(all float64) (ways float64, of string) {
	ways, of = all, "all"
	most := 0.0
	for _, op := range []struct{ of, passes, conflicts string }{
		{"loads", counterLoadPasses, counterLoadConflicts}, {"stores", counterStorePasses, counterStoreConflicts},
	} {
		if v, ok := s.several(op.passes, op.conflicts); ok && v[1] > most && v[1] < v[0] {
			ways, of, most = v[0]/(v[0]-v[1]), op.of, v[1]
		}
	}
	return ways, of
}

// conflicts are the passes through shared memory that bank conflicts add, as a
// share of all passes, with the passes per pass that would be needed.
func (s *causeInput) conflicts() (counter string, share, ways float64, a answer) {
	if v, ok := s.several(counterPassesSource, counterPassesIdeal); ok {
		if v[0] <= 0 || v[1] <= 0 {
			return counterPassesSource, 0, 1, no
		}
		return counterPassesSource, 1 - min(1, v[1]/v[0]), v[0] / v[1], yes
	}
	v, ok := s.several(counterPasses, counterConflicts)
	switch {
	case !ok:
		return "", 0, 0, unknown
	case v[0] <= 0 || v[1] >= v[0]:
		return counterConflicts, 0, 1, no
	}
	return counterConflicts, v[1] / v[0], v[0] / (v[0] - v[1]), yes
}

// sharedPart is the share of the passes of L1's data pipe that are for shared memory.
func (s *causeInput) sharedPart() (float64, bool) {
	v, ok := s.several(counterDataShared, counterDataPipe)
	if !ok || v[1] <= 0 {
		return 0, false
	}
	return min(1, v[0]/v[1]), true
}

// local is the share of the accesses through L1 that go to local memory.
func (s *causeInput) local() (share float64, a answer) {
	const sectors = "l1tex__t_sectors_pipe_lsu_mem_"
	if v, ok := s.several(sectors+"local_op_ld.sum", sectors+"local_op_st.sum", counterLoadSectors, counterStoreSectors); ok {
		if all := v[0] + v[1] + v[2] + v[3]; all > 0 {
			return (v[0] + v[1]) / all, yes
		}
		return 0, no
	}
	if n, ok := s.sum(counterLocalLoads, counterLocalStores); ok && n == 0 {
		return 0, no
	}
	return 0, unknown
}

// tensorWork is the share of the FLOPs that the tensor pipe did.
func (s *causeInput) tensorWork() float64 {
	var tensor, all float64
	for dtype, n := range s.counts().flops {
		all += n
		if dtype.Tensor() {
			tensor += n
		}
	}
	if all <= 0 {
		return 0
	}
	return tensor / all
}

// scarcest is the resource that bounds the blocks on an SM, with their number. An
// SM holds a fixed number of blocks at most: where registers or shared
// memory allow as many, the size of the block is what matters.
func (s *causeInput) scarcest() (counter string, blocks float64, ok bool) {
	_, counter, blocks, ok = s.fewestBlocks(append(occupancyLimits[3:4:4], occupancyLimits...))
	return counter, blocks, ok
}

// pipe is how busy a math pipe is, 0 to 1, by its ID.
func (s *causeInput) pipe(id string) (counter string, level float64) {
	for _, p := range pipes {
		if name, v, ok := s.first(p.counters...); ok && p.id == id && share(v) > level {
			counter, level = name, share(v)
		}
	}
	return counter, level
}
