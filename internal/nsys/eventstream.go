package nsys

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Events is a file whose kernels and CUDA calls are gone through one by one, so
// that millions of them need no memory. Everything else is in the Timeline, whose
// Kernels and Calls are empty; its tables of names, queues and threads cover them.
type Events struct {
	*timeline.Timeline
	f     *File
	b     *builder
	calls map[int64]timeline.StringID // by the number of the file
}

// Events reads all but kernels and calls, and what those refer to.
func (f *File) Events(ctx context.Context) (*Events, error) {
	e := &Events{f: f, b: newBuilder(f), calls: map[int64]timeline.StringID{}}
	b := e.b
	var names []int64
	for _, read := range []func(context.Context) error{
		b.kernelTables,
		func(ctx context.Context) (err error) { names, err = b.callTables(ctx); return err },
		b.copies, b.sets, b.graphs, b.syncs, b.nvtx, b.overhead, b.machine, b.finish,
	} {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
		}
	}
	for i, id := range names {
		e.calls[id] = b.t.Calls[i].Name
	}
	b.t.Calls = nil
	f.noteAbsent(Kernels | Calls | NVTX)
	b.t.Tables, f.tables = onePerTable(f.tables), nil
	b.t.Warnings, b.t.Damage = f.warnings, f.damage
	e.Timeline = b.t
	return e, nil
}

// kernelTables numbers what kernels refer to.
func (b *builder) kernelTables(ctx context.Context) error {
	b.f.noteUnknown(kernelLayout)
	shares, err := scanTable(ctx, b.f, kernelLayout, b.f.Workers, func(s *work[struct{}], r row) bool {
		if !r.timed() {
			return false
		}
		s.span.add(r.int(colStart), r.int(colEnd))
		s.queues.id(r.queue())
		s.functions.id(r.function())
		s.configs.id(r.config())
		return true
	})
	for _, s := range shares {
		s.queues.into(&b.queues)
		s.functions.into(&b.functions)
		s.configs.into(&b.configs)
		b.cover(s.span)
	}
	return err
}

// callTables numbers the threads of the CUDA calls, and leaves one call for each
// of their names, whose number in the file it returns.
func (b *builder) callTables(ctx context.Context) (names []int64, err error) {
	b.f.noteUnknown(callLayout)
	shares, err := scanTable(ctx, b.f, callLayout, b.f.Workers, func(s *callShare, r row) bool {
		if !r.whole(0) || !r.whole(1) {
			return false
		}
		s.span.add(r.int(0), r.int(1))
		s.threads.id(r.int(2))
		s.names.id(r.stringID(4))
		return true
	})
	var all interner[int64]
	for _, s := range shares {
		s.names.into(&all)
		for _, global := range s.threads.list {
			b.thread(global)
		}
		b.cover(s.span)
	}
	for _, id := range all.list {
		b.t.Calls = append(b.t.Calls, timeline.Call{Name: b.string(id)})
	}
	return all.list, err
}

// EachKernel goes through the kernels in the order of the file; n counts them
// from 0. The kernel is valid until fn returns.
func (e *Events) EachKernel(ctx context.Context, fn func(n int, k *timeline.Kernel) error) error {
	b, n := e.b, 0
	var k timeline.Kernel
	return e.f.eachRow(ctx, kernelLayout, func(r row) (bool, error) {
		if !r.timed() {
			return false, nil
		}
		k = timeline.Kernel{
			Start: r.int(colStart), End: r.int(colEnd), Correlation: r.correlation(),
			Queue: b.queues.id(r.queue()), Function: b.functions.id(r.function()), Config: b.configs.id(r.config()),
			GraphNode: r.int(colOwn + 14),
		}
		n++
		return true, fn(n-1, &k)
	})
}

// EachCall goes through the CUDA calls in the order of the file. The call is
// valid until fn returns.
func (e *Events) EachCall(ctx context.Context, fn func(c *timeline.Call) error) error {
	var c timeline.Call
	return e.f.eachRow(ctx, callLayout, func(r row) (bool, error) {
		if !r.whole(0) || !r.whole(1) {
			return false, nil
		}
		c = timeline.Call{
			Start: r.int(0), End: r.int(1), Correlation: r.id(3, timeline.NoCorrelation),
			Thread: e.b.thread(r.int(2)), Name: e.calls[r.stringID(4)],
		}
		return true, fn(&c)
	})
}

// eachRow goes through a table in the order of its rows. fn reports false for a
// row that makes no sense; an error of it ends the scan.
func (f *File) eachRow(ctx context.Context, l layout, fn func(row) (bool, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failed error
	_, err := scanTable(ctx, f, l, 1, func(_ *struct{}, r row) bool {
		if failed != nil {
			return true
		}
		var sense bool
		if sense, failed = fn(r); failed != nil {
			stop(failed)
		}
		return sense
	})
	if failed != nil {
		return failed
	}
	return err
}
