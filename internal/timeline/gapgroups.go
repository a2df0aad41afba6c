package timeline

import (
	"cmp"
	"slices"
	"strings"
)

// A GapGroupRow sums the gaps of a device, or of one stream of it, that have one
// cause and come before work of one region.
type GapGroupRow struct {
	// Cause is what took most of each gap on the thread that launched the work
	// after it: a code of CallCause, "host" outside every CUDA call, "graph" between
	// nodes of one graph launch, "none" where the thread is not known. Time between
	// the end of the launching call and the start of the work is "launch".
	Cause string `json:"cause"`
	NVTX  string `json:"nvtx"` // innermost range that launched the work after the gaps
	// Host is the range that was the innermost one for most of the gaps on the
	// threads that launched the work after them, until it was launched: the module
	// that ran on the host. "" outside every range, or where the thread is not known.
	Host    string  `json:"host_nvtx"`
	Device  int     `json:"device"`
	Stream  *int    `json:"stream,omitempty"` // absent in gaps of the whole device
	Gaps    int64   `json:"gaps"`
	TotalNS int64   `json:"total_ns"`
	MeanNS  float64 `json:"mean_ns"`
	MaxNS   int64   `json:"max_ns"`
	// CauseNS is the part of the gaps that the cause took; the rest had others.
	CauseNS int64   `json:"cause_ns"`
	Share   float64 `json:"share"` // of all gaps, 0 to 1

	// Python is the code in which the threads that launched the work after the gaps
	// were seen in them, most samples first; only where nsys sampled Python.
	Python []HostFrame `json:"python,omitempty"`

	frames map[PythonFrame]int64
	hosts  map[uint32]int64 // by region: time in the gaps in which it was innermost
}

// Codes of what a thread did in a gap, the likelier first where two took as long.
const (
	causeLaunch = iota
	causeHost
	causeSync
	causeCopy
	causeAlloc
	causeCall
	causeGraph
	causeNone
	gapCauses
)

var gapCauseIDs = [gapCauses]string{"launch", "host", "sync", "copy", "alloc", "call", "graph", "none"}

var callWords = []struct {
	cause int
	words []string
}{
	{causeSync, []string{"Synchronize", "StreamWaitValue", "EventQuery", "StreamQuery"}},
	{causeAlloc, []string{"Malloc", "Free", "MemAlloc", "HostAlloc", "HostRegister", "HostUnregister", "MemCreate", "MemMap", "MemUnmap",
		"MemRelease", "MemAddressReserve", "MemAddressFree", "MemSetAccess", "MemHostAlloc", "MemPool", "ArrayCreate", "ArrayDestroy", "MemRetainAllocationHandle"}},
	{causeCopy, []string{"Memcpy", "Memset", "MemPrefetch"}},
	{causeLaunch, []string{"Launch"}},
}

// CallCause tells by its name what a CUDA call is for: sync, alloc, copy, launch, or
// call for all others. Names end in a version such as _v7000 or _ptsz.
func CallCause(name string) string { return gapCauseIDs[callCause(name)] }

func callCause(name string) int {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "cuda"), "cu")
	for _, c := range callWords {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(name, w) }) {
			return c.cause
		}
	}
	return causeCall
}

// gapKey tells groups of gaps apart.
type gapKey struct {
	lane  lane
	node  uint32
	cause int
}

// gapSums groups gaps as they are found.
type gapSums struct {
	a       *Attribution
	causes  []int      // by site of the calls
	threads [][]uint32 // outer calls of each thread by start, so that ends grow with them
	at      []int      // by thread: the first of them that may reach into the next gap
	hosts   hostRanges
	python  pythonSamples
	rows    map[gapKey]*GapGroupRow
	over    bool
}

// GapGroups sums the gaps that a query chooses by cause and region. The timeline
// needs all CUDA calls.
func (t *Timeline) GapGroups(q Query) Rows[GapGroupRow] {
	at := t.Attribute()
	g := &gapSums{a: at, hosts: at.hostRanges(), python: t.pythonSamples(), threads: t.outerCalls(), at: make([]int, len(t.Threads)), rows: map[gapKey]*GapGroupRow{}}
	for _, s := range t.Calls.sites {
		g.causes = append(g.causes, callCause(t.Name(s.Name)))
	}
	keep := func(Op) bool { return true }
	if q.Region != nil {
		keep = g.a.OpMatcher(q.Region)
	}
	t.findGaps(&q, func(x gap) {
		if after := t.op(x.after); keep(after) {
			g.add(x, after)
		}
	})
	return g.sorted(q.Top)
}

