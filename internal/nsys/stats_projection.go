package nsys

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// projection joins work to ranges the way the vendor's reports do: a range
// holds a call of its own thread that lies within it, whatever its style and
// domain, unless another thread closed the range.
type projection struct {
	t       *timeline.Timeline
	calls   *timeline.Correlations
	dialect statsDialect
	names   []statsText // by range
	ends    []int64     // by range
	within  [][]uint32  // by call: the ranges that hold it; calls in a row share a list
}

// project ends unclosed ranges as the dialect does, which differs from Timeline.Ranges.
func project(t *timeline.Timeline, d statsDialect) *projection {
	p := &projection{
		t: t, calls: t.Correlate(), dialect: d,
		names: make([]statsText, len(t.Ranges)), ends: make([]int64, len(t.Ranges)), within: make([][]uint32, t.Calls.Len()),
	}
	last := t.LastRange.NS
	if d.LastOfAll {
		last = t.LastNVTX.NS
	}
	domains := newDomainTexts(t)
	for i := range t.Ranges {
		r := &t.Ranges[i]
		p.names[i] = rangeNames(t, r, domains, d)[0]
		p.ends[i] = r.End
		if r.Unclosed {
			p.ends[i] = last
		}
	}
	return p
}

// joined reports whether a range takes part in the join.
func (p *projection) joined(i uint32) bool { return p.t.Ranges[i].EndThread == timeline.None }

// byThread gives the joined ranges of each thread: by start, longest first.
func (p *projection) byThread() [][]uint32 {
	threads := make([][]uint32, len(p.t.Threads))
	for i := range p.t.Ranges {
		if th := p.t.Ranges[i].Thread; p.joined(uint32(i)) && int(th) < len(threads) {
			threads[th] = append(threads[th], uint32(i))
		}
	}
	for _, list := range threads {
		slices.SortFunc(list, func(x, y uint32) int {
			return cmp.Or(cmp.Compare(p.t.Ranges[x].Start, p.t.Ranges[y].Start), cmp.Compare(p.ends[y], p.ends[x]), cmp.Compare(x, y))
		})
	}
	return threads
}

// contain fills within for the calls that are marked.
// marked is by call. It is called once, before within is read.
func (p *projection) contain(marked []bool) {
	calls := make([][]uint32, len(p.t.Threads))
	for i, m := range marked {
		if th := p.t.Calls.Thread(uint32(i)); m && int(th) < len(calls) {
			calls[th] = append(calls[th], uint32(i))
		}
	}
	for th, ranges := range p.byThread() {
		list := calls[th]
		slices.SortFunc(list, func(x, y uint32) int {
			return cmp.Or(cmp.Compare(p.t.Calls.Start(x), p.t.Calls.Start(y)), cmp.Compare(x, y))
		})
		var open, current []uint32
		var last []uint32
		next := 0
		for _, c := range list {
			call := p.t.Calls.At(c)
			for next < len(ranges) && p.t.Ranges[ranges[next]].Start <= call.Start {
				open = append(open, ranges[next])
				next++
			}
			open = slices.DeleteFunc(open, func(r uint32) bool { return p.ends[r] < call.Start })
			current = current[:0]
			for _, r := range open {
				if p.ends[r] >= call.End {
					current = append(current, r)
				}
			}
			if !slices.Equal(current, last) {
				last = slices.Clone(current)
			}
			p.within[c] = last
		}
	}
}

// eachCall visits every call joined to a piece of work: all that share its
// process and correlation.
func (p *projection) eachCall(process, correlation uint32, f func(call uint32)) {
	for c := p.calls.Call(process, correlation); c != timeline.None; c = p.calls.Next(c) {
		f(c)
	}
}

