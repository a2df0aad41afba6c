package analysis

import (
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/gpu"
)

// The memory levels of a roofline.
const (
	levelDRAM = "dram"
	levelL2   = "l2"
	levelL1   = "l1"
)

// levels are in the order to show: the farthest from the SMs first.
var levels = []string{levelDRAM, levelL2, levelL1}

// done is what a counted launch did. A type that it did not compute in, or a level that was not
// counted, is not in its map.
type done struct {
	seconds float64
	flops   map[gpu.DType]float64
	bytes   map[string]float64 // by memory level
	// missing names counters, or patterns of them.
	missing []string // what was not counted
}

// computed tells whether all FLOPs were counted.
func (d *done) computed() bool {
	return d.seconds > 0 && !slices.ContainsFunc(d.missing, func(m string) bool { return !strings.HasPrefix(m, "dram__") })
}

// tensorOps matches counters of tensor operations: with or without the
// instruction, source type, and sparsity.
var tensorOps = regexp.MustCompile(`^sm__ops_path_tensor_(op_[a-z]+_)?src_([a-z]+[0-9]+)(?:_dst_[a-z0-9]+)?(_sparsity_(?:off|on))?\.sum(\..+)?$`)

// tensorTypes are the types of products by the source type in a counter's name. Others, such as
// int4, have no peak here and do not count.
var tensorTypes = map[string]gpu.DType{
	"bf16": gpu.TensorBF16, "fp16": gpu.TensorFP16, "tf32": gpu.TensorTF32, "fp8": gpu.TensorFP8, "int8": gpu.TensorINT8, "fp64": gpu.TensorFP64,
}

// counts tells what a launch did, as ncu's roofline sections compute it. It is
// computed once, from the values that the launch has then, and not to be changed.
func (l *launch) counts() *done {
	if l.did == nil {
		l.did = l.compute()
	}
	return l.did
}

// compute is counts without its memory. Without a duration nothing can be told.
func (l *launch) compute() *done {
	d := &done{flops: map[gpu.DType]float64{}, bytes: map[string]float64{}}
	if _, ns, ok := l.first("gpu__time_duration.sum", "gpu__time_duration.avg"); ok && ns > 0 {
		d.seconds = ns / 1e9
	} else {
		d.missing = append(d.missing, "gpu__time_duration")
		return d
	}
	l.tensorFLOPs(d)
	l.vectorFLOPs(d)
	l.traffic(d)
	return d
}

