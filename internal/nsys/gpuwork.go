package nsys

import (
	"context"
	"sync"

	"github.com/deepprof/deepprof/internal/timeline"
)

// The tables of GPU work and of the calls behind it.
const (
	tableKernel     = "CUPTI_ACTIVITY_KIND_KERNEL"
	tableCopy       = "CUPTI_ACTIVITY_KIND_MEMCPY"
	tableSet        = "CUPTI_ACTIVITY_KIND_MEMSET"
	tableGraphTrace = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	tableSync       = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	tableRuntime    = "CUPTI_ACTIVITY_KIND_RUNTIME"
	tableNVTX       = "NVTX_EVENTS"
)

// place are the columns that every table of GPU work has.
var place = []string{"deviceId", "contextId", "streamId", "globalPid", "correlationId", "greenContextId"}

// The columns of place within a row: after start and end.
const (
	colStart = iota
	colEnd
	colDevice
	colContext
	colStream
	colProcess
	colCorrelation
	colGreen
	colOwn // first column of the table's own
)

// timed: a row without both times cannot be placed and is counted as skipped.
func (r row) timed() bool { return r.whole(colStart) && r.whole(colEnd) }

// workLayout puts start, end and place before the table's own columns, so that the
// col constants hold for every table of GPU work.
func workLayout(table string, own, known []string) layout {
	return layout{table: table, need: []string{"start", "end"}, want: append(append([]string(nil), place...), own...), known: known}
}

// kernelLayout: shared and local memory are bytes; graphNodeId is 0 outside graphs.
// A column that a release lacks reads as NULL, which is stored as 0.
var kernelLayout = workLayout(tableKernel,
	[]string{
		"demangledName", "shortName", "mangledName",
		"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
		"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "sharedMemoryExecuted", "localMemoryPerThread", "graphNodeId",
	},
	[]string{"launchType", "cacheConfig", "localMemoryTotal", "gridId", "sharedMemoryLimitConfig"})

// plainKernelLayout has no names and no launch configurations.
var plainKernelLayout = workLayout(tableKernel, []string{"graphNodeId"}, nil)

// namedKernelLayout has names and no launch configurations.
var namedKernelLayout = workLayout(tableKernel, []string{"demangledName", "shortName", "mangledName", "graphNodeId"}, nil)

// work is one worker's share of a table of GPU work.
// queues, functions and configs are numbered by the worker until they are joined.
type work[T any] struct {
	span
	events    column[T]
	queues    interner[queue]
	functions interner[function]
	configs   interner[timeline.LaunchConfig]

	anyQueue  bool
	place     [5]int64 // columns of the last row
	lastQueue uint32   // that they give
}

// kernels reads the executions of kernels; without their shapes, names and launch
// configurations stay unknown.
func (b *builder) kernels(ctx context.Context, shapes bool) error {
	b.f.noteUnknown(kernelLayout)
	l, node := kernelLayout, colOwn+14
	if !shapes {
		l, node = plainKernelLayout, colOwn
	}
	shares, err := scanInts(ctx, b.f, l, reserve[timeline.Kernel], func(s *work[timeline.Kernel], r *ints) bool {
		if !r.timed() {
			return false
		}
		k := timeline.Kernel{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(),
			Queue: s.queue(r), GraphNode: r.Int[node],
		}
		if shapes {
			k.Function, k.Config = s.shape(r)
		}
		s.span.add(k.Start, k.End)
		s.events.part = append(s.events.part, k)
		return true
	})
	if err != nil {
		return err
	}
	var spans []*span
	for _, s := range shares {
		spans = append(spans, &s.span)
	}
	b.t.KernelsByStart = byStart(spans)
	if !shapes {
		b.functions.id(function{noString, noString, noString}) // that of all kernels
		b.configs.id(timeline.LaunchConfig{})
		b.t.Kernels = joinWork(b, shares, func(k *timeline.Kernel) *uint32 { return &k.Queue })
		return nil
	}
	var beside sync.WaitGroup
	for _, s := range shares {
		functions, configs := s.functions.into(&b.functions), s.configs.into(&b.configs)
		if isUpTo(functions) && isUpTo(configs) { // as those of the first share
			continue
		}
		beside.Go(func() {
			for i := range s.events.part {
				k := &s.events.part[i]
				k.Function, k.Config = functions[k.Function], configs[k.Config]
			}
		})
	}
	beside.Wait()
	b.t.Kernels = joinWork(b, shares, func(k *timeline.Kernel) *uint32 { return &k.Queue })
	return nil
}

