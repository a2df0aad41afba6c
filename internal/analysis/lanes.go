package analysis

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A lane on its way to Overview.Lanes: listLanes gives it events, sort puts them by start,
// draw makes boxes of them, and then they are let go.
type lane struct {
	Lane
	laneSource
	order  [4]int64
	busy   int64         // ns in its events
	of     fact.Fact     // label of the lane whose work it names, of a lane of layers; zero for others
	cut    bool          // is not drawn
	events timeline.List // of the source; by start unless disordered

	last       int64 // start of the event that was added last
	disordered bool
}

// A laneSource has the events of several lanes by their number. The functions may be asked
// from one goroutine, beside steps that only read the timeline. Times are ns on the clock of
// the capture, and no event ends before it starts.
type laneSource struct {
	n    int
	lane func(event uint32) *lane // that the event lies in; nil for none
	span func(event uint32) moment
	name func(event uint32) string
	// spans reads events as timeline.Calls.Spans does; nil where span is fast enough.
	spans func(list *timeline.List, from int, into []timeline.Span) int
	// launch is the call that launched an event, or the event itself where it is a
	// call; timeline.None where none is known. Nil for ranges.
	launch func(event uint32) uint32
	// listed has the lanes with their events where somebody listed them before; else false.
	listed func() ([]*lane, bool)
	shape  func(event uint32) Shape // of a kernel; zero for other work, nil where none is
}

// listLanes gives the lanes that have events, in the order to show, with their events.
func listLanes(sources []laneSource) []*lane {
	var list []*lane
	for _, s := range sources {
		if s.listed != nil {
			if lanes, ok := s.listed(); ok {
				list = append(list, lanes...)
				continue
			}
		}
		for i := range uint32(s.n) {
			l := s.lane(i)
			if l == nil {
				continue
			}
			m := s.span(i)
			if l.events.Len() == 0 {
				l.laneSource, l.last = s, m.start
				list = append(list, l)
			}
			l.disordered = l.disordered || m.start < l.last
			l.last = m.start
			l.busy += m.end - m.start
			l.events.Add(i)
		}
	}
	slices.SortStableFunc(list, func(x, y *lane) int { return slices.Compare(x.order[:], y.order[:]) })
	return list
}

// sort puts the events of a lane by start.
func (l *lane) sort() {
	if l.disordered {
		l.events.SortByStart(func(event uint32) int64 { return l.span(event).start })
		l.disordered = false
	}
}

// laneChunk is how many events are read at once.
const laneChunk = 512

// chunks visits the events from one place to before another, many at a time. What it gives
// holds until the next.
func (l *lane) chunks(from, to int) iter.Seq[[]timeline.Span] {
	return func(yield func([]timeline.Span) bool) {
		room := make([]timeline.Span, max(0, min(laneChunk, to-from))) // most lanes are short
		for from < to {
			chunk := room[:l.readSpans(from, room[:min(len(room), to-from)])]
			if len(chunk) == 0 || !yield(chunk) {
				return
			}
			from += len(chunk)
		}
	}
}

// readSpans reads events; one that ends before it starts has no length.
func (l *lane) readSpans(from int, into []timeline.Span) int {
	if l.spans != nil {
		n := l.spans(&l.events, from, into)
		for i := range into[:n] {
			into[i].End = max(into[i].Start, into[i].End)
		}
		return n
	}
	n := min(len(into), l.events.Len()-from)
	for i := range into[:n] {
		e := l.events.At(from + i)
		m := l.span(e)
		into[i] = timeline.Span{Start: m.start, End: m.end, Event: e}
	}
	return n
}

// forward is a stretch of time; one that ends before it starts is empty.
func forward(start, end int64) moment { return moment{start, max(start, end)} }

// laneSources are steps and layers, the NVTX ranges of each thread by depth, the GPU work of each
// stream, and the CUDA calls of each thread.
func (tl *timed) laneSources(k *kinds) []laneSource {
	groups, pids := tl.groups()
	group := func(process uint32) (fact.Stored, int64) {
		at := min(int(process), len(pids)-1)
		return groups[at], pids[at]
	}
	return append(tl.stepLanes(), tl.rangeLanes(group), tl.workLanes(k, group), tl.callLanes(group))
}

// A processGroup names what lanes of a process stand under together, and gives the number
// that orders them.
type processGroup func(process uint32) (name fact.Stored, pid int64)

// rangeLanes has a lane for each thread, domain, kind of range and depth. Ranges in no region
// have none.
func (tl *timed) rangeLanes(group processGroup) laneSource {
	t := tl.t
	type key struct {
		thread, domain uint32
		kind           timeline.RangeKind
		depth          int
	}
	found := map[key]*lane{}
	return laneSource{
		n: len(t.Ranges),
		lane: func(i uint32) *lane {
			region := tl.at.RangeNode(int(i))
			if region == 0 {
				return nil
			}
			r := &t.Ranges[i]
			at := key{r.Thread, r.Domain, r.Kind, tl.regions[region-1].Depth}
			l := found[at]
			if l == nil {
				name, pid := group(t.ThreadProcess(r.Thread))
				l = &lane{
					Lane:  Lane{Kind: "nvtx", Label: tl.rangeLabel(r), Group: name, Depth: at.depth},
					order: [4]int64{0, pid, int64(r.Thread)<<20 | int64(r.Domain)<<1 | int64(r.Kind), int64(at.depth)},
				}
				found[at] = l
			}
			return l
		},
		span: func(i uint32) moment { return forward(t.Ranges[i].Start, t.Ranges[i].End) },
		name: func(i uint32) string { return tl.regions[tl.at.RangeNode(int(i))-1].Name },
	}
}

