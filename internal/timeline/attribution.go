package timeline

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// Bounds that keep damaged or absurd captures from costing without limit. Real
// programs stay far below them; what they cut is counted in a warning.
const (
	maxDepth  = 256     // levels of one stack told apart; deeper ranges count as one level
	maxStacks = 64      // domains with an open push/pop range around one call
	maxOpen   = 1024    // start/end ranges around one call
	maxHeld   = 1 << 14 // start/end ranges of a process open at a time
	openTotal = 1 << 26 // entries kept of all lists of open ranges together
)

// foldedName stands for all ranges deeper than maxDepth.
const foldedName = "..."

// An Attribution tells which NVTX ranges were open around the call that
// launched each piece of GPU work. The rules are in docs/regions.md.
// It refers to the timeline and copies nothing of it. Regions are known by their index into
// nodes. Paths and places are found when first asked for, without a lock: several
// goroutines may use it only for what is known already.
type Attribution struct {
	Warnings []fact.Fact

	t     *Timeline
	nodes []node // region paths; nodes[0] is outside every range
	index map[nodeKey]uint32
	paths []string // by node, as far as asked for

	rangeNode   []uint32  // path of each range
	rangeParent []uint32  // range around each push/pop range, None at the bottom
	rangeNumber []uint32  // of a flow, by range: its place in the file; nil where all ranges are in memory
	begun       []opening // of a flow, by region: its range that was opened first

	callSet  *runs // push/pop ranges around each launching call: index into sets; nil without such ranges
	callOpen *runs // start/end ranges around it: index into opens; nil without such ranges
	sets     lists // innermost range of each stack
	opens    lists // every open start/end range

	opCalls     []uint32 // by work as EachOp counts it: the call that launched it, or None
	sharedCalls int      // that have their correlation id from an earlier one
	places      *places
	mainTimes   *placeTimes     // of placeTimes, once asked for
	all         *allWork        // of measured
	setNodes    []uint32        // by set: the region of callNode
	passed      *[2][]RegionRow // of a flow that was written to tape: all regions, and their groups
	passedOver  bool            // a sum of them left the range of int64
	lost        struct{ deep, stacks, open, held, noCall int64 }
}

// A node is one region path.
// depth is 0 for an outermost range; parent is 0 then.
type node struct {
	parent uint32
	key    nodeKey
	depth  int
}

// A nodeKey tells regions apart. domain is the name of the domain, so that processes which use
// the same one share its regions. folded is for all that lies deeper than maxDepth; its name is 0.
type nodeKey struct {
	parent uint32
	domain StringID
	name   StringID
	kind   RangeKind
	folded bool
}

// lists holds many short lists of range indexes, each known by its number.
// List 0 is empty.
type lists struct {
	items []uint32
	ends  []int
}

// get is list i, nil for list 0. It is a part of items: nobody may change it.
func (l *lists) get(i uint32) []uint32 {
	if i == 0 {
		return nil
	}
	start := 0
	if i > 1 {
		start = l.ends[i-2]
	}
	return l.items[start:l.ends[i-1]]
}

// of gives the list that by names for a call; by is nil where all are empty.
func (l *lists) of(by *runs, call uint32) []uint32 {
	if by == nil {
		return nil
	}
	return l.get(by.at(call))
}

// add appends a list unless it equals list last, and returns its number.
// Only list last is looked at, so that equal lists can have several numbers. The empty one is 0.
func (l *lists) add(list []uint32, last uint32) uint32 {
	if len(list) == 0 {
		return 0
	}
	if slices.Equal(list, l.get(last)) {
		return last
	}
	l.items = append(l.items, list...)
	l.ends = append(l.ends, len(l.items))
	return uint32(len(l.ends))
}