// joinWork puts the shares of the workers together and renumbers their queues.
// Events keep the order of the file. The shares are used up.
func joinWork[T any](b *builder, shares []*work[T], queueOf func(*T) *uint32) []T {
	var parts []column[T]
	for _, s := range shares {
		parts = append(parts, s.events)
		queues := s.queues.into(&b.queues)
		if !isUpTo(queues) {
			for i := range s.events.part {
				at := queueOf(&s.events.part[i])
				*at = queues[*at]
			}
		}
		b.cover(s.span)
	}
	return joinColumn(parts)
}

// isUpTo tells whether each number is its place: then nothing is to be renumbered.
func isUpTo(list []uint32) bool {
	for i, n := range list {
		if n != uint32(i) {
			return false
		}
	}
	return true
}

// reserve gives the workers parts of one slice, so that their events need not be
// moved.
func reserve[T any](workers int, count func() []int) []*work[T] {
	shares := fresh[work[T]](workers, count)
	for w, part := range reserveColumn[T](count()) {
		shares[w].events = part
	}
	return shares
}

// stringID is a reference to StringIds, or noString for NULL and for a text.
func (r row) stringID(i int) int64 {
	if !r.whole(i) {
		return noString
	}
	return r.int(i)
}

// function and config read the columns of kernelLayout; other layouts lack them.
func (r *ints) function() function {
	return function{r.stringID(colOwn), r.stringID(colOwn + 1), r.stringID(colOwn + 2)}
}

// config is the launch configuration of a kernel; memory is in bytes.
func (r *ints) config() timeline.LaunchConfig {
	const at = colOwn + 3
	return timeline.LaunchConfig{
		Grid:  [3]int32{r.small(at), r.small(at + 1), r.small(at + 2)},
		Block: [3]int32{r.small(at + 3), r.small(at + 4), r.small(at + 5)},

		Registers: r.small(at + 6), StaticShared: r.small(at + 7), DynamicShared: r.small(at + 8),
		SharedExecuted: r.small(at + 9), LocalPerThrd: r.small(at + 10),
	}
}

var copyLayout = workLayout(tableCopy,
	[]string{"bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"},
	[]string{"deprecatedSrcId", "srcDeviceId", "srcContextId", "dstDeviceId", "dstContextId", "migrationCause", "virtualAddress", "copyCount"})

// copies reads transfers of memory, in bytes; kinds are the numbers of CUPTI.
func (b *builder) copies(ctx context.Context) error {
	b.f.noteUnknown(copyLayout)
	shares, err := scanInts(ctx, b.f, copyLayout, reserve[timeline.Copy], func(s *work[timeline.Copy], r *ints) bool {
		if !r.timed() {
			return false
		}
		c := timeline.Copy{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r),
			Bytes: r.Int[colOwn], Kind: uint8(r.Int[colOwn+1]), From: uint8(r.Int[colOwn+2]), To: uint8(r.Int[colOwn+3]),
			GraphNode: r.Int[colOwn+4],
		}
		s.span.add(c.Start, c.End)
		s.events.part = append(s.events.part, c)
		return true
	})
	b.t.Copies = joinWork(b, shares, func(e *timeline.Copy) *uint32 { return &e.Queue })
	return err
}

var setLayout = workLayout(tableSet, []string{"bytes", "value", "graphNodeId"}, []string{"memKind"})

// sets reads fills of memory; Value is the pattern, Bytes what was filled.
func (b *builder) sets(ctx context.Context) error {
	b.f.noteUnknown(setLayout)
	shares, err := scanInts(ctx, b.f, setLayout, reserve[timeline.Set], func(s *work[timeline.Set], r *ints) bool {
		if !r.timed() {
			return false
		}
		m := timeline.Set{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r),
			Bytes: r.Int[colOwn], Value: uint32(r.Int[colOwn+1]), GraphNode: r.Int[colOwn+2],
		}
		s.span.add(m.Start, m.End)
		s.events.part = append(s.events.part, m)
		return true
	})
	b.t.Sets = joinWork(b, shares, func(e *timeline.Set) *uint32 { return &e.Queue })
	return err
}

