package nsys

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A flow gives the kernels and the CUDA calls of a file while two goroutines read them;
// everything else is in its timeline. It is for files without anything odd: whether one
// was met is known when all has been read.
type flow struct {
	b       *builder
	parts   Part
	files   []*File // that are read; the first has what the timeline holds
	opened  []int   // by file: warnings that it had when it was opened
	kernels *conveyor[timeline.Kernel, queue]
	calls   *conveyor[timeline.FlowCall, callSite]
	names   map[int64]timeline.StringID // of calls
	stop    func()
}

// openFlow reads all but kernels and calls; nil where a flow cannot tell what is asked.
// Of kernels, parts has Kernels for their names or KernelTimes; of calls, Calls for their
// names or LaunchCalls.
func (f *File) openFlow(ctx context.Context, parts Part) (*flow, error) {
	l := &flow{parts: parts, names: map[int64]timeline.StringID{}, stop: func() {}}
	for range 3 {
		g, err := OpenSQLite(f.SQLite)
		if err != nil {
			l.close()
			return nil, err
		}
		g.Path, g.Workers = f.Path, f.Workers
		l.files, l.opened = append(l.files, g), append(l.opened, len(g.warnings))
	}
	b := newBuilder(l.files[0])
	l.b = b
	b.f.noteUnknown(kernelLayout)
	for _, read := range []func(context.Context) error{
		b.copies, b.sets, b.graphs,
		func(context.Context) error { b.f.noteUnknown(callLayout); return nil },
		b.nvtx, b.finish,
	} {
		if err := read(ctx); err != nil {
			l.close()
			return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
		}
	}
	if l.odd() || !b.t.Feedable() {
		l.close()
		return nil, nil
	}
	l.start(ctx)
	return l, nil
}

// benign are warnings that are the same however a file is read.
var benign = []string{string(timeline.CodeColumnsUnknown), string(timeline.CodeUnclosed)}

// odd tells whether anything came up that calls for the way through memory.
func (l *flow) odd() bool {
	for i, f := range l.files {
		if len(f.Lost()) > 0 {
			return true
		}
		for _, w := range f.warnings[l.opened[i]:] {
			if !slices.Contains(benign, string(w.Code)) {
				return true
			}
		}
	}
	return false
}

// start begins to read kernels and calls.
func (l *flow) start(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	l.stop = stop
	l.kernels = newConveyor(ctx, func(c *conveyor[timeline.Kernel, queue]) error {
		s := work[struct{}]{queues: l.b.queues.clone()}
		defer func() { c.functions = s.functions.list }()
		layout, node := plainKernelLayout, colOwn
		if l.parts&Kernels != 0 {
			layout, node = namedKernelLayout, colOwn+3
		}
		return l.files[1].eachRow(ctx, layout, func(r *ints) (bool, error) {
			if !r.timed() {
				return false, nil
			}
			k := timeline.Kernel{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r), GraphNode: r.Int[node]}
			if l.parts&Kernels != 0 {
				f := r.function()
				k.Function = s.functions.cached(f, uint32(f.demangled))
			}
			return true, c.put(k, s.queues.list)
		})
	})
	l.calls = newConveyor(ctx, func(c *conveyor[timeline.FlowCall, callSite]) error {
		var sites interner[callSite]
		layout := callLayout
		if l.parts&Calls == 0 {
			layout.want = layout.want[:2]
		}
		return l.files[2].eachRow(ctx, layout, func(r *ints) (bool, error) {
			if !r.timed() {
				return false, nil
			}
			site := callSite{globalTid: r.Int[2], name: noString}
			if l.parts&Calls != 0 {
				site.name = r.stringID(4)
			}
			call := timeline.FlowCall{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.id(3, timeline.NoCorrelation), Site: sites.cached(site, site.hash())}
			return true, c.put(call, sites.list)
		})
	})
}

// NextKernel implements timeline.Flow.
func (l *flow) NextKernel() *timeline.Kernel {
	c := l.kernels
	if c.at == len(c.now.rows) && c.next() {
		t := l.b.t
		for _, q := range c.now.keys[len(t.Queues):] {
			t.Queues = append(t.Queues, timeline.Queue{Process: l.process(q.globalPid), Device: q.device, Context: q.context, Stream: q.stream, Green: q.green})
		}
	}
	return c.take()
}

// NextCall implements timeline.Flow.
func (l *flow) NextCall() *timeline.FlowCall {
	c := l.calls
	if c.at == len(c.now.rows) && c.next() {
		t := l.b.t
		for _, s := range c.now.keys[len(t.Calls.Sites()):] {
			t.Calls.AddSite(timeline.CallSite{Thread: l.thread(s.globalTid)})
		}
	}
	return c.take()
}

