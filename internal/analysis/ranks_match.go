package analysis

import (
	"cmp"
	"math"
	"slices"
)

// maxShift bounds how many exchanges a capture may begin later than another.
const maxShift = 64

// A matched exchange is the same one in all ranks, in the order of the ranks. Times are by the
// clock of each rank.
type matched []*exchangeLaunch

// matches are the exchanges that all ranks took part in. lanes and ranks are parallel to those
// that were compared; n and unmatched are sums over all lanes.
type matches struct {
	ranks     []*recording
	lanes     []matchedLane
	n         int
	unmatched int // launches without a partner
}

// A matchedLane is where the exchanges of one stream lie in each rank: those
// from..to of the first one, and as many further on as its shift in another. It
// is the zero value where the ranks have nothing in common.
type matchedLane struct {
	shifts   []int
	from, to int
}

// matchExchanges finds the exchanges that all ranks took part in. A rank launches
// those of one communicator in one stream, and all ranks in the same order; a
// capture may begin or end between two of them. Streams go by the order in which
// they are first used. Where the ranks use different numbers of streams, all of a
// rank are one lane.
func matchExchanges(ranks []*recording) matches {
	m := matches{ranks: ranks}
	if len(ranks) < 2 {
		return m
	}
	lanes := func(p *recording) int { return len(p.exchanges.lanes) }
	if slices.ContainsFunc(ranks, func(p *recording) bool { return lanes(p) != lanes(ranks[0]) }) {
		for _, p := range ranks {
			p.exchanges = p.exchanges.merged()
		}
	}
	for i := range lanes(slices.MaxFunc(ranks, func(x, y *recording) int { return cmp.Compare(lanes(x), lanes(y)) })) {
		lane := m.matchLane(i)
		m.lanes = append(m.lanes, lane)
		m.n += lane.to - lane.from
		for _, p := range ranks {
			if i < lanes(p) {
				m.unmatched += p.exchanges.lanes[i].n - (lane.to - lane.from)
			}
		}
	}
	return m
}

// matchLane lines the sequences of all ranks up with that of the first; it is
// empty where they do not match.
func (m *matches) matchLane(i int) matchedLane {
	if slices.ContainsFunc(m.ranks, func(p *recording) bool { return i >= len(p.exchanges.lanes) }) {
		return matchedLane{}
	}
	first := m.ranks[0]
	x := first.exchanges.times(i)
	lane := matchedLane{shifts: make([]int, len(m.ranks)), to: len(x.ends)}
	for r, p := range m.ranks[1:] {
		y := p.exchanges.times(i)
		s, ok := findShift(first, p, &x, &y)
		if !ok {
			return matchedLane{}
		}
		lane.shifts[r+1] = s
		lane.from, lane.to = max(lane.from, -s), min(lane.to, len(y.ends)-s)
	}
	if lane.to <= lane.from {
		return matchedLane{}
	}
	return lane
}

// findShift tells by how many exchanges the sequence of a rank begins earlier
// than that of the first, so that all kinds agree. Of several such shifts the
// one with the clocks nearest to each other is right.
func findShift(first, other *recording, x, y *laneTimes) (int, bool) {
	if len(x.ends) == 0 || len(y.ends) == 0 {
		return 0, false
	}
	if slices.Equal(x.kinds, y.kinds) {
		return 0, true
	}
	best, apart, ok := 0, int64(math.MaxInt64), false
	for s := -maxShift; s <= maxShift; s++ {
		from, to := max(0, -s), min(len(x.ends), len(y.ends)-s)
		if to <= from || 2*(to-from) < min(len(x.ends), len(y.ends)) || !slices.Equal(x.kinds[from:to], y.kinds[from+s:to+s]) {
			continue
		}
		var d []int64
		for k := from; k < to; k++ {
			d = append(d, other.utc(y.ends[k+s])-first.utc(x.ends[k]))
		}
		if m := abs(median(d)); m < apart {
			best, apart, ok = s, m, true
		}
	}
	return best, ok
}

// each visits the matched exchanges, stream by stream. What it hands over is
// valid until visit returns.
func (m *matches) each(visit func(matched)) {
	row, cursors := make(matched, len(m.ranks)), make([]exchangeCursor, len(m.ranks))
	for i, lane := range m.lanes {
		if lane.to == 0 {
			continue
		}
		for r, p := range m.ranks {
			c := &cursors[r]
			*c = p.exchanges.cursor(i)
			row[r] = &c.x
			for range lane.from + lane.shifts[r] {
				c.next()
			}
		}
		for range lane.to - lane.from {
			for r := range cursors {
				cursors[r].next()
			}
			visit(row)
		}
	}
}

// ends are when a rank left the matched exchanges in UTC, in nanoseconds since 1970 and the
// order of each. Offsets are not added.
func (m *matches) ends(rank int) []int64 {
	list := make([]int64, 0, m.n)
	for i, lane := range m.lanes {
		if lane.to == 0 {
			continue
		}
		shift := lane.shifts[rank]
		for _, end := range m.ranks[rank].exchanges.times(i).ends[lane.from+shift : lane.to+shift] {
			list = append(list, m.ranks[rank].utc(end))
		}
	}
	return list
}

// median of numbers, which it sorts; 0 without any. Of an even number it is the mean of the two
// in the middle, which cannot overflow.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)-1)/2]/2 + list[len(list)/2]/2 + (list[(len(list)-1)/2]%2+list[len(list)/2]%2)/2
}

// abs is not for the smallest int64, which no difference of times is.
func abs(x int64) int64 { return max(x, -x) }

// alignClocks says what to add to the times of each rank so that ranks leave
// their exchanges together, and how far they may still be apart.
func alignClocks(m *matches) Clock {
	c := Clock{Method: "utc"}
	ranks := m.ranks
	one := !slices.ContainsFunc(ranks, func(p *recording) bool { return p.path != ranks[0].path })
	known := !slices.ContainsFunc(ranks, func(p *recording) bool { return p.epoch == 0 })
	switch {
	case one:
		c.Method = "one"
	case m.n > 0:
		c.Method = "collectives"
	case !known:
		c.Method = "none"
	}
	if !one {
		c.OffsetsNS = make([]int64, len(ranks))
	}
	if m.n == 0 {
		return c
	}
	var rest int64
	first := m.ends(0)
	for r := 1; r < len(ranks); r++ {
		d := m.ends(r)
		for k := range d {
			d[k] -= first[k]
		}
		if !one {
			c.OffsetsNS[r] = -median(d)
		}
		for k := range d {
			d[k] = abs(d[k] + c.offset(r))
		}
		slices.Sort(d)
		rest = max(rest, d[(len(d)-1)*95/100])
	}
	c.UncertaintyNS = &rest
	return c
}

// offset of a rank, by its place among the ranks, in nanoseconds; 0 where clocks were not
// aligned.
func (c *Clock) offset(rank int) int64 {
	if c.OffsetsNS == nil {
		return 0
	}
	return c.OffsetsNS[rank]
}
