package timeline

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/deepprof/deepprof/internal/columns"
)

// A WorkReader goes through the work of a tape, one piece after the other. It is for one
// goroutine, as all readers are.
type WorkReader struct {
	in       columns.Reader
	launches columns.Reader
	kinds    []WorkKind
	endless  bool   // as of the tape
	at       int    // the piece that it is at; -1 before the first
	kind     uint32 // of the piece

	// The ranges around the launch of the piece, as far as they were asked for.
	stacks, open []uint32
	from, to     int    // pieces that have them
	rest         []byte // of the block's lists
}

// Work is a reader before the first piece.
func (t *Tape) Work() *WorkReader {
	return &WorkReader{in: t.work.Reader(), launches: t.launches.Reader(), kinds: t.Kinds, endless: t.endless, at: -1}
}

// WorkLen is how many pieces of work there are.
func (t *Tape) WorkLen() int { return t.work.Len() }

// Next goes to the next piece; false where there is none.
func (r *WorkReader) Next() bool {
	if r.at++; r.at >= r.in.End {
		if r.at >= r.in.Len() {
			return false
		}
		r.in.Seek(r.at)
	}
	r.kind = uint32(r.in.Value(workKind, r.at))
	return true
}

// Go goes to piece i, which must be there.
func (r *WorkReader) Go(i int) {
	r.at = i
	r.in.Seek(i)
	r.kind = uint32(r.in.Value(workKind, i))
}

// At is the number of the piece.
func (r *WorkReader) At() int { return r.at }

// Start and End are when the piece ran, ns; End is before Start in a damaged file.
func (r *WorkReader) Start() int64 { return r.in.Value(workStart, r.at) }

// End is described with Start.
func (r *WorkReader) End() int64 { return r.Start() + r.in.Value(workLength, r.at) }

// Span is when the piece ran.
func (r *WorkReader) Span() (start, end int64) {
	start = r.in.Value(workStart, r.at)
	return start, start + r.in.Value(workLength, r.at)
}

// NS is how long the piece ran, ns; 0 where it ends before it starts.
func (r *WorkReader) NS() int64 {
	if r.endless {
		return max(0, Since(r.Span()))
	}
	return max(0, r.in.Value(workLength, r.at))
}

// Kind is the number of the piece's kind.
func (r *WorkReader) Kind() uint32 { return r.kind }

// Of is the piece's kind.
func (r *WorkReader) Of() *WorkKind { return &r.kinds[r.kind] }

// Call is the call that launched the piece, among those of the thread of its kind; None where it
// is not known.
func (r *WorkReader) Call() uint32 {
	r.launches.Seek(r.at)
	return uint32(r.launches.Value(launchedBy, r.at)) // -1 is None
}

// Launch is when that call was made, which must be known.
func (r *WorkReader) Launch() (start, end int64) {
	r.launches.Seek(r.at)
	start = r.in.Value(workStart, r.at) - r.launches.Value(launchedAfter, r.at)
	return start, start + r.launches.Value(launchedFor, r.at)
}

// Turn is the first piece of those in a row, as far as one block goes, that were launched
// between the same ranges as this one.
func (r *WorkReader) Turn() int {
	if r.at < r.from || r.at >= r.to {
		r.findAround()
	}
	return r.from
}

// Around lists the innermost push/pop range of each stack around the launch of the piece, by
// domain, and the start/end ranges. Both hold until the reader goes on.
func (r *WorkReader) Around() (stacks, open []uint32) {
	if r.at < r.from || r.at >= r.to {
		r.findAround()
	}
	return r.stacks, r.open
}

