package timeline

// LaunchedFrom is where and when a kernel was launched.
type LaunchedFrom struct {
	Place  uint32 // index into Attribution.Places
	Region uint32 // as KernelNode gives it
	Thread uint32 // index into Threads; None where the call is not known
	Start  int64  // of the call; of the kernel itself where that is not known
}

// EachLaunch visits the kernels in the order of the file.
// The kernel is that of the timeline. One without a known call is in place and region 0.
func (a *Attribution) EachLaunch(visit func(*Kernel, LaunchedFrom)) {
	a.findPlaces()
	calls := &a.t.Calls
	for i := range a.t.Kernels {
		k := &a.t.Kernels[i]
		from := LaunchedFrom{Thread: None, Start: k.Start}
		if call := a.opCalls[i]; call != None {
			from = LaunchedFrom{a.places.kernel.at(uint32(i)), a.callNode(call), calls.Thread(call), calls.Start(call)}
		}
		visit(k, from)
	}
}

// FlowLaunches is Attribute, and EachLaunch of it, with kernels, calls and ranges that come
// in a flow; false where they must be in memory. What is asked of single kernels, calls or
// ranges of the attribution by their number cannot be answered. A kernel is valid until
// visit returns, and so is a range until opened does, which is told of each as it opens.
func (t *Timeline) FlowLaunches(f Flow, visit func(*Kernel, LaunchedFrom), opened func(*Range)) (*Attribution, bool) {
	a, ok := t.attributeRanges(f.Ranges())
	if !ok {
		return nil, false
	}
	j := newFlowJoin(a, f)
	j.times = true
	j.live.opened = func(r uint32) { opened(&t.Ranges[r]) }
	p := newPlaces()
	p.graph = make([]uint32, len(t.Graphs))
	a.places, a.mainTimes = p, &placeTimes{}
	ok = t.flowOps(f, func(op *Op) bool {
		l, ok := j.launchOf(op)
		if !ok {
			return false
		}
		set := &j.live.sets[l.set]
		if !set.around.known {
			set.around = placeRegion{true, a.placeOf(set.ranges, nil), a.nodeOf(set.ranges, nil)}
		}
		switch at := set.around; op.Kind {
		case OpKernel:
			a.mainTimes.add(at.place, op.Start, op.End)
			visit(op.kernel, LaunchedFrom{at.place, at.region, t.Calls.sites[l.Site].Thread, l.Start})
		case OpGraph:
			p.graph[op.Index] = at.place
		}
		return true
	})
	if !ok || !j.finish() {
		return nil, false
	}
	t.Ranges, t.KernelsByStart = nil, true
	return a, true
}

// placeTimes is the kernel time of places, from kernels that come by start.
type placeTimes struct {
	list   []placeTime // by place; those behind its end have no kernel
	total  int64       // of all kernels so far
	before int64       // of those that began before the last
	last   int64       // when that began
}

// placeTime is what the kernels of a place took, ns.
type placeTime struct {
	any    bool
	ns     int64
	first  int64 // start of the first kernel
	before int64 // of all kernels of the timeline that start before that
}

// add takes the next kernel by start, ns. One that ends before it starts counts as 0.
func (p *placeTimes) add(place uint32, start, end int64) {
	for int(place) >= len(p.list) {
		p.list = append(p.list, placeTime{})
	}
	if start != p.last {
		p.before, p.last = p.total, start
	}
	at, ns := &p.list[place], max(0, Since(start, end))
	if !at.any {
		at.any, at.first, at.before = true, start, p.before
	}
	at.ns += ns
	p.total += ns
}

// placeTimes are those of all kernels, which are gone through once.
func (a *Attribution) placeTimes() *placeTimes {
	if a.mainTimes != nil {
		return a.mainTimes
	}
	a.findPlaces()
	a.mainTimes = &placeTimes{}
	add := func(i int) {
		k := &a.t.Kernels[i]
		a.mainTimes.add(a.places.kernel.at(uint32(i)), k.Start, k.End)
	}
	if a.t.inOrder(OpKernel, len(a.t.Kernels)) {
		for i := range a.t.Kernels {
			add(i)
		}
		return a.mainTimes
	}
	order := upTo(len(a.t.Kernels))
	SortByStart(order, func(i uint32) int64 { return a.t.Kernels[i].Start })
	for _, i := range order {
		add(int(i))
	}
	return a.mainTimes
}
