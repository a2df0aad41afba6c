package nsys

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Events is a file whose kernels and CUDA calls are gone through one by one, so
// that millions of them need no memory. Everything else is in the Timeline, whose
// Kernels and Calls are empty; its tables of names, queues and threads cover them.
// Events are not safe for concurrent use.
// Its numbers of queues, functions and threads stay valid, since the tables are complete.
type Events struct {
	*timeline.Timeline
	f     *File
	b     *builder
	calls map[int64]timeline.StringID // by the number of the file
}

// Events reads all but kernels and calls, and what those refer to.
// The Events use f: close f after the last Each call. EachKernel and EachCall may be
// called any number of times, but not at the same time.
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
		e.calls[id] = b.t.Calls.Name(uint32(i))
	}
	b.t.Calls = timeline.Calls{}
	f.noteAbsent(Kernels | Calls | NVTX)
	b.t.Tables, f.tables = onePerTable(f.tables), nil
	b.t.Warnings, b.t.Damage = f.warnings, f.damage
	e.Timeline = b.t
	return e, nil
}

// kernelTables numbers what kernels refer to.
// No kernel is kept: the table is read again for each EachKernel.
func (b *builder) kernelTables(ctx context.Context) error {
	b.f.noteUnknown(kernelLayout)
	shares, err := scanInts(ctx, b.f, kernelLayout, fresh[work[struct{}]], func(s *work[struct{}], r *ints) bool {
		if !r.timed() {
			return false
		}
		s.span.add(r.Int[colStart], r.Int[colEnd])
		s.queue(r)
		s.shape(r)
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

// shape numbers the names and the launch configuration of a kernel.
// The row must be one of kernelLayout.
func (s *work[T]) shape(r *ints) (function, config uint32) {
	f, c := r.function(), r.config()
	return s.functions.cached(f, uint32(f.demangled)),
		s.configs.cached(c, uint32(f.demangled)+uint32(c.Grid[0])*7+uint32(c.Grid[1])*31+uint32(c.Grid[2])*127+uint32(c.Block[0]))
}

// callTables numbers the threads of the CUDA calls, and leaves one call for each
// of their names, whose number in the file it returns.
func (b *builder) callTables(ctx context.Context) (names []int64, err error) {
	b.f.noteUnknown(callLayout)
	type share struct {
		span
		sites interner[callSite]
	}
	shares, err := scanInts(ctx, b.f, callLayout, fresh[share], func(s *share, r *ints) bool {
		if !r.timed() {
			return false
		}
		s.span.add(r.Int[colStart], r.Int[colEnd])
		site := callSite{r.Int[2], r.stringID(4)}
		s.sites.cached(site, site.hash())
		return true
	})
	var all interner[int64]
	for _, s := range shares {
		for _, site := range s.sites.list {
			b.thread(site.globalTid)
			all.id(site.name)
		}
		b.cover(s.span)
	}
	for _, id := range all.list {
		b.t.Calls.Add(timeline.Call{Name: b.string(id)})
	}
	return all.list, err
}

// EachKernel goes through the kernels in the order of the file; n counts them
// from 0. The kernel is valid until fn returns.
// An error of fn ends it and is returned as it is. Rows without times have no number.
func (e *Events) EachKernel(ctx context.Context, fn func(n int, k *timeline.Kernel) error) error {
	s, n := work[struct{}]{queues: e.b.queues, functions: e.b.functions, configs: e.b.configs}, 0
	var k timeline.Kernel
	return e.f.eachRow(ctx, kernelLayout, func(r *ints) (bool, error) {
		if !r.timed() {
			return false, nil
		}
		k = timeline.Kernel{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r), GraphNode: r.Int[colOwn+14]}
		k.Function, k.Config = s.shape(r)
		n++
		return true, fn(n-1, &k)
	})
}

// EachCall goes through the CUDA calls in the order of the file. The call is
// valid until fn returns.
// An error of fn ends it and is returned as it is.
func (e *Events) EachCall(ctx context.Context, fn func(c *timeline.Call) error) error {
	var c timeline.Call
	return e.f.eachRow(ctx, callLayout, func(r *ints) (bool, error) {
		if !r.timed() {
			return false, nil
		}
		c = timeline.Call{
			Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.id(3, timeline.NoCorrelation),
			Thread: e.b.thread(r.Int[2]), Name: e.calls[r.stringID(4)],
		}
		return true, fn(&c)
	})
}

// eachRow goes through a table of numbers in the order of its rows. fn reports
// false for a row that makes no sense; an error of it ends the scan.
// It reads with one worker whatever f.Workers says, because order matters here.
func (f *File) eachRow(ctx context.Context, l layout, fn func(*ints) (bool, error)) error {
	table, columns, _ := f.columns(&l)
	if table == nil {
		return nil
	}
	var failed error
	bad := make([]int64, 1)
	stats, err := f.db.ScanInts(ctx, table, columns, 1, func(int, func() []int) {}, func(int) func(*sqlite.Ints) error {
		return func(v *sqlite.Ints) error {
			sense, err := fn((*ints)(v))
			if failed = err; !sense && err == nil {
				bad[0]++
			}
			return err
		}
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("read table %s: %w", l.table, err)
	}
	f.count(&l, stats, bad)
	return nil
}
