package message

import "github.com/deepprof/deepprof/internal/fact"

// causes say why the limiter of a kernel is what it is, after "Cause: ". The rules of
// internal/analysis (causerules.go) choose one for each limiter; docs/limiter.md explains
// them. A cause without Short would not fit the column of show kernels.
//
// threads and blocks are of a launch or of an SM; part, active, fill and used are shares, of
// what the sentence says; ways, waves, slice and reuse are numbers without a unit; stall is
// an ID of the domain stall, access one of the domain access below.
var causes = map[fact.Code]words{
	"uncoalesced": {Short: "uncoalesced {access}: {bytes} of {of} bytes used",
		Text: "uncoalesced access: {access} use {bytes} of every {of} bytes that memory moves for them ({used} of all bytes moved are used)",
		Next: "Let neighboring threads access neighboring addresses: another layout, or a transpose through shared memory"},
	"bank-conflicts": {Short: "bank conflicts, {ways}-way",
		Text: "{ways}-way bank conflicts of {of}: an access takes {ways} passes for each one that it needs, and {part} of all passes are conflicts",
		Next: "Pad rows by a word, or swizzle the index"},
	"contended-atomics": {Short: "atomics on few addresses",
		Text: "atomics on few addresses: they wait for each other in one slice of L2, which takes them in {slice} of its cycles; the mean over all slices is {mean}",
		Next: "Sum within the warp or block first and add once per block, or spread the adds over several addresses"},
	"contended-shared-atomics": {Short: "atomics on few words of shared memory",
		Text: "atomics on few words of shared memory: threads of a warp wait for each other, so that an instruction takes {ways} passes",
		Next: "Give each warp its own copy, or sum equal keys within the warp first"},
	"atomic-throughput": {Short: "atomics",
		Text: "atomics: they are {part} of the requests to L2",
		Next: "Sum within the warp or block first and add once per block, or spread the adds over several addresses"},
	"divergence": {Short: "divergence: {threads} of 32 threads active",
		Text: "branch divergence: an instruction works for {threads} of the 32 threads of a warp on average",
		Next: "Sort work so that threads of a warp take the same branch, or replace the branch by arithmetic"},
	"partial-warps": {Short: "blocks of {threads:thread|threads}",
		Text: "partial warps: a block has {threads:thread|threads}, so that {fill} of the threads of its warps exist",
		Next: "Use blocks of a multiple of 32 threads"},
	"occupancy-registers": {Short: "registers limit occupancy to {fits}",
		Text: "registers limit occupancy: with {registers:register|registers} a thread, {blocks:block|blocks} of {threads:thread|threads} fit on an SM, {fits} of its warps, too few to hide latency",
		Next: "Use fewer registers a thread (launch bounds, smaller tiles), or more independent work in each thread"},
	"occupancy-shared-memory": {Short: "shared memory limits occupancy to {fits}",
		Text: "shared memory limits occupancy: with {shared} a block, {blocks:block|blocks} of {threads:thread|threads} fit on an SM, {fits} of its warps, too few to hide latency",
		Next: "Use less shared memory a block, or more independent work in each thread"},
	"occupancy-block-size": {Short: "block size limits occupancy to {fits}",
		Text: "the block size limits occupancy: {blocks:block|blocks} of {threads:thread|threads} fit on an SM, {fits} of its warps, too few to hide latency",
		Next: "Use larger blocks, or a size of which more fit"},
	"too-few-blocks": {Short: "too few blocks: {wave} of a wave",
		Text: "too few blocks: [{blocks:block|blocks} for {sms} SMs, ]{wave} of what fits at once[; an average SM works {active} of the time of the busiest]",
		Next: "Split the work into more blocks, or run it beside other kernels"},
	"tail-wave": {Short: "tail wave: {waves} waves",
		Text: "tail wave: {waves} waves of blocks; the last one fills a part of the GPU, and an average SM works {active} of the time of the busiest",
		Next: "Choose a block count that fills whole waves, make blocks smaller, or use a persistent kernel"},
	"uneven-blocks": {Short: "uneven blocks: SMs work {active}",
		Text: "uneven work: some blocks take much longer than others, and an average SM works {active} of the time of the busiest",
		Next: "Split the long blocks, or start them first"},
	"register-spills": {Short: "register spills",
		Text: "register spills: {part} of the traffic through L1 is local memory, for registers that do not fit",
		Next: "Allow more registers (launch bounds, maxrregcount), or keep fewer values alive"},
	"local-memory": {Short: "local memory",
		Text: "local memory: {part} of the traffic through L1 is for arrays of a thread that are not in registers",
		Next: "Index the array with constants (unroll), or keep it in shared memory"},
	"l2-misses": {Short: "L2 misses with reuse",
		Text: "L2 misses with reuse: SMs read each byte from DRAM {reuse} times on average, but {read} come from DRAM[ and L2 holds {holds}]",
		Next: "Let blocks that read the same data run at the same time, or work in tiles that fit into L2; nothing is to be gained if the data is as large as what was read"},
	"streaming": {Short: "no reuse: streaming",
		Text: "no reuse possible: what comes from DRAM is asked for once",
		Next: "Move fewer bytes: smaller data types, or fusion with the kernels before and after it"},
	"l2-traffic": {Short: "L2 traffic",
		Text: "traffic between L2 and the SMs: data is read from L2 again and again",
		Next: "Keep what is read again in shared memory or registers: larger tiles"},
	"l1-traffic": {Short: "L1 traffic",
		Text: "many loads and stores: L1 is busy with their number, not with bytes that are wasted",
		Next: "Use fewer and wider accesses (vector loads), or keep values in registers"},
	"shared-memory-traffic": {Short: "shared-memory traffic",
		Text: "shared-memory traffic without bank conflicts: {part} of what L1 does is for shared memory",
		Next: "Keep more operands in registers: several results a thread, wider accesses"},
	"host-memory": {Short: "reads host memory",
		Text: "host memory: {part} of what L2 reads comes from the host over the bus, which is far slower than DRAM",
		Next: "Copy the data to the GPU's memory first, or prefetch it"},
	"tensor-starved": {Short: "tensor pipe starved by loads",
		Text: "the tensor pipe is starved by loads: it works {tensor} of the time and waits for its operands[; {stall} of a warp's time goes to one stall: {reason}]",
		Next: "Load tiles ahead into shared memory (asynchronous copies, several stages), and reuse them in larger tiles"},
	"load-latency": {Short: "latency of dependent loads",
		Text: "latency of dependent loads: {stall} of a warp's time goes to waiting for loads, and too few are under way at once",
		Next: "Issue several independent loads before the first use (unroll, wider loads, asynchronous copies)"},
	"barriers": {Short: "waiting on barriers",
		Text: "waiting on barriers: {stall} of a warp's time goes to waiting for other warps of its block",
		Next: "Synchronize fewer threads or less often, even out the work of the warps, or let more blocks share an SM"},
	"fp64": {Short: "FP64 arithmetic",
		Text: "double-precision arithmetic: the FP64 pipe is busy {level} of the time",
		Next: "Use FP32 where its precision is enough"},
	"special-functions": {Short: "special functions",
		Text: "special functions (sin, exp, rsqrt, conversions): their pipe is busy {level} of the time",
		Next: "Use fewer or cheaper functions: tables, polynomials, or values computed once"},
	"integer-arithmetic": {Short: "integer arithmetic",
		Text: "integer and logic instructions, as for addresses: their pipe is busy {level} of the time",
		Next: "Compute indices once, avoid division and modulo, use 32-bit indices"},
	"instruction-cache": {Short: "instruction-cache misses",
		Text: "instruction-cache misses: {stall} of a warp's time goes to waiting for instructions",
		Next: "Unroll and inline less, so that the loop fits into the instruction cache"},
	"constant-memory": {Short: "different constants in a warp",
		Text: "constant memory: threads of a warp read different constants one after the other; the cache of constants takes requests in {level} of the cycles",
		Next: "Read the table from shared or global memory, or let all threads of a warp read the same entry"},
	"dependent-instructions": {Short: "dependent instructions",
		Text: "dependent instructions: {stall} of a warp's time goes to one stall: {reason}",
		Next: "Give each thread several independent results, or run more warps"},
	"short-kernel": {Short: "short kernel",
		Text: "a short kernel: it ends before the GPU is filled",
		Next: "Fuse it with its neighbors, or launch it from a CUDA graph"},
	"l2-slice-atomics":     {Text: "One slice of L2 takes atomics in {slice} of its cycles; the mean over all slices is {mean}"},
	"cause-no-limiter":     {Text: "not known, because the limiter is not: {why}"},
	"cause-unknown":        {Text: "none of those that deepprof knows"},
	"cause-needs-sections": {Text: "not told; these sections of ncu would tell: {sections}"},
	"useful-work": {Short: "useful work",
		Text: "useful work: the unit does what the kernel asks of it; nothing that wastes it was found",
		Next: "Do less arithmetic, or use a faster data type"},
}

// Cause is a cause with what to do about it, in one line. Without a cause it names
// the sections of ncu that would tell.
func Cause(cause fact.Fact, need []string) string {
	switch {
	case !cause.IsZero():
		return Text(cause) + ". " + Next(cause) + "."
	case len(need) > 0:
		return Text(fact.New("cause-needs-sections", fact.Names("sections", fact.KindName, need))) + "."
	}
	return Text(fact.New("cause-unknown")) + "."
}

// NoCause says why a kernel without a limiter has no cause either.
func NoCause(why []fact.Fact) string {
	return Text(fact.New("cause-no-limiter", fact.Because("why", why...))) + "."
}

// causeLabels name the accesses that a cause is about.
var causeLabels = map[string]map[string]string{"access": {"load": "loads", "store": "stores"}}
