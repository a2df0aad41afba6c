package analysis

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

const (
	maxRegions = 1200 // rows of Result.Regions
	maxTop     = 15   // kernels named in a region
)

// countInRegions sums the launches of each kernel in each region.
func (tl *timed) countInRegions() {
	places := tl.at.Places()
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		if k.Kind != timeline.OpKernel {
			continue
		}
		sum := callTime{k.Launches, k.NS}
		for _, id := range places[k.Place].All {
			key := regionGroup{id, tl.rowOf[i]}
			count(tl.inRegion, key, sum)
			if k.Node {
				tl.nodes[id] += k.Launches
			}
			if slices.Contains(places[k.Place].Own, id) {
				count(tl.ownIn, key, sum)
			}
			if tl.scope != nil && tl.counts(k) {
				count(tl.inScope, key, sum)
				tl.scopeNS[queueOf{id, k.Queue}] += sum.ns
			}
		}
	}
	if tl.scope == nil {
		tl.inScope = tl.inRegion
	}
}

// sumRegions makes the rows of regions: all together and, where there are
// several, of each process and each device.
func (tr *timelineReader) sumRegions() {
	tl := tr.tl
	order := tr.regionOrder()
	tr.regionRows(order, 0, workKey{-1, -1})
	if processes := tl.processes(); len(processes) > 1 {
		for _, p := range processes {
			tr.regionRows(order, timeline.ByProcess, workKey{p, -1})
		}
	}
	if devices := tl.devices(); len(devices) > 1 {
		for _, d := range devices {
			tr.regionRows(order, timeline.ByDevice, workKey{-1, d})
		}
	}
	tr.topKernels()
	tr.groupRegions()
}

// count adds to the sum of a region and kernel.
func count(sums map[regionGroup]*callTime, key regionGroup, more callTime) {
	c := sums[key]
	if c == nil {
		c = &callTime{}
		sums[key] = c
	}
	c.calls += more.calls
	c.ns += more.ns
}

// undivided are the rows for all work together, which come first.
func undivided(regions []Region) []Region {
	n := slices.IndexFunc(regions, func(g Region) bool { return g.id == 0 })
	if n < 0 {
		n = len(regions)
	}
	return regions[:n]
}

// stageIDs are the regions of all stages.
func (r *Result) stageIDs() (ids []uint32) {
	for i := range r.Stages {
		ids = append(ids, r.Stages[i].ids...)
	}
	return ids
}

// regionOrder lists region IDs, each before what is nested in it and otherwise
// by first opening; the shortest go where there are too many.
func (tr *timelineReader) regionOrder() []uint32 {
	tl := tr.tl
	children := map[uint32][]uint32{}
	wall, first := map[uint32]int64{}, map[uint32]int64{}
	for _, r := range tl.regions {
		children[r.Parent] = append(children[r.Parent], r.ID)
		tl.eachOf(r.ID, workKey{-1, -1}, func(i *instance) {
			wall[r.ID] += max(0, timeline.Since(i.start, i.end))
			if _, known := first[r.ID]; !known {
				first[r.ID] = i.start
			}
		})
	}
	keep := tl.largest(wall)
	var order []uint32
	var visit func(id uint32)
	visit = func(id uint32) {
		list := children[id]
		slices.SortStableFunc(list, func(x, y uint32) int { return cmp.Or(cmp.Compare(first[x], first[y]), cmp.Compare(x, y)) })
		for _, c := range list {
			if keep[c] {
				order = append(order, c)
				visit(c)
			}
		}
	}
	visit(0)
	if cut := len(tl.regions) - len(order); cut > 0 {
		tr.notes.warn(regionsCut, fact.Count("n", cut), fact.Count("of", len(tl.regions)))
	}
	return order
}

