package analysis

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// causeFixtures are captures of scripts/validate/causes on an H200.
const causeFixtures = "testdata/causes/"

// judged are the limiter and the cause of each launch of a report, by the name of
// its function.
func judged(t *testing.T, report string) map[string]*Limiter {
	t.Helper()
	rep, err := readReport(unpacked(t, causeFixtures+report))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*Limiter{}
	for _, res := range rep.Results {
		l := newLaunch(report, res)
		v := decide(l)
		v.Cause = causeOf(l, v.Kind)
		name, _, _ := strings.Cut(res.Name(), "(")
		out[name] = &v
	}
	return out
}

// TestCausesOfKnownKernels holds the verdicts on kernels whose cause is known by
// construction against testdata/causes/causes.tsv.
func TestCausesOfKnownKernels(t *testing.T) {
	reports := map[string]map[string]*Limiter{}
	for _, row := range tableOf(t, "causes/causes.tsv") {
		report, kernel, limiter, cause := row[0], row[1], row[2], fact.Code(row[3])
		if reports[report] == nil {
			reports[report] = judged(t, report+".ncu-rep.zst")
		}
		v := reports[report][kernel]
		delete(reports[report], kernel)
		switch {
		case v == nil:
			t.Errorf("%s: no launch of %s", report, kernel)
		case v.Kind != limiter || v.Cause == nil || v.Cause.Code != cause:
			t.Errorf("%s: %s is limited by %s, cause %+v; want %s, %s", report, kernel, v.Kind, v.Cause, limiter, cause)
		case len(v.Cause.Evidence) == 0 || v.Cause.Remedy == "":
			t.Errorf("%s: the cause of %s has no evidence or no remedy: %+v", report, kernel, v.Cause)
		}
	}
	for report, left := range reports {
		if len(left) > 0 {
			t.Errorf("%s: causes.tsv does not know %v", report, slices.Sorted(maps.Keys(left)))
		}
	}
}

// TestFewerCountersNameNoOtherCause: a report of fewer sections names the same
// cause as one of all, or none and what would tell.
func TestFewerCountersNameNoOtherCause(t *testing.T) {
	for fewer, all := range map[string]string{"default.ncu-rep.zst": "full.ncu-rep.zst", "unseen-more.ncu-rep.zst": "unseen.ncu-rep.zst"} {
		want := judged(t, all)
		for kernel, v := range judged(t, fewer) {
			switch c := v.Cause; {
			case c == nil:
				t.Errorf("%s: %s has no limiter", fewer, kernel)
			case c.Code == "" && len(c.Need) == 0:
				t.Errorf("%s: nothing is said of %s, not even what would tell", fewer, kernel)
			case c.Code != "" && c.Code != want[kernel].Cause.Code:
				t.Errorf("%s: the cause of %s is %s, but %s with all sections", fewer, kernel, c.Code, want[kernel].Cause.Code)
			}
		}
	}
}

// calm are made-up counters of a launch that wastes nothing: every section was
// counted. Rules are tried by changing some of them.
func calm(dram, l2, l1 float64, more map[string]float64) map[string]float64 {
	v := use(dram, l2, l1, map[string]float64{
		counterActiveAvg: 98_000, counterActiveMax: 100_000, counterElapsed: 102_000, counterBlocks: 21_120, counterSMs: 132, counterBlockSize: 256, counterL2Bytes: 60e6,
		counterSliceMax: 0, counterSliceAvg: 0, counterRed: 0, counterAtom: 0, counterCAS: 0, counterRequests: 1e6,
		counterSharedAtomics: 0, counterAtomicPasses: 0, counterPasses: 0, counterConflicts: 0, counterDataPipe: l1, counterDataShared: 0,
		counterThreads: 32, counterPredOn: 31, counterLoadUse: 32, counterStoreUse: 32, counterLoadSectors: 8e6, counterStoreSectors: 8e6, counterLoadMisses: 8e6, counterLoads: 2e6, counterStores: 2e6,
		counterL2Reads: 8e6, counterDRAMRead: 256e6, counterLocalLoads: 0, counterLocalStores: 0,
		"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 0, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 0,
		counterHostFill: 0, counterDeviceFill: dram / 2, "launch__occupancy_limit_registers": 8, "launch__occupancy_limit_shared_mem": 32,
		"launch__occupancy_limit_warps": 8, "launch__occupancy_limit_blocks": 32,
		stallPrefix + "long_scoreboard" + stallSuffix: 4, stallPrefix + "wait" + stallSuffix: 2, stallPrefix + "selected" + stallSuffix: 1,
	})
	maps.Copy(v, more)
	return v
}