// process numbers a process that nothing else may have named.
func (l *flow) process(globalPid int64) uint32 {
	id := l.b.processes.id(globalPid)
	if t := l.b.t; int(id) == len(t.Processes) {
		t.Processes = append(t.Processes, timeline.Process{Global: globalPid, PID: timeline.PIDOf(globalPid)})
	}
	return id
}

func (l *flow) thread(globalTid int64) uint32 {
	process, id := l.process(timeline.ProcessOf(globalTid)), l.b.threads.id(globalTid)
	if t := l.b.t; int(id) == len(t.Threads) {
		t.Threads = append(t.Threads, timeline.Thread{Global: globalTid, TID: timeline.TIDOf(globalTid), Process: process})
	}
	return id
}

// done tells whether all has been read and nothing was odd. The file that was asked has
// the warnings then.
func (l *flow) done(f *File) bool {
	if !l.kernels.ended() || !l.calls.ended() || l.odd() {
		return false
	}
	g := l.files[0]
	g.noteAbsent(l.parts | NVTX)
	f.warnings, f.damage = g.warnings, g.damage
	return true
}

// close ends the reading.
func (l *flow) close() {
	l.stop()
	if l.kernels != nil {
		l.kernels.drain()
		l.calls.drain()
	}
	for _, f := range l.files {
		f.Close()
	}
}

// clone copies an interner, which goes on apart from the other.
func (in *interner[K]) clone() interner[K] {
	return interner[K]{ids: maps.Clone(in.ids), list: slices.Clone(in.list)}
}

// A conveyor brings rows from the goroutine that reads them, with the keys that they are
// numbered by.
type conveyor[T, K any] struct {
	full, empty chan parcel[T, K]
	err         error // of reading; valid when full is closed
	functions   []function

	filling parcel[T, K] // of the reader
	ctx     context.Context

	now parcel[T, K] // that is gone through
	at  int
	end bool
}

type parcel[T, K any] struct {
	rows []T
	keys []K // all so far
}

const (
	parcelRows  = 4096
	parcelsMost = 6
)

func newConveyor[T, K any](ctx context.Context, read func(*conveyor[T, K]) error) *conveyor[T, K] {
	c := &conveyor[T, K]{ctx: ctx, full: make(chan parcel[T, K], parcelsMost), empty: make(chan parcel[T, K], parcelsMost+2)}
	for range parcelsMost + 1 {
		c.empty <- parcel[T, K]{}
	}
	c.filling.rows = make([]T, 0, parcelRows)
	go func() {
		defer close(c.full)
		if c.err = read(c); c.err == nil && len(c.filling.rows) > 0 {
			c.err = c.send()
		}
	}()
	return c
}

// put hands a row over, with all keys so far.
func (c *conveyor[T, K]) put(row T, keys []K) error {
	c.filling.rows = append(c.filling.rows, row)
	c.filling.keys = keys
	if len(c.filling.rows) == parcelRows {
		return c.send()
	}
	return nil
}

func (c *conveyor[T, K]) send() error {
	select {
	case c.full <- c.filling:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	select {
	case c.filling = <-c.empty:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	if c.filling.rows = c.filling.rows[:0]; cap(c.filling.rows) == 0 {
		c.filling.rows = make([]T, 0, parcelRows)
	}
	return nil
}

// next brings the next parcel; false behind the last.
func (c *conveyor[T, K]) next() bool {
	if c.end {
		return false
	}
	if c.now.rows != nil {
		c.empty <- c.now
	}
	c.now, c.at = <-c.full, 0
	c.end = c.now.rows == nil
	return !c.end
}

func (c *conveyor[T, K]) take() *T {
	if c.at == len(c.now.rows) {
		return nil
	}
	c.at++
	return &c.now.rows[c.at-1]
}

// ended tells whether the last row was taken and all could be read.
func (c *conveyor[T, K]) ended() bool { return c.end && c.err == nil }

// drain waits for the reader, which was told to stop.
func (c *conveyor[T, K]) drain() {
	for range c.full {
	}
}

// flowRegions is RegionRows without kernels and calls in memory; false where that cannot
// be.
func (f *File) flowRegions(ctx context.Context, q timeline.Query) (rows timeline.Rows[timeline.RegionRow], ok bool, err error) {
	if q.Captured || q.Kernel != nil || len(q.Devices)+len(q.Processes) > 0 || q.By&timeline.ByDevice != 0 {
		return rows, false, nil
	}
	l, err := f.openFlow(ctx, KernelTimes|LaunchCalls)
	if l == nil || err != nil {
		return rows, false, err
	}
	defer l.close()
	if q.Detect && len(l.b.t.Ranges) == 0 {
		return rows, false, nil
	}
	rows, ok = l.b.t.FlowRegions(q, l)
	if err := ctx.Err(); err != nil {
		return rows, false, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	if !ok || !l.done(f) {
		return rows, false, nil
	}
	rows.Warnings = slices.Concat(f.warnings, rows.Warnings)
	return rows, true, nil
}
