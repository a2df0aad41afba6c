package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/timeline"
)

const (
	maxLanes = 48
	maxBoxes = 24000 // of all lanes together
)

// drawOverview makes the lanes: NVTX ranges of each thread by depth, GPU work
// of each stream, CUDA calls of each launching thread.
func (a *analyzer) drawOverview() {
	o := &a.res.Overview
	o.StartNS, o.EndNS = a.tl.lo, a.tl.hi
	lanes := a.tl.lanes(a.kinds)
	if cut := len(lanes) - maxLanes; cut > 0 {
		order := slices.Clone(lanes)
		slices.SortStableFunc(order, func(x, y *lane) int { return cmp.Compare(y.busy, x.busy) })
		keep := map[*lane]bool{}
		for _, l := range order[:maxLanes] {
			keep[l] = true
		}
		lanes = slices.DeleteFunc(lanes, func(l *lane) bool { return !keep[l] })
		a.warn("lanes-cut", "use deepprof export perfetto to see all", "%d of %d lanes of the overview, those with the least time, are left out", cut, cut+maxLanes)
	}
	if len(lanes) == 0 {
		return
	}
	names := map[string]int{}
	limits := shareBoxes(lanes)
	for i, l := range lanes {
		o.Lanes = append(o.Lanes, l.draw(o, names, limits[i], a.scopeSpan()))
	}
}

// scopeSpan is the scope from its first to its last moment; it is drawn finer.
func (a *analyzer) scopeSpan() moment {
	if a.scope == nil || len(a.scope.moments) == 0 {
		return moment{}
	}
	return moment{a.scope.moments[0].start, a.scope.moments[len(a.scope.moments)-1].end}
}

// shareBoxes gives each lane as many boxes as it has events, and what is left
// in equal parts to those that have more.
func shareBoxes(lanes []*lane) []int {
	order := make([]int, len(lanes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(len(lanes[x].events), len(lanes[y].events)) })
	limits, left := make([]int, len(lanes)), maxBoxes
	for n, i := range order {
		limits[i] = min(len(lanes[i].events), left/(len(lanes)-n))
		left -= limits[i]
	}
	return limits
}

// A lane on its way.
type lane struct {
	Lane
	order  [4]int64
	events []laneEvent
	busy   int64
}

type laneEvent struct {
	start, end int64
	name       string
}

type laneKey struct {
	kind    string
	a, b, c int64
}

// lanes collects the events of every lane, in the order to show.
func (tl *timed) lanes(k *kinds) []*lane {
	t := tl.t
	found := map[laneKey]*lane{}
	var list []*lane
	add := func(key laneKey, order [4]int64, make func() Lane, e laneEvent) {
		l := found[key]
		if l == nil {
			l = &lane{Lane: make(), order: order}
			found[key] = l
			list = append(list, l)
		}
		e.end = max(e.start, e.end)
		l.events = append(l.events, e)
		l.busy += e.end - e.start
	}
	groups, pids := tl.groups()
	group := func(process uint32) (string, int64) {
		at := min(int(process), len(pids)-1)
		return groups[at], pids[at]
	}
	for i := range t.Ranges {
		r := &t.Ranges[i]
		region := tl.at.RangeNode(i)
		if region == 0 {
			continue
		}
		depth := tl.regions[region-1].Depth
		name, pid := group(t.ThreadProcess(r.Thread))
		domain := t.DomainName(r.Domain)
		kind := int64(r.Kind)
		key := laneKey{kind: "nvtx", a: int64(r.Thread), b: int64(r.Domain)*2 + kind, c: int64(depth)}
		add(key, [4]int64{0, pid, int64(r.Thread)<<20 | int64(r.Domain)<<1 | kind, int64(depth)}, func() Lane {
			label := "NVTX"
			if domain != "" {
				label += " " + domain
			}
			if r.Kind == timeline.StartEnd {
				label += " start/end"
			}
			if tid := tl.tid(r.Thread); tid != 0 {
				label += fmt.Sprintf(" thread %d", tid)
			}
			return Lane{Kind: "nvtx", Label: label, Group: name, Depth: depth}
		}, laneEvent{r.Start, r.End, tl.regions[region-1].Name})
	}
	short := make([]string, len(t.Functions))
	for i, f := range t.Functions {
		short[i] = k.of(fullName(t, f)).short
	}
	gpu := func(kind string, op timeline.Op, name string) {
		q := &t.Queues[op.Queue]
		_, pid := group(q.Process)
		key := laneKey{kind: kind, a: int64(op.Queue)}
		sub := int64(0)
		if kind == "copy" {
			sub = 1
		}
		add(key, [4]int64{1, int64(q.Device), pid<<20 | int64(q.Stream), sub}, func() Lane {
			label := fmt.Sprintf("GPU %d stream %d", q.Device, q.Stream)
			if kind == "copy" {
				label += " copies"
			}
			return Lane{Kind: kind, Label: label, Group: fmt.Sprintf("GPU %d", q.Device)}
		}, laneEvent{op.Start, op.End, name})
	}
	t.EachOp(func(op timeline.Op) {
		switch op.Kind {
		case timeline.OpKernel:
			gpu("kernel", op, short[t.Kernels[op.Index].Function])
		case timeline.OpGraph:
			gpu("kernel", op, "CUDA graph")
		case timeline.OpCopy:
			gpu("copy", op, "copy "+timeline.CopyKind(t.Copies[op.Index].Kind))
		default:
			gpu("copy", op, "set")
		}
	})
	for i := range t.Calls {
		c := &t.Calls[i]
		name, pid := group(t.ThreadProcess(c.Thread))
		add(laneKey{kind: "api", a: int64(c.Thread)}, [4]int64{0, pid, int64(c.Thread)<<20 | 1<<19, 0}, func() Lane {
			return Lane{Kind: "api", Label: fmt.Sprintf("CUDA calls thread %d", tl.tid(c.Thread)), Group: name}
		}, laneEvent{c.Start, c.End, t.Name(c.Name)})
	}
	slices.SortStableFunc(list, func(x, y *lane) int { return slices.Compare(x.order[:], y.order[:]) })
	return list
}

