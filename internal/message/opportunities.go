package message

import (
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// change is a title; within a sentence it begins with a small letter.
func change(text string) words {
	return words{Text: text, Short: strings.ToLower(text[:1]) + text[1:]}
}

// changeWords are the titles of opportunities: what to change, in a few words, in the form
// of an order. Text names where; Short leaves stage and kernel out, for a list of them.
var changeWords = map[fact.Code]words{
	"close-launch-gaps":  change("Close the launch gaps in {stage}"),
	"close-graph-gaps":   change("Close the gaps between the CUDA graphs of {stage}"),
	"fewer-graph-nodes":  change("Give the CUDA graphs of {stage} fewer nodes"),
	"host-work-out":      change("Take the host's work out of {stage}"),
	"host-work-less":     change("Do less on the host in {stage} while the GPU waits"),
	"wait-less":          change("Wait less in {stage}"),
	"copies-beside":      change("Avoid or overlap the copies and sets in {stage}"),
	"allocate-before":    change("Allocate before {stage}"),
	"allocate-less":      change("Allocate less often in {stage}"),
	"load-before":        change("Load before {stage} the code that it uses"),
	"load-less":          change("Load less code in {stage}"),
	"reach-peak":         change("Bring {kernel}[ (grid {grid})] to the peak of its busiest unit ({unit})"),
	"reuse-to-next-roof": change("Reuse more data in {kernel}[ (grid {grid})], up to its next roof ({unit})"),
	"fewer-bytes":        change("Move only bytes that are used in {kernel}[ (grid {grid})], up to its next roof ({unit})"),
	"lift-occupancy":     change("Lift the occupancy limit of {kernel}[ (grid {grid})]"),
	"fuse-chains":        change("Fuse chains of elementwise, reduction, copy and cast kernels"),
	"keep-layout":        change("Avoid layout conversions (channels_last)"),
}

// assumptionWords say what a bound rests on. A bound without one holds in any case. passes
// and clean are of the unprofiled run, busy and ns of the timeline.
var assumptionWords = map[fact.Code]words{
	"assume-gaps":        {Text: "Every kernel stays, lasts as long and keeps its place in its stream. The host launches in no time: launches, the code between them and the other CUDA calls that come with them go. The busiest stream, and what the host still does (long stretches of code, allocation, synchronization), are not shortened."},
	"assume-graph-gaps":  {Text: "Every kernel stays, lasts as long and keeps its place in its stream. The GPU waits no more for the next graph, as if each graph had been launched before the one in front of it ended."},
	"assume-streams":     {Text: "Kernels of several streams may then run at the same time: {ns} of the bound is for that. The busiest stream alone is not shortened."},
	"assume-nodes":       {Text: "All time between the nodes of a graph goes, as if each graph were one kernel."},
	"assume-host":        {Text: "Every long stretch of host code without a CUDA call goes while the GPU waits."},
	"assume-sync":        {Text: "Every wait of the host in which the GPU had nothing to run goes."},
	"assume-copies":      {Text: "Every copy or set of memory during which no kernel ran is avoided or runs beside kernels."},
	"assume-alloc":       {Text: "No allocation or release happens while the GPU is idle."},
	"assume-load":        {Text: "No code is loaded while the GPU is idle."},
	"assume-peak":        {Text: "The kernel does the same work and moves the same bytes, with {unit} at its peak; all its launches are like the counted one."},
	"assume-next-roof":   {Text: "Reuse takes bytes away from every memory level, so that its roofs move. What stays is the arithmetic, at the peak of {unit}; all launches are like the counted one."},
	"assume-fewer-bytes": {Text: "How many bytes have to move is not known, so that the bound lets them take no time. What stays is the arithmetic, at the peak of {unit}; all launches are like the counted one."},
	"assume-occupancy":   {Text: "This is an estimate: speed grows with the warps that fit, up to a full SM, and not beyond the busiest unit."},
	"assume-fusion":      {Text: "Kernels that follow each other in a stream, with no other work between, become one kernel with one launch. How short that kernel can be is not known, so that the bound lets it take no time; the estimate lets it last as long as the longest of them."},
	"assume-layout":      {Text: "This is an estimate: the GPU time of every conversion between NCHW and NHWC goes, and no other kernel becomes slower. Their launches go too, which saves more where the GPU waits for the host."},
	"bound-nsys":         {Text: "Times are those under nsys, where gaps are longer than in an unprofiled run."},
	"bound-unprofiled":   {Text: "The gaps are those under nsys, but no more than the unprofiled run has: {passes:pass takes|passes take} {clean} there on average, and kernels run for {busy} of it."},
	"bound-scaled":       {Text: "The gaps are those under nsys, scaled to the unprofiled run, which was slower: {passes:pass takes|passes take} {clean} there on average, and kernels run for {busy} of it."},
	"only-idle-goes":     {Text: "This is an estimate: the idle time of this cause. Work of the host that kernels hide now may come to light, or the reverse."},
	"bounds-overlap":     {Text: "This bound stands alone: it may overlap with the others, so do not add them up."},
}

// adviceWords are what to do about an opportunity, step by step; each is a sentence. Codes
// that end in -torch are for programs that use PyTorch, and stand in place of the code
// without the ending.
var adviceWords = map[fact.Code]words{
	"how-graph-torch":  {Text: "Capture the steady part in a CUDA graph, or let torch.compile (mode reduce-overhead) do it."},
	"how-graph":        {Text: "Capture the steady part in a CUDA graph."},
	"how-next-graph":   {Text: "Its kernels come from CUDA graphs already: launch the next graph before the present one ends, without waiting for a result between, or capture several steps in one."},
	"how-nodes-traced": {Text: "Part of this time is nsys, which traces every node: pipeline.nsys.cuda_graph_trace=graph is the lighter capture."},
	"how-fuse-nodes":   {Text: "Fuse kernels before the graph is captured, so that it has fewer of them."},
	"how-host-torch":   {Text: "Find what runs there (pipeline.nsys.python_sampling=true with nsys 2025.3, or pipeline.torch_profiler.with_stack=true): planning and compiling for each new shape, data handling, logging. Do it before the loop, cache it, or keep shapes fixed (a static KV cache)."},
	"how-host":         {Text: "Find what runs there with a sampling profiler: planning, data handling, logging. Do it before the loop, cache it, or do it on a thread of its own."},
	"how-sync-torch":   {Text: "Remove .item(), .cpu(), print and explicit synchronization from the loop; keep sampling on the GPU; launch ahead."},
	"how-sync":         {Text: "Remove synchronization from the loop, decide on the GPU what to launch next, and launch ahead."},
	"how-copies-torch": {Text: "Keep data on the GPU, use pinned memory and non_blocking copies on a stream of their own, and prefetch."},
	"how-copies":       {Text: "Keep data on the GPU, use pinned memory and asynchronous copies on a stream of their own, and prefetch."},
	"how-alloc-torch":  {Text: "Allocate once before, use the caching allocator or static buffers; watch for empty_cache."},
	"how-alloc":        {Text: "Allocate once before, or from a pool (cudaMallocAsync)."},
	"how-load":         {Text: "Warm up with the same shapes; set CUDA_MODULE_LOADING=EAGER to load kernels at start."},
	"how-load-less":    {Text: "Load fewer libraries and kernels, and do more work in one process."},
	"how-fuse-torch":   {Text: "Use torch.compile, or fused kernels of a library (RMSNorm, rotary embedding, SwiGLU)."},
	"how-fuse":         {Text: "Write one kernel that does the work of a chain, so that values stay in registers between its steps."},
	"how-layout-torch": {Text: "Run the model and its input in channels_last (model.to(memory_format=torch.channels_last), the same for the input): convolutions on tensor cores work in NHWC and then need no conversion."},
	"how-layout":       {Text: "Keep tensors in NHWC from the input on: convolutions on tensor cores work in it and then need no conversion."},
	"how-limiter":      {Text: "Its limiter: {limiter}."},
	"how-resource":     {Text: "What limits its occupancy: {resource}. Use less of it per block, or another block size."},
	"how-small":        {Text: "Spread the same work over more blocks (smaller tiles, split-K), so that every SM has some."},
	"how-latency":      {Text: "Give each warp more independent work, or run more warps, to hide the stall."},
	"how-l1":           {Text: "Reuse values in registers, and avoid bank conflicts."},
	"how-l2":           {Text: "Use larger tiles and better locality, so that fewer bytes pass L2."},
	"how-stream":       {Text: "It uses each value once, so that no reuse is possible: keep more bytes in flight (wider accesses, more loads before the first use)."},
	"how-dram":         {Text: "Keep more bytes in flight (wider accesses, more loads before the first use); what is left then goes only with fewer bytes."},
	"how-fewer-bytes":  {Text: "Move only bytes that are used: coalesce the accesses, keep spilled registers and local arrays out of memory, and order blocks so that L2 keeps what is used again."},
	"how-compute":      {Text: "Keep the pipe fed: overlap loads with arithmetic; what is left then goes only with less arithmetic or a smaller data type."},
	"how-mixed":        {Text: "Two units are near their peaks: overlap their work."},
}