// Attribute joins GPU work to the ranges around its launches.
// It reads t from several goroutines and does not change it. The calls must still have their
// correlation ids: after Calls.DropCorrelations no work finds its call.
func (t *Timeline) Attribute() *Attribution {
	a := newAttribution(t)
	var beside sync.WaitGroup
	var ranges []uint32
	beside.Go(func() { ranges = a.rangeOrder(PushPop, func(thread uint32) uint32 { return thread }) })
	calls := t.correlateLaunches()
	a.sharedCalls = calls.shared
	a.joinWork(calls)
	beside.Wait()
	a.pushPop(ranges)
	a.startEnd()
	a.setNodes = make([]uint32, len(a.sets.ends)+1)
	for set := range uint32(len(a.setNodes)) {
		a.setNodes[set] = a.nodeOf(a.sets.get(set), nil)
	}
	a.warn()
	return a
}

func newAttribution(t *Timeline) *Attribution {
	return &Attribution{
		t:           t,
		nodes:       []node{{}},
		index:       map[nodeKey]uint32{},
		rangeNode:   make([]uint32, len(t.Ranges)),
		rangeParent: make([]uint32, len(t.Ranges)),
		all:         &allWork{},
	}
}

// joinWork finds the call of each piece of work. Every view asks for it several times.
func (a *Attribution) joinWork(calls *Correlations) {
	t := a.t
	a.opCalls = make([]uint32, t.Ops())
	var lost atomic.Int64
	inParallel(len(a.opCalls), func(from, to int) {
		find, n := calls.inTurn(), int64(0)
		for i := from; i < to; i++ {
			queue, id := uint32(0), uint32(0)
			if i < len(t.Kernels) { // nearly all are
				queue, id = t.Kernels[i].Queue, t.Kernels[i].Correlation
			} else {
				op := t.Op(i)
				queue, id = op.Queue, op.Correlation
			}
			call := find(t.Queues[queue].Process, id)
			if call == None {
				n++
			}
			a.opCalls[i] = call
		}
		lost.Add(n)
	})
	a.lost.noCall = lost.Load()
}

// inParallel cuts n items into a part for each core, and no more than pay.
// The parts do not overlap, and all are done when it returns. Fewer than twice least items are
// one part.
func inParallel(n int, do func(from, to int)) {
	const least = 1 << 14
	parts := max(1, min(runtime.GOMAXPROCS(0), n/least))
	var group sync.WaitGroup
	for p := range parts {
		group.Go(func() { do(n*p/parts, n*(p+1)/parts) })
	}
	group.Wait()
}

// innermost lists the innermost push/pop range of each stack around a launching
// call.
// They come by domain, at most maxStacks of them. The list must not be changed.
func (a *Attribution) innermost(call uint32) []uint32 { return a.sets.of(a.callSet, call) }

// openAround lists the start/end ranges around a launching call.
// They come by start, at most maxOpen of them, those that were opened last. The list must not be
// changed.
func (a *Attribution) openAround(call uint32) []uint32 { return a.opens.of(a.callOpen, call) }

// state is the same number for calls that are known to have the same ranges around
// them.
func (a *Attribution) state(call uint32) uint64 {
	var state uint64
	if a.callSet != nil {
		state = uint64(a.callSet.at(call)) << 32
	}
	if a.callOpen != nil {
		state |= uint64(a.callOpen.at(call))
	}
	return state
}

// callOf is the call that launched op, or None.
// op must be one of the timeline that was attributed.
func (a *Attribution) callOf(op *Op) uint32 {
	at := op.Index
	if op.Kind != OpKernel {
		counts := a.t.opCounts()
		for _, n := range counts[:op.Kind] {
			at += n
		}
	}
	return a.opCalls[at]
}

func (a *Attribution) kernelCall(i int) uint32 { return a.opCalls[i] }

// launchOrder lists the launching calls by (group, start), where group is the
// thread or the process.
// Calls of one group that start at once stay in the order of the file.
func (a *Attribution) launchOrder(group func(thread uint32) uint32) []uint32 {
	calls := &a.t.Calls
	byStart := a.launchesByStart()
	if len(byStart) == 0 || !a.severalGroups(group) {
		return byStart
	}
	// Groups are few and numbered from 0; the unknown one comes last.
	groups := max(len(a.t.Threads), len(a.t.Processes))
	bucket := func(call uint32) int { return min(int(group(calls.Thread(call))), groups) }
	begins := make([]int, groups+2)
	for _, c := range byStart {
		begins[bucket(c)+1]++
	}
	for g := range groups + 1 {
		begins[g+1] += begins[g]
	}
	order := make([]uint32, len(byStart))
	for _, c := range byStart {
		g := bucket(c)
		order[begins[g]] = c
		begins[g]++
	}
	return order
}

