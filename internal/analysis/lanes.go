package analysis

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A lane on its way to Overview.Lanes: laneList gives its events, which lie by start, draw makes
// boxes of them.
type lane struct {
	Lane
	laneEvents
	order [4]int64
	busy  int64     // ns in its events
	of    fact.Fact // label of the lane whose work it names, of a lane of layers; zero for others
}

// A laneEvent is an event of a lane, on the clock of the capture. It does not end before it
// starts.
type laneEvent struct {
	start, end int64
	title      uint32 // number in the lane's titles
	launch     uint32 // the call that launched it, or that it is, from 1; 0 where none is known
}

// laneEvents are the events of a lane by their place in it. The functions may be asked from one
// goroutine, beside steps that only read the timeline.
type laneEvents struct {
	n int
	// read gives the events from a place on, as many as fit, and says how many.
	read func(from int, into []laneEvent) int
	// before counts those that begin before a moment.
	before func(at int64) int
	titles func(number uint32) title
}

// laneChunk is how many events are read at once.
const laneChunk = 512

// chunks visits the events from one place to before another, many at a time. What it gives
// holds until the next.
func (l *laneEvents) chunks(from, to int) iter.Seq[[]laneEvent] {
	return func(yield func([]laneEvent) bool) {
		room := make([]laneEvent, max(0, min(laneChunk, to-from))) // most lanes are short
		for from < to {
			n := l.read(from, room[:min(len(room), to-from)])
			if n == 0 || !yield(room[:n]) {
				return
			}
			from += n
		}
	}
}

// forward is a stretch of time; one that ends before it starts is empty.
func forward(start, end int64) moment { return moment{start, max(start, end)} }

// listed are events that are in memory.
func listed(n int, span func(i int) moment, number func(i int) uint32, titles func(uint32) title) laneEvents {
	return laneEvents{
		n: n,
		read: func(from int, into []laneEvent) int {
			n := min(len(into), n-from)
			for i := range into[:n] {
				m := span(from + i)
				into[i] = laneEvent{start: m.start, end: m.end, title: number(from + i)}
			}
			return n
		},
		before: func(at int64) int { return sort.Search(n, func(i int) bool { return span(i).start >= at }) },
		titles: titles,
	}
}

// lanes are steps and layers, the NVTX ranges of each thread by depth, the GPU work of each
// stream, and the CUDA calls of each thread: those that have events, in the order to show.
func (tl *timed) lanes(k *kinds) []*lane {
	groups, pids := tl.groups()
	group := func(process uint32) (fact.Stored, int64) {
		at := min(int(process), len(pids)-1)
		return groups[at], pids[at]
	}
	list := slices.Concat(tl.stepLanes(), tl.rangeLanes(group), tl.workLanes(k, group), tl.callLanes(group))
	slices.SortStableFunc(list, func(x, y *lane) int { return slices.Compare(x.order[:], y.order[:]) })
	return list
}

// A processGroup names what lanes of a process stand under together, and gives the number
// that orders them.
type processGroup func(process uint32) (name fact.Stored, pid int64)

// A sharedLane is a lane whose events lie in rows together with those of others. It knows the
// blocks of rows that have any, and remembers where it was read last.
type sharedLane struct {
	lane   *lane
	blocks []laneBlock
	place  int // of the next event
	row    int // from which that is to be looked for
}

// A laneBlock is a block of rows with events of a lane: the first row, and the events before.
type laneBlock struct{ row, events int }

// add notes an event of a lane in a row; rows come in order.
func (l *sharedLane) add(row int, ns int64) {
	row -= row % columns.BlockRows
	if n := len(l.blocks); n == 0 || l.blocks[n-1].row != row {
		l.blocks = append(l.blocks, laneBlock{row, l.lane.n})
	}
	l.lane.n++
	l.lane.busy += ns
}

// seek gives the row from which to look for the event at a place, and how many events of the
// lane come before it from there on.
func (l *sharedLane) seek(place int) (row, skip int) {
	if place == l.place && l.row > 0 {
		return l.row, 0
	}
	at := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].events > place }) - 1
	return l.blocks[at].row, place - l.blocks[at].events
}

