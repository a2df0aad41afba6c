package analysis

import (
	"slices"
	"sort"
)

// maxDetail is how many events the page carries one by one.
const maxDetail = 1_000_000

// Detail has the lanes of an overview event by event: all of the timeline up to
// maxDetail events, else the scope or the part of it that fits, and boxes around it. It is for the page alone
// and no part of result.json.
type Detail struct {
	Names []string
	// Shapes are the grid and block of the kernels that Names stand for, in the same
	// order; all 0 for a name of something else, or of launches of several shapes.
	Shapes []Shape
	Lanes  [][]Event // as Overview.Lanes, by start
	// Of are for lanes of layers, by their place in Lanes, the places of the lanes
	// whose work they name.
	Of map[int]int
	// Cut is the part that is listed, by the clock of the capture, where even the
	// scope has too many events; else zero.
	Cut moment
}

// A Shape is the grid and the block of a launch.
type Shape struct{ Grid, Block [3]int32 }

// A title is what Detail.Names has one entry for.
type title struct {
	name  string
	shape Shape
}

// An Event is a piece of a lane. Launch tells the call that launched GPU work by
// its number from 1, which the call itself has too; 0 where none is known.
type Event struct {
	Start, Len, Busy    int64  // Start from Overview.StartNS; Busy where Count is set
	Name, Launch, Count uint32 // Name of Detail.Names; Count where it stands for several events
}

// detailer fills a Detail lane by lane.
type detailer struct {
	Detail
	scope   moment // what is listed; empty for everything
	numbers map[title]uint32
}

// newDetailer tells what of lanes, whose events lie by start, can be listed:
// everything, else the scope, else as much of the middle of it (of the timeline without a scope) as fits.
func newDetailer(lanes []*lane, all, scope moment, limit int) *detailer {
	d := &detailer{numbers: map[title]uint32{}}
	if countWithin(lanes, all) <= limit {
		return d
	}
	if d.scope = scope; scope == (moment{}) || countWithin(lanes, scope) == 0 {
		d.scope = all
	}
	for countWithin(lanes, d.scope) > max(1, limit-maxBoxes) && d.scope.end-d.scope.start > 1 {
		eighth := max(1, (d.scope.end-d.scope.start)/8)
		d.scope = forward(d.scope.start+eighth/2, d.scope.end-(eighth+1)/2)
		d.Cut = d.scope
	}
	return d
}

// countWithin counts the events that begin in a part of the timeline.
func countWithin(lanes []*lane, part moment) (n int) {
	for _, l := range lanes {
		from, to := l.within(part)
		n += max(0, to-from)
	}
	return n
}

// within finds the events that begin in a part of the timeline. They lie by start.
func (l *lane) within(part moment) (from, to int) {
	return l.before(part.start), l.before(part.end)
}

// link tells which lanes lanes of layers are about.
func (d *detailer) link(lanes []*lane) {
	d.Of = map[int]int{}
	for i, l := range lanes {
		at := slices.IndexFunc(lanes, func(o *lane) bool { return !l.of.IsZero() && o.Kind == "kernel" && o.Label.Equal(l.of) })
		if at >= 0 {
			d.Of[i] = at
		}
	}
}

// add lists the events of a lane, which are sorted, and around the scope its boxes.
func (d *detailer) add(o *Overview, l *lane, drawn *Lane) {
	from, to := 0, l.n
	var before, after []Box
	if d.scope != (moment{}) {
		from, to = l.within(d.scope)
		lo := sort.Search(len(drawn.Boxes), func(i int) bool { return drawn.Boxes[i].Start >= d.scope.start-o.StartNS })
		hi := sort.Search(len(drawn.Boxes), func(i int) bool { return drawn.Boxes[i].Start >= d.scope.end-o.StartNS })
		before, after = drawn.Boxes[:lo], drawn.Boxes[hi:]
	}
	list := make([]Event, 0, len(before)+to-from+len(after))
	list = d.boxes(list, o, before)
	for chunk := range l.chunks(from, to) {
		for _, e := range chunk {
			list = append(list, Event{Start: e.start - o.StartNS, Len: e.end - e.start, Name: d.number(l.titles(e.title)), Launch: e.launch})
		}
	}
	d.Lanes = append(d.Lanes, d.boxes(list, o, after))
}

// boxes appends sums as events; a sum of one event has no count.
func (d *detailer) boxes(list []Event, o *Overview, boxes []Box) []Event {
	for _, b := range boxes {
		list = append(list, Event{Start: b.Start, Len: b.Len, Busy: b.Busy, Name: d.number(title{name: o.Names[b.Name]}), Count: uint32(b.Count)})
	}
	return list
}

// number is the place of a title in Names and Shapes, which are appended to alike.
func (d *detailer) number(t title) uint32 {
	n, ok := d.numbers[t]
	if !ok {
		n = uint32(len(d.Names))
		d.numbers[t] = n
		d.Names, d.Shapes = append(d.Names, t.name), append(d.Shapes, t.shape)
	}
	return n
}
