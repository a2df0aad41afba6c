package nsys

import (
	"context"

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

func (r row) queue() queue {
	return queue{
		globalPid: r.int(colProcess), device: r.small(colDevice), context: r.small(colContext),
		stream: r.small(colStream), green: r.small(colGreen),
	}
}

func (r row) correlation() uint32 { return r.id(colCorrelation, timeline.NoCorrelation) }

func (r row) timed() bool { return r.whole(colStart) && r.whole(colEnd) }

func workLayout(table string, own, known []string) layout {
	return layout{table: table, need: []string{"start", "end"}, want: append(append([]string(nil), place...), own...), known: known}
}

var kernelLayout = workLayout(tableKernel,
	[]string{
		"demangledName", "shortName", "mangledName",
		"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
		"registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "sharedMemoryExecuted", "localMemoryPerThread", "graphNodeId",
	},
	[]string{"launchType", "cacheConfig", "localMemoryTotal", "gridId", "sharedMemoryLimitConfig"})

// work is one worker's share of a table of GPU work.
type work[T any] struct {
	span
	events    bag[T]
	queues    interner[queue]
	functions interner[function]
	configs   interner[timeline.LaunchConfig]
}

func (b *builder) kernels(ctx context.Context) error {
	b.f.noteUnknown(kernelLayout)
	shares, err := scanTable(ctx, b.f, kernelLayout, b.f.Workers, func(s *work[timeline.Kernel], r row) bool {
		if !r.timed() {
			return false
		}
		k := timeline.Kernel{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(),
			Queue: s.queues.id(r.queue()), Function: s.functions.id(r.function()), Config: s.configs.id(r.config()),
			GraphNode: r.int(colOwn + 14),
		}
		s.span.add(k.Start, k.End)
		s.events.add(k)
		return true
	})
	if err != nil {
		return err
	}
	for _, s := range shares {
		functions, configs := s.functions.into(&b.functions), s.configs.into(&b.configs)
		s.events.each(func(k *timeline.Kernel) {
			k.Function, k.Config = functions[k.Function], configs[k.Config]
		})
	}
	b.t.Kernels = joinWork(b, shares, func(k *timeline.Kernel) *uint32 { return &k.Queue })
	return nil
}

// joinWork puts the shares of the workers together and renumbers their queues.
func joinWork[T any](b *builder, shares []*work[T], queueOf func(*T) *uint32) []T {
	var bags []*bag[T]
	for _, s := range shares {
		queues := s.queues.into(&b.queues)
		s.events.each(func(e *T) {
			at := queueOf(e)
			*at = queues[*at]
		})
		b.cover(s.span)
		bags = append(bags, &s.events)
	}
	return pour(bags)
}

func (r row) stringID(i int) int64 {
	if !r.whole(i) {
		return noString
	}
	return r.int(i)
}

func (r row) function() function {
	return function{r.stringID(colOwn), r.stringID(colOwn + 1), r.stringID(colOwn + 2)}
}

func (r row) config() timeline.LaunchConfig {
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

func (b *builder) copies(ctx context.Context) error {
	b.f.noteUnknown(copyLayout)
	shares, err := scanTable(ctx, b.f, copyLayout, b.f.Workers, func(s *work[timeline.Copy], r row) bool {
		if !r.timed() {
			return false
		}
		c := timeline.Copy{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(), Queue: s.queues.id(r.queue()),
			Bytes: r.int(colOwn), Kind: uint8(r.int(colOwn + 1)), From: uint8(r.int(colOwn + 2)), To: uint8(r.int(colOwn + 3)),
			GraphNode: r.int(colOwn + 4),
		}
		s.span.add(c.Start, c.End)
		s.events.add(c)
		return true
	})
	b.t.Copies = joinWork(b, shares, func(e *timeline.Copy) *uint32 { return &e.Queue })
	return err
}

var setLayout = workLayout(tableSet, []string{"bytes", "value", "graphNodeId"}, []string{"memKind"})

func (b *builder) sets(ctx context.Context) error {
	b.f.noteUnknown(setLayout)
	shares, err := scanTable(ctx, b.f, setLayout, b.f.Workers, func(s *work[timeline.Set], r row) bool {
		if !r.timed() {
			return false
		}
		m := timeline.Set{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(), Queue: s.queues.id(r.queue()),
			Bytes: r.int(colOwn), Value: uint32(r.int(colOwn + 1)), GraphNode: r.int(colOwn + 2),
		}
		s.span.add(m.Start, m.End)
		s.events.add(m)
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

func (b *builder) graphs(ctx context.Context) error {
	b.f.noteUnknown(graphLayout)
	shares, err := scanTable(ctx, b.f, graphLayout, b.f.Workers, func(s *work[timeline.GraphLaunch], r row) bool {
		if !r.timed() {
			return false
		}
		g := timeline.GraphLaunch{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(), Queue: s.queues.id(r.queue()),
			Graph: r.int(colOwn), Exec: r.int(colOwn + 1),
		}
		s.span.add(g.Start, g.End)
		s.events.add(g)
		return true
	})
	if err != nil {
		return err
	}
	b.t.Graphs = joinWork(b, shares, func(e *timeline.GraphLaunch) *uint32 { return &e.Queue })
	return b.graphNodes(ctx)
}

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

func (b *builder) syncs(ctx context.Context) error {
	b.f.noteUnknown(syncLayout)
	shares, err := scanTable(ctx, b.f, syncLayout, b.f.Workers, func(s *work[timeline.Sync], r row) bool {
		if !r.timed() {
			return false
		}
		y := timeline.Sync{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(), Queue: s.queues.id(r.queue()),
			Kind: uint32(r.int(colOwn)),
		}
		s.span.add(y.Start, y.End)
		s.events.add(y)
		return true
	})
	b.t.Syncs = joinWork(b, shares, func(e *timeline.Sync) *uint32 { return &e.Queue })
	return err
}