// count is how many events of the lane lie before a row, which is told apart by has.
func (l *sharedLane) count(row int, has func(row int) bool) int {
	at := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].row > row }) - 1
	if at < 0 {
		return 0
	}
	n, end := l.blocks[at].events, min(row, l.blocks[at].row+columns.BlockRows)
	for i := l.blocks[at].row; i < end; i++ {
		if has(i) {
			n++
		}
	}
	return n
}

// threadOrder numbers threads for lanes, whichever way the timeline was read: those that captured
// CUDA graphs, then those that made calls, in the order of their first, and then the others.
func (tl *timed) threadOrder() func(thread uint32) int64 {
	order := map[uint32]int64{}
	add := func(thread uint32) {
		if _, known := order[thread]; !known {
			order[thread] = int64(len(order))
		}
	}
	for i := range tl.t.GraphNodes {
		add(tl.t.GraphNodes[i].Thread)
	}
	for i := range tl.tape.Threads {
		add(tl.tape.Threads[i].Thread)
	}
	return func(thread uint32) int64 {
		if at, ok := order[thread]; ok {
			return at
		}
		return int64(len(order)) + int64(thread)
	}
}

// rangeLanes has a lane for each thread, domain, kind of range and depth. Ranges in no region
// have none.
func (tl *timed) rangeLanes(group processGroup) []*lane {
	type key struct {
		thread uint32
		class  rangeClass
	}
	found, order := map[key]*sharedLane{}, tl.threadOrder()
	return tl.rangeLanesBy(func(region, thread, domain uint32) *sharedLane {
		r := &tl.regions[region-1]
		class := rangeClass{domain, r.Kind, r.Depth}
		l := found[key{thread, class}]
		if l == nil {
			name, pid := group(tl.t.ThreadProcess(thread))
			l = &sharedLane{lane: &lane{
				Lane:  Lane{Kind: "nvtx", Label: tl.rangeLabel(class, thread), Group: name, Depth: class.depth},
				order: [4]int64{0, pid, order(thread)<<20 | int64(class.domain)<<1 | int64(class.kind), int64(class.depth)},
			}}
			found[key{thread, class}] = l
		}
		return l
	})
}

// A rangeClass is what ranges of a thread have in common that lie in one lane.
type rangeClass struct {
	domain uint32
	kind   timeline.RangeKind
	depth  int
}

// rangeLanesBy lists the ranges in the lanes that laneOf gives, nil for none, which is asked for
// ranges of a region, thread and domain.
func (tl *timed) rangeLanesBy(laneOf func(region, thread, domain uint32) *sharedLane) []*lane {
	type key struct{ region, thread, domain uint32 }
	var known timeline.Memo[key, *sharedLane]
	in, only := tl.tape.Ranges(), make([]onlyLane, len(tl.regions)+1)
	of := func(row int) *sharedLane {
		region := in.Region(uint32(row))
		if region == 0 || only[region].settled {
			return only[region].lane
		}
		k := key{region, in.Thread(uint32(row)), in.Domain(uint32(row))}
		l := known.At(region, k, func() *sharedLane { return laneOf(region, k.thread, k.domain) })
		only[region].add(l)
		return l
	}
	titles := func(region uint32) title { return title{name: tl.regions[region-1].Name} }
	var list []*lane
	for row := range tl.tape.RangeLen() {
		l := of(row)
		if l == nil {
			continue
		}
		if l.lane.n == 0 {
			list = append(list, l.lane)
			l.lane.titles = titles
			l.lane.before = func(at int64) int {
				return l.count(tl.tape.RangesBefore(at), func(row int) bool { return of(row) == l })
			}
			l.lane.read = func(from int, into []laneEvent) (n int) {
				row, skip := l.seek(from)
				for ; n < len(into) && row < tl.tape.RangeLen(); row++ {
					if of(row) != l {
						continue
					}
					if skip--; skip >= 0 {
						continue
					}
					m := forward(in.Span(uint32(row)))
					into[n] = laneEvent{start: m.start, end: m.end, title: in.Region(uint32(row))}
					n++
				}
				l.place, l.row = from+n, row
				return n
			}
		}
		m := forward(in.Span(uint32(row)))
		l.add(row, m.end-m.start)
	}
	for region := range only {
		only[region].settled = !only[region].several
	}
	return list
}