var (
	graphLayout = workLayout(tableGraphTrace, []string{"graphId", "graphExecId"}, nil)
	// Versions before 2024 kept the nodes in CUDA_GRAPH_EVENTS, which now holds
	// the graphs.
	nodeLayouts = []layout{
		{table: "CUDA_GRAPH_NODE_EVENTS", need: []string{"start", "graphNodeId"}, want: []string{"originalGraphNodeId", "globalTid"}, known: []string{"end", "eventClass", "nameId"}},
		{table: "CUDA_GRAPH_EVENTS", need: []string{"start", "graphNodeId"}, want: []string{"originalGraphNodeId", "globalTid"}, known: []string{"end", "eventClass", "nameId"}},
	}
)

// graphs reads launches of whole graphs, which exist only if nsys traced with
// --cuda-graph-trace=graph, and the nodes, which exist only with node.
func (b *builder) graphs(ctx context.Context) error {
	b.f.noteUnknown(graphLayout)
	shares, err := scanInts(ctx, b.f, graphLayout, reserve[timeline.GraphLaunch], func(s *work[timeline.GraphLaunch], r *ints) bool {
		if !r.timed() {
			return false
		}
		g := timeline.GraphLaunch{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r),
			Graph: r.Int[colOwn], Exec: r.Int[colOwn+1],
		}
		s.span.add(g.Start, g.End)
		s.events.part = append(s.events.part, g)
		return true
	})
	if err != nil {
		return err
	}
	b.t.Graphs = joinWork(b, shares, func(e *timeline.GraphLaunch) *uint32 { return &e.Queue })
	return b.graphNodes(ctx)
}

// queue numbers the queue of a row. Rows of one queue follow each other mostly.
// The number is that of the worker.
func (s *work[T]) queue(r *ints) uint32 {
	last := &s.place
	if s.anyQueue && r.Int[colStream] == last[2] && r.Int[colDevice] == last[0] && r.Int[colContext] == last[1] && r.Int[colProcess] == last[3] && r.Int[colGreen] == last[4] {
		return s.lastQueue
	}
	place := [5]int64{r.Int[colDevice], r.Int[colContext], r.Int[colStream], r.Int[colProcess], r.Int[colGreen]}
	s.anyQueue, s.place, s.lastQueue = true, place, s.newQueue(r.queue())
	return s.lastQueue
}

// newQueue finds a queue that is not that of the row before.
func (s *work[T]) newQueue(q queue) uint32 {
	return s.queues.cached(q, uint32(q.stream)+31*uint32(q.device)+uint32(q.globalPid>>24))
}

// graphNodes reads when and on which thread each node was captured. A window opened
// after the capture has nodes with negative times. In files before 2024 the table of
// the second layout holds nodes, later it holds graphs and lacks graphNodeId.
func (b *builder) graphNodes(ctx context.Context) error {
	for _, l := range nodeLayouts {
		table, ok := b.f.table(l.table)
		if !ok || !table.Has("graphNodeId") {
			continue
		}
		b.f.noteUnknown(l)
		_, err := scanTable(ctx, b.f, l, 1, func(_ *struct{}, r row) bool {
			if !r.whole(0) || !r.whole(1) {
				return false
			}
			b.t.GraphNodes = append(b.t.GraphNodes, timeline.GraphNode{
				Time: r.int(0), Node: r.int(1), Original: r.int(2), Thread: b.thread(r.int(3)),
			})
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var syncLayout = workLayout(tableSync, []string{"syncType"}, []string{"eventId", "eventSyncId", "deprecatedSyncType"})

// syncSpan covers the session by the waits without keeping them.
func (b *builder) syncSpan(ctx context.Context) error {
	b.f.noteUnknown(syncLayout)
	shares, err := scanInts(ctx, b.f, syncLayout, fresh[span], func(s *span, r *ints) bool {
		if !r.timed() {
			return false
		}
		s.add(r.Int[colStart], r.Int[colEnd])
		return true
	})
	for _, s := range shares {
		b.cover(*s)
	}
	return err
}

// syncs reads the waits that CUPTI records; Kind is its number for them.
func (b *builder) syncs(ctx context.Context) error {
	b.f.noteUnknown(syncLayout)
	shares, err := scanInts(ctx, b.f, syncLayout, reserve[timeline.Sync], func(s *work[timeline.Sync], r *ints) bool {
		if !r.timed() {
			return false
		}
		y := timeline.Sync{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r),
			Kind: uint32(r.Int[colOwn]),
		}
		s.span.add(y.Start, y.End)
		s.events.part = append(s.events.part, y)
		return true
	})
	b.t.Syncs = joinWork(b, shares, func(e *timeline.Sync) *uint32 { return &e.Queue })
	return err
}
