package analysis

import (
	"cmp"
	"math"
	"slices"
)

// maxShift bounds how many exchanges a capture may begin later than another.
const maxShift = 64

// A matched exchange is the same one in all ranks, in the order of the ranks.
type matched []*exchange1

// matchExchanges finds the exchanges that all ranks took part in. A rank launches
// those of one communicator in one stream, and all ranks in the same order; a
// capture may begin or end between two of them. Streams go by the order in which
// they are first used. unmatched counts the launches without a partner.
func matchExchanges(ranks []*recording) (all []matched, unmatched int) {
	lanes := lanesOf(ranks)
	for _, lane := range lanes {
		found := matchLane(ranks, lane)
		for _, events := range lane {
			unmatched += len(events) - len(found)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(x, y matched) int { return cmp.Compare(x[0].start, y[0].start) })
	return all, unmatched
}

// lanesOf are the exchanges that all ranks leave together, by stream and rank.
// Where the ranks use different numbers of streams, all of a rank are one lane.
func lanesOf(ranks []*recording) [][][]*exchange1 {
	byRank := make([][][]*exchange1, len(ranks))
	same := true
	for r, p := range ranks {
		at := map[uint32]int{}
		for i := range p.exchanges {
			x := &p.exchanges[i]
			if !leavesTogether[x.kind] {
				continue
			}
			n, ok := at[x.queue]
			if !ok {
				n = len(byRank[r])
				at[x.queue] = n
				byRank[r] = append(byRank[r], nil)
			}
			byRank[r][n] = append(byRank[r][n], x)
		}
		same = same && len(byRank[r]) == len(byRank[0])
	}
	if !same {
		for r := range byRank {
			one := slices.Concat(byRank[r]...)
			slices.SortStableFunc(one, func(x, y *exchange1) int { return cmp.Compare(x.start, y.start) })
			byRank[r] = [][]*exchange1{one}
		}
	}
	lanes := make([][][]*exchange1, len(byRank[0]))
	for n := range lanes {
		for r := range byRank {
			lanes[n] = append(lanes[n], byRank[r][n])
		}
	}
	return lanes
}

// matchLane lines the sequences of all ranks up with that of the first.
func matchLane(ranks []*recording, lane [][]*exchange1) []matched {
	shifts := make([]int, len(lane))
	from, to := 0, len(lane[0])
	for r := 1; r < len(lane); r++ {
		s, ok := findShift(ranks[0], ranks[r], lane[0], lane[r])
		if !ok {
			return nil
		}
		shifts[r] = s
		from, to = max(from, -s), min(to, len(lane[r])-s)
	}
	var list []matched
	for k := from; k < to; k++ {
		m := make(matched, len(lane))
		for r := range lane {
			m[r] = lane[r][k+shifts[r]]
		}
		list = append(list, m)
	}
	return list
}

// findShift tells by how many exchanges the sequence of a rank begins earlier
// than that of the first, so that all kinds agree. Of several such shifts the
// one with the clocks nearest to each other is right.
func findShift(first, other *recording, x, y []*exchange1) (int, bool) {
	if len(x) == 0 || len(y) == 0 {
		return 0, false
	}
	if len(x) == len(y) && sameKinds(x, y, 0) {
		return 0, true
	}
	best, apart, ok := 0, int64(math.MaxInt64), false
	for s := -maxShift; s <= maxShift; s++ {
		from, to := max(0, -s), min(len(x), len(y)-s)
		if 2*(to-from) < min(len(x), len(y)) || to <= from || !sameKinds(x, y, s) {
			continue
		}
		var d []int64
		for k := from; k < to; k++ {
			d = append(d, other.utc(y[k+s].end)-first.utc(x[k].end))
		}
		if m := abs(median(d)); m < apart {
			best, apart, ok = s, m, true
		}
	}
	return best, ok
}

func sameKinds(x, y []*exchange1, shift int) bool {
	for k := max(0, -shift); k < min(len(x), len(y)-shift); k++ {
		if x[k].kind != y[k+shift].kind {
			return false
		}
	}
	return true
}

// median of numbers, which it sorts; 0 without any.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)-1)/2]/2 + list[len(list)/2]/2 + (list[(len(list)-1)/2]%2+list[len(list)/2]%2)/2
}

func abs(x int64) int64 { return max(x, -x) }

// alignClocks says what to add to the times of each rank so that ranks leave
// their exchanges together, and how far they may still be apart.
func alignClocks(ranks []*recording, all []matched) Clock {
	c := Clock{Method: "utc"}
	one := !slices.ContainsFunc(ranks, func(p *recording) bool { return p.path != ranks[0].path })
	known := !slices.ContainsFunc(ranks, func(p *recording) bool { return p.epoch == 0 })
	switch {
	case one:
		c.Method = "one"
	case len(all) > 0:
		c.Method = "collectives"
	case !known:
		c.Method = "none"
	}
	if !one {
		c.OffsetsNS = make([]int64, len(ranks))
	}
	if len(all) == 0 {
		return c
	}
	var rest int64
	for r := 1; r < len(ranks); r++ {
		d := make([]int64, len(all))
		for k, m := range all {
			d[k] = ranks[r].utc(m[r].end) - ranks[0].utc(m[0].end)
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

// offset of a rank, by its place among the ranks.
func (c *Clock) offset(rank int) int64 {
	if c.OffsetsNS == nil {
		return 0
	}
	return c.OffsetsNS[rank]
}
