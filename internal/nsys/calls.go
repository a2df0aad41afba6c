package nsys

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/timeline"
)

var callLayout = layout{
	table: tableRuntime,
	need:  []string{"start", "end"},
	want:  []string{"globalTid", "correlationId", "nameId"},
	known: []string{"eventClass", "callchainId", "returnValue"},
}

// callShare is one worker's share of the CUDA calls.
type callShare struct {
	span
	calls   bag[timeline.Call]
	names   interner[int64]
	threads interner[int64]
}

// calls reads the CUDA calls: all of them, or those that launched work that
// has been read.
func (b *builder) calls(ctx context.Context, launching bool) error {
	b.f.noteUnknown(callLayout)
	if !launching {
		return b.callsThat(ctx, func(row, int64, uint32) bool { return true }, true)
	}
	wanted := b.launched()
	return b.callsThat(ctx, func(_ row, globalPid int64, correlation uint32) bool {
		return wanted.has(globalPid, correlation)
	}, false)
}

// callsWithin reads the calls, by process and time, that keep accepts, with the
// threads and names that they refer to.
func (f *File) callsWithin(ctx context.Context, keep func(globalPid, start, end int64) bool) (*timeline.Timeline, error) {
	b := newBuilder(f)
	b.again = true
	err := b.callsThat(ctx, func(r row, globalPid int64, _ uint32) bool {
		return keep(globalPid, r.int(0), r.int(1))
	}, false)
	if err == nil {
		err = b.finish(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	f.tables = nil
	return b.t, nil
}

func (b *builder) callsThat(ctx context.Context, keep func(r row, globalPid int64, correlation uint32) bool, count bool) error {
	shares, err := scanTable(ctx, b.f, callLayout, b.f.Workers, func(s *callShare, r row) bool {
		if !r.whole(0) || !r.whole(1) {
			return false
		}
		globalTid, correlation := r.int(2), r.id(3, timeline.NoCorrelation)
		if !keep(r, timeline.ProcessOf(globalTid), correlation) {
			return true
		}
		c := timeline.Call{
			Start: r.int(0), End: r.int(1), Correlation: correlation,
			Thread: s.threads.id(globalTid), Name: timeline.StringID(s.names.id(r.stringID(4))),
		}
		s.span.add(c.Start, c.End)
		s.calls.add(c)
		return true
	})
	if err != nil {
		return err
	}
	var bags []*bag[timeline.Call]
	for _, s := range shares {
		names := make([]timeline.StringID, len(s.names.list))
		for j, id := range s.names.list {
			names[j] = b.string(id)
		}
		threads := make([]uint32, len(s.threads.list))
		for j, global := range s.threads.list {
			threads[j] = b.thread(global)
		}
		s.calls.each(func(c *timeline.Call) {
			c.Name, c.Thread = names[c.Name], threads[c.Thread]
			if count {
				b.countCalls(c.Thread, 1)
			}
		})
		b.cover(s.span)
		bags = append(bags, &s.calls)
	}
	b.t.Calls = pour(bags)
	return nil
}

// callCounts counts the CUDA calls of each thread without keeping them.
func (b *builder) callCounts(ctx context.Context) error {
	b.f.noteUnknown(callLayout)
	type share struct {
		span
		threads interner[int64]
		counts  []int64
	}
	shares, err := scanTable(ctx, b.f, callLayout, b.f.Workers, func(s *share, r row) bool {
		if !r.whole(0) || !r.whole(1) {
			return false
		}
		s.span.add(r.int(0), r.int(1))
		id := s.threads.id(r.int(2))
		if int(id) == len(s.counts) {
			s.counts = append(s.counts, 0)
		}
		s.counts[id]++
		return true
	})
	for _, s := range shares {
		b.cover(s.span)
		for i, global := range s.threads.list {
			b.countCalls(b.thread(global), s.counts[i])
		}
	}
	return err
}

func (b *builder) countCalls(thread uint32, n int64) {
	for int(thread) >= len(b.callsBy) {
		b.callsBy = append(b.callsBy, 0)
	}
	b.callsBy[thread] += n
}

// An idSet holds the correlation ids of launches by process. It is a bitmap
// over the ids that occur; where those are scattered it takes a map.
type idSet struct {
	processes map[int64]*processIDs
}

type processIDs struct {
	low, high uint32
	count     int64
	bits      []uint64
	rare      map[uint32]bool
}

// launched collects the correlation ids of the GPU work read so far.
func (b *builder) launched() *idSet {
	set := &idSet{processes: map[int64]*processIDs{}}
	byQueue := make([]*processIDs, len(b.queues.list))
	for i, q := range b.queues.list {
		p := set.processes[q.globalPid]
		if p == nil {
			p = &processIDs{low: timeline.NoCorrelation}
			set.processes[q.globalPid] = p
		}
		byQueue[i] = p
	}
	each := func(f func(p *processIDs, id uint32)) {
		for i := range b.t.Kernels {
			f(byQueue[b.t.Kernels[i].Queue], b.t.Kernels[i].Correlation)
		}
		for i := range b.t.Copies {
			f(byQueue[b.t.Copies[i].Queue], b.t.Copies[i].Correlation)
		}
		for i := range b.t.Sets {
			f(byQueue[b.t.Sets[i].Queue], b.t.Sets[i].Correlation)
		}
		for i := range b.t.Graphs {
			f(byQueue[b.t.Graphs[i].Queue], b.t.Graphs[i].Correlation)
		}
	}
	each(func(p *processIDs, id uint32) {
		if id != timeline.NoCorrelation {
			p.low, p.high = min(p.low, id), max(p.high, id)
			p.count++
		}
	})
	for _, p := range set.processes {
		switch width := int64(p.high) - int64(p.low) + 1; {
		case p.count == 0:
		case width <= 512*p.count+4096:
			p.bits = make([]uint64, width/64+1)
		default:
			p.rare = make(map[uint32]bool, p.count)
		}
	}
	each(func(p *processIDs, id uint32) {
		if id != timeline.NoCorrelation {
			p.add(id)
		}
	})
	return set
}

func (p *processIDs) add(id uint32) {
	if p.rare != nil {
		p.rare[id] = true
		return
	}
	at := id - p.low
	p.bits[at/64] |= 1 << (at % 64)
}

func (s *idSet) has(globalPid int64, id uint32) bool {
	p := s.processes[globalPid]
	if p == nil || id < p.low || id > p.high || id == timeline.NoCorrelation {
		return false
	}
	if p.rare != nil {
		return p.rare[id]
	}
	at := id - p.low
	return p.bits[at/64]>>(at%64)&1 != 0
}
