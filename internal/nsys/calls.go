package nsys

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/timeline"
)

var callLayout = layout{
	table: tableRuntime,
	need:  []string{"start", "end"},
	want:  []string{"globalTid", "correlationId", "nameId"},
	known: []string{"eventClass", "callchainId", "returnValue"},
}

// callShare is one worker's share of the CUDA calls, in columns.
// The columns are parallel: entry i of each belongs to one call.
type callShare struct {
	span
	start       timeline.Starts
	length      column[uint32] // ns; see ends for calls that are longer than it holds
	correlation timeline.List
	site        timeline.Numbers // number in sites
	sites       interner[callSite]
	ends        map[uint32]int64 // by call of the share: ends that length does not hold
	n           uint32           // calls added

	room      int // for calls in memory that all workers fill
	allStarts []uint32
	allSites  []uint16

	pid int64       // of the last row
	ids *processIDs // of that process, if launches are looked for; nil without any
}

// reserveCalls gives the workers parts of the same columns, with room for at most
// the given number of calls each.
func reserveCalls(most int) func(workers int, count func() []int) []*callShare {
	return func(workers int, count func() []int) []*callShare {
		rooms := count()
		for i := range rooms {
			rooms[i] = min(rooms[i], most)
		}
		shares := fresh[callShare](workers, count)
		starts, lengths := reserveColumn[uint32](rooms), reserveColumn[uint32](rooms)
		sites := reserveColumn[uint16](rooms)
		for w, s := range shares {
			s.length = lengths[w]
			s.start, s.site, s.room = timeline.MakeStarts(starts[w].part), timeline.MakeNumbers(sites[w].part), rooms[w]
			s.allStarts, s.allSites = starts[w].all, sites[w].all
		}
		return shares
	}
}

// callSite is what many calls have in common: who calls what.
type callSite struct{ globalTid, name int64 }

// hash only has to spread sites over the places of interner.cached.
func (s callSite) hash() uint32 { return uint32(s.globalTid)*31 + uint32(s.name) }

// add takes one row, in the order of the file; times are in ns.
func (s *callShare) add(start, end int64, correlation uint32, site callSite) {
	length, ok := timeline.CallLength(start, end)
	if !ok {
		if s.ends == nil {
			s.ends = map[uint32]int64{}
		}
		s.ends[s.n] = end
	}
	s.n++
	s.span.add(start, end)
	s.start.Add(start)
	s.length.part = append(s.length.part, length)
	s.correlation.Add(correlation)
	s.site.Add(s.sites.cached(site, site.hash()))
}

// calls reads the CUDA calls: all of them, or those that launched work that
// has been read.
// Launching, it must come after the tables of GPU work, whose ids it looks for.
func (b *builder) calls(ctx context.Context, launching bool) error {
	b.f.noteUnknown(callLayout)
	if !launching {
		return b.callsThat(ctx, math.MaxInt, func(*callShare, *ints, int64, uint32) bool { return true }, true)
	}
	wanted := b.launched()
	return b.callsThat(ctx, b.t.Ops(), func(s *callShare, _ *ints, globalPid int64, correlation uint32) bool {
		if s.ids == nil || s.pid != globalPid {
			s.pid, s.ids = globalPid, wanted.processes[globalPid]
		}
		return s.ids.has(correlation)
	}, false)
}

// callsThat reads the calls that keep accepts, most of them or fewer as a rule.
// count adds them to the calls of their threads; keep must then accept all.
func (b *builder) callsThat(ctx context.Context, most int, keep func(s *callShare, r *ints, globalPid int64, correlation uint32) bool, count bool) error {
	shares, err := scanInts(ctx, b.f, callLayout, reserveCalls(most), func(s *callShare, r *ints) bool {
		if !r.timed() {
			return false
		}
		globalTid, correlation := r.Int[2], r.id(3, timeline.NoCorrelation)
		if keep(s, r, timeline.ProcessOf(globalTid), correlation) {
			s.add(r.Int[0], r.Int[1], correlation, callSite{globalTid, r.stringID(4)})
		}
		return true
	})
	if err != nil {
		return err
	}
	b.joinCalls(shares, count)
	return nil
}