// largest chooses the regions of the most time, with what they are nested in.
func (tl *timed) largest(wall map[uint32]int64) map[uint32]bool {
	ids := make([]uint32, 0, len(tl.regions))
	parent := map[uint32]uint32{}
	for _, r := range tl.regions {
		ids = append(ids, r.ID)
		parent[r.ID] = r.Parent
	}
	slices.SortStableFunc(ids, func(x, y uint32) int { return cmp.Or(cmp.Compare(wall[y], wall[x]), cmp.Compare(x, y)) })
	keep := map[uint32]bool{}
	add := func(id uint32) {
		for ; id != 0 && !keep[id]; id = parent[id] {
			keep[id] = true
		}
	}
	if tl.scope != nil { // stages are sums over these
		for _, id := range tl.scope.regions {
			add(id)
		}
	}
	for _, id := range ids {
		if len(keep) >= maxRegions {
			break
		}
		add(id)
	}
	return keep
}

// A regionRef is how rows name a region; style is PushPop or StartEnd.
type regionRef struct{ path, domain, style string }

// regionRows appends the rows for one choice of work.
func (tr *timelineReader) regionRows(order []uint32, by timeline.By, only workKey) {
	tl := tr.tl
	q := timeline.Query{By: by}
	if only.device >= 0 {
		q.Devices = []int{only.device}
	}
	if only.process >= 0 {
		q.Processes = []int{tl.t.Processes[only.process].PID}
	}
	rows := map[regionRef]timeline.RegionRow{}
	for _, r := range tl.at.RegionRows(q).Rows {
		rows[regionRef{r.Path, r.Domain, r.Style}] = r
	}
	if only == (workKey{-1, -1}) {
		wanted := map[uint32]bool{}
		for _, id := range order {
			row, ok := rows[tl.refOf(id)]
			wanted[id] = ok && ofOthers(&row)
		}
		tl.collectOwn(wanted)
	}
	place := map[uint32]int{}
	times := tl.regionTimes(order, only, func(id uint32) (async, ok bool) {
		row, ok := rows[tl.refOf(id)]
		return row.Async > 0, ok
	})
	for i, id := range order {
		region := &tl.regions[id-1]
		row, ok := rows[tl.refOf(id)]
		if !ok {
			continue
		}
		out := Region{
			Path: region.Path, Name: region.Name, Parent: -1, Depth: region.Depth, Style: strings.ToLower(region.Kind.String()), Domain: region.Domain,
			Instances: row.Instances, ProjectedNS: row.ProjectedNS,
			Kernels: row.KernelCalls, KernelNS: row.InclusiveNS, SelfKernels: row.ExclusiveCalls, SelfNS: row.ExclusiveNS,
			Split: tr.tl.split(times[i].ns), Lead: times[i].lead, Process: row.Process, Device: row.Device,
			WallNS: times[i].openNS, Synchronous: synchronous(row.GPUOps+row.GraphLaunches, row.Async), AsyncInstances: row.Async,
			Source: tr.sourceOf(region), Group: row.Group, MinNS: row.MinNS, MedianNS: row.MedianNS, MaxNS: row.MaxNS, Outliers: row.Outliers,
		}
		if tr.tl.scope != nil {
			out.ScopeNS = new(tl.inScopeNS(id, only))
		}
		if parent, ok := place[region.Parent]; ok {
			out.Parent = parent
		}
		place[id] = len(tr.made.Regions)
		if only == (workKey{-1, -1}) {
			out.id = id
		}
		tr.made.Regions = append(tr.made.Regions, out)
	}
}

// A regionTime is how the time of a region is spent.
type regionTime struct {
	ns     []int64 // by label
	openNS int64
	lead   *Lead // of a region that closes before its work has ended
}

