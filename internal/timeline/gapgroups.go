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

// callWords tell the cause by words in the name without its prefix. The first row that has one
// counts.
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
	*gapSearch
	causes []int // by site of the calls
	python pythonSamples
	rows   map[gapKey]*GapGroupRow
	last   *GapGroupRow
	key    gapKey // of the last row
	over   bool
}

// GapGroups sums the gaps that a query chooses by cause and region. The timeline
// needs all CUDA calls.
func (t *Timeline) GapGroups(q Query) Rows[GapGroupRow] {
	rows, _ := t.gapSearch(&q, true).groups()
	return rows
}

// FlowGapGroups is GapGroups of a flow; false where it must be in memory. The query may
// not choose by kernel, and is about whole devices.
func (t *Timeline) FlowGapGroups(q Query, f Flow) (Rows[GapGroupRow], bool) {
	s, ok := t.flowSearch(&q, f, true)
	if !ok {
		return Rows[GapGroupRow]{}, false
	}
	return s.groups()
}

func (s *gapSearch) groups() (Rows[GapGroupRow], bool) {
	g := &gapSums{gapSearch: s, python: s.a.t.pythonSamples(), rows: map[gapKey]*GapGroupRow{}}
	if !s.each(g.add) {
		return Rows[GapGroupRow]{}, false
	}
	return g.sorted(s.q.Top), true
}

func (g *gapSums) add(x *gap, l gapLaunch) {
	key := gapKey{lane: x.lane, cause: causeNone}
	ns := Since(x.start, x.end)
	took := ns
	if l.known {
		key.node = g.a.nodeOf(l.stacks, l.open)
		key.cause, took = g.cause(x, &l)
	}
	row := g.row(key)
	row.Gaps++
	accrue(&row.TotalNS, ns, &g.over)
	accrue(&row.CauseNS, took, &g.over)
	row.MaxNS = max(row.MaxNS, ns)
	if l.known {
		until := min(x.end, l.start)
		g.hosts.add(l.thread, x.start, until, row.hosts)
		g.python.count(l.thread, x.start, until, row.frames)
	}
}

func (g *gapSums) row(key gapKey) *GapGroupRow {
	if g.last != nil && key == g.key {
		return g.last
	}
	row := g.rows[key]
	if row == nil {
		row = &GapGroupRow{Cause: gapCauseIDs[key.cause], NVTX: g.a.Path(key.node), Device: int(key.lane.device), hosts: map[uint32]int64{}, frames: map[PythonFrame]int64{}}
		if key.lane.queue != None {
			row.Stream = new(int(g.a.t.Queues[key.lane.queue].Stream))
		}
		g.rows[key] = row
	}
	g.last, g.key = row, key
	return row
}

// causeOf is what the calls of a site are for.
func (g *gapSums) causeOf(site uint32) int {
	sites := g.a.t.Calls.sites
	for i := len(g.causes); i <= int(site); i++ {
		g.causes = append(g.causes, callCause(g.a.t.Name(sites[i].Name)))
	}
	return g.causes[site]
}

// sameLaunch tells whether one call launched the work before and after a gap, as that of
// a CUDA graph does.
func (t *Timeline) sameLaunch(x *gap) bool {
	return x.before.Correlation == x.after.Correlation && t.Queues[x.before.Queue].Process == t.Queues[x.after.Queue].Process
}

// cause is what took most of a gap before work that a call launched, and how long.
// ns. Of causes that took equally long the one that is listed first counts.
func (g *gapSums) cause(x *gap, l *gapLaunch) (int, int64) {
	if g.a.t.sameLaunch(x) {
		return causeGraph, Since(x.start, x.end)
	}
	var ns [gapCauses]int64
	until := min(x.end, max(x.start, l.end)) // then the work was on its way
	ns[causeLaunch] = Since(until, x.end)
	ns[causeHost] = Since(x.start, until)
	reach := x.start
	for _, c := range g.window.from(l.thread, x.start) {
		start, end := max(c.start, reach), min(c.end, until)
		if start >= until {
			break
		}
		if start < end {
			ns[g.causeOf(c.site)] += end - start
			ns[causeHost] -= end - start
			reach = end
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
// Shares are of the gaps of whole devices; rows of single streams have 0, since their gaps are
// partly the same time.
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

// mostNode is the region with the most time, the first of equal ones.
func mostNode(ns map[uint32]int64) (best uint32) {
	for node, n := range ns {
		if n > ns[best] || n == ns[best] && node < best {
			best = node
		}
	}
	return best
}