// joinCalls puts the columns of the workers together and gives sites their names
// and threads.
// The shares are used up: their columns become those of the timeline.
func (b *builder) joinCalls(shares []*callShare, count bool) {
	var all interner[timeline.CallSite]
	var lengths []column[uint32]
	var correlations timeline.List
	starts, sites := openCalls(shares)
	var spans []*span
	ends := map[uint32]int64{}
	before := uint32(0)
	var beside sync.WaitGroup
	beside.Go(func() {
		for i, s := range shares {
			if i == 0 {
				correlations = s.correlation
				continue
			}
			for i := range s.n {
				starts.Add(s.start.At(i))
			}
			correlations.Join(&s.correlation)
		}
	})
	for _, s := range shares {
		to := make([]uint32, len(s.sites.list))
		for i, site := range s.sites.list {
			to[i] = all.id(timeline.CallSite{Name: b.string(site.name), Thread: b.thread(site.globalTid)})
		}
		calls := make([]int64, len(to))
		for i := range s.n {
			site := s.site.At(i)
			calls[site]++
			sites.Add(to[site])
		}
		for i, n := range calls {
			if count {
				b.countCalls(all.list[to[i]].Thread, n)
			}
		}
		for call, end := range s.ends {
			ends[before+call] = end
		}
		before += s.n
		b.cover(s.span)
		spans = append(spans, &s.span)
		lengths = append(lengths, s.length)
	}
	beside.Wait()
	b.t.Calls = timeline.MakeCalls(starts, joinColumn(lengths), correlations, sites, all.list, ends)
	b.t.Calls.ByStart = byStart(spans)
}

// openCalls gives the columns that all calls are joined in, with the starts of the first
// worker. They use the memory that the workers share, in which every call moves down or
// stays, unless a worker outgrew its room.
func openCalls(shares []*callShare) (timeline.Starts, timeline.Numbers) {
	if len(shares) == 0 {
		return timeline.Starts{}, timeline.Numbers{}
	}
	starts, sites := shares[0].start, timeline.Numbers{}
	if !slices.ContainsFunc(shares, func(s *callShare) bool { return int(s.n) > s.room }) {
		starts.Extend(shares[0].allStarts)
		sites = timeline.MakeNumbers(shares[0].allSites)
	}
	return starts, sites
}

// callCounts counts the CUDA calls of each thread without keeping them.
// It covers the session by the calls all the same.
func (b *builder) callCounts(ctx context.Context) error {
	b.f.noteUnknown(callLayout)
	type share struct {
		span
		threads interner[int64]
		counts  []int64
	}
	shares, err := scanInts(ctx, b.f, callLayout, fresh[share], func(s *share, r *ints) bool {
		if !r.timed() {
			return false
		}
		s.span.add(r.Int[0], r.Int[1])
		id := s.threads.id(r.Int[2])
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

// countCalls grows callsBy to the threads known so far.
func (b *builder) countCalls(thread uint32, n int64) {
	for int(thread) >= len(b.callsBy) {
		b.callsBy = append(b.callsBy, 0)
	}
	b.callsBy[thread] += n
}

// An idSet holds the correlation ids of launches by process. It is a bitmap
// over the ids that occur; if those are scattered it takes a map.
// Keys are globalPids.
type idSet struct {
	processes map[int64]*processIDs
}

// processIDs are the ids of one process; either bits or rare is used. nil has none.
type processIDs struct {
	low, high uint32          // smallest and largest id
	count     int64           // launches, with repeated ids
	bits      []uint64        // bit id-low
	rare      map[uint32]bool // if ids are too far apart for bits
}

// launched collects the correlation ids of the GPU work read so far.
// Graph replays share one id among all their kernels, so ids repeat.
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

// add takes an id from low to high; the caller has found these bounds before.
func (p *processIDs) add(id uint32) {
	if p.rare != nil {
		p.rare[id] = true
		return
	}
	at := id - p.low
	p.bits[at/64] |= 1 << (at % 64)
}

// has may be asked by all workers at once: nothing changes any more then.
func (p *processIDs) has(id uint32) bool {
	if p == nil || id < p.low || id > p.high || id == timeline.NoCorrelation {
		return false
	}
	if p.rare != nil {
		return p.rare[id]
	}
	at := id - p.low
	return p.bits[at/64]>>(at%64)&1 != 0
}