// regionTimes divides the time of regions that have a row, beside each other where the
// paintings allow it.
func (tl *timed) regionTimes(order []uint32, only workKey, row func(id uint32) (async, ok bool)) []regionTime {
	out := make([]regionTime, len(order))
	var next atomic.Int64
	divide := func(tl *timed) {
		for i := int(next.Add(1)) - 1; i < len(order); i = int(next.Add(1)) - 1 {
			async, ok := row(order[i])
			if !ok {
				continue
			}
			ids := order[i : i+1]
			out[i] = regionTime{ns: tl.splitOf(ids, only, async), openNS: tl.openNS(order[i], only)}
			if async {
				out[i].lead = tl.leadOf(ids, only)
			}
		}
	}
	var beside sync.WaitGroup
	if tl.single() && only == (workKey{-1, -1}) {
		for range runtime.GOMAXPROCS(0) - 1 {
			beside.Go(func() { divide(tl.aside()) })
		}
	}
	divide(tl)
	beside.Wait()
	return out
}

// inScopeNS is the kernel time of a region in the scope.
func (tl *timed) inScopeNS(id uint32, only workKey) (ns int64) {
	for i := range tl.t.Queues {
		q := &tl.t.Queues[i]
		if (only.process < 0 || only.process == int(q.Process)) && (only.device < 0 || only.device == int(q.Device)) {
			ns += tl.scopeNS[queueOf{id, uint32(i)}]
		}
	}
	return ns
}

// refOf is how the rows of a timeline name a region.
func (tl *timed) refOf(id uint32) regionRef {
	r := &tl.regions[id-1]
	return regionRef{r.Path, r.Domain, r.Kind.String()}
}

// openNS is how long the instances of a region were open on the host; one that
// ends before it starts counts nothing.
func (tl *timed) openNS(id uint32, only workKey) (ns int64) {
	tl.eachOf(id, only, func(r *instance) {
		if r.end > r.start {
			ns += timeline.Since(r.start, r.end)
		}
	})
	return ns
}

// splitOf adds up the instances of regions, each by the work of its own process.
// Async says that an instance closes before its work has ended.
func (tl *timed) splitOf(ids []uint32, only workKey, async bool) []int64 {
	if async || slices.ContainsFunc(ids, func(id uint32) bool { return tl.own.work[id] != nil }) {
		return tl.ownSplit(ids, only, async)
	}
	ns := make([]int64, tl.p.categories+int(causes))
	tl.addInstances(ids, only, ns)
	return ns
}

// rangesOf marks the ranges that launched work on a device: split by device, a
// region counts these alone.
func (tl *timed) rangesOf(device int) marks {
	if used := tl.onDevice[device]; used != nil {
		return used
	}
	used, around, turn := newMarks(tl.tape.RangeLen()), tl.tape.AroundWork(func(uint32) bool { return true }), -1
	for w := range tl.workOf(workKey{-1, device}) {
		if at := w.Turn(); at != turn {
			turn = at
			for _, r := range around(w) {
				used.set(int(r))
			}
		}
	}
	if tl.onDevice == nil {
		tl.onDevice = map[int]marks{}
	}
	tl.onDevice[device] = used
	return used
}

// topKernels names the kernels of each region by time.
func (tr *timelineReader) topKernels() {
	place := map[uint32]int{}
	regions := undivided(tr.made.Regions)
	for i := range regions {
		place[regions[i].id] = i
	}
	for key, c := range tr.tl.inRegion {
		if i, ok := place[key.region]; ok && key.kernel != noKernel {
			regions[i].Top = append(regions[i].Top, RegionKernel{Kernel: int(key.kernel), Calls: c.calls, NS: c.ns})
			if own := tr.tl.ownIn[key]; own != nil {
				k := &regions[i].Top[len(regions[i].Top)-1]
				k.OwnCalls, k.OwnNS = own.calls, own.ns
			}
		}
	}
	for i := range regions {
		regions[i].Top = mostTime(regions[i].Top)
	}
}

// mostTime is the kernels of a region with most time, in that order, as many as are
// named.
func mostTime(list []RegionKernel) []RegionKernel {
	slices.SortFunc(list, func(x, y RegionKernel) int { return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Kernel, y.Kernel)) })
	if len(list) > maxTop {
		list = slices.Clone(list[:maxTop]) // the rest need not be kept
	}
	return list
}
