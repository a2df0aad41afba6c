package timeline

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// open is the moment until which the range counts as open: for ever where it
// was never closed.
func (r *Range) open() int64 {
	if r.Unclosed {
		return math.MaxInt64
	}
	return r.End
}

// A nest is the stack of one thread and domain, rebuilt from the times of its
// ranges. Ends fall strictly from the bottom to the top: a range that ends
// before one that was opened after it can contain nothing later that the other
// does not, so it is dropped when the other is pushed. Each range is pushed and
// dropped once, however badly they are nested.
type nest struct {
	ranges []uint32
	active bool
	left   func(r uint32) // told of every range that is dropped; nil for nobody
}

// drop lets go of the ranges on top that end before a moment.
func (n *nest) drop(ranges []Range, before int64) {
	for top := len(n.ranges) - 1; top >= 0 && ranges[n.ranges[top]].open() < before; top-- {
		if n.left != nil {
			n.left(n.ranges[top])
		}
		n.ranges = n.ranges[:top]
	}
}

// push opens range r and returns the range around it, or None. What ended before
// r began is not around it, though r itself ends earlier still, as it may in a
// damaged file.
func (n *nest) push(ranges []Range, r uint32) uint32 {
	n.drop(ranges, max(ranges[r].open(), ranges[r].Start))
	parent := uint32(None)
	if len(n.ranges) > 0 {
		parent = n.ranges[len(n.ranges)-1]
	}
	n.ranges = append(n.ranges, r)
	return parent
}

// around is the innermost range that holds the call, or None. Ranges that
// ended before the call are dropped, so calls must come in the order of their
// starts.
func (n *nest) around(ranges []Range, start, end int64) uint32 {
	n.drop(ranges, start)
	top := len(n.ranges) - 1
	if top >= 0 && ranges[n.ranges[top]].open() >= end { // as a rule
		return n.ranges[top]
	}
	// The first from the bottom that ends too early; the one below it holds.
	i := sort.Search(len(n.ranges), func(i int) bool { return ranges[n.ranges[i]].open() < end })
	if i == 0 {
		return None
	}
	return n.ranges[i-1]
}

// pushPop gives push/pop ranges, which lie by thread, their regions, and each launching call
// the set of ranges around it.
func (a *Attribution) pushPop(ranges []uint32) {
	if len(ranges) == 0 {
		return
	}
	sweeps := map[uint32]*rangeFeed{}
	for len(ranges) > 0 {
		thread := a.t.Ranges[ranges[0]].Thread
		n := 1
		for n < len(ranges) && a.t.Ranges[ranges[n]].Thread == thread {
			n++
		}
		nested := threadSweep{a: a} // what is around a range does not depend on calls
		for _, r := range ranges[:n] {
			a.place(r, nested.push(r))
		}
		sweeps[thread] = &rangeFeed{threadSweep: threadSweep{a: a, sets: &a.sets, lost: &a.lost.stacks}, ranges: ranges[:n], next: math.MinInt64}
		ranges = ranges[n:]
	}
	calls := &a.t.Calls
	bySite := make([]*rangeFeed, len(calls.sites)) // nil for threads without ranges
	for i, s := range calls.sites {
		bySite[i] = sweeps[s.Thread]
	}
	launches := a.launchesByStart()
	a.callSet = &runs{}
	put := func(call, set uint32) {
		a.callSet.fill(int(call))
		a.callSet.add(set)
	}
	var around []uint32
	if !calls.ByStart { // they do not come by number
		around = unplaced(launches, calls.Len())
		put = func(call, set uint32) { around[call] = set }
	}
	for _, c := range launches {
		set := uint32(0)
		if s := bySite[calls.Site(c)]; s != nil {
			set = s.around(calls.Start(c), calls.End(c))
		}
		put(c, set)
	}
	if around != nil {
		a.callSet = runsOf(around)
	}
	a.callSet.fill(calls.Len())
}

// A rangeFeed pushes the ranges of a thread before the calls that may lie in them.
type rangeFeed struct {
	threadSweep
	ranges []uint32 // not pushed yet, in the order of rangeOrder
	next   int64    // no range is pushed for calls that start before it
}

// around is the set of ranges around the next call of the thread.
func (f *rangeFeed) around(start, end int64) uint32 {
	if start >= f.next {
		f.next = math.MaxInt64
		for len(f.ranges) > 0 {
			if next := f.a.t.Ranges[f.ranges[0]].Start; next > start {
				f.next = next
				break
			}
			f.push(f.ranges[0])
			f.ranges = f.ranges[1:]
		}
	}
	return f.threadSweep.around(start, end)
}

// A setMaker numbers sets of ranges. Last is the number that it gave the thread before, 0 at
// first: where the set is the same, so is the number. The empty set is 0.
type setMaker interface {
	add(list []uint32, last uint32) uint32
}

