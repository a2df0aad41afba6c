package timeline

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// Correlations find the calls of a process by their correlation id, in the order
// of their starts.
// Call and Next may be used by several goroutines. A function that inTurn returns is for one
// goroutine, since it remembers where it was.
type Correlations struct {
	t      *Timeline
	tables []idTable // by process
	next   []uint32  // further call of the same process and id, in the order of their starts; nil without any
	shared int       // calls that share their id with an earlier one

	// Where ascending, calls are of one process, and their ids grow from call to call:
	// no table is needed.
	ascending bool
	process   uint32
}

// An idTable numbers the ids of a process that occur. Ids are handed out in
// sequence, so a bitmap with a count of the ids before each word is small; where
// they are scattered, a sorted list takes its place.
type idTable struct {
	low, high uint32
	count     int64
	bits      []uint64
	before    []uint32 // ids below each word of bits
	sorted    []uint32 // nil where there is a bitmap
	calls     []uint32 // by number of the id: its earliest call, or None
}

// Correlate indexes the calls by process and correlation.
func (t *Timeline) Correlate() *Correlations {
	c := t.correlate(nil)
	for i := range uint32(t.Calls.Len()) {
		c.chain(i)
	}
	return c
}

// correlateLaunches indexes only the calls that launched work, the earliest of
// each id: most calls launch nothing.
func (t *Timeline) correlateLaunches() *Correlations {
	if process, ok := t.ascendingCalls(); ok {
		return &Correlations{t: t, ascending: true, process: process}
	}
	return t.correlate(t.eachOp)
}

// ascendingCalls tells whether ids grow from call to call, all of one process, as in most
// files.
func (t *Timeline) ascendingCalls() (process uint32, ok bool) {
	sites, ids := t.Calls.sites, &t.Calls.correlation
	if ids.Len() == 0 || ids.At(ids.Len()-1) == NoCorrelation {
		return 0, false
	}
	process = t.ThreadProcess(sites[0].Thread)
	if int(process) >= len(t.Processes) || slices.ContainsFunc(sites, func(s CallSite) bool { return t.ThreadProcess(s.Thread) != process }) {
		return 0, false
	}
	return process, ids.ascends()
}

// inTurn is Call for ids that mostly come in the order of the calls.
func (c *Correlations) inTurn() func(process, correlation uint32) uint32 {
	if !c.ascending {
		return c.Call
	}
	ids, near := &c.t.Calls.correlation, 0
	return func(process, correlation uint32) uint32 {
		if process != c.process {
			return None
		}
		if at, ok := ids.alongside(near, correlation); ok {
			near = at
			return uint32(at)
		}
		// Twice as far with each step, from the last one that was found.
		from, to := near, near
		for step := 1; from > 0 && ids.At(from) > correlation; step *= 2 {
			from = max(0, from-step)
		}
		for step := 1; to < ids.Len() && ids.At(to) < correlation; step *= 2 {
			from, to = to, min(ids.Len(), to+step)
		}
		at := from + sort.Search(min(to, ids.Len()-1)-from+1, func(i int) bool { return ids.At(from+i) >= correlation })
		if at == ids.Len() || ids.At(at) != correlation {
			return None
		}
		near = at
		return uint32(at)
	}
}

// correlate indexes the earliest call of each id: of all of them, or of those that
// work has.
func (t *Timeline) correlate(work func(func(Op))) *Correlations {
	c := &Correlations{t: t, tables: make([]idTable, len(t.Processes))}
	c.each(func(table *idTable, _, id uint32) {
		if table.count == 0 {
			table.low, table.high = id, id
		}
		table.low, table.high = min(table.low, id), max(table.high, id)
		table.count++
	})
	for p := range c.tables {
		c.tables[p].open()
	}
	c.each(func(table *idTable, _, id uint32) { table.put(id) })
	for p := range c.tables {
		c.shared += int(c.tables[p].count) - c.tables[p].distinct()
	}
	if work != nil {
		c.keepLaunched(work)
	}
	for p := range c.tables {
		c.tables[p].assign()
	}
	c.each(func(table *idTable, i, id uint32) {
		if at := table.number(id); at >= 0 && (table.calls[at] == None || c.before(i, table.calls[at])) {
			table.calls[at] = i
		}
	})
	return c
}

// keepLaunched drops the ids that no work has.
func (c *Correlations) keepLaunched(work func(func(Op))) {
	launched := make([]idTable, len(c.tables))
	for p := range launched {
		all := &c.tables[p]
		launched[p] = idTable{low: all.low, high: all.high, count: all.count}
		launched[p].open()
	}
	work(func(op Op) {
		if p := c.t.Queues[op.Queue].Process; int(p) < len(launched) {
			if t := &launched[p]; t.count > 0 && op.Correlation >= t.low && op.Correlation <= t.high {
				t.put(op.Correlation)
			}
		}
	})
	for p := range launched {
		c.tables[p].intersect(&launched[p])
	}
}