func (g *gapSums) add(x gap, after Op) {
	key := gapKey{lane: x.lane, cause: causeNone}
	ns := Since(x.start, x.end)
	took := ns
	call := g.a.callOf(after)
	if call != None {
		key.node = g.a.callNode(call)
		key.cause, took = g.cause(x, call)
	}
	row := g.rows[key]
	if row == nil {
		row = &GapGroupRow{Cause: gapCauseIDs[key.cause], NVTX: g.a.Path(key.node), Device: int(x.lane.device), hosts: map[uint32]int64{}, frames: map[PythonFrame]int64{}}
		if x.lane.queue != None {
			stream := int(g.a.t.Queues[x.lane.queue].Stream)
			row.Stream = &stream
		}
		g.rows[key] = row
	}
	row.Gaps++
	accrue(&row.TotalNS, ns, &g.over)
	accrue(&row.CauseNS, took, &g.over)
	row.MaxNS = max(row.MaxNS, ns)
	if call != None {
		thread, until := g.a.t.Calls.Thread(call), min(x.end, g.a.t.Calls.Start(call))
		g.hosts.add(thread, x.start, until, row.hosts)
		g.python.count(thread, x.start, until, row.frames)
	}
}

// cause is what took most of a gap before work that a call launched, and how long.
func (g *gapSums) cause(x gap, call uint32) (int, int64) {
	t := g.a.t
	if g.a.callOf(t.op(x.before)) == call {
		return causeGraph, Since(x.start, x.end)
	}
	var ns [gapCauses]int64
	until := min(x.end, max(x.start, t.Calls.End(call))) // then the work was on its way
	ns[causeLaunch] = Since(until, x.end)
	ns[causeHost] = Since(x.start, until)
	if thread := t.Calls.Thread(call); int(thread) < len(g.threads) {
		list, at := g.threads[thread], &g.at[thread]
		for *at > 0 && t.Calls.End(list[*at-1]) > x.start {
			*at--
		}
		for *at < len(list) && t.Calls.End(list[*at]) <= x.start {
			*at++
		}
		reach := x.start
		for _, c := range list[*at:] {
			start, end := max(t.Calls.Start(c), reach), min(t.Calls.End(c), until)
			if start >= until {
				break
			}
			if start < end {
				ns[g.causes[t.Calls.Site(c)]] += end - start
				ns[causeHost] -= end - start
				reach = end
			}
		}
	}
	best := 0
	for c := range ns {
		if ns[c] > ns[best] {
			best = c
		}
	}
	return best, ns[best]
}

// sorted lists the groups with most time first.
func (g *gapSums) sorted(top int) Rows[GapGroupRow] {
	var rows []GapGroupRow
	var all float64
	for key, row := range g.rows {
		if key.lane.queue == None {
			all += float64(row.TotalNS)
		}
		row.Host = g.a.Path(mostNode(row.hosts))
		row.Python = g.a.t.hostFrames(row.frames)
		row.MeanNS = Round1(float64(row.TotalNS) / float64(row.Gaps))
		rows = append(rows, *row)
	}
	for i := range rows {
		if all > 0 && rows[i].Stream == nil {
			rows[i].Share = float64(rows[i].TotalNS) / all
		}
	}
	stream := func(r GapGroupRow) int {
		if r.Stream == nil {
			return -1
		}
		return *r.Stream
	}
	slices.SortFunc(rows, func(x, y GapGroupRow) int {
		return cmp.Or(cmp.Compare(y.TotalNS, x.TotalNS), cmp.Compare(x.NVTX, y.NVTX), cmp.Compare(x.Cause, y.Cause), cmp.Compare(x.Device, y.Device), cmp.Compare(stream(x), stream(y)))
	})
	out := cutTop(rows, top)
	out.Warnings = g.a.Warnings
	return out
}

// outerCalls lists the calls of each thread that lie in no other, by start.
func (t *Timeline) outerCalls() [][]uint32 {
	threads := t.threadOrder()
	for th, list := range threads {
		kept := list[:0]
		for _, c := range list {
			if len(kept) == 0 || t.Calls.End(c) > t.Calls.End(kept[len(kept)-1]) {
				kept = append(kept, c)
			}
		}
		threads[th] = kept
	}
	return threads
}

// mostNode is the region with the most time, the first of equal ones.
func mostNode(ns map[uint32]int64) (best uint32) {
	for node, n := range ns {
		if n > ns[best] || n == ns[best] && node < best {
			best = node
		}
	}
	return best
}
