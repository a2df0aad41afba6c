package timeline

import "math"

// A Flow gives the kernels, the CUDA calls and the ranges of a file a few at a time, so that
// millions of them need no memory. What it gives is valid until the next are asked for; the
// queues and sites that it refers to are in the timeline by then. Whether it is by start is
// looked at while it comes.
// Kernels and calls can be gone through once, ranges as often as a new pass is asked for.
type Flow interface {
	NextKernels() []Kernel // in the order of the file; none behind the last
	NextCalls() []FlowCall // in the order of the file; none behind the last
	// Ranges begins a pass; the one before ends. It gives them in the order of the file,
	// without category, color and payload; none behind the last.
	Ranges() func() []Range
}

// A FlowCall is a CUDA call of a flow.
type FlowCall struct {
	Start, End  int64  // ns
	Correlation uint32 // as of a Call
	Site        uint32 // index into Timeline.Calls.Sites
}

// A flowJoin finds the calls of work while both come by start.
// It is for one goroutine. Once broken it stays so, and what it counted is of no use.
type flowJoin struct {
	a     *Attribution
	flow  Flow
	live  *liveRanges
	calls []FlowCall      // that the flow gave last
	taken int             // of them
	ended bool            // it has no more
	times bool            // of calls are wanted
	each  func(*FlowCall) // told of every call; nil for nobody
	// number gives every call a number, which its work is told; nil for nobody.
	number func(*FlowCall) uint32
	sites  []flowSite

	tables []*launchTable // by process
	pages  []*launchPage  // those in use, in the order in which they were needed
	began  int64          // start of the last call
	any    bool
	// broken says that calls do not lie by start, that two have one id, or that work has
	// no call within reach: then all of them must be in memory.
	broken bool

	last            launched // of the last work
	lastID, lastFor uint32   // of it: correlation, process
	lastKnown       bool
}

// A flowSite has what every call of a site needs.
type flowSite struct {
	sweep *threadSweep // of its thread
	table *launchTable // of its process
}

func newFlowJoin(a *Attribution, f Flow) *flowJoin {
	return &flowJoin{a: a, flow: f, live: newLiveRanges(a, f.Ranges())}
}

func (j *flowJoin) table(process uint32) *launchTable {
	for int(process) >= len(j.tables) {
		j.tables = append(j.tables, &launchTable{pages: map[uint32]*launchPage{}})
	}
	return j.tables[process]
}

// read takes the next call; false behind the last, or where the flow is broken.
func (j *flowJoin) read() bool {
	if j.broken {
		return false
	}
	if j.taken == len(j.calls) {
		if j.calls, j.taken = j.flow.NextCalls(), 0; len(j.calls) == 0 {
			j.ended = true
			return false
		}
	}
	c := &j.calls[j.taken]
	j.taken++
	for int(c.Site) >= len(j.sites) {
		thread := j.a.t.Calls.sites[len(j.sites)].Thread
		j.sites = append(j.sites, flowSite{j.live.sweep(thread), j.table(j.a.t.ThreadProcess(thread))})
	}
	if j.any && c.Start < j.began || c.End < c.Start || Endless(c.Start, c.End) {
		j.broken = true
		return false
	}
	j.began, j.any = c.Start, true
	site := &j.sites[c.Site]
	if c.Start >= j.live.in.start {
		j.live.readUntil(c.Start)
	}
	set := site.sweep.around(c.Start, c.End)
	number := uint32(0)
	if j.number != nil {
		number = j.number(c)
	}
	if c.Correlation != NoCorrelation && !j.keep(c, site.table, set, number) {
		j.broken = true
		return false
	}
	if j.each != nil {
		j.each(c)
	}
	return true
}

// keep puts a call where its work will look for it; false where another has its id.
func (j *flowJoin) keep(c *FlowCall, table *launchTable, set, number uint32) bool {
	page := table.in
	if number := c.Correlation / pageIDs; page == nil || page.number != number {
		var known bool
		if page, known = table.pages[number]; page == nil {
			if known {
				return false // it was let go
			}
			page = j.newPage(table, number)
		}
		table.in = page
	}
	id := c.Correlation % pageIDs
	if page.sets[id] != 0 {
		return false
	}
	page.sets[id] = set + 1
	if n := len(page.held); n == 0 || page.held[n-1] != set {
		j.live.holdSet(set)
		page.held = append(page.held, set)
	}
	if j.times {
		page.calls[id] = *c
	}
	if j.number != nil {
		page.numbers[id] = number
	}
	return true
}

// newPage makes room for ids. The page that has been there longest is let go where there
// are too many.
func (j *flowJoin) newPage(table *launchTable, number uint32) *launchPage {
	var page *launchPage
	if len(j.pages) < mostPages {
		page = &launchPage{}
		if j.times {
			page.calls = make([]FlowCall, pageIDs)
		}
		if j.number != nil {
			page.numbers = make([]uint32, pageIDs)
		}
	} else {
		page = j.pages[0]
		copy(j.pages, j.pages[1:])
		j.pages = j.pages[:mostPages-1]
		page.table.forget(page)
		clear(page.sets[:])
		for _, set := range page.held {
			j.live.releaseSet(set)
		}
		page.held = page.held[:0]
	}
	page.table, page.number = table, number
	table.pages[number] = page
	j.pages = append(j.pages, page)
	return page
}

