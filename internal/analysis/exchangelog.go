package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// An exchangeLog holds the exchanges of one rank that all ranks leave together, by
// stream, in some 30 bytes each: it is all that grows with the number of ranks
// times the number of their exchanges.
type exchangeLog struct {
	lanes []exchangeLane // by the first use of the stream
	what  []TimePart     // what the rank did between exchanges, without times
}

// An exchangeLane is the exchanges of one stream, or of one thread, by start.
type exchangeLane struct {
	queue uint32 // stream, or thread of ranges
	n     int    // exchanges
	last  int64  // start of the last one
	data  []byte
}

// logExchanges packs a list that is sorted by start.
func logExchanges(list []exchangeLaunch) exchangeLog {
	var l exchangeLog
	at := map[uint32]int{}
	for i := range list {
		x := &list[i]
		if !leavesTogether[x.kind] {
			continue
		}
		n, ok := at[x.queue]
		if !ok {
			n = len(l.lanes)
			at[x.queue] = n
			l.lanes = append(l.lanes, exchangeLane{queue: x.queue})
		}
		l.add(&l.lanes[n], x)
	}
	for i := range l.lanes {
		l.lanes[i].data = slices.Clone(l.lanes[i].data) // without room to grow
	}
	return l
}

// add needs exchanges in the order of their starts: differences are stored.
func (l *exchangeLog) add(lane *exchangeLane, x *exchangeLaunch) {
	d := binary.AppendVarint(lane.data, x.start-lane.last)
	for _, n := range []uint64{uint64(x.end - x.start), uint64(kindNumber(x.kind)), uint64(x.bytes), uint64(len(x.meanwhile))} {
		d = binary.AppendUvarint(d, n)
	}
	for _, t := range x.meanwhile {
		d = binary.AppendUvarint(d, uint64(l.number(t)))
		d = binary.AppendUvarint(d, uint64(t.NS))
	}
	lane.data, lane.last = d, x.start
	lane.n++
}

// number of a thing that the rank did meanwhile; times do not tell things apart.
func (l *exchangeLog) number(t TimePart) int {
	t.NS = 0
	n := slices.Index(l.what, t)
	if n < 0 {
		n = len(l.what)
		l.what = append(l.what, t)
	}
	return n
}

// merged is the log with the exchanges of all streams in one lane.
func (l *exchangeLog) merged() exchangeLog {
	var all []exchangeLaunch
	for i := range l.lanes {
		for c := l.cursor(i); c.next(); {
			x := c.x
			x.queue, x.meanwhile = 0, slices.Clone(x.meanwhile)
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(x, y exchangeLaunch) int { return cmp.Compare(x.start, y.start) })
	return logExchanges(all)
}

// An exchangeCursor goes through a lane.
type exchangeCursor struct {
	what []TimePart
	data []byte
	x    exchangeLaunch // the present one; its list is used again for the next
}

// cursor is before the first exchange of a lane.
func (l *exchangeLog) cursor(lane int) exchangeCursor {
	return exchangeCursor{what: l.what, data: l.lanes[lane].data, x: exchangeLaunch{queue: l.lanes[lane].queue}}
}

// next tells whether there is a further exchange, and reads it. What it read before is gone
// then: who keeps it makes a copy.
func (c *exchangeCursor) next() bool {
	if len(c.data) == 0 {
		return false
	}
	step, n := binary.Varint(c.data)
	c.data = c.data[n:]
	c.x.start += step
	c.x.end = c.x.start + int64(c.number())
	c.x.kind = collectiveKinds[c.number()].kind
	c.x.bytes = int64(c.number())
	c.x.meanwhile = c.x.meanwhile[:0]
	for range c.number() {
		t := c.what[c.number()]
		t.NS = int64(c.number())
		c.x.meanwhile = append(c.x.meanwhile, t)
	}
	return true
}

// number trusts the log, which this package wrote.
func (c *exchangeCursor) number() uint64 {
	v, n := binary.Uvarint(c.data)
	c.data = c.data[n:]
	return v
}

// laneTimes are the kinds and ends of the exchanges of a lane.
type laneTimes struct {
	kinds []string
	ends  []int64
}

// times goes through the exchanges of a lane without what happened meanwhile.
func (l *exchangeLog) times(lane int) laneTimes {
	n := l.lanes[lane].n
	t := laneTimes{make([]string, 0, n), make([]int64, 0, n)}
	for c := l.cursor(lane); c.next(); {
		t.kinds, t.ends = append(t.kinds, c.x.kind), append(t.ends, c.x.end)
	}
	return t
}
