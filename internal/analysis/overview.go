package analysis

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/fact"
)

// What a page can show and a reader can look through.
const (
	maxLanes = 48
	maxBoxes = 24000 // of all lanes together
)

// drawOverview makes the lanes: NVTX ranges of each thread by depth, GPU work
// of each stream, CUDA calls of each launching thread. It draws in the background;
// what it returns waits for that, and puts the overview into the result.
func (tr *timelineReader) drawOverview() (finish func()) {
	o := Overview{StartNS: tr.tl.lo, EndNS: tr.tl.hi, Names: []string{}, Lanes: []Lane{}}
	scope, cut := tr.tl.scopeSpan(), 0
	drawn := make(chan struct{})
	tr.store.Go(func() {
		cut = o.draw(tr.tl.lanes(tr.kinds), scope)
		o.Counters = counterLanes(tr.tl.t, o.StartNS)
		close(drawn)
	})
	return func() {
		<-drawn
		tr.made.Overview = o
		if o.Detail != nil && o.Detail.Cut != (moment{}) {
			part := o.Detail.Cut
			tr.notes.warn(eventsCut, fact.NS("ns", float64(part.end-part.start)), fact.NS("from", float64(part.start-o.StartNS)), fact.Count("most", maxDetail))
		}
		if cut > 0 {
			tr.notes.warn(LanesCut, fact.Count("n", cut), fact.Count("of", cut+maxLanes))
		}
	}
}

// draw makes the lanes of the most time and tells how many are left out.
func (o *Overview) draw(lanes []*lane, scope moment) (cut int) {
	if cut = len(lanes) - maxLanes; cut > 0 {
		order := slices.Clone(lanes)
		slices.SortStableFunc(order, func(x, y *lane) int { return cmp.Compare(y.busy, x.busy) })
		lanes = slices.DeleteFunc(lanes, func(l *lane) bool { return slices.Contains(order[maxLanes:], l) })
	}
	if len(lanes) == 0 {
		return cut
	}
	names := map[string]int{}
	limits := shareBoxes(lanes)
	detail := newDetailer(lanes, forward(o.StartNS, o.EndNS+1), scope, maxDetail)
	detail.link(lanes)
	for i, l := range lanes {
		o.Lanes = append(o.Lanes, l.draw(o, names, limits[i], scope))
		detail.add(o, l, &o.Lanes[i])
	}
	o.Detail = &detail.Detail
	return cut
}

// scopeSpan is the scope from its first to its last moment; it is drawn finer.
func (tl *timed) scopeSpan() moment {
	if tl.scope == nil {
		return moment{}
	}
	return tl.scope.window
}

// shareBoxes gives each lane as many boxes as it has events, and what is left
// in equal parts to those that have more.
func shareBoxes(lanes []*lane) []int {
	order := make([]int, len(lanes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(lanes[x].n, lanes[y].n) })
	limits, left := make([]int, len(lanes)), maxBoxes
	for n, i := range order {
		limits[i] = min(lanes[i].n, left/(len(lanes)-n))
		left -= limits[i]
	}
	return limits
}

// finerShare is the part of a lane's boxes that the scope may take.
const finerShare = 0.75

// draw makes the boxes of a lane, whose events lie by start: the events themselves where they are few, else
// events that begin in the same bin as one box. Bins are finer within the scope.
func (l *lane) draw(o *Overview, names map[string]int, limit int, scope moment) Lane {
	out := l.Lane
	all := l.n
	out.Events = int64(all)
	out.Exact = all <= limit
	number := func(of uint32) int {
		name := l.titles(of).name
		n, ok := names[name]
		if !ok {
			n = len(o.Names)
			names[name] = n
			o.Names = append(o.Names, name)
		}
		return n
	}
	if out.Exact {
		out.Boxes = make([]Box, 0, all)
		for chunk := range l.chunks(0, all) {
			for _, e := range chunk {
				out.Boxes = append(out.Boxes, Box{Start: e.start - o.StartNS, Len: e.end - e.start, Name: number(e.title)})
			}
		}
		return out
	}
	from, to := l.within(scope)
	inside, titles, _ := l.narrowest(o, int(finerShare*float64(limit)), stretch{from, to})
	around, others, width := l.narrowest(o, limit-len(inside), stretch{0, from}, stretch{to, all})
	out.BinNS = width
	at := sort.Search(len(around), func(i int) bool { return around[i].Start >= scope.start-o.StartNS })
	out.Boxes = slices.Concat(around[:at], inside, around[at:])
	for i, title := range slices.Concat(others[:at], titles, others[at:]) {
		out.Boxes[i].Name = number(title)
	}
	return out
}