// A threadSweep goes through the ranges and calls of a thread by start and finds the
// push/pop ranges around each call. Who has it pushes every range before the calls that
// start no earlier.
type threadSweep struct {
	a       *Attribution
	nests   map[uint32]*nest // by domain
	active  []*nest
	current []uint32
	last    uint32
	sets    setMaker
	left    func(r uint32) // told of every range that no later call can lie in; nil for nobody
	lost    *int64         // stacks beyond maxStacks

	// Where steady, a call that ends by calmEnd has the ranges around it that the last
	// one had.
	steady  bool
	calmEnd int64
}

// push opens a range, which comes in the order of rangeOrder, and returns the one around it,
// or None.
func (s *threadSweep) push(r uint32) (parent uint32) {
	all := s.a.t.Ranges
	n := s.nests[all[r].Domain]
	if n == nil {
		if s.nests == nil {
			s.nests = map[uint32]*nest{}
		}
		n = &nest{left: s.left}
		s.nests[all[r].Domain] = n
	}
	if !n.active {
		n.active = true
		s.active = append(s.active, n)
	}
	s.steady = false
	return n.push(all, r)
}

// around is the set of ranges around the next call: its number in sets.
func (s *threadSweep) around(start, end int64) uint32 {
	if s.steady && max(start, end) <= s.calmEnd {
		return s.last
	}
	all := s.a.t.Ranges
	s.steady, s.calmEnd = true, math.MaxInt64
	s.current = s.current[:0]
	keep := s.active[:0]
	for _, n := range s.active {
		r := n.around(all, start, end)
		n.active = len(n.ranges) > 0
		if n.active {
			keep = append(keep, n)
			s.calmEnd = min(s.calmEnd, all[n.ranges[len(n.ranges)-1]].open())
		}
		if n.active && r != n.ranges[len(n.ranges)-1] {
			s.steady = false // the next call may lie in the range that this one outlasts
		}
		if r == None {
			continue
		}
		if len(s.current) == maxStacks {
			*s.lost++
			s.steady = false
			continue
		}
		s.current = append(s.current, r)
	}
	clear(s.active[len(keep):])
	s.active = keep
	if len(s.current) > 1 { // independent of which domain was used first
		slices.SortFunc(s.current, func(x, y uint32) int { return cmp.Compare(all[x].Domain, all[y].Domain) })
	}
	s.last = s.sets.add(s.current, s.last)
	return s.last
}

// place gives push/pop range r its parent and its region path.
func (a *Attribution) place(r, parent uint32) {
	rng := &a.t.Ranges[r]
	key := nodeKey{domain: a.domainName(rng), name: rng.Name, kind: PushPop}
	if parent != None {
		if a.nodes[a.rangeNode[parent]].key.folded {
			parent = a.rangeParent[parent]
		}
		key.parent = a.rangeNode[parent]
		if a.nodes[key.parent].depth+1 >= maxDepth {
			a.lost.deep++
			key.folded, key.name = true, 0
		}
	}
	a.rangeParent[r] = parent
	a.rangeNode[r] = a.nodeFor(key)
}

func (a *Attribution) domainName(r *Range) StringID {
	if int(r.Domain) < len(a.t.Domains) {
		return a.t.Domains[r.Domain].Name
	}
	return 0
}

// startEnd walks each process's start/end ranges and launching calls together.
func (a *Attribution) startEnd() {
	ranges := a.rangeOrder(StartEnd, a.t.ThreadProcess)
	if len(ranges) == 0 {
		return
	}
	calls := a.launchOrder(a.t.ThreadProcess)
	around := unplaced(calls, a.t.Calls.Len())
	all := a.t.Ranges
	for _, r := range ranges {
		a.rangeParent[r] = None
		a.rangeNode[r] = a.nodeFor(nodeKey{domain: a.domainName(&all[r]), name: all[r].Name, kind: StartEnd})
	}
	var open, current []uint32
	last, next := uint32(0), 0
	process := uint32(None)
	for _, c := range calls {
		call := a.t.Calls.At(c)
		if p := a.t.ThreadProcess(call.Thread); p != process {
			process, open = p, open[:0]
			for next < len(ranges) && a.t.ThreadProcess(all[ranges[next]].Thread) < p {
				next++
			}
		}
		for next < len(ranges) && a.t.ThreadProcess(all[ranges[next]].Thread) == process && all[ranges[next]].Start <= call.Start {
			open = append(open, ranges[next])
			next++
		}
		current = current[:0]
		keep := open[:0]
		for _, r := range open {
			if all[r].open() < call.Start {
				continue
			}
			keep = append(keep, r)
			if all[r].open() >= call.End {
				current = append(current, r)
			}
		}
		open = keep
		if len(open) > maxHeld {
			// Scanning ever more of them for each call would never end.
			drop := len(open) - maxHeld/2
			a.lost.held += int64(drop)
			open = append(open[:0], open[drop:]...)
		}
		if extra := len(current) - maxOpen; extra > 0 {
			a.lost.open += int64(extra)
			current = current[extra:] // those opened last stay
		}
		if len(a.opens.items)+len(current) > openTotal {
			a.lost.open += int64(len(current))
			continue
		}
		last = a.opens.add(current, last)
		around[c] = last
	}
	a.callOpen = runsOf(around)
}
