package pick

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// coverStarts bounds the first numbers that are tried by cover.
const coverStarts = 128

// A candidate is a launch number, or a stretch between gates, with the wants that it meets.
type candidate struct {
	number int32 // 0 for a stretch
	// seconds that ncu takes for all launches of it
	price float64
	meets wantSet
	value float64 // wants for its price; only set for numbers
}

// A wantSet holds wants by their index.
type wantSet []uint64

// newWantSet has room for n wants, numbered from 0.
func newWantSet(n int) wantSet { return make(wantSet, (n+63)/64) }

// add takes a number below the size of the set.
func (s wantSet) add(w int) { s[w/64] |= 1 << (w % 64) }

// len is how many wants are in the set.
func (s wantSet) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// fresh counts what is in s and not in other.
func (s wantSet) fresh(other wantSet) (n int) {
	for i, word := range s {
		n += bits.OnesCount64(word &^ other[i])
	}
	return n
}

// addAll takes a set of the same size.
func (s wantSet) addAll(other wantSet) {
	for i, word := range other {
		s[i] |= word
	}
}

// appendTo appends the set as bytes, the same for the same wants.
func (s wantSet) appendTo(b []byte) []byte {
	for _, word := range s {
		b = binary.NativeEndian.AppendUint64(b, word)
	}
	return b
}

// cover finds numbers that together hold a launch of each want and cost little:
// of the greedy choices that begin with each number, the cheapest.
// The numbers are sorted. A want that no number meets is left out without an error.
func (n *numbers) cover(wants []accepted) []int {
	list := n.candidates(wants)
	all := newWantSet(len(wants))
	for _, c := range list {
		all.addAll(c.meets)
	}
	best, least := greedy(list, all, -1)
	for start := range min(len(list), coverStarts) {
		if taken, price := greedy(list, all, start); price < least {
			best, least = taken, price
		}
	}
	var out []int
	for _, i := range best {
		out = append(out, int(list[i].number))
	}
	slices.Sort(out)
	return out
}

// candidates are the numbers worth weighing: of those that meet the same wants
// the cheapest, and none that another one beats in both.
// They come with the most wants for their price first, so that coverStarts keeps the best.
func (n *numbers) candidates(wants []accepted) []candidate {
	most, different := int32(0), 0
	for w := range wants {
		for _, number := range wants[w].numbers {
			most = max(most, number)
		}
	}
	place := make([]int32, most+1) // by number: place in room, from 1
	for w := range wants {
		for _, number := range wants[w].numbers {
			if place[number] == 0 {
				different++
				place[number] = int32(different)
			}
		}
	}
	size := (len(wants) + 63) / 64
	room := make(wantSet, different*size)
	meets := func(at int32) wantSet { return room[int(at-1)*size : int(at)*size] }
	for w := range wants {
		for _, number := range wants[w].numbers {
			meets(place[number]).add(w)
		}
	}
	var all []candidate
	var key []byte
	same := map[string]int{} // by the wants that are met: place in all
	prices := n.prices(place, different)
	// Most are dropped here, before they are sorted: the one that meets the same wants would come
	// first and beat them.
	for number, at := range place {
		if at == 0 {
			continue
		}
		c := candidate{number: int32(number), price: prices[at], meets: meets(at)}
		c.value = float64(c.meets.len()) / c.price
		key = c.meets.appendTo(key[:0])
		i, known := same[string(key)]
		switch {
		case known && all[i].price <= c.price && all[i].value >= c.value:
		case known && c.price <= all[i].price && c.value > all[i].value:
			all[i] = c
		default:
			same[string(key)] = len(all)
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.number, y.number))
	})
	var out []candidate
	for _, c := range all {
		if !slices.ContainsFunc(out, func(o candidate) bool { return o.price <= c.price && c.meets.fresh(o.meets) == 0 }) {
			out = append(out, c)
		}
	}
	return out
}

// greedy takes candidates one by one, first the given one (-1 is none), then the
// one with the most new wants for its price, and drops those that later ones made
// unnecessary.
// taken are indices of list, price is in seconds. all must hold only wants that list can meet:
// else it would panic.
func greedy(list []candidate, all wantSet, first int) (taken []int, price float64) {
	met := newWantSet(64 * len(all))
	take := func(i int) {
		taken = append(taken, i)
		met.addAll(list[i].meets)
	}
	if first >= 0 {
		take(first)
	}
	for all.fresh(met) > 0 {
		best, bestValue := -1, 0.0
		for i := range list {
			if value := float64(list[i].meets.fresh(met)) / list[i].price; value > bestValue {
				best, bestValue = i, value
			}
		}
		take(best)
	}
	taken = without(list, all, taken)
	for _, i := range taken {
		price += list[i].price
	}
	return taken, price
}

// without drops what the others make unnecessary, the dearest first.
func without(list []candidate, all wantSet, taken []int) []int {
	order := slices.Clone(taken)
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(list[y].price, list[x].price) })
	for _, drop := range order {
		rest := newWantSet(64 * len(all))
		for _, i := range taken {
			if i != drop {
				rest.addAll(list[i].meets)
			}
		}
		if all.fresh(rest) == 0 {
			taken = slices.DeleteFunc(taken, func(i int) bool { return i == drop })
		}
	}
	return taken
}