// rangeLabel names the lane of a range: its domain, where that is not the default one, and
// the system's number of its thread, where it is known.
func (tl *timed) rangeLabel(r *timeline.Range) fact.Stored {
	code, params := laneRanges, []fact.Param(nil)
	if r.Kind == timeline.StartEnd {
		code = laneStartEnd
	}
	if domain := tl.t.DomainName(r.Domain); domain != "" {
		params = append(params, fact.Name("domain", domain))
	}
	if tid := tl.tid(r.Thread); tid != 0 {
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
func (tl *timed) workLanes(k *kinds, group processGroup) laneSource {
	t := tl.t
	short := make([]string, len(t.Functions))
	for i, f := range t.Functions {
		short[i] = k.of(fullName(t, f)).short
	}
	kernels, copies := make([]*lane, len(t.Queues)), make([]*lane, len(t.Queues))
	return laneSource{
		n: t.Ops(),
		lane: func(i uint32) *lane {
			if int(i) < len(t.Kernels) {
				if l := kernels[t.Kernels[i].Queue]; l != nil {
					return l
				}
			}
			op := t.Op(int(i))
			lanes, kind := kernels, "kernel"
			if op.Kind == timeline.OpCopy || op.Kind == timeline.OpSet {
				lanes, kind = copies, "copy"
			}
			if lanes[op.Queue] == nil {
				lanes[op.Queue] = tl.workLane(&t.Queues[op.Queue], kind, group)
			}
			return lanes[op.Queue]
		},
		span: func(i uint32) moment {
			if int(i) < len(t.Kernels) { // nearly all are; an Op of each takes longer than the rest
				return forward(t.Kernels[i].Start, t.Kernels[i].End)
			}
			op := t.Op(int(i))
			return forward(op.Start, op.End)
		},
		spans: func(list *timeline.List, from int, into []timeline.Span) int {
			var events [laneChunk]uint32
			n := list.Read(from, events[:min(len(into), laneChunk)])
			for k, i := range events[:n] {
				if int(i) < len(t.Kernels) {
					into[k] = timeline.Span{Start: t.Kernels[i].Start, End: t.Kernels[i].End, Event: i}
					continue
				}
				op := t.Op(int(i))
				into[k] = timeline.Span{Start: op.Start, End: op.End, Event: i}
			}
			return n
		},
		launch: func(i uint32) uint32 { return tl.at.Launch(t.Op(int(i))) },
		shape: func(i uint32) Shape {
			if int(i) >= len(t.Kernels) {
				return Shape{}
			}
			c := &t.Configs[t.Kernels[i].Config]
			return Shape{Grid: c.Grid, Block: c.Block}
		},
		name: func(i uint32) string {
			switch op := t.Op(int(i)); op.Kind {
			case timeline.OpKernel:
				return short[t.Kernels[op.Index].Function]
			case timeline.OpGraph:
				return boxGraph
			case timeline.OpCopy:
				return boxCopy + strings.ReplaceAll(timeline.CopyKind(t.Copies[op.Index].Kind), " ", "-")
			default:
				return boxSet
			}
		},
	}
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

// callLanes has a lane for each thread. The lists of the call index are taken over, unless
// they lack some calls.
func (tl *timed) callLanes(group processGroup) laneSource {
	t := tl.t
	lanes := make([]*lane, len(t.Threads)+1) // the last is for a thread that is not known
	calls := tl.ofLanes
	tl.ofLanes = nil
	laneOf := func(thread uint32) *lane {
		at := min(int(thread), len(lanes)-1)
		if lanes[at] == nil {
			name, pid := group(t.ThreadProcess(thread))
			lanes[at] = &lane{
				Lane:  Lane{Kind: "api", Label: fact.Stored{Fact: fact.New(laneCalls, numberOf("thread", tl.tid(thread)))}, Group: name},
				order: [4]int64{0, pid, int64(thread)<<20 | 1<<19, 0},
			}
		}
		return lanes[at]
	}
	source := laneSource{
		n:      t.Calls.Len(),
		lane:   func(i uint32) *lane { return laneOf(t.Calls.Thread(i)) },
		span:   func(i uint32) moment { return forward(t.Calls.Start(i), t.Calls.End(i)) },
		spans:  t.Calls.Spans,
		launch: func(i uint32) uint32 { return i },
		name:   func(i uint32) string { return t.Name(t.Calls.Name(i)) },
	}
	source.listed = func() (list []*lane, ok bool) {
		defer func() { calls = nil }()
		if calls == nil || calls.inner {
			return nil, false
		}
		for thread, events := range calls.threads {
			if events.Len() > 0 {
				l := laneOf(uint32(thread))
				l.laneSource, l.events, l.busy = source, events, calls.busy[thread]
				list = append(list, l)
			}
		}
		return list, true
	}
	return source
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
