package timeline

import (
	"iter"
	"math"
	"math/bits"
	"slices"
)

// runs holds a number for each of many items, of which neighbors mostly have the same: a
// bit for each item and a number for each run of equal ones. The zero value has no items.
// Several goroutines may read it at the same time.
type runs struct {
	n      int
	starts []uint64 // a bit where the number differs from the one before
	before []uint32 // runs that began before each word of starts
	values []uint32 // by run
}

// add appends an item.
func (r *runs) add(value uint32) {
	if r.n%64 == 0 {
		r.starts, r.before = append(r.starts, 0), append(r.before, uint32(len(r.values)))
	}
	if n := len(r.values); n == 0 || r.values[n-1] != value {
		r.starts[r.n/64] |= 1 << (r.n % 64)
		r.values = append(r.values, value)
	}
	r.n++
}

// fill appends items that have the number of the last one, 0 where there is none, until
// there are n.
func (r *runs) fill(n int) {
	if r.n < n && len(r.values) == 0 {
		r.add(0)
	}
	for r.n < n {
		if r.n%64 == 0 {
			r.starts, r.before = append(r.starts, 0), append(r.before, uint32(len(r.values)))
		}
		r.n = min(n, (r.n/64+1)*64)
	}
}

// at is the number of item i.
func (r *runs) at(i uint32) uint32 {
	word := i / 64
	return r.values[int(r.before[word])+bits.OnesCount64(r.starts[word]<<(63-i%64))-1]
}

// reach is the first item after i whose number differs from that of i, or limit where
// that comes before; i is an item, and limit at most their number.
func (r *runs) reach(i, limit int) int {
	i++
	if i >= limit {
		return limit
	}
	word := r.starts[i/64] >> (i % 64) << (i % 64)
	for at := i / 64; ; word = r.starts[at] {
		if word != 0 {
			return min(limit, 64*at+bits.TrailingZeros64(word))
		}
		if at++; 64*at >= limit {
			return limit
		}
	}
}

// A runCursor gives the numbers of items of which neighbors are mostly asked for one after
// the other. It is for one goroutine.
type runCursor struct {
	*runs
	from, to int // of the run that was found last
	value    uint32
}

// at is the number of item i.
func (r *runCursor) at(i uint32) uint32 {
	if int(i) < r.from || int(i) >= r.to {
		r.value, r.from, r.to = r.runs.at(i), int(i), r.reach(int(i), r.n)
	}
	return r.value
}

// each visits the runs of the items from one to before another: which items have
// which number.
func (r *runs) each(from, to int, visit func(from, to int, value uint32)) {
	for from < to {
		next := r.reach(from, to)
		visit(from, next, r.at(uint32(from)))
		from = next
	}
}

// runsOf packs a list in which None may stand for any number.
func runsOf(list []uint32) *runs {
	r := &runs{starts: make([]uint64, 0, len(list)/64+1), before: make([]uint32, 0, len(list)/64+1)}
	last := uint32(0)
	for _, value := range list {
		if value != None {
			last = value
		}
		r.add(last)
	}
	return r
}

// unplaced is a list of n numbers: 0 for some items, None for those that nobody asks for.
func unplaced(items []uint32, n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = None
	}
	for _, i := range items {
		list[i] = 0
	}
	return list
}

// A List is a list of numbers in which most count up by one, and take no room. The zero
// value is empty.
type List struct{ ahead runs } // of each number: how far it is ahead of its place

// Add appends a number.
func (l *List) Add(n uint32) { l.ahead.add(n - uint32(l.ahead.n)) }

// addRun appends n numbers that count up from the first.
func (l *List) addRun(first uint32, n int) {
	if n > 0 {
		l.Add(first)
		l.ahead.fill(l.ahead.n + n - 1)
	}
}

// Join appends the numbers of another list.
func (l *List) Join(other *List) {
	other.ahead.each(0, other.Len(), func(from, to int, ahead uint32) { l.addRun(uint32(from)+ahead, to-from) })
}

// At is number i.
func (l *List) At(i int) uint32 { return uint32(i) + l.ahead.at(uint32(i)) }

// Read copies the numbers from place from on, as many as there are and fit, and returns
// how many: for many in turn it is faster than At.
func (l *List) Read(from int, into []uint32) int {
	to := min(l.Len(), from+len(into))
	l.ahead.each(from, to, func(at, next int, ahead uint32) {
		for ; at < next; at++ {
			into[at-from] = uint32(at) + ahead
		}
	})
	return max(0, to-from)
}

// ascends tells whether each number is larger than the one before. Within a run they are,
// as long as they do not pass the largest number there is.
func (l *List) ascends() bool {
	ok, last := true, int64(-1)
	l.ahead.each(0, l.Len(), func(from, to int, ahead uint32) {
		first := uint32(from) + ahead
		ok = ok && int64(first) > last && int64(first)+int64(to-from) <= math.MaxUint32+1
		last = int64(first) + int64(to-from) - 1
	})
	return ok
}

// alongside is the place of a number that counts up with the one at place near; false where
// it has to be searched for.
func (l *List) alongside(near int, number uint32) (at int, ok bool) {
	at = int(number - l.ahead.at(uint32(near)))
	return at, at < l.Len() && l.At(at) == number
}

// Len is how many numbers there are.
func (l *List) Len() int { return l.ahead.n }

// All goes through the list; nil is empty.
func (l *List) All() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		if l == nil {
			return
		}
		for i := range l.Len() {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}

// Numbers goes through the list run by run; nil is empty.
func (l *List) Numbers() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for from, to := 0, 0; l != nil && from < l.Len(); from = to {
			to = l.ahead.reach(from, l.Len())
			for n, end := l.At(from), l.At(to-1); ; n++ {
				if !yield(n) {
					return
				}
				if n == end {
					break
				}
			}
		}
	}
}

// Missing are the numbers below n that a list whose numbers ascend lacks; nil is empty.
// They come in ascending order.
func (l *List) Missing(n uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		next := uint32(0)
		upTo := func(first uint32) bool {
			for ; next < min(first, n); next++ {
				if !yield(next) {
					return false
				}
			}
			return true
		}
		for from, to := 0, 0; l != nil && from < l.Len(); from = to {
			to = l.ahead.reach(from, l.Len())
			if !upTo(l.At(from)) {
				return
			}
			next = l.At(to-1) + 1
		}
		upTo(n)
	}
}

func (l *List) clone() List {
	r := &l.ahead
	return List{runs{r.n, slices.Clone(r.starts), slices.Clone(r.before), slices.Clone(r.values)}}
}

// ListOf packs a list.
func ListOf(numbers []uint32) List {
	var l List
	for _, n := range numbers {
		l.Add(n)
	}
	return l
}

// SortByStart puts the list in the order that the function of that name does.
func (l *List) SortByStart(start func(event uint32) int64) {
	sorted, last := true, int64(0)
	for i := 0; i < l.Len() && sorted; i++ {
		at := start(l.At(i))
		sorted, last = i == 0 || at >= last, at
	}
	if sorted {
		return
	}
	list := make([]uint32, l.Len())
	for i := range list {
		list[i] = l.At(i)
	}
	SortByStart(list, start)
	*l = ListOf(list)
}