// findAround reads the lists of the block until those of the piece.
func (r *WorkReader) findAround() {
	if r.at < r.from || r.to <= r.in.First || r.to > r.in.End {
		r.rest, r.to = r.in.Extra, r.in.First
	}
	for r.to <= r.at {
		n := binary.LittleEndian.Uint32(r.rest[4:])
		stacks, open := int(n&0xffff), int(n>>16)
		r.from, r.rest = r.in.First+int(binary.LittleEndian.Uint32(r.rest)), r.rest[8:]
		r.to = r.in.End
		next := r.rest[4*(stacks+open):]
		if len(next) > 0 {
			r.to = r.in.First + int(binary.LittleEndian.Uint32(next))
		}
		if r.to > r.at {
			r.stacks, r.open = r.stacks[:0], r.open[:0]
			for i := range stacks + open {
				id := binary.LittleEndian.Uint32(r.rest[4*i:])
				if i < stacks {
					r.stacks = append(r.stacks, id)
				} else {
					r.open = append(r.open, id)
				}
			}
		}
		r.rest = next
	}
}

// A CallReader goes through the calls of a thread.
type CallReader struct {
	in columns.Reader
	at int
}

// Calls is a reader before the first call.
func (th *ThreadCalls) Calls() *CallReader { return &CallReader{in: th.calls.Reader(), at: -1} }

// Len is how many calls the thread made.
func (th *ThreadCalls) Len() int { return th.calls.Len() }

// Next goes to the next call; false where there is none.
func (r *CallReader) Next() bool {
	if r.at++; r.at < r.in.End {
		return true
	}
	if r.at >= r.in.Len() {
		return false
	}
	r.in.Seek(r.at)
	return true
}

// Go goes to call i, which must be there.
func (r *CallReader) Go(i int) {
	r.at = i
	r.in.Seek(i)
}

// At is the number of the call.
func (r *CallReader) At() int { return r.at }

// Span is when the call was made; its end may be before its start in a damaged file.
func (r *CallReader) Span() (start, end int64) {
	start = r.in.Value(callStart, r.at)
	return start, start + r.in.Value(callLength, r.at)
}

// Site is the number of what the call has in common with others: see Calls.Sites.
func (r *CallReader) Site() uint32 { return uint32(r.in.Value(callSite, r.at)) }

// A RangeReader knows the ranges of a tape by their place. What is asked for lies close to
// what was asked before, or around it.
type RangeReader struct{ in *columns.Random }

// Ranges is a reader of ranges.
func (t *Tape) Ranges() *RangeReader { return &RangeReader{t.ranges.Random()} }

// RangeLen is how many ranges there are.
func (t *Tape) RangeLen() int { return t.ranges.Len() }

func (r *RangeReader) value(column int, i uint32) int64 { return r.in.Value(column, int(i)) }

// Span is when range i was open; its end may be before its start in a damaged file, and is the
// end of the file where it was never closed.
func (r *RangeReader) Span(i uint32) (start, end int64) {
	start = r.value(rangeStart, i)
	return start, start + r.value(rangeLength, i)
}

// Region is the path of range i, by its number.
func (r *RangeReader) Region(i uint32) uint32 { return uint32(r.value(rangeRegion, i)) }

// Parent is the push/pop range around range i, or None.
func (r *RangeReader) Parent(i uint32) uint32 {
	if back := r.value(rangeParent, i); back > 0 {
		return i - uint32(back)
	}
	return None
}

// Thread is the one that opened range i.
func (r *RangeReader) Thread(i uint32) uint32 { return uint32(r.value(rangeThread, i)) }

// Domain is that of range i: index into Timeline.Domains, or beyond where it is not known.
func (r *RangeReader) Domain(i uint32) uint32 { return uint32(r.value(rangeDomain, i)) }

// Payload is what is attached to a range; the zero value for nothing.
func (t *Tape) Payload(of *Timeline, r uint32) (p Payload) {
	if i, ok := t.payloads[r]; ok && int(i) < len(of.Payloads) {
		p = of.Payloads[i]
	}
	return p
}

// A BoundReader goes through the starts and ends of ranges by time. Ranges that end before they
// start have none.
type BoundReader struct {
	in columns.Reader
	at int

	after int64 // moment that After was asked for last
	asked bool  // it was
}