// groups names the processes; the last name is for one that is not known.
func (tl *timed) groups() (names []string, pids []int64) {
	for _, p := range tl.t.Processes {
		name := tl.t.Name(p.Name)
		if name == "" {
			name = "process"
		}
		names, pids = append(names, fmt.Sprintf("%s (%d)", name, p.PID)), append(pids, int64(p.PID))
	}
	return append(names, "process ?"), append(pids, 1<<40)
}

func (tl *timed) tid(thread uint32) int {
	if int(thread) < len(tl.t.Threads) {
		return tl.t.Threads[thread].TID
	}
	return 0
}

// finerShare is the part of a lane's boxes that the scope may take.
const finerShare = 0.75

// draw makes the boxes of a lane: the events themselves where they are few, else
// events that begin in the same bin as one box. Bins are finer within the scope.
func (l *lane) draw(o *Overview, names map[string]int, limit int, scope moment) Lane {
	slices.SortStableFunc(l.events, func(x, y laneEvent) int { return cmp.Compare(x.start, y.start) })
	out := l.Lane
	out.Events = int64(len(l.events))
	out.Exact = len(l.events) <= limit
	number := func(name string) int {
		n, ok := names[name]
		if !ok {
			n = len(o.Names)
			names[name] = n
			o.Names = append(o.Names, name)
		}
		return n
	}
	if out.Exact {
		out.Boxes = make([]Box, 0, len(l.events))
		for _, e := range l.events {
			out.Boxes = append(out.Boxes, Box{Start: e.start - o.StartNS, Len: e.end - e.start, Name: number(e.name)})
		}
		return out
	}
	from := sort.Search(len(l.events), func(i int) bool { return l.events[i].start >= scope.start })
	to := sort.Search(len(l.events), func(i int) bool { return l.events[i].start >= scope.end })
	inside, titles, _ := narrowest(o, int(finerShare*float64(limit)), l.events[from:to])
	around, others, width := narrowest(o, limit-len(inside), l.events[:from], l.events[to:])
	out.BinNS = width
	at := sort.Search(len(around), func(i int) bool { return around[i].Start >= scope.start-o.StartNS })
	out.Boxes = slices.Concat(around[:at], inside, around[at:])
	for i, title := range slices.Concat(others[:at], titles, others[at:]) {
		out.Boxes[i].Name = number(title)
	}
	return out
}

// narrowest sums events in bins as narrow as the limit of boxes allows: work comes
// in bursts, and most of a lane is empty.
func narrowest(o *Overview, limit int, parts ...[]laneEvent) (boxes []Box, names []string, width int64) {
	draw := func(width int64) (boxes []Box, names []string) {
		for _, events := range parts {
			b, n := bins(o, events, width, limit)
			boxes, names = append(boxes, b...), append(names, n...)
		}
		return boxes, names
	}
	width = max(1, o.EndNS-o.StartNS)
	boxes, names = draw(width)
	for width > 1 {
		finer, titles := draw(width / 2)
		if len(finer) > limit {
			break
		}
		boxes, names, width = finer, titles, width/2
	}
	return boxes, names, width
}

// bins sums the events that begin in the same bin; longer ones stand alone. A sum has the name of its longest event. It gives up past the limit.
func bins(o *Overview, events []laneEvent, width int64, limit int) (boxes []Box, names []string) {
	var box Box
	var reach, longest int64
	var name string
	open, bin := false, int64(0)
	flush := func() {
		if open {
			if box.Count == 1 {
				box.Count, box.Busy = 0, 0
			}
			boxes, names = append(boxes, box), append(names, name)
			open = false
		}
	}
	for _, e := range events {
		if len(boxes) > limit {
			return boxes, names
		}
		start, length := e.start-o.StartNS, e.end-e.start
		b := start / width
		if open && (b != bin || length >= width) {
			flush()
		}
		if !open {
			box, open, bin = Box{Start: start}, true, b
			reach, longest, name = start, -1, ""
		}
		box.Count++
		if end := start + length; end > reach {
			box.Busy += end - max(reach, start)
			reach = end
		}
		box.Len = reach - box.Start
		if length > longest {
			longest, name = length, e.name
		}
		if length >= width {
			flush()
		}
	}
	flush()
	return boxes, names
}
