package export

import (
	"cmp"
	"slices"
)

// Slices of a Perfetto track must nest: the end of a slice closes the innermost open one.
// Lanes spread slices that overlap otherwise over several tracks. The zero value with add set
// is ready to use.
type lanes struct {
	open  [][]int64             // by lane: ends of the slices that are open, outermost first
	last  []int64               // by lane: start of the last slice
	track []uint64              // by lane: its uuid
	add   func(lane int) uint64 // describes the track of a new lane
}

// mostLanes bounds the tracks that a stream or a thread may take. Only files whose
// rows are far out of order, or damaged, need more.
const mostLanes = 256

// place gives the track for a slice, 0 where there are too many lanes. Slices that
// come by start, longer ones first, take as few lanes as can be.
// start and end are on the axis of the export, in ns.
func (l *lanes) place(start, end int64) uint64 {
	for i := range l.open {
		if start < l.last[i] {
			continue
		}
		open := l.open[i]
		for len(open) > 0 && open[len(open)-1] <= start {
			open = open[:len(open)-1]
		}
		l.open[i] = open
		if len(open) == 0 || open[len(open)-1] >= end {
			l.open[i], l.last[i] = append(open, end), start
			return l.track[i]
		}
	}
	if len(l.track) == mostLanes {
		return 0
	}
	l.open, l.last = append(l.open, []int64{end}), append(l.last, start)
	l.track = append(l.track, l.add(len(l.track)))
	return l.track[len(l.track)-1]
}

// A window puts slices in the order of their starts that come nearly in order, as
// the rows of a capture do. It holds windowSize of them.
type window struct {
	// slices are those that an earlier one may still follow; at most windowSize.
	slices []slice
	emit   func(*slice)
}

// windowSize is how many slices are held to be sorted: nsys writes rows at most some thousand
// places out of order.
const windowSize = 1 << 15

// A slice that comes more than half a window late is emitted late and then takes a lane
// of its own.
func (w *window) put(s slice) {
	if w.slices = append(w.slices, s); len(w.slices) == windowSize {
		w.flush(windowSize / 2)
	}
}

// flush emits the first n slices.
// It sorts by start, and the longer of two first, so that the outer one opens first.
func (w *window) flush(n int) {
	slices.SortStableFunc(w.slices, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	for i := range w.slices[:n] {
		w.emit(&w.slices[i])
	}
	w.slices = w.slices[:copy(w.slices, w.slices[n:])]
}

// close emits the rest; the window can be used again.
func (w *window) close() { w.flush(len(w.slices)) }