// launchOf finds the call that launched a piece of work; false where the flow is broken.
func (j *flowJoin) launchOf(op *Op) (l launched, ok bool) {
	process := j.a.t.Queues[op.Queue].Process
	j.readUntil(op.Start)
	if j.lastKnown && op.Correlation == j.lastID && process == j.lastFor {
		return j.last, true
	}
	table := j.table(process)
	for ahead := 0; ahead < mostAhead; {
		page, gone := table.find(op.Correlation)
		if page != nil {
			id := op.Correlation % pageIDs
			l.set = page.sets[id] - 1
			if j.times {
				l.FlowCall = page.calls[id]
			}
			if j.number != nil {
				l.number = page.numbers[id]
			}
			if l.set != j.last.set {
				j.live.holdSet(l.set)
				j.live.releaseSet(j.last.set)
			}
			j.last, j.lastID, j.lastFor, j.lastKnown = l, op.Correlation, process, true
			return l, true
		}
		if gone || op.Correlation == NoCorrelation || !j.read() {
			break
		}
		ahead++
	}
	j.broken = true
	return l, false
}

// readUntil takes the calls that start before a moment, and the ranges that start by it.
func (j *flowJoin) readUntil(at int64) {
	for (!j.any || j.began < at) && !j.ended && j.read() {
	}
	if j.ended {
		j.live.readUntil(at)
	}
}

// finish takes the calls and ranges that are left; false where the flow is broken.
// It is false too where a call had more than maxStacks stacks around it: who reads all into
// memory warns of that.
func (j *flowJoin) finish() bool {
	for j.read() {
	}
	j.live.readUntil(math.MaxInt64)
	return !j.broken && !j.live.in.broken && j.live.lost == 0
}

const (
	// Pages of all processes count together: work may ask for one of the last 262,144 ids or so. A
	// page takes 32 KB, and 192 KB more where times are wanted.
	pageIDs   = 8192
	mostPages = 32      // of ids that work may still ask for
	mostAhead = 1 << 16 // calls that start after the work that they launched
)

// A launchTable has the calls of a process by their id, as long as their page is kept.
type launchTable struct {
	pages   map[uint32]*launchPage // by number; nil for one that was let go
	in, out *launchPage            // that were used last
}

type launchPage struct {
	table   *launchTable
	number  uint32          // of its ids, divided by pageIDs
	sets    [pageIDs]uint32 // what is around each call, from 1; 0 where there is none
	held    []uint32        // those sets, as they came
	calls   []FlowCall      // where times are wanted
	numbers []uint32        // where calls are numbered
}

// launched is a call that launched work.
type launched struct {
	FlowCall        // where times are wanted
	set      uint32 // of ranges around it
	number   uint32 // where calls are numbered
}

// find is the page of a call with an id, nil where there is none yet; gone where it may
// have been let go.
func (t *launchTable) find(id uint32) (page *launchPage, gone bool) {
	page = t.out
	if number := id / pageIDs; page == nil || page.number != number {
		var known bool
		if page, known = t.pages[number]; page == nil {
			return nil, known
		}
		t.out = page
	}
	if page.sets[id%pageIDs] == 0 {
		return nil, false
	}
	return page, false
}

func (t *launchTable) forget(page *launchPage) {
	t.pages[page.number] = nil
	if t.in == page {
		t.in = nil
	}
	if t.out == page {
		t.out = nil
	}
}

// flowOps visits the work of a flow and what is in memory by start, until visit says
// false; false where kernels do not lie by start, end before that or last longer than can be
// told, or visit said so.
// An Op, and the kernel in it, are valid until visit returns.
func (t *Timeline) flowOps(f Flow, visit func(*Op) bool) bool {
	ok, last := true, int64(math.MinInt64)
	t.byStart(f, func(op *Op) bool {
		ok = op.Start >= last && op.End >= op.Start && !Endless(op.Start, op.End) && visit(op)
		last = op.Start
		return ok
	})
	return ok
}

// FlowRegions is RegionRows about all work of a flow; false where that must be in memory.
// The flow is used up either way. Queues and sites that it named stay in t.
func (t *Timeline) FlowRegions(q Query, f Flow) (Rows[RegionRow], bool) {
	a, ok := t.attributeRanges(f.Ranges())
	if !ok {
		return Rows[RegionRow]{}, false
	}
	sums, j := a.regionSums(&q), newFlowJoin(a, f)
	uses, busy := &flowUses{a: a}, &flowBusy{t: t, live: j.live}
	j.live.opened = func(r uint32) {
		uses.begin(r)
		busy.begin(r)
	}
	j.live.closed = func(r uint32) {
		sums.add(r, a.rangeNumber[r], uses.get(r), busy.within[r], nil)
	}
	ok = t.flowOps(f, func(op *Op) bool {
		l, ok := j.launchOf(op)
		if !ok {
			return false
		}
		busy.add(op)
		uses.credit(op, j.live.sets[l.set].ranges)
		return true
	})
	if !ok || !j.finish() {
		return Rows[RegionRow]{}, false
	}
	busy.finish()
	j.live.end()
	rows := sortRegions(sums.list(), sums.over, q.Top)
	rows.Warnings = append(rows.Warnings, a.Warnings...)
	return rows, true
}