// A stretch is events of a lane, from one place to before another.
type stretch struct{ from, to int }

// narrowest sums events in bins as narrow as the limit of boxes allows: work comes
// in bursts, and most of a lane is empty. Each box has its name from an event.
func (l *lane) narrowest(o *Overview, limit int, parts ...stretch) (boxes []Box, titles []uint32, width int64) {
	most := l.mostBoxes(parts)
	next := max(1, o.EndNS-o.StartNS)
	for next > 1 && most(next/2) <= float64(limit) {
		next /= 2
	}
	for next > 0 {
		tries := make([]binner, 0, widthsAtOnce)
		for ; next > 0 && len(tries) < widthsAtOnce; next /= 2 {
			tries = append(tries, binner{width: next, origin: o.StartNS})
		}
		l.fill(tries, parts, limit)
		for i := range tries {
			if boxes != nil && len(tries[i].boxes) > limit {
				return boxes, titles, width
			}
			boxes, titles, width = tries[i].boxes, tries[i].titles, tries[i].width
		}
	}
	return boxes, titles, width
}

// widthsAtOnce is how many widths are tried while events are read once: to read them takes
// longer than to sum them.
const widthsAtOnce = 3

// mostBoxes bounds, without going through the events again, how many boxes bins of
// a width make: one for each bin, and two for each event that stands alone, which
// may part the others of its bin.
func (l *lane) mostBoxes(parts []stretch) func(width int64) float64 {
	var lengths [65]int // events by the bits of their length
	var reach float64
	for _, p := range parts {
		for chunk := range l.chunks(p.from, p.to) {
			for i := range chunk {
				lengths[bits.Len64(uint64(chunk[i].end)-uint64(chunk[i].start))]++
			}
		}
		if p.from < p.to {
			reach += float64(uint64(l.at(p.to-1).start) - uint64(l.at(p.from).start))
		}
	}
	return func(width int64) float64 {
		long := 0
		for _, n := range lengths[bits.Len64(uint64(width)):] {
			long += n
		}
		return reach/float64(width) + float64(2*len(parts)+2*long)
	}
}

// fill sums the events that begin in the same bin; longer ones stand alone. A sum has the name of its longest event.
// Of widths that go past the limit, what is summed means nothing.
func (l *lane) fill(tries []binner, parts []stretch, limit int) {
	for _, p := range parts {
		for chunk := range l.chunks(p.from, p.to) {
			for t := range tries {
				b := &tries[t]
				for i := 0; i < len(chunk) && len(b.boxes) <= limit; i++ {
					b.add(&chunk[i])
				}
			}
		}
		for t := range tries {
			tries[t].flush()
		}
	}
}

// A binner makes boxes of events that come by start. Bins are counted from the origin; boxes
// are in order, and those of one bin follow each other.
type binner struct {
	width, origin int64 // ns; the moment that boxes count from
	boxes         []Box
	titles        []uint32 // of each box: that of its longest event

	box            Box // that is open
	open           bool
	bin, next      int64 // number of its bin; a moment before which all later events are in it, as far as known
	reach, longest int64
	title          uint32
}

// add takes an event. One that is as long as a bin or longer stands alone; others share a box
// with those that begin in the same bin, as long as none of the former comes between them.
func (b *binner) add(e *laneEvent) {
	start, length := e.start-b.origin, e.end-e.start
	if b.open && (start >= b.next && start/b.width != b.bin || length >= b.width) {
		b.flush()
	}
	if !b.open {
		b.box, b.open = Box{Start: start}, true
		if b.bin = start / b.width; start >= 0 { // 0 is also the bin of times shortly before the origin
			b.next = (b.bin + 1) * b.width
		} else {
			b.next = start
		}
		b.reach, b.longest = start, -1
	}
	b.box.Count++
	if end := start + length; end > b.reach {
		b.box.Busy += end - max(b.reach, start)
		b.reach = end
	}
	if length > b.longest {
		b.longest, b.title = length, e.title
	}
	if length >= b.width {
		b.flush()
	}
}

// flush closes the box. One event alone has neither a count nor a busy time.
func (b *binner) flush() {
	if !b.open {
		return
	}
	b.open = false
	b.box.Len = b.reach - b.box.Start
	if b.box.Count == 1 {
		b.box.Count, b.box.Busy = 0, 0
	}
	b.boxes, b.titles = append(b.boxes, b.box), append(b.titles, b.title)
}