// each visits the calls that have a process and an id.
func (c *Correlations) each(f func(table *idTable, call, id uint32)) {
	calls := &c.t.Calls
	tables := make([]*idTable, len(calls.sites)) // by site
	for i, s := range calls.sites {
		if p := c.t.ThreadProcess(s.Thread); int(p) < len(c.tables) {
			tables[i] = &c.tables[p]
		}
	}
	for i, id := range calls.correlation.All() {
		if table := tables[calls.site.At(uint32(i))]; table != nil && id != NoCorrelation {
			f(table, uint32(i), id)
		}
	}
}

// chain links a call to the others of its id.
func (c *Correlations) chain(i uint32) {
	id, p := c.t.Calls.Correlation(i), c.t.ThreadProcess(c.t.Calls.Thread(i))
	first := c.Call(p, id)
	if first == None || first == i {
		return
	}
	if c.next == nil {
		c.next = make([]uint32, c.t.Calls.Len())
		for j := range c.next {
			c.next[j] = None
		}
	}
	after := first
	for c.next[after] != None && !c.before(i, c.next[after]) {
		after = c.next[after]
	}
	c.next[i], c.next[after] = c.next[after], i
}

func (c *Correlations) before(a, b uint32) bool {
	return cmp.Or(cmp.Compare(c.t.Calls.Start(a), c.t.Calls.Start(b)), cmp.Compare(a, b)) < 0
}

// Call is the earliest call of the process with this id, or None.
func (c *Correlations) Call(process, correlation uint32) uint32 {
	if c.ascending {
		return c.inTurn()(process, correlation)
	}
	if correlation == NoCorrelation || int(process) >= len(c.tables) {
		return None
	}
	table := &c.tables[process]
	if at := table.number(correlation); at >= 0 {
		return table.calls[at]
	}
	return None
}

// Next is the call after i that shares its id, or None.
// Only Correlate links calls: after correlateLaunches it is always None.
func (c *Correlations) Next(i uint32) uint32 {
	if c.next == nil {
		return None
	}
	return c.next[i]
}

// open makes room for the ids between low and high.
// A bitmap is taken where it needs at most 16 bytes for each call, and 8 KB beside that.
func (t *idTable) open() {
	if t.count == 0 {
		return
	}
	width := int64(t.high-t.low) + 1
	if width > 128*t.count+1<<16 {
		t.sorted = make([]uint32, 0, t.count)
		return
	}
	t.bits = make([]uint64, width/64+1)
}

func (t *idTable) put(id uint32) {
	if t.bits == nil {
		t.sorted = append(t.sorted, id)
		return
	}
	at := id - t.low
	t.bits[at/64] |= 1 << (at % 64)
}

// distinct is how many ids were put.
// It also sorts a list of ids and drops what occurs twice, as intersect and number need it.
func (t *idTable) distinct() int {
	if t.bits == nil {
		slices.Sort(t.sorted)
		t.sorted = slices.Compact(t.sorted)
		return len(t.sorted)
	}
	n := 0
	for _, word := range t.bits {
		n += bits.OnesCount64(word)
	}
	return n
}

// intersect keeps the ids that o, of the same bounds, has too.
func (t *idTable) intersect(o *idTable) {
	for i := range t.bits {
		t.bits[i] &= o.bits[i]
	}
	if t.bits == nil {
		o.distinct()
		t.sorted = slices.DeleteFunc(t.sorted, func(id uint32) bool {
			_, found := slices.BinarySearch(o.sorted, id)
			return !found
		})
	}
}

// assign numbers the ids that were put, from 0.
// Lower ids have lower numbers. No id may be put afterwards.
func (t *idTable) assign() {
	ids := len(t.sorted)
	t.before = make([]uint32, len(t.bits))
	for i, word := range t.bits {
		t.before[i] = uint32(ids)
		ids += bits.OnesCount64(word)
	}
	t.calls = make([]uint32, ids)
	for i := range t.calls {
		t.calls[i] = None
	}
}

// number is that of an id, or -1 where it does not occur.
func (t *idTable) number(id uint32) int {
	if t.count == 0 || id < t.low || id > t.high {
		return -1
	}
	if t.bits == nil {
		if i, ok := slices.BinarySearch(t.sorted, id); ok {
			return i
		}
		return -1
	}
	at := id - t.low
	word := t.bits[at/64]
	if word>>(at%64)&1 == 0 {
		return -1
	}
	return int(t.before[at/64]) + bits.OnesCount64(word&(1<<(at%64)-1))
}