// An onlyLane is the lane of all ranges of a region, where they have one: once settled, the rest
// of a range need not be looked at.
type onlyLane struct {
	lane                    *sharedLane
	known, several, settled bool
}

// add takes the lane of a range.
func (o *onlyLane) add(l *sharedLane) {
	o.several = o.several || o.known && o.lane != l
	o.lane, o.known = l, true
}

// rangeLabel names the lane of ranges: their domain, where that is not the default one, and
// the system's number of their thread, where it is known.
func (tl *timed) rangeLabel(of rangeClass, thread uint32) fact.Stored {
	code, params := laneRanges, []fact.Param(nil)
	if of.kind == timeline.StartEnd {
		code = laneStartEnd
	}
	if domain := tl.t.DomainName(of.domain); domain != "" {
		params = append(params, fact.Name("domain", domain))
	}
	if tid := tl.tid(thread); tid != 0 {
		params = append(params, numberOf("thread", tid))
	}
	return fact.Stored{Fact: fact.New(code, params...)}
}

// IDs of GPU work without a name, as Overview.Names has them. No kernel is called so.
const (
	boxGraph = "gpu:graph" // a graph that was traced as a whole
	boxSet   = "gpu:set"
	boxCopy  = "gpu:copy-" // with the direction
)

// workLanes has two lanes for each queue: kernels and whole graphs, copies and sets.
func (tl *timed) workLanes(k *kinds, group processGroup) []*lane {
	kernels, copies := make([]*sharedLane, len(tl.t.Queues)), make([]*sharedLane, len(tl.t.Queues))
	return tl.workLanesBy(k, func(of *timeline.WorkKind) *sharedLane {
		lanes, kind := kernels, "kernel"
		if of.Kind == timeline.OpCopy || of.Kind == timeline.OpSet {
			lanes, kind = copies, "copy"
		}
		if lanes[of.Queue] == nil {
			lanes[of.Queue] = &sharedLane{lane: tl.workLane(&tl.t.Queues[of.Queue], kind, group)}
		}
		return lanes[of.Queue]
	})
}

// workLanesBy lists the work in the lanes of its kinds.
func (tl *timed) workLanesBy(k *kinds, laneOf func(*timeline.WorkKind) *sharedLane) []*lane {
	of, titles := make([]*sharedLane, len(tl.tape.Kinds)), make([]title, len(tl.tape.Kinds))
	for i := range of {
		of[i], titles[i] = laneOf(&tl.tape.Kinds[i]), tl.workTitle(k, &tl.tape.Kinds[i])
	}
	links, numbers := make([]uint32, len(of)), tl.callNumbers()
	for i := range links {
		links[i] = numbers[tl.tape.Kinds[i].Thread] + 1
	}
	var list []*lane
	w := tl.tape.Work()
	for w.Next() {
		l := of[w.Kind()]
		if l.lane.n == 0 {
			list = append(list, l.lane)
			l.lane.titles = func(kind uint32) title { return titles[kind] }
			in := tl.tape.Work()
			l.lane.before = func(at int64) int {
				return l.count(tl.tape.WorkBefore(at), func(row int) bool { in.Go(row); return of[in.Kind()] == l })
			}
			l.lane.read = func(from int, into []laneEvent) (n int) {
				row, skip := l.seek(from)
				for ; n < len(into) && row < tl.tape.WorkLen(); row++ {
					in.Go(row)
					kind := in.Kind()
					if of[kind] != l {
						continue
					}
					if skip--; skip >= 0 {
						continue
					}
					e := laneEvent{title: kind}
					e.start, e.end = in.Span()
					e.end = max(e.start, e.end)
					if call := in.Call(); call != timeline.None {
						e.launch = links[kind] + call
					}
					into[n] = e
					n++
				}
				l.place, l.row = from+n, row
				return n
			}
		}
		l.add(w.At(), w.NS())
	}
	return list
}