// Bounds is a reader before the first bound.
func (t *Tape) Bounds() *BoundReader { return &BoundReader{in: t.bounds.Reader(), at: -1} }

// Next goes to the next bound; false where there is none.
func (r *BoundReader) Next() bool {
	if r.at++; r.at < r.in.End {
		return true
	}
	if r.at >= r.in.Len() {
		return false
	}
	r.in.Seek(r.at)
	return true
}

// After goes to the first bound after a moment; false where there is none. Who uses it does not use
// Next.
func (r *BoundReader) After(moment int64) bool {
	goesOn := r.asked && moment >= r.after // no bound lies between that moment and where it is, as a rule close
	r.after, r.asked = moment, true
	if goesOn && r.at >= r.in.Len() {
		return false
	}
	if !goesOn {
		if r.at = max(0, r.in.Block(moment)*columns.BlockRows); r.at >= r.in.Len() {
			return false
		}
		r.in.Seek(r.at)
	}
	for r.Time() <= moment {
		if !r.Next() {
			return false
		}
	}
	return true
}

// Time is the moment of the bound.
func (r *BoundReader) Time() int64 { return r.in.Value(boundAt, r.at) }

// Range is the range that begins or ends there.
func (r *BoundReader) Range() (of uint32, ends bool) {
	n := r.in.Value(boundRange, r.at)
	return uint32(n / 2), n%2 == 1
}

// AroundWork lists for work, piece after piece, the ranges around its launch that keep tells. Of
// each stack the innermost comes first, then what is around it; start/end ranges come last. The
// list holds until the next is asked for.
func (t *Tape) AroundWork(keep func(r uint32) bool) func(*WorkReader) []uint32 {
	var list []uint32
	ranges, turn := t.Ranges(), -1
	return func(w *WorkReader) []uint32 {
		if at := w.Turn(); at != turn {
			turn, list = at, list[:0]
			stacks, open := w.Around()
			for _, r := range stacks {
				for ; r != None; r = ranges.Parent(r) {
					if keep(r) {
						list = append(list, r)
					}
				}
			}
			for _, r := range open {
				if keep(r) {
					list = append(list, r)
				}
			}
		}
		return list
	}
}

// NextKernel moves a reader, which is at kernel n-1 of the file or before the first, to kernel
// n, which must be there.
func (t *Tape) NextKernel(w *WorkReader, n int) bool {
	if t.order != nil {
		w.Go(int(t.order[n]))
		return true
	}
	for w.Next() {
		if w.Of().Kind == OpKernel {
			return true
		}
	}
	return false
}

// Kernel is the place on the tape of kernel n of the file, from 0, which must be there.
func (t *Tape) Kernel(n int) int {
	if t.order != nil {
		return int(t.order[n])
	}
	block := sort.Search(len(t.before), func(i int) bool { return int(t.before[i]) > n }) - 1
	w := t.Work()
	w.Go(block * columns.BlockRows)
	for left := n - int(t.before[block]); ; w.Next() {
		if w.Of().Kind == OpKernel {
			if left--; left < 0 {
				return w.At()
			}
		}
	}
}

// WorkBefore counts the work that begins before a moment.
func (t *Tape) WorkBefore(at int64) int { return before(t.work, workStart, at) }

// RangesBefore counts the ranges that begin before a moment.
func (t *Tape) RangesBefore(at int64) int { return before(t.ranges, rangeStart, at) }

// Before counts the calls that begin before a moment.
func (th *ThreadCalls) Before(at int64) int { return before(th.calls, callStart, at) }

// before counts the rows of a table, which lie by a column, whose number is below v.
func before(t *columns.Table, column int, v int64) int {
	if v == math.MinInt64 || t.Len() == 0 {
		return 0
	}
	in := t.Reader()
	in.Seek(max(0, t.Block(v-1)) * columns.BlockRows)
	return in.First + sort.Search(in.End-in.First, func(i int) bool { return in.Value(column, in.First+i) >= v })
}
