package timeline

import (
	"container/heap"
	"encoding/binary"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// EveryGap lists the gaps that a query chooses, the longest first: there can be more of
// them than kernels. The timeline needs all CUDA calls.
func (t *Timeline) EveryGap(q Query) Stream[GapRow] {
	s, _ := t.gapSearch(&q, false).list()
	return s
}

// FlowGaps is EveryGap of a flow; false where it must be in memory. The query may not
// choose by kernel, and is about whole devices. The names of kernels must be in the
// timeline when rows are asked for.
func (t *Timeline) FlowGaps(q Query, f Flow) (Stream[GapRow], bool) {
	s, ok := t.flowSearch(&q, f, false)
	if !ok {
		return Stream[GapRow]{}, false
	}
	return s.list()
}

func (s *gapSearch) list() (Stream[GapRow], bool) {
	g := newGapStore(s)
	if !s.each(g.add) {
		return Stream[GapRow]{}, false
	}
	s.source, s.window, s.hosts = nil, nil, nil // rows need no calls
	return Stream[GapRow]{Rows: g.rows, Len: g.n - g.cut, Cut: g.cut, Warnings: s.a.Warnings, Late: g.late}, true
}

// A gapRecord is a gap with what is told of it.
// Times are in ns. Those in ns belong to the calls of its kind, in their order.
type gapRecord struct {
	kind       uint32
	start, end int64
	host       int64 // outside calls, where the launching thread is known
	ns         [maxGapCalls]int64
}

// A gapKind is what gaps share that differ in times alone; there are few.
type gapKind struct {
	lane          lane
	before, after gapWork
	node          uint32
	known         bool   // of the launching thread
	onHost        uint32 // region
	python        []HostFrame
	calls         []namedCalls // without times
	row           *GapRow      // that it makes; nil as long as no one asked
}

// A gapStore keeps gaps in a few bytes each until they are asked for, the longest first.
// They are found by their end, so that those of one length come by their start: they lie
// in one chain, of which each record tells only how much later it begins. Where the chains
// become many they go to a file.
// Where the query has a Top there are no chains: the heap holds that many.
type gapStore struct {
	*gapSearch
	python pythonSamples
	kinds  []gapKind
	byKey  map[string]uint32
	lanes  int // of the kinds, one or more
	n, cut int
	lost   int // rows that could not be read back, when rows were asked for last

	chains []gapChain
	slabs  [][]byte
	chunks uint32
	spill  gapSpill
	best   gapHeap // in the place of chains where few are wanted

	// For the gap that is added:
	key     []byte
	record  []byte
	sums    []namedCalls
	covered intervals
	times   map[uint32]int64
	frames  map[PythonFrame]int64
}

// A gapChain has the gaps of one length, or of a few lengths where they are long.
type gapChain struct {
	first, last uint32 // chunk + 1; 0 for none
	used        uint32 // bytes of the last
	full        uint32 // chunks before the last
	start       int64  // of the last record
}

// size is the number of bytes in the chain.
func (c *gapChain) size() int { return int(c.full)*chunkRoom + int(c.used) }

const (
	// All gaps of 269 ms and more are in the last chain.
	exactGaps   = 1 << 18 // ns; longer gaps are few, and share chains
	sharedBits  = 14      // lengths of which two differ in these bits alone share a chain
	chainedGaps = exactGaps + 1<<14
	chunkSize   = 64 // the last four bytes lead to the next
	chunkRoom   = chunkSize - 4
	slabChunks  = 1 << 14
)

func newGapStore(s *gapSearch) *gapStore {
	g := &gapStore{
		gapSearch: s, python: s.a.t.pythonSamples(), byKey: map[string]uint32{},
		times: map[uint32]int64{}, frames: map[PythonFrame]int64{},
	}
	g.best.store = g
	if s.q.Top == 0 {
		g.chains = make([]gapChain, chainedGaps)
	}
	return g
}

func (g *gapStore) add(x *gap, l gapLaunch) {
	g.n++
	if top := g.q.Top; top > 0 {
		g.addBest(x, l, top)
		return
	}
	r := g.fill(x, l)
	ns := Since(x.start, x.end)
	at := chainOf(ns)
	c := &g.chains[at]
	b := binary.AppendUvarint(g.record[:0], uint64(r.kind))
	b = binary.AppendVarint(b, r.start-c.start)
	c.start = r.start
	if at >= exactGaps {
		b = binary.AppendVarint(b, ns)
	}
	kind := &g.kinds[r.kind]
	for i := range kind.calls {
		b = binary.AppendVarint(b, r.ns[i])
	}
	if kind.known {
		b = binary.AppendVarint(b, r.host)
	}
	g.record = b
	g.append(c, b)
	if g.chunks >= spilledChunks && g.spill.write(g) {
		clear(g.chains)
		g.chunks = 0
	}
}

// addBest keeps a gap as long as it is one of the longest.
func (g *gapStore) addBest(x *gap, l gapLaunch, top int) {
	if len(g.best.list) < top {
		g.best.list = append(g.best.list, g.fill(x, l))
		if len(g.best.list) == top {
			heap.Init(&g.best)
		}
		return
	}
	g.cut++
	if compareGaps(*x, g.best.gap(0)) <= 0 {
		g.best.list[0] = g.fill(x, l)
		heap.Fix(&g.best, 0)
	}
}

// chainOf is the chain of gaps of a length, ns. A longer gap is in no lower chain.
func chainOf(ns int64) int64 {
	if ns < exactGaps {
		return ns
	}
	return min(exactGaps+(ns-exactGaps)>>sharedBits, chainedGaps-1)
}

// append writes bytes to the end of a chain.
func (g *gapStore) append(c *gapChain, b []byte) {
	for len(b) > 0 {
		if c.last == 0 || c.used == chunkRoom {
			if int(g.chunks) == len(g.slabs)*slabChunks {
				g.slabs = append(g.slabs, make([]byte, slabChunks*chunkSize))
			}
			g.chunks++
			if c.last == 0 {
				c.first = g.chunks
			} else {
				binary.LittleEndian.PutUint32(g.chunk(c.last)[chunkRoom:], g.chunks)
				c.full++
			}
			c.last, c.used = g.chunks, 0
		}
		n := copy(g.chunk(c.last)[c.used:chunkRoom], b)
		c.used += uint32(n)
		b = b[n:]
	}
}

// chunk is one of them by its number, from 1.
func (g *gapStore) chunk(number uint32) []byte {
	at := (number - 1) % slabChunks * chunkSize
	return g.slabs[(number-1)/slabChunks][at : at+chunkSize]
}

// fill tells what filled a gap.
func (g *gapStore) fill(x *gap, l gapLaunch) gapRecord {
	t := g.a.t
	k := gapKind{lane: x.lane, before: gapWork{x.before.Kind, x.before.what}, after: gapWork{x.after.Kind, x.after.what}}
	clear(g.frames)
	if l.known {
		until := min(x.end, l.start)
		k.onHost = g.hosts.longest(l.thread, x.start, until, g.times)
		g.python.count(l.thread, x.start, until, g.frames)
		k.node = g.a.nodeOf(l.stacks, l.open)
		k.known = int(l.thread) < len(t.Threads)
	}
	var process int64
	if p := t.Queues[x.after.Queue].Process; int(p) < len(t.Processes) {
		process = t.Processes[p].Global
	}
	r := gapRecord{start: x.start, end: x.end, host: Since(x.start, x.end)} // where the thread made no call at all in it
	g.sums = g.sums[:0]
	for th := range g.window.threads {
		if ProcessOf(t.Threads[th].Global) != process {
			continue
		}
		g.sum(uint32(th), x)
		if k.known && uint32(th) == l.thread {
			r.host -= g.covered.within(x.start, x.end)
		}
	}
	g.sums = t.topCalls(g.sums)
	for i, s := range g.sums {
		r.ns[i] = s.ns
	}
	k.calls = g.sums
	r.kind = g.kind(&k)
	return r
}

// sum adds up the calls of a thread that lie in a gap, and what of it they cover.
func (g *gapStore) sum(thread uint32, x *gap) {
	t := g.a.t
	var over bool // a gap that long is told of by the events around it
	g.covered.start, g.covered.before = g.covered.start[:0], g.covered.before[:0]
	for _, c := range g.window.from(thread, x.start) {
		if c.start >= x.end {
			break
		}
		if c.end <= x.start {
			continue
		}
		from, to := max(c.start, x.start), min(c.end, x.end)
		g.covered.add(from, to)
		name := t.Calls.sites[c.site].Name
		at := slices.IndexFunc(g.sums, func(s namedCalls) bool { return s.name == name })
		if at < 0 {
			at = len(g.sums)
			g.sums = append(g.sums, namedCalls{name: name})
		}
		accrue(&g.sums[at].ns, Since(from, to), &over)
		g.sums[at].calls++
	}
}

// kind numbers what rows have in common.
func (g *gapStore) kind(k *gapKind) uint32 {
	key := g.key[:0]
	add := func(v uint32) { key = binary.LittleEndian.AppendUint32(key, v) }
	add(uint32(k.lane.device))
	add(k.lane.queue)
	key = append(key, byte(k.before.kind), byte(k.after.kind))
	add(k.before.what)
	add(k.after.what)
	add(k.node)
	add(k.onHost)
	if k.known {
		key = append(key, 1)
	}
	for f, n := range g.frames { // in any order: equal ones may be of two kinds
		for _, v := range []uint32{uint32(f.Function), uint32(f.File), uint32(f.Line), uint32(n)} {
			add(v)
		}
	}
	for _, s := range k.calls {
		add(uint32(s.name))
		key = binary.AppendVarint(key, s.calls)
	}
	g.key = key
	id, ok := g.byKey[string(key)]
	if !ok {
		id = uint32(len(g.kinds))
		g.byKey[string(key)] = id
		made := *k
		made.calls = slices.Clone(k.calls)
		if len(g.frames) > 0 {
			made.python = g.a.t.hostFrames(g.frames)
		}
		if g.lanes == 0 || made.lane != g.kinds[0].lane {
			g.lanes++
		}
		g.kinds = append(g.kinds, made)
	}
	return id
}

// late tells of gaps that were found and could not be read back.
func (g *gapStore) late() []fact.Fact {
	if g.lost == 0 {
		return nil
	}
	return []fact.Fact{fact.New(CodeRowsSkipped, fact.Name("table", "gaps"), fact.Count("n", g.lost))}
}

// rows goes through the gaps, the longest first.
// It may run again from the start, but not twice at the same time.
func (g *gapStore) rows(yield func(*GapRow) bool) {
	made := 0
	g.lost = 0
	g.sort(g.best.list) // all are found: it need not be a heap any more
	w := gapWriter{store: g, short: map[uint32]string{}}
	visit := func(r *gapRecord) bool {
		made++
		return yield(w.row(r))
	}
	for i := range g.best.list {
		if !visit(&g.best.list[i]) {
			return
		}
	}
	runs := g.spill.readers()
	for at := int64(len(g.chains)) - 1; at >= 0; at-- {
		has := g.chains[at].first != 0 || slices.ContainsFunc(runs, func(r *runReader) bool { return r.chain == at })
		if has && !g.ofChain(at, runs, visit) {
			return
		}
	}
	g.lost = g.n - g.cut - made
}

// sort puts the longest first.
func (g *gapStore) sort(list []gapRecord) {
	slices.SortFunc(list, func(x, y gapRecord) int { return compareGaps(g.gap(&x), g.gap(&y)) })
}

// gap is what compareGaps needs of a record.
func (g *gapStore) gap(r *gapRecord) gap {
	return gap{lane: g.kinds[r.kind].lane, start: r.start, end: r.end}
}

// ofChain visits the gaps of a chain, those of the runs before those in memory: they come
// by start. Those of several lanes that start at once are put by lane, and those of
// several lengths are all put in order.
func (g *gapStore) ofChain(at int64, runs []*runReader, visit func(*gapRecord) bool) bool {
	var same []gapRecord // whose order is not known yet
	flush := func() bool {
		if len(same) > 1 {
			g.sort(same)
		}
		for i := range same {
			if !visit(&same[i]) {
				return false
			}
		}
		same = same[:0]
		return true
	}
	read := func(in chainReader) bool {
		for start := int64(0); in.more(); {
			r := in.record(start, at)
			if in.run != nil && in.run.err != nil {
				return true // what is left of the run is lost, and counted
			}
			start = r.start
			if g.lanes == 1 && at < exactGaps {
				if !visit(&r) {
					return false
				}
				continue
			}
			if len(same) > 0 && same[0].start != start && at < exactGaps && !flush() {
				return false
			}
			same = append(same, r)
		}
		return true
	}
	for _, r := range runs {
		if r.chain != at {
			continue
		}
		if !read(chainReader{g: g, run: r}) {
			return false
		}
		r.next(at)
	}
	if c := &g.chains[at]; c.first != 0 && !read(chainReader{g: g, next: c.first, last: c.last, used: int(c.used)}) {
		return false
	}
	return flush()
}

// A chainReader reads the records of a chain, or of a segment of a run.
type chainReader struct {
	g    *gapStore
	run  *runReader // nil for a chain
	rest []byte     // of the chunk
	next uint32     // chunk
	last uint32     // chunk
	used int        // bytes of the last chunk
}

// more goes on to the next chunk where one is through; false behind the last record.
func (in *chainReader) more() bool {
	if len(in.rest) > 0 {
		return true
	}
	if in.run != nil {
		in.rest = in.run.more()
		return len(in.rest) > 0
	}
	if in.next == 0 {
		return false
	}
	chunk, number := in.g.chunk(in.next), in.next
	in.rest, in.next = chunk[:chunkRoom], binary.LittleEndian.Uint32(chunk[chunkRoom:])
	if number == in.last {
		in.rest, in.next = chunk[:in.used], 0
	}
	return len(in.rest) > 0
}

// byte is the next one. What a chain holds is never cut; a run whose file fails is told by
// its error.
func (in *chainReader) byte() byte {
	if !in.more() {
		return 0
	}
	b := in.rest[0]
	in.rest = in.rest[1:]
	return b
}

func (in *chainReader) uvarint() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := in.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (in *chainReader) varint() int64 {
	v := in.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// record is the next of a chain; before is the start of the one before it.
func (in *chainReader) record(before, chain int64) gapRecord {
	r := gapRecord{kind: uint32(in.uvarint())}
	r.start = before + in.varint()
	ns := chain
	if chain >= exactGaps {
		ns = in.varint()
	}
	r.end = r.start + ns
	kind := &in.g.kinds[r.kind]
	for i := range kind.calls {
		r.ns[i] = in.varint()
	}
	if kind.known {
		r.host = in.varint()
	}
	return r
}

// A gapHeap has the worst of the best gaps on top.
type gapHeap struct {
	store *gapStore
	list  []gapRecord
}

func (h *gapHeap) gap(i int) gap      { return h.store.gap(&h.list[i]) }
func (h *gapHeap) Len() int           { return len(h.list) }
func (h *gapHeap) Less(i, j int) bool { return compareGaps(h.gap(i), h.gap(j)) > 0 }
func (h *gapHeap) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *gapHeap) Push(any)           {} // the heap never grows
func (h *gapHeap) Pop() any           { return nil }