// workTitle names work of a kind.
func (tl *timed) workTitle(k *kinds, of *timeline.WorkKind) title {
	switch of.Kind {
	case timeline.OpKernel:
		c := &tl.t.Configs[of.Config]
		return title{k.of(fullName(tl.t, tl.t.Functions[of.Function])).short, Shape{Grid: c.Grid, Block: c.Block}}
	case timeline.OpGraph:
		return title{name: boxGraph}
	case timeline.OpCopy:
		return title{name: boxCopy + strings.ReplaceAll(timeline.CopyKind(of.Copy), " ", "-")}
	}
	return title{name: boxSet}
}

// callNumbers is how many calls are numbered before those of each thread.
func (tl *timed) callNumbers() map[uint32]uint32 {
	numbers, n := map[uint32]uint32{}, uint32(0)
	for i := range tl.tape.Threads {
		th := &tl.tape.Threads[i]
		numbers[th.Thread] = n
		n += uint32(th.Len())
	}
	return numbers
}

// streamLabel names the lane of a stream, as its process knows it.
func streamLabel(code fact.Code, q *timeline.Queue) fact.Stored {
	return fact.Stored{Fact: fact.New(code, numberOf("device", q.Device), numberOf("stream", q.Stream))}
}

// numberOf is a number that tells something from others of its kind, and counts nothing.
func numberOf[T int | int32 | uint32 | int64](key string, n T) fact.Param {
	return fact.Name(key, fmt.Sprint(n))
}

// workLane is an empty lane for the work of a stream: kind is kernel or copy.
func (tl *timed) workLane(q *timeline.Queue, kind string, group processGroup) *lane {
	_, pid := group(q.Process)
	l := &lane{
		Lane:  Lane{Kind: kind, Label: streamLabel(laneStream, q), Group: fact.Stored{Fact: fact.New(groupGPU, numberOf("device", q.Device))}},
		order: [4]int64{1, int64(q.Device), pid<<20 | int64(q.Stream), 0},
	}
	if kind == "copy" {
		l.Label, l.order[3] = streamLabel(laneCopies, q), 1
	}
	return l
}

// callLanes has a lane for each thread that made calls.
func (tl *timed) callLanes(group processGroup) (list []*lane) {
	t, links, sites, order := tl.t, tl.callNumbers(), tl.t.Calls.Sites(), tl.threadOrder()
	titles := func(site uint32) title { return title{name: t.Name(sites[site].Name)} }
	for i := range tl.tape.Threads {
		th := &tl.tape.Threads[i]
		if th.Len() == 0 {
			continue
		}
		name, pid := group(t.ThreadProcess(th.Thread))
		l := &lane{
			Lane:  Lane{Kind: "api", Label: fact.Stored{Fact: fact.New(laneCalls, numberOf("thread", tl.tid(th.Thread)))}, Group: name},
			order: [4]int64{0, pid, order(th.Thread)<<20 | 1<<19, 0}, busy: th.NS,
		}
		calls, link := th.Calls(), links[th.Thread]+1
		l.laneEvents = laneEvents{n: th.Len(), before: th.Before, titles: titles, read: func(from int, into []laneEvent) int {
			n := min(len(into), th.Len()-from)
			for i := range into[:n] {
				calls.Go(from + i)
				start, end := calls.Span()
				into[i] = laneEvent{start, max(start, end), calls.Site(), link + uint32(from+i)}
			}
			return n
		}}
		list = append(list, l)
	}
	return list
}

// groups names the processes; the last name is for one that is not known.
func (tl *timed) groups() (names []fact.Stored, pids []int64) {
	for _, p := range tl.t.Processes {
		group := fact.New(groupUnnamed, numberOf("pid", p.PID))
		// nsys has the program as it was started, often with its path.
		if name := path.Base(tl.t.Name(p.Name)); name != "." && !redact.Blotted(tl.t.Name(p.Name)) {
			group = fact.New(groupProcess, numberOf("pid", p.PID), fact.Name("program", name))
		}
		names, pids = append(names, fact.Stored{Fact: group}), append(pids, int64(p.PID))
	}
	return append(names, fact.Stored{Fact: fact.New(groupUnknown)}), append(pids, 1<<40)
}

// tid is the system's number of a thread; 0 where the thread is not known.
func (tl *timed) tid(thread uint32) int {
	if int(thread) < len(tl.t.Threads) {
		return tl.t.Threads[thread].TID
	}
	return 0
}