// TestCausesThatFool are made-up counters of kernels that look like one cause and
// have another.
func TestCausesThatFool(t *testing.T) {
	const fma, tensor = "sm__pipe_fma_cycles_active" + ofElapsed, "sm__pipe_tensor_cycles_active" + ofElapsed
	const tensorOps = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
	stall := func(reason string) string { return stallPrefix + reason + stallSuffix }
	for _, c := range []struct {
		name   string
		values map[string]float64
		kind   string
		cause  fact.Code
	}{
		{"a copy", calm(85, 70, 20, nil), limitDRAM, causeStreaming},
		{"a fill reads nothing", calm(85, 70, 20, map[string]float64{counterL2Reads: 0, counterDRAMRead: 2e5, counterLoadSectors: 0, counterLoadMisses: 0, counterLoadUse: 0}), limitDRAM, causeStreaming},
		{"a thread walks its own row, and L1 keeps the line", calm(85, 70, 20, map[string]float64{counterLoadUse: 4, counterLoadSectors: 64e6}), limitDRAM, causeStreaming},
		{"the same row, but lines are lost before they are used up", calm(85, 70, 20, map[string]float64{counterLoadUse: 4, counterStoreSectors: 0}), limitDRAM, causeUncoalesced},
		{"bulk copies read beside a few scattered loads", calm(85, 70, 20, map[string]float64{counterLoadUse: 4, counterLoadSectors: 1e3, counterLoadMisses: 1e3, counterStoreSectors: 1e5}), limitDRAM, causeStreaming},
		{"scattered stores of a product that reads a thousand times more", calm(20, 70, 20, map[string]float64{counterStoreUse: 4, counterStoreSectors: 8e3, counterDRAMRead: 2e7}), limitL2, causeL2Traffic},
		{"L2 hits that come of fetching whole lines are no reuse", calm(85, 70, 20, map[string]float64{"lts__t_sector_hit_rate.pct": 50}), limitDRAM, causeStreaming},
		{"data that L2 holds comes from DRAM once", calm(85, 70, 20, map[string]float64{counterL2Reads: 4e6, counterDRAMRead: 40e6, counterLoadSectors: 4e6, counterLoadMisses: 4e6}), limitDRAM, causeStreaming},
		{"data that is read again and does not fit", calm(85, 70, 20, map[string]float64{counterL2Reads: 24e6, counterLoadSectors: 24e6, counterLoadMisses: 24e6}), limitDRAM, causeL2Misses},
		{"a memory that is near its limit while warps wait", calm(55, 45, 20, nil), limitDRAM, causeLoadLatency},
		{"atomics of a reduction, one for each block", calm(20, 20, 20, map[string]float64{counterRed: 2048, counterSliceMax: 4.4, counterSliceAvg: 0.05}), limitLatency, causeLoadLatency},
		{"atomics on one address", calm(1, 1, 1, map[string]float64{counterRed: 1e6, counterSliceMax: 33, counterSliceAvg: 0.35}), limitL2, causeAtomics},
		{"the same in a small grid", calm(1, 1, 1, map[string]float64{counterRed: 1e6, counterSliceMax: 33, counterSliceAvg: 0.35, counterWaves[0]: 0.03, counterBlocks: 32, counterActiveAvg: 20e3}), limitL2, causeAtomics},
		{"atomics over the whole of L2", calm(30, 80, 20, map[string]float64{counterRed: 5e5, counterSliceMax: 80, counterSliceAvg: 78}), limitL2, causeManyAtomics},
		{"atomics of doubles on one address", calm(1, 1, 1, map[string]float64{counterRed: 9e5, counterSliceMax: 12, counterSliceAvg: 0.13}), limitL2, causeAtomics},
		{"a few atomics on one address in a kernel that waits", calm(1, 1, 1, map[string]float64{counterRed: 9e4, counterSliceMax: 12, counterSliceAvg: 0.13}), limitLatency, causeLoadLatency},
		{"all threads of a warp load one word", calm(5, 20, 80, map[string]float64{counterLoadUse: 4, counterLoads: 8e6, counterStores: 0, counterStoreSectors: 0}), limitL1, causeL1Traffic},
		{"every thread loads from a line of its own", calm(5, 20, 80, map[string]float64{counterLoadUse: 4, counterLoads: 25e4, counterStores: 0, counterStoreSectors: 0}), limitL1, causeUncoalesced},
		{"every second word is read and all are written", calm(85, 70, 20, map[string]float64{counterLoadUse: 16, counterStoreSectors: 4e6}), limitDRAM, causeUncoalesced},
		{"one block on each SM, which waits at barriers", calm(5, 5, 5, map[string]float64{counterWaves[0]: 0.5, counterBlocks: 132, stall("barrier"): 20}), limitLatency, causeBarriers},
		{"threads of a warp read different constants", calm(1, 1, 1, map[string]float64{counterSM[0]: 65, counterConstants: 65, stall("mio_throttle"): 50}), limitCompute, causeConstants},
		{"a unit of the SM that is not known", calm(1, 1, 1, map[string]float64{counterSM[0]: 65}), limitCompute, ""},
		{"97 % of a wave", calm(20, 20, 20, map[string]float64{counterWaves[0]: 0.97, counterBlocks: 256}), limitLatency, causeLoadLatency},
		{"fewer blocks than SMs", calm(5, 5, 5, map[string]float64{counterWaves[0]: 0.06, counterBlocks: 64, counterActiveAvg: 48e3}), limitSmall, CauseFewBlocks},
		{"each SM has a block and room for three more", calm(20, 20, 20, map[string]float64{counterWaves[0]: 0.25, counterBlocks: 264}), limitLatency, CauseFewBlocks},
		{"a last wave that other SMs do not wait for", calm(20, 20, 20, map[string]float64{counterWaves[0]: 1.03}), limitLatency, causeLoadLatency},
		{"a last wave of eight blocks", calm(20, 20, 20, map[string]float64{counterWaves[0]: 1.03, counterActiveAvg: 53e3}), limitLatency, causeTailWave},
		{"idle SMs in many waves", calm(20, 20, 20, map[string]float64{counterActiveAvg: 30e3}), limitLatency, causeUnevenBlocks},
		{"a kernel that is mostly start and end", calm(20, 20, 20, map[string]float64{counterActiveAvg: 30e3, "gpu__time_duration.sum": 3000}), limitLatency, causeLoadLatency},
		{"bank conflicts in a few stores", calm(5, 5, 80, map[string]float64{counterPasses: 1e6, counterConflicts: 5e4, counterDataShared: 70}), limitL1, causeSharedTraffic},
		{"bank conflicts that are a small part of L1's work", calm(5, 5, 80, map[string]float64{counterPasses: 1e6, counterConflicts: 5e5, counterDataShared: 10}), limitL1, causeL1Traffic},
		{"bank conflicts", calm(5, 5, 80, map[string]float64{counterPasses: 1e6, counterConflicts: 5e5, counterDataShared: 75}), limitL1, causeBankConflicts},
		{"bank conflicts under a busy DRAM", calm(85, 70, 50, map[string]float64{counterPasses: 1e6, counterConflicts: 5e5, counterDataShared: 20}), limitDRAM, causeStreaming},
		{"a few spills", calm(5, 80, 20, map[string]float64{"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 1e5, counterSpills: 1e4, counterDRAMRead: 1e6}), limitL2, causeL2Traffic},
		{"divergence in a kernel that waits for memory", calm(20, 20, 20, map[string]float64{counterThreads: 8}), limitLatency, causeLoadLatency},
		{"divergence in arithmetic", calm(5, 5, 5, map[string]float64{counterThreads: 17, fma: 80}), limitCompute, causeDivergence},
		{"blocks of one thread", calm(5, 5, 5, map[string]float64{counterThreads: 1, counterBlockSize: 1, fma: 80}), limitCompute, causePartialWarps},
		{"arithmetic of all threads", calm(5, 5, 5, map[string]float64{fma: 80}), limitCompute, causePipeBusy},
		{"few warps that keep a pipe busy", calm(5, 5, 5, map[string]float64{fma: 80, counterTheoretical[0]: 12, "launch__occupancy_limit_registers": 1}), limitCompute, causePipeBusy},
		{"few warps that wait", calm(20, 20, 20, map[string]float64{counterTheoretical[0]: 12, "launch__occupancy_limit_registers": 1}), limitOccupancy, causeRegisters},
		{"few warps that wait at barriers", calm(20, 20, 20, map[string]float64{counterTheoretical[0]: 12, "launch__occupancy_limit_registers": 1, stall("barrier"): 20}), limitOccupancy, causeBarriers},
		{"barriers beside a tensor pipe that is busy", calm(20, 20, 20, map[string]float64{tensor: 92, tensorOps: 1e12, stall("barrier"): 20}), limitCompute, causePipeBusy},
		{"a product that has few warps by design", calm(20, 20, 20, map[string]float64{tensor: 45, tensorOps: 1e12, counterTheoretical[0]: 18, "launch__occupancy_limit_registers": 1}), limitOccupancy, causeTensorStarved},
		{"the tensor pipe waits for L2", calm(20, 75, 40, map[string]float64{tensor: 30, tensorOps: 1e12}), limitL2, causeTensorStarved},
		{"a product of one column reads its weights once", calm(85, 70, 20, map[string]float64{tensor: 10, tensorOps: 1e12}), limitDRAM, causeStreaming},
		{"reads of the host", calm(0.1, 1, 1, map[string]float64{counterHostFill: 0.9, counterDeviceFill: 0.01}), limitLatency, causeHostMemory},
		{"arguments that come from the host", calm(20, 20, 20, map[string]float64{counterHostFill: 0.0004, counterDeviceFill: 0.001}), limitLatency, causeLoadLatency},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := synthetic(c.values)
			v := decide(l)
			cause := causeOf(l, v.Kind)
			if v.Kind != c.kind || cause.Code != c.cause {
				t.Errorf("limited by %s, cause %s (needs %v), want %s, %s", v.Kind, cause.Code, cause.Need, c.kind, c.cause)
			}
			for _, e := range cause.Evidence {
				if _, ok := c.values[e.Metric]; !ok {
					t.Errorf("evidence %s was not counted", e.Metric)
				}
				if strings.ContainsAny(e.Unit, " '") {
					t.Errorf("the unit %q is no code", e.Unit)
				}
				if e.Relation == ">=" && e.Value < e.Threshold || e.Relation == "<=" && e.Value > e.Threshold {
					t.Errorf("evidence against itself: %+v", e)
				}
			}
		})
	}
}

// TestCauseNeedsItsCounters: where the section was not counted there is no cause,
// and the section is named.
func TestCauseNeedsItsCounters(t *testing.T) {
	for _, c := range []struct {
		name   string
		values map[string]float64
		need   string
	}{
		{"what DRAM moved", use(85, 70, 20, nil), sectionTables},
		{"what L1 did", use(5, 20, 85, nil), sectionTables},
		{"what warps wait for", use(20, 20, 20, nil), sectionStalls},
		{"threads of a warp", use(5, 5, 5, map[string]float64{"sm__pipe_fma_cycles_active" + ofElapsed: 80}), sectionStalls},
	} {
		l := synthetic(c.values)
		if cause := causeOf(l, decide(l).Kind); cause.Code != "" || !slices.Contains(cause.Need, c.need) {
			t.Errorf("%s: %+v", c.name, cause)
		}
	}
	if c := causeOf(synthetic(nil), ""); c != nil {
		t.Errorf("without a limiter: %+v", c)
	}
}

// TestCauseRules: every rule has words, a remedy and a code of its own.
func TestCauseRules(t *testing.T) {
	seen := map[fact.Code]bool{}
	for _, r := range causeRules {
		if seen[r.code] && r.code != CauseFewBlocks || r.remedy == "" || !message.Known(r.code) || message.Next(fact.New(r.code)) == "" {
			t.Errorf("%s: twice, without a remedy or without words", r.code)
		}
		seen[r.code] = true
	}
}

// TestCausesHaveTheirNumbers: the parameters that a message names are there.
func TestCausesHaveTheirNumbers(t *testing.T) {
	for kernel, v := range judged(t, "full.ncu-rep.zst") {
		if text := message.Text(v.Cause.Fact); strings.ContainsAny(text, "{}") {
			t.Errorf("%s: %s", kernel, text)
		}
	}
}

// With the sections of the default preset a result says that causes are missing;
// with all sections it does not.
func TestUntoldCauses(t *testing.T) {
	for report, want := range map[string]bool{"default": true, "full": false} {
		r := analyzeFiles(t, causeFixtures+report+".ncu-rep.zst")
		at := slices.IndexFunc(r.Missing, func(n Note) bool { return n.Is(causesUntold) })
		if (at >= 0) != want {
			t.Errorf("%s: %+v", report, r.Missing)
		}
		if at >= 0 && (r.Missing[at].Number("n") < 20 || r.Missing[at].Number("of") < 40) {
			t.Errorf("%s: %+v", report, r.Missing[at])
		}
	}
}

// NVIDIA's rule says of the same launch: a 32.3-way bank conflict across all shared
// load requests. Its stores have none.
func TestBankConflictsOfLoads(t *testing.T) {
	for report, want := range map[string]struct {
		of   string
		ways float64
	}{"unseen.ncu-rep.zst": {"access:loads", 32}, "unseen-more.ncu-rep.zst": {"access:all", 13}} {
		for kernel, v := range judged(t, report) {
			if !strings.HasPrefix(kernel, "u_transpose_conflicts") {
				continue
			}
			if c := v.Cause; c == nil || c.Number("ways") != want.ways || c.Text("of") != want.of {
				t.Errorf("%s: %+v, want %v", report, c, want)
			}
		}
	}
}