// kernelRangeReport is nvtx_kern_sum.
// A kernel counts once for every range that holds one of its calls, so totals can
// exceed the GPU time.
func kernelRangeReport(t *timeline.Timeline, d statsDialect) vendorTable {
	p := project(t, d)
	marked := make([]bool, t.Calls.Len())
	for i := range t.Kernels {
		k := &t.Kernels[i]
		p.eachCall(t.Queues[k.Queue].Process, k.Correlation, func(c uint32) { marked[c] = true })
	}
	p.contain(marked)
	groups := map[kernelRangeKey]*kernelRange{}
	add := func(key kernelRangeKey, kernel int, rng uint32) {
		g := groups[key]
		if g == nil {
			g = &kernelRange{key: key, ranges: map[uint32]bool{}, last: -1}
			groups[key] = g
		}
		if g.last != kernel {
			g.last = kernel
			g.kernels++
		}
		if rng != timeline.None {
			g.ranges[rng] = true
		}
		g.sample.Add(t.Kernels[kernel].Duration())
	}
	for i := range t.Kernels {
		k := &t.Kernels[i]
		key := kernelRangeKey{kernel: t.Functions[k.Function].Demangled, thread: timeline.None}
		joined := false
		p.eachCall(t.Queues[k.Queue].Process, k.Correlation, func(c uint32) {
			joined = true
			key := key
			key.thread = t.Calls.Thread(c)
			list := p.within[c]
			if len(list) == 0 {
				add(key, i, timeline.None)
			}
			for _, r := range list {
				key.name, key.style = p.names[r], statsText{t.Ranges[r].Kind.String(), true}
				add(key, i, r)
			}
		})
		if !joined {
			add(key, i, timeline.None)
		}
	}
	return kernelRangeRows(t, groups, d)
}

// thread is an index into Threads, None for a kernel without a known call.
type kernelRangeKey struct {
	thread      uint32
	name, style statsText
	kernel      timeline.StringID
}

// A kernelRange is one row; last is the kernel added last, of which several calls may
// lie in the row.
type kernelRange struct {
	key     kernelRangeKey
	ranges  map[uint32]bool
	kernels int64
	last    int
	sample  timeline.Sample
}

// kernelRangeRows orders as the vendor does: name, process, thread, then total time.
func kernelRangeRows(t *timeline.Timeline, groups map[kernelRangeKey]*kernelRange, d statsDialect) vendorTable {
	order := make([]*kernelRange, 0, len(groups))
	for _, g := range groups {
		order = append(order, g)
	}
	ids := func(g *kernelRange) (pid, tid int) {
		if g.key.thread == timeline.None {
			return -1, -1
		}
		global := t.ThreadGlobal(g.key.thread)
		return timeline.PIDOf(global), timeline.TIDOf(global)
	}
	slices.SortFunc(order, func(x, y *kernelRange) int {
		xp, xt := ids(x)
		yp, yt := ids(y)
		return cmp.Or(
			x.key.name.compare(y.key.name), cmp.Compare(xp, yp), cmp.Compare(xt, yt),
			cmp.Compare(y.sample.Sum(), x.sample.Sum()),
			x.key.style.compare(y.key.style), cmp.Compare(t.Name(x.key.kernel), t.Name(y.key.kernel)))
	})
	r := vendorTable{Columns: []string{
		"NVTX Range", "Style", "PID", "TID", "NVTX Inst", "Kern Inst", "Total Time (ns)",
		"Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Kernel Name",
	}}
	for _, g := range order {
		s := &g.sample
		pid, tid := "", ""
		if p, i := ids(g); p >= 0 {
			pid, tid = whole(int64(p)), whole(int64(i))
		}
		r.Rows = append(r.Rows, []string{
			g.key.name.s, g.key.style.s, pid, tid, whole(int64(len(g.ranges))), whole(g.kernels), whole(s.Sum()),
			d.decimal(s.Mean()), d.decimal(s.Median()), whole(s.Min()), whole(s.Max()), d.decimal(s.Stddev()),
			t.Name(g.key.kernel),
		})
	}
	return r
}
