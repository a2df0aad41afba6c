package analysis

import (
	"cmp"
	"math"
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
	scope, cut, part := tr.tl.scopeSpan(), 0, moment{}
	drawn := make(chan struct{})
	tr.store.Go(func() {
		cut, part = o.draw(tr.tl.lanes(tr.kinds), scope, tr.in.Events)
		o.Counters = counterLanes(tr.tl.t, o.StartNS)
		close(drawn)
	})
	return func() {
		<-drawn
		tr.made.Overview = o
		if part != (moment{}) {
			tr.notes.warn(eventsCut, fact.NS("ns", float64(part.end-part.start)), fact.NS("from", float64(part.start-o.StartNS)), fact.Count("most", maxDetail))
		}
		if cut > 0 {
			tr.notes.warn(LanesCut, fact.Count("n", cut), fact.Count("of", cut+maxLanes))
		}
	}
}

// draw makes the lanes of the most time, and tells how many are left out and which part of the
// timeline has all events that a page can carry: zero where that is not less than what is to be
// listed. Only with events it lists them.
func (o *Overview) draw(lanes []*lane, scope moment, events bool) (cut int, part moment) {
	if cut = len(lanes) - maxLanes; cut > 0 {
		order := slices.Clone(lanes)
		slices.SortStableFunc(order, func(x, y *lane) int { return cmp.Compare(y.busy, x.busy) })
		lanes = slices.DeleteFunc(lanes, func(l *lane) bool { return slices.Contains(order[maxLanes:], l) })
	}
	if len(lanes) == 0 {
		return cut, part
	}
	names := map[string]int{}
	limits := shareBoxes(lanes)
	detail := newDetailer(lanes, forward(o.StartNS, o.EndNS+1), scope, maxDetail)
	detail.link(lanes)
	for i, l := range lanes {
		o.Lanes = append(o.Lanes, l.draw(o, names, limits[i], scope))
		if events {
			detail.add(o, l, &o.Lanes[i])
		}
	}
	if events {
		o.Detail = &detail.Detail
	}
	return cut, detail.Cut
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
	inside, _ := l.narrowest(o, int(finerShare*float64(limit)), stretch{from, to})
	around, width := l.narrowest(o, limit-len(inside), stretch{0, from}, stretch{to, all})
	out.BinNS = width
	at := sort.Search(len(around), func(i int) bool { return around[i].Start >= scope.start-o.StartNS })
	for _, b := range slices.Concat(around[:at], inside, around[at:]) {
		b.Box.Name = number(b.title)
		out.Boxes = append(out.Boxes, b.Box)
	}
	return out
}

// A stretch is events of a lane, from one place to before another.
type stretch struct{ from, to int }

// narrowest sums events in bins as narrow as the limit of boxes allows: work comes
// in bursts, and most of a lane is empty.
func (l *lane) narrowest(o *Overview, limit int, parts ...stretch) (boxes []binned, width int64) {
	b := binner{origin: o.StartNS, limit: limit}
	l.fill(&b, parts)
	if !b.overlaps {
		return b.boxes, b.width()
	}
	// The busy time of boxes that were joined is not known where events ran beside each other.
	exact := binner{origin: o.StartNS, limit: math.MaxInt, bits: b.bits}
	l.fill(&exact, parts)
	return exact.boxes, exact.width()
}

// fill sums the events of parts of a lane.
func (l *lane) fill(b *binner, parts []stretch) {
	for _, p := range parts {
		b.part = len(b.boxes)
		for chunk := range l.chunks(p.from, p.to) {
			for i := range chunk {
				b.add(&chunk[i])
			}
		}
		b.flush()
	}
}

// A binner makes boxes of events that come by start. An event that is as long as a bin or longer
// stands alone; others share a box with those that begin in the same bin, as long as none of the
// former comes between them. Bins are as wide as a power of two and counted from the origin, so
// that each lies in one of those that are twice as wide: once there are more boxes than the
// limit, they are joined to those of wider bins.
type binner struct {
	origin int64 // the moment that boxes count from
	limit  int   // of boxes
	bits   uint  // of the width
	boxes  []binned
	part   int // of these: the first of the part that is summed, which joins none before
	// overlaps says that an event began before another had ended, so that the busy time of
	// boxes that are joined is not the sum of theirs.
	overlaps bool
	wider    bool // bins are wider since the last box was closed

	box         binned // that is open
	open        bool
	bin         int64 // number of its bin
	reach, ends int64 // latest end of the box, and of all events; from the origin
	any         bool
}

// A binned box has the name and the length of its longest event.
type binned struct {
	Box
	title   uint32
	longest int64
}

func (b *binner) width() int64 { return 1 << b.bits }

// add takes an event.
func (b *binner) add(e *laneEvent) {
	start, length := e.start-b.origin, e.end-e.start
	alone := length>>b.bits > 0
	if b.open && (alone || start>>b.bits != b.bin) {
		b.flush()
	}
	if b.wider {
		b.wider = false
		if alone = length>>b.bits > 0; !alone {
			b.reopen(start >> b.bits)
		}
	}
	end := start + length
	b.overlaps = b.overlaps || b.any && start < b.ends
	b.ends, b.any = max(b.ends, end), true
	if !b.open {
		b.box, b.open, b.bin, b.reach = binned{Box: Box{Start: start}, longest: -1}, true, start>>b.bits, start
	}
	b.box.Count++
	if end > b.reach {
		b.box.Busy += end - max(b.reach, start)
		b.reach = end
	}
	if length > b.box.longest {
		b.box.longest, b.box.title = length, e.title
	}
	if alone {
		b.flush()
	}
}

// reopen goes on with the last box where it is of a bin: bins are wider than when it was closed.
func (b *binner) reopen(bin int64) {
	n := len(b.boxes) - 1
	if n < b.part || b.boxes[n].longest>>b.bits > 0 || b.boxes[n].Start>>b.bits != bin {
		return
	}
	b.box, b.open, b.bin, b.boxes = b.boxes[n], true, bin, b.boxes[:n]
	b.box.whole()
	b.reach = b.box.Start + b.box.Len
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
	b.boxes = append(b.boxes, b.box)
	for len(b.boxes) > b.limit && b.bits < 62 {
		b.widen()
	}
}

// widen joins the boxes to those of bins that are twice as wide.
func (b *binner) widen() {
	b.bits++
	b.wider = true
	kept, part := b.boxes[:0], b.part
	for i := range b.boxes {
		x := b.boxes[i]
		if i == part {
			b.part = len(kept)
		}
		if n := len(kept) - 1; n >= 0 && i != part && kept[n].longest>>b.bits == 0 && x.longest>>b.bits == 0 && kept[n].Start>>b.bits == x.Start>>b.bits {
			kept[n].join(&x)
			continue
		}
		kept = append(kept, x)
	}
	if part == len(b.boxes) {
		b.part = len(kept)
	}
	b.boxes = kept
}

// whole tells of a single event too how often and how long it ran.
func (b *binned) whole() {
	if b.Count == 0 {
		b.Count, b.Busy = 1, b.Len
	}
}

// join adds the next box.
func (b *binned) join(x *binned) {
	b.whole()
	x.whole()
	b.Count, b.Busy = b.Count+x.Count, b.Busy+x.Busy
	b.Len = max(b.Len, x.Start+x.Len-b.Start)
	if x.longest > b.longest {
		b.longest, b.title = x.longest, x.title
	}
}