// severalGroups tells whether calls are of threads in more than one group.
// Sites whose calls KeepLaunches dropped count too: true may be wrong, false never is.
func (a *Attribution) severalGroups(group func(thread uint32) uint32) bool {
	sites := a.t.Calls.sites
	return slices.ContainsFunc(sites, func(s CallSite) bool { return group(s.Thread) != group(sites[0].Thread) })
}

// launchesByStart lists the launching calls.
// Each call comes once, however much work it launched; they come by start.
func (a *Attribution) launchesByStart() []uint32 {
	launched := make([]uint64, a.t.Calls.Len()/64+1)
	for _, call := range a.opCalls {
		if call != None {
			launched[call/64] |= 1 << (call % 64)
		}
	}
	n := 0
	for _, word := range launched {
		n += bits.OnesCount64(word)
	}
	order := make([]uint32, 0, n)
	for i, word := range launched {
		for ; word != 0; word &= word - 1 {
			order = append(order, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	a.t.Calls.sortByStart(order)
	return order
}

// rangeOrder lists the ranges of a kind by group, start, longest first, and
// their order in the file.
func (a *Attribution) rangeOrder(kind RangeKind, group func(thread uint32) uint32) []uint32 {
	ranges := a.t.Ranges
	var order []uint32
	for i := range ranges {
		if ranges[i].Kind == kind {
			order = append(order, uint32(i))
		}
	}
	compare := func(x, y uint32) int {
		p, q := &ranges[x], &ranges[y]
		if g, h := group(p.Thread), group(q.Thread); g != h {
			return cmp.Compare(g, h)
		}
		if p.Start != q.Start { // as a rule
			return cmp.Compare(p.Start, q.Start)
		}
		return cmp.Or(cmp.Compare(q.open(), p.open()), cmp.Compare(x, y))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortFunc(order, compare)
	}
	return order
}

// nodeFor is the region of a key, which is added where it is new. The parent must be there
// before, so that its number is always lower.
func (a *Attribution) nodeFor(key nodeKey) uint32 {
	if id, ok := a.index[key]; ok {
		return id
	}
	id := uint32(len(a.nodes))
	depth := 0
	if key.parent != 0 {
		depth = a.nodes[key.parent].depth + 1
	}
	a.nodes = append(a.nodes, node{parent: key.parent, key: key, depth: depth})
	a.index[key] = id
	return id
}

// KernelNode is the region of kernel i: the push/pop range around its launch
// that was opened last, of whatever domain; without one, the start/end range
// that was opened last; 0 outside every range.
// i is an index into Timeline.Kernels. A kernel without a known call is outside every range too.
func (a *Attribution) KernelNode(i int) uint32 {
	call := a.kernelCall(i)
	if call == None {
		return 0
	}
	return a.callNode(call)
}

// callNode is the region of a launching call.
func (a *Attribution) callNode(call uint32) uint32 {
	if a.callSet != nil {
		if set := a.callSet.at(call); set != 0 {
			return a.setNodes[set]
		}
	}
	return a.nodeOf(nil, a.openAround(call))
}

// nodeOf is the region between the innermost ranges of stacks and the open start/end
// ranges.
func (a *Attribution) nodeOf(stacks, open []uint32) uint32 {
	if r := a.rangeOf(stacks, open); r != None {
		return a.rangeNode[r]
	}
	return 0
}

// rangeAround is the range that callNode goes by; None outside every range.
func (a *Attribution) rangeAround(call uint32) uint32 {
	return a.rangeOf(a.innermost(call), a.openAround(call))
}

// rangeOf is the range that was opened last: of stacks, or of open where no stack has one.
func (a *Attribution) rangeOf(stacks, open []uint32) uint32 {
	list := stacks
	if len(list) == 0 {
		list = open
	}
	best := uint32(None)
	for _, r := range list {
		if best == None || a.later(r, best) {
			best = r
		}
	}
	return best
}

// later tells whether range x was opened after y.
func (a *Attribution) later(x, y uint32) bool { return a.opening(x).later(a.opening(y)) }

// An opening is that a range begins.
type opening struct {
	start, end int64  // ns, of the range
	number     uint32 // of the range in the file
}

func (a *Attribution) opening(r uint32) opening {
	number := r
	if a.rangeNumber != nil {
		number = a.rangeNumber[r]
	}
	return opening{a.t.Ranges[r].Start, a.t.Ranges[r].End, number}
}

// later puts openings in their order. Of two ranges that start at once the one that ends
// first is the later one, since it lies inside.
func (o opening) later(other opening) bool {
	return cmp.Or(cmp.Compare(o.start, other.start), cmp.Compare(other.end, o.end), cmp.Compare(o.number, other.number)) > 0
}

// Path writes a region path as nvtx.Path does.
// It is "" for 0 and for numbers that no region has. Regions may not be added after the first
// call, since the texts are kept by number.
func (a *Attribution) Path(id uint32) string {
	if id == 0 || int(id) >= len(a.nodes) {
		return ""
	}
	if a.paths == nil {
		a.paths = make([]string, len(a.nodes))
	}
	if a.paths[id] == "" {
		a.paths[id] = nvtx.Path(a.stack(id))
	}
	return a.paths[id]
}

func (a *Attribution) nodeName(id uint32) string {
	if a.nodes[id].key.folded {
		return foldedName
	}
	return a.t.Name(a.nodes[id].key.name)
}

// stack gives the ranges of a path, outermost first.
// All of them are of one domain. The caller owns the list.
func (a *Attribution) stack(id uint32) []nvtx.Range {
	var stack []nvtx.Range
	domain := a.t.Name(a.nodes[id].key.domain)
	for ; id != 0; id = a.nodes[id].parent {
		stack = append(stack, nvtx.Range{Name: a.nodeName(id), Domain: domain})
	}
	slices.Reverse(stack)
	return stack
}

// nodeState is the state in which only the ranges of this path are open.
func (a *Attribution) nodeState(id uint32) nvtx.State {
	if a.nodes[id].key.kind == StartEnd {
		return nvtx.State{Open: a.stack(id)}
	}
	return nvtx.State{Stacks: [][]nvtx.Range{a.stack(id)}}
}

// stateOf is what is open: the innermost range of each stack, and start/end ranges.
// A region of start/end ranges stands there once, however many of its instances are open.
func (a *Attribution) stateOf(stacks, open []uint32) nvtx.State {
	var s nvtx.State
	for _, r := range stacks {
		s.Stacks = append(s.Stacks, a.stack(a.rangeNode[r]))
	}
	seen := map[uint32]bool{}
	for _, r := range open {
		if id := a.rangeNode[r]; !seen[id] {
			seen[id] = true
			s.Open = append(s.Open, a.stack(id)...)
		}
	}
	return s
}

// warn makes one warning for each limit that was reached, with how often it was.
func (a *Attribution) warn() {
	add := func(n int64, code fact.Code, params ...fact.Param) {
		if n > 0 {
			a.Warnings = append(a.Warnings, fact.New(code, append(params, fact.Count("n", n))...))
		}
	}
	add(a.lost.noCall, CodeNoLaunchCall)
	add(a.lost.deep, codeDeepRanges, fact.Count("most", maxDepth), fact.Name("name", foldedName))
	add(a.lost.stacks, codeManyDomains, fact.Count("most", maxStacks))
	add(a.lost.open, codeManyOpen)
	add(a.lost.held, codeManyHeld, fact.Count("most", maxHeld))
	add(int64(a.sharedCalls), codeSharedCalls)
}
