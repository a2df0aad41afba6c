package timeline

import (
	"cmp"
	"math/bits"
)

// correlator finds the calls of a process by their correlation id. Ids are
// handed out in sequence, so a table of pages per process is small and fast;
// where they are scattered, a map takes its place.
type correlator struct {
	t      *Timeline
	tables []idTable // by process
	next   []uint32  // further call of the same process and id, in the order of their starts; nil without any
	shared int       // calls that share their id with an earlier one
}

type idTable struct {
	low, high uint32
	count     int64
	pages     []*idPage // by id-low; nil where no id falls
	rare      map[uint32]uint32
}

const pageBits = 10

type idPage [1 << pageBits]uint32 // call index + 1

func (t *Timeline) correlate() *correlator {
	c := &correlator{t: t, tables: make([]idTable, len(t.Processes))}
	c.each(func(table *idTable, _, id uint32) {
		if table.count == 0 {
			table.low, table.high = id, id
		}
		table.low, table.high = min(table.low, id), max(table.high, id)
		table.count++
	})
	used := make([][]uint64, len(c.tables)) // bitmaps of pages
	for p := range c.tables {
		if table := &c.tables[p]; table.count > 0 {
			pages := int64(table.high-table.low)>>pageBits + 1
			if pages > 64*table.count+1024 {
				table.rare = make(map[uint32]uint32, table.count)
				continue
			}
			used[p] = make([]uint64, pages/64+1)
			table.pages = make([]*idPage, pages)
		}
	}
	c.each(func(table *idTable, process, id uint32) {
		if bitmap := used[process]; bitmap != nil {
			page := (id - table.low) >> pageBits
			bitmap[page/64] |= 1 << (page % 64)
		}
	})
	for p := range c.tables {
		table := &c.tables[p]
		filled := int64(0)
		for _, word := range used[p] {
			filled += int64(bits.OnesCount64(word))
		}
		if filled<<pageBits > 16*table.count+1<<16 {
			table.pages, table.rare = nil, make(map[uint32]uint32, table.count)
		}
	}
	for i := range t.Calls {
		c.insert(uint32(i))
	}
	return c
}

// each visits the calls that have a process and an id.
func (c *correlator) each(f func(table *idTable, process, id uint32)) {
	for i := range c.t.Calls {
		call := &c.t.Calls[i]
		p := c.t.ThreadProcess(call.Thread)
		if call.Correlation != NoCorrelation && int(p) < len(c.tables) {
			f(&c.tables[p], p, call.Correlation)
		}
	}
}

func (c *correlator) insert(i uint32) {
	call := &c.t.Calls[i]
	p := c.t.ThreadProcess(call.Thread)
	if call.Correlation == NoCorrelation || int(p) >= len(c.tables) {
		return
	}
	table := &c.tables[p]
	first := table.get(call.Correlation)
	if first == None {
		table.set(call.Correlation, i)
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
		table.set(call.Correlation, i)
		return
	}
	at := first
	for c.next[at] != None && !c.before(i, c.next[at]) {
		at = c.next[at]
	}
	c.next[i], c.next[at] = c.next[at], i
}

func (c *correlator) before(a, b uint32) bool {
	x, y := &c.t.Calls[a], &c.t.Calls[b]
	return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(a, b)) < 0
}

// call is the earliest call of the process with this id, or None.
func (c *correlator) call(process, correlation uint32) uint32 {
	if correlation == NoCorrelation || int(process) >= len(c.tables) {
		return None
	}
	return c.tables[process].get(correlation)
}

// also is the call after i that shares its id, or None.
func (c *correlator) also(i uint32) uint32 {
	if c.next == nil {
		return None
	}
	return c.next[i]
}

func (t *idTable) get(id uint32) uint32 {
	if t.rare != nil {
		if i, ok := t.rare[id]; ok {
			return i
		}
		return None
	}
	if t.count == 0 || id < t.low || id > t.high {
		return None
	}
	page := t.pages[(id-t.low)>>pageBits]
	if page == nil {
		return None
	}
	return page[(id-t.low)%(1<<pageBits)] - 1 // 0 wraps to None
}

func (t *idTable) set(id, call uint32) {
	if t.rare != nil {
		t.rare[id] = call
		return
	}
	at := &t.pages[(id-t.low)>>pageBits]
	if *at == nil {
		*at = new(idPage)
	}
	(*at)[(id-t.low)%(1<<pageBits)] = call + 1
}