// tensorNames are the counters that tensorOps may match, sorted: few of the
// thousand of a launch, which is asked often.
func (l *launch) tensorNames() []string {
	var names []string
	for name := range l.values {
		if strings.HasPrefix(name, "sm__ops_path_tensor_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tensorFLOPs adds the counters per type. The same operations may be counted as
// a whole and in parts: by instruction, by destination type, by sparsity. Of
// these the least divided counts, and the next where a type lacks it.
func (l *launch) tensorFLOPs(d *done) {
	type sums [4]float64 // by how much is divided
	ops, have := map[gpu.DType]*sums{}, map[gpu.DType]*[4]bool{}
	for _, name := range l.tensorNames() {
		m := tensorOps.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		dtype, ok := tensorTypes[m[2]]
		n, counted := l.total(strings.TrimSuffix(name, m[4]), m[4], d.seconds)
		if !ok || !counted {
			continue
		}
		if ops[dtype] == nil {
			ops[dtype], have[dtype] = &sums{}, &[4]bool{}
		}
		at := 0
		switch {
		case m[1] != "":
			at = 3
		case m[3] != "":
			at = 2
		case strings.Contains(name, "_dst_"):
			at = 1
		}
		ops[dtype][at] += n
		have[dtype][at] = true
	}
	for dtype, n := range ops {
		if at := slices.Index(have[dtype][:], true); n[at] > 0 {
			d.flops[dtype] = n[at]
		}
	}
	if len(ops) == 0 {
		d.missing = append(d.missing, "sm__ops_path_tensor_*")
	}
}

// total of a counter over the launch, from the suffix at hand; the plain sum
// goes before the rates.
func (l *launch) total(base, suffix string, seconds float64) (float64, bool) {
	v := l.values[base+suffix]
	_, plain := l.values[base]
	_, perSecond := l.values[base+".per_second"]
	switch suffix {
	case "":
		return v, true
	case ".per_second":
		return v * seconds, !plain
	case ".per_cycle_elapsed":
		hz, ok := l.smClock()
		return v * hz * seconds, ok && !plain && !perSecond
	}
	return 0, false
}

// smClock is in Hz, the mean over the launch; false where no cycles were counted.
func (l *launch) smClock() (float64, bool) {
	_, hz, ok := l.first("sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second")
	return hz, ok
}

// An instruction and the FLOPs of one execution by one thread.
type vectorOp struct {
	name   string
	weight float64
}

// vectorOps are the instructions of the ordinary pipes that are arithmetic, by type.
var vectorOps = []struct {
	dtype gpu.DType
	ops   []vectorOp
}{
	{gpu.FP32, []vectorOp{{"fadd", 1}, {"fmul", 1}, {"ffma", 2}}},
	{gpu.FP64, []vectorOp{{"dadd", 1}, {"dmul", 1}, {"dfma", 2}}},
	{gpu.FP16, []vectorOp{{"hadd", 2}, {"hmul", 2}, {"hfma", 4}}},
}

// vectorFLOPs counts what the ordinary pipes did: an FMA is two, and a packed
// half instruction works on two values.
func (l *launch) vectorFLOPs(d *done) {
	for _, v := range vectorOps {
		sum, found := 0.0, 0
		for _, op := range v.ops {
			if n, have := l.threadOps(op.name, d.seconds); have {
				sum += n * op.weight
				found++
			}
		}
		if found < len(v.ops) {
			d.missing = append(d.missing, "smsp__sass_thread_inst_executed_op_"+v.ops[0].name+"_pred_on")
		} else if sum > 0 && !(v.dtype == gpu.FP16 && (l.movesOnly(d.seconds) || l.widensOnly(d.seconds))) {
			d.flops[v.dtype] = sum
		}
	}
}

// threadOps is how often threads executed an instruction; reports have the sum
// or the rate.
func (l *launch) threadOps(op string, seconds float64) (float64, bool) {
	base := "smsp__sass_thread_inst_executed_op_" + op + "_pred_on.sum"
	if n, ok := l.value(base); ok {
		return n, true
	}
	n, ok := l.value(base + ".per_cycle_elapsed")
	hz, clocked := l.smClock()
	return n * hz * seconds, ok && clocked
}

const (
	// movesShare is the part of all instructions below which packed half
	// arithmetic is taken for moves of constants, for which compilers use it.
	movesShare = 0.03
	// fmaMovesShare is the same where all of it is FMA, which is what moves are:
	// a kernel that computes in half adds or multiplies as well, or does little
	// else.
	fmaMovesShare = 0.1
)

// movesOnly tells of packed half instructions that compute nothing. Kernels that
// only copy, or compute in float alone, have them: up to 4.1 % of all instructions
// in the captures of an H200, every one an FMA.
func (l *launch) movesOnly(seconds float64) bool {
	_, all, ok := l.first("smsp__inst_executed.sum", "inst_executed")
	add, _ := l.threadOps("hadd", seconds)
	mul, _ := l.threadOps("hmul", seconds)
	fma, _ := l.threadOps("hfma", seconds)
	if !ok || all <= 0 { // --set roofline does not count all instructions
		return add+mul == 0 && l.ofHalfPeak(fma, seconds) < fmaMovesShare
	}
	share := (add + mul + fma) / 32 / all // of warps
	if add+mul == 0 {
		return share < fmaMovesShare
	}
	return share < movesShare
}

// l1Loaded is the counter of the bytes that L1 hands to the registers.
const l1Loaded = "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second"

// widensOnly tells of packed half sums that compute nothing: to make a float of a
// half, compilers add zero to it (HADD2.F32), once for each half that was loaded. A
// real sum of packed halves needs at most one for every two of them.
func (l *launch) widensOnly(seconds float64) bool {
	rate, ok := l.value(l1Loaded)
	add, _ := l.threadOps("hadd", seconds)
	mul, _ := l.threadOps("hmul", seconds)
	fma, _ := l.threadOps("hfma", seconds)
	if !ok || rate <= 0 || add == 0 || mul > 0 || fma > add/2 {
		return false
	}
	perHalf := add / (rate * seconds / 2)
	return perHalf > 0.7 && perHalf < 1.05 // stores and indexes make it less than 1
}

// ofHalfPeak is the share of what the pipes can do in packed half FMAs that a launch
// executed; 0 where the peak is not known.
func (l *launch) ofHalfPeak(fma, seconds float64) float64 {
	peak, ok := l.value("sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained")
	hz, clocked := l.smClock()
	if !ok || !clocked || peak <= 0 || hz <= 0 || seconds <= 0 {
		return 0
	}
	return fma / (peak * hz * seconds)
}

// traffic adds the bytes of each level that were counted. A level whose counters leave
// a part of the loads out is not there at all.
func (l *launch) traffic(d *done) {
	read, haveRead := l.value("dram__bytes_read.sum")
	write, haveWrite := l.value("dram__bytes_write.sum")
	if haveRead && haveWrite {
		d.bytes[levelDRAM] = read + write
	} else if rate, ok := l.value("dram__bytes.sum.per_second"); ok {
		d.bytes[levelDRAM] = rate * d.seconds
	} else {
		d.missing = append(d.missing, "dram__bytes.sum.per_second")
	}
	if rate, ok := l.value("derived__lts__lts2xbar_bytes.sum.per_second"); ok {
		d.bytes[levelL2] = rate * d.seconds
	}
	if rate, ok := l.value(l1Loaded); ok && !l.passesL1(rate*d.seconds, d.bytes[levelL2]) {
		d.bytes[levelL1] = rate * d.seconds
	}
}

// passesL1 tells a kernel whose loads do not pass the write-back that L1's traffic
// is counted at: those by TMA, and asynchronous copies into shared memory, which
// no counter names but which leave L1 with far fewer bytes than L2 hands out.
func (l *launch) passesL1(l1, l2 float64) bool {
	_, tma, _ := l.first("sm__inst_executed_pipe_tma.avg.pct_of_peak_sustained_active", "sm__pipe_tma_cycles_active"+ofElapsed, "l1tex__tmain_requests.sum")
	return tma > 0 || l1 < l2/2
}

// A limit is a peak as a launch reports it: operations or bytes. Zero fields are not known.
type limit struct {
	perCycle float64 // 0 where only the rate is known
	hz       float64 // clock that rate holds at; 0 where only the rate is known
	rate     float64 // per second
	counter  string  // that perCycle is from
	basis    string
}

// limits are the peaks that ncu reports beside a launch.
func (l *launch) limits() (flops map[gpu.DType]limit, bytes map[string]limit) {
	flops, bytes = map[gpu.DType]limit{}, map[string]limit{}
	hz, _ := l.smClock()
	for _, name := range l.tensorNames() {
		m := tensorOps.FindStringSubmatch(name)
		// Without "sparsity_off" the peak is that of sparse products; only fp64
		// has none.
		if m == nil || m[4] != ".peak_sustained" || m[3] == "_sparsity_on" || m[3] == "" && m[2] != "fp64" {
			continue
		}
		dtype, ok := tensorTypes[m[2]]
		if v := l.values[name]; ok && v > flops[dtype].perCycle && hz > 0 {
			flops[dtype] = limit{v, hz, v * hz, name, name + " x sm__cycles_elapsed.avg.per_second"}
		}
	}
	for _, v := range []struct {
		dtype  gpu.DType
		name   string
		weight float64
	}{
		{gpu.FP32, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 2},
		{gpu.FP64, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", 2},
		{gpu.FP16, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 4},
	} {
		if n, ok := l.value(v.name); ok && n > 0 && hz > 0 {
			counter := v.name + " x " + map[float64]string{2: "2", 4: "4"}[v.weight]
			flops[v.dtype] = limit{n * v.weight, hz, n * v.weight * hz, counter, counter + " x sm__cycles_elapsed.avg.per_second"}
		}
	}
	for _, v := range []struct{ level, peak, clock string }{
		{levelDRAM, "dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second"},
		{levelL2, "derived__lts__lts2xbar_bytes.sum.peak_sustained", "lts__cycles_elapsed.avg.per_second"},
		{levelL1, "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained", "l1tex__cycles_elapsed.avg.per_second"},
	} {
		n, ok := l.value(v.peak)
		clock, okClock := l.value(v.clock)
		if ok && okClock && n > 0 && clock > 0 {
			bytes[v.level] = limit{n, clock, n * clock, v.peak, v.peak + " x " + v.clock}
		}
	}
	l.dramByShare(bytes)
	return flops, bytes
}

// dramByShare derives the peak of DRAM from what was achieved and the share of
// the peak that this was, for reports without the roofline sections.
func (l *launch) dramByShare(bytes map[string]limit) {
	if _, ok := bytes[levelDRAM]; ok {
		return
	}
	rate, ok := l.value("dram__bytes.sum.per_second")
	name, pct, okPct := l.first("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed")
	// A small share is too coarse to divide by.
	if ok && okPct && pct >= 5 {
		bytes[levelDRAM] = limit{rate: rate / pct * 100, basis: "dram__bytes.sum.per_second / " + name}
	}
}

// bound is the least time that the launch could take: that of its busiest limit
// at the peaks that ncu reports. Name says which.
func (d *done) bound(flops map[gpu.DType]limit, bytes map[string]limit) (seconds float64, name string) {
	for _, dtype := range gpu.DTypes {
		if p, ok := flops[dtype]; ok && p.rate > 0 && d.flops[dtype]/p.rate > seconds {
			seconds, name = d.flops[dtype]/p.rate, string(dtype)
		}
	}
	for _, level := range levels {
		if p, ok := bytes[level]; ok && p.rate > 0 && d.bytes[level]/p.rate > seconds {
			seconds, name = d.bytes[level]/p.rate, level
		}
	}
	return seconds, name
}
