package timeline

import (
	"cmp"
	"math/bits"
	"slices"
)

// Correlations find the calls of a process by their correlation id, in the order
// of their starts.
type Correlations struct {
	t      *Timeline
	tables []idTable // by process
	next   []uint32  // further call of the same process and id, in the order of their starts; nil without any
	shared int       // calls that share their id with an earlier one
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
		c.tables[p].close()
	}
	for i := range t.Calls {
		c.insert(uint32(i))
	}
	return c
}

// each visits the calls that have a process and an id.
func (c *Correlations) each(f func(table *idTable, process, id uint32)) {
	for i := range c.t.Calls {
		call := &c.t.Calls[i]
		p := c.t.ThreadProcess(call.Thread)
		if call.Correlation != NoCorrelation && int(p) < len(c.tables) {
			f(&c.tables[p], p, call.Correlation)
		}
	}
}

func (c *Correlations) insert(i uint32) {
	call := &c.t.Calls[i]
	p := c.t.ThreadProcess(call.Thread)
	if call.Correlation == NoCorrelation || int(p) >= len(c.tables) {
		return
	}
	table := &c.tables[p]
	at := table.number(call.Correlation)
	first := table.calls[at]
	if first == None {
		table.calls[at] = i
		return
	}
	c.shared++
	if c.next == nil {
		c.next = make([]uint32, len(c.t.Calls))
		for j := range c.next {
			c.next[j] = None
		}
	}
	if c.before(i, first) {
		c.next[i] = first
		table.calls[at] = i
		return
	}
	after := first
	for c.next[after] != None && !c.before(i, c.next[after]) {
		after = c.next[after]
	}
	c.next[i], c.next[after] = c.next[after], i
}

func (c *Correlations) before(a, b uint32) bool {
	x, y := &c.t.Calls[a], &c.t.Calls[b]
	return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(a, b)) < 0
}

// Call is the earliest call of the process with this id, or None.
func (c *Correlations) Call(process, correlation uint32) uint32 {
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
func (c *Correlations) Next(i uint32) uint32 {
	if c.next == nil {
		return None
	}
	return c.next[i]
}

// open makes room for the ids between low and high.
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

// close numbers the ids that were put.
func (t *idTable) close() {
	ids := 0
	if t.bits == nil {
		slices.Sort(t.sorted)
		t.sorted = slices.Compact(t.sorted)
		ids = len(t.sorted)
	}
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
