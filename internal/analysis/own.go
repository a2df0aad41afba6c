package analysis

import (
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/timeline"
)

// ownWork is the GPU work that regions launched, for those regions that it
// matters for: regions that close before their work has ended, and regions during
// which work of others ran.
type ownWork struct {
	work map[uint32]*timeline.List // of each such region: its numbers on the tape
	// spans are empty for ranges without work, and of regions that it does not matter
	// for.
	spans []moment // of each range: from the first to the last of its work
	// idle is, of each range with work, since when no kernel had run when its first work began:
	// when that began where one still ran.
	idle []int64
}

// collectOwn goes through all work once.
func (tl *timed) collectOwn(wanted map[uint32]bool) {
	tl.own = ownWork{work: map[uint32]*timeline.List{}, spans: make([]moment, tl.tape.RangeLen()), idle: make([]int64, tl.tape.RangeLen())}
	ranges := tl.tape.Ranges()
	keep := make([]bool, len(tl.regions)+1)
	for id, yes := range wanted {
		keep[id] = yes
	}
	around := tl.tape.AroundWork(func(r uint32) bool { return keep[ranges.Region(r)] })
	last := make([]int, len(tl.regions)+1) // piece of each region that was added last, from 1
	ran := lastRun{at: math.MinInt64, until: tl.lo, ends: tl.lo}
	for w := tl.tape.Work(); w.Next(); {
		start, end := w.Span()
		ran.add(start, end, tl.p.label[w.Kind()])
		list := around(w)
		if len(list) == 0 {
			continue
		}
		i := w.At()
		for _, r := range list {
			id := ranges.Region(r)
			if last[id] != i+1 {
				if last[id] == 0 {
					tl.own.work[id] = &timeline.List{}
				}
				tl.own.work[id].Add(uint32(i))
				last[id] = i + 1
			}
			if tl.own.spans[r] == (moment{}) {
				tl.own.idle[r] = min(start, ran.until)
			}
			tl.own.spans[r].hold(start, end)
		}
	}
}

// A lastRun knows until when kernels ran that began before a moment.
type lastRun struct {
	at    int64 // start of the work that came last
	until int64 // latest end of the kernels that began before
	ends  int64 // of all that came
}

// add takes the next work, by start.
func (l *lastRun) add(start, end int64, label uint8) {
	if start > l.at {
		l.at, l.until = start, l.ends
	}
	if label != copyLabel && end > start {
		l.ends = max(l.ends, end)
	}
}

// hold widens a stretch to another; an empty one becomes that.
func (m *moment) hold(start, end int64) {
	if *m == (moment{}) {
		*m = moment{start, end}
	}
	m.start, m.end = min(m.start, start), max(m.end, end)
}

// spansOn are the spans of the ranges of regions by the work of one device, of all where it is
// negative.
func (tl *timed) spansOn(device int, ids []uint32) func(r uint32) moment {
	if device < 0 {
		return func(r uint32) moment { return tl.own.spans[r] }
	}
	spans, ranges := map[uint32]moment{}, tl.tape.Ranges()
	around := tl.tape.AroundWork(func(r uint32) bool { return slices.Contains(ids, ranges.Region(r)) })
	for _, id := range ids {
		for w := range tl.workAt(tl.own.work[id].Numbers(), workKey{-1, device}) {
			start, end := w.Span()
			for _, r := range around(w) {
				m := spans[r]
				m.hold(start, end)
				spans[r] = m
			}
		}
	}
	return func(r uint32) moment { return spans[r] }
}

// ofOthers tells a region that needs its own work told from that of others.
func ofOthers(row *timeline.RegionRow) bool { return row.Async > 0 || row.BusyNS != row.WallBusyNS }

// synchronous tells whether all instances of regions with this many of them
// closing early stayed open until their work had ended; nil where there is none.
func synchronous(ops, async int64) *bool {
	if ops == 0 {
		return nil
	}
	return new(async == 0)
}

// ownSplit divides the time of regions by their own work; while that of others
// runs alone, the time is theirs. The time of a region that is synchronous is
// that of its instances, and of another one the union of its projected spans:
// from the first to the last work of an instance.
func (tl *timed) ownSplit(ids []uint32, only workKey, async bool) []int64 {
	ns := make([]int64, tl.p.categories+int(causes))
	windows := map[int][]moment{}
	var span func(r uint32) moment
	if async {
		span = tl.spansOn(only.device, ids)
	}
	for _, id := range ids {
		tl.eachOf(id, only, func(r *instance) {
			m := r.moment
			if async {
				m = span(r.number)
			}
			if m.start < m.end {
				windows[r.process] = append(windows[r.process], m)
			}
		})
	}
	for process, list := range windows {
		if async {
			list = disjoint(list)
		}
		key := workKey{process, tl.oneDevice(ids, workKey{process, only.device})}
		all := func(into []int64) { tl.painting(key).splitAll(list, into) }
		if !async && only == (workKey{-1, -1}) && key.device < 0 && !tl.strangers && tl.tallies(process) {
			all = func(into []int64) { tl.addInstances(ids, only, into) } // the same stretches
		}
		own, n := tl.ownOf(ids)
		var others iter.Seq[*timeline.WorkReader]
		if n > 0 && 2*n >= tl.tape.WorkLen() {
			others = tl.workAt(own.those(tl.tape.WorkLen(), false), key)
		}
		tl.addOwn(tl.workAt(own.those(tl.tape.WorkLen(), true), key), others, all, list, ns)
	}
	return ns
}

// addOwn adds the split of stretches of time by some work, which comes by start. By all
// work they split as splitAll says, which adds to what it is given.
//
// Stretches begin and end with ranges or with the work itself, where time is dealt out anew,
// so that both splits are the same where no other work runs within them. Others is the rest
// of all work, by start; nil where there is more of it than of the work itself, so that to
// look there takes longer than to split.
func (tl *timed) addOwn(work, others iter.Seq[*timeline.WorkReader], splitAll func([]int64), windows []moment, ns []int64) {
	all := make([]int64, len(ns))
	own := all
	var beside sync.WaitGroup
	if others == nil || runsWithin(others, windows) {
		beside.Go(func() { own = tl.p.splitWork(work, tl.lo, tl.hi, windows) })
	}
	splitAll(all)
	beside.Wait()
	for l := range ns {
		if l >= tl.p.categories {
			ns[l] += all[l]
			continue
		}
		ns[l] += own[l]
		ns[tl.p.of(causeOthers)] += all[l] - own[l]
	}
}

// runsWithin tells whether any work, which comes by start, runs within stretches of time;
// true also where these share moments.
func runsWithin(work iter.Seq[*timeline.WorkReader], windows []moment) bool {
	if !areApart(windows) {
		return true
	}
	next := 0
	for w := range work {
		start, end := w.Span()
		for next < len(windows) && windows[next].end <= start {
			next++
		}
		if next == len(windows) {
			break
		}
		if end > start && windows[next].start < end {
			return true
		}
	}
	return false
}

// ownOf marks the work of regions, and counts it.
func (tl *timed) ownOf(ids []uint32) (own marks, n int) {
	own = newMarks(tl.tape.WorkLen())
	for _, id := range ids {
		for i := range tl.own.work[id].Numbers() {
			own.set(int(i))
		}
	}
	return own, own.count()
}

// workAt goes through the work with some numbers that key chooses.
func (tl *timed) workAt(numbers iter.Seq[uint32], key workKey) iter.Seq[*timeline.WorkReader] {
	kinds := tl.chosenBy(key)
	return func(yield func(*timeline.WorkReader) bool) {
		w := tl.tape.Work()
		for i := range numbers {
			if w.Go(int(i)); kinds[w.Kind()] && !yield(w) {
				return
			}
		}
	}
}

// oneDevice is the only device that regions use, so that what others do is not
// held against them; -1 where they use several.
func (tl *timed) oneDevice(ids []uint32, key workKey) int {
	if key.device >= 0 || len(tl.devices()) < 2 {
		return key.device
	}
	device := -1
	for _, id := range ids {
		for w := range tl.workAt(tl.own.work[id].Numbers(), key) {
			switch of := int(tl.t.Queues[w.Of().Queue].Device); {
			case device == of:
			case device < 0:
				device = of
			default:
				return -1
			}
		}
	}
	return device
}

// chooses tells whether work of a queue is meant.
func (key workKey) chooses(q *timeline.Queue) bool {
	return (key.process < 0 || int(q.Process) == key.process) && (key.device < 0 || int(q.Device) == key.device)
}

// An instance is a range of a region.
type instance struct {
	moment
	number  uint32 // its place on the tape
	thread  uint32
	process int // -1 where it is not known
}

// eachOf visits the instances of a region that are meant. What is visited holds until the next.
func (tl *timed) eachOf(id uint32, only workKey, visit func(*instance)) {
	var used marks
	if only.device >= 0 {
		used = tl.rangesOf(only.device)
	}
	in := tl.instances.Random()
	for row := tl.firstInstance[id]; row < tl.firstInstance[id+1]; row++ {
		r := instance{number: uint32(in.Value(instanceNumber, row)), thread: uint32(in.Value(instanceThread, row))}
		r.process = tl.processOfThread(r.thread)
		if (used == nil || used.has(int(r.number))) && (only.process < 0 || r.process == only.process) {
			r.start = in.Value(instanceStart, row)
			r.end = r.start + in.Value(instanceLength, row)
			visit(&r)
		}
	}
}

// processOfThread is the process of a thread; -1 where it is not known.
func (tl *timed) processOfThread(thread uint32) int {
	if process := int(tl.t.ThreadProcess(thread)); process < len(tl.t.Processes) {
		return process
	}
	return -1
}

// passes are the instances of regions: when each was open on the host, or, async, from
// its first to its last work. Those of no length are left out.
func (tl *timed) passes(ids []uint32, async bool) (list []moment) {
	for _, id := range ids {
		tl.eachOf(id, workKey{-1, -1}, func(r *instance) {
			m := r.moment
			if async {
				m = tl.own.spans[r.number]
			}
			if m.start < m.end {
				list = append(list, m)
			}
		})
	}
	return list
}

// lengths of stretches of time, in their order.
func lengths(list []moment) (ns []int64) {
	for _, m := range list {
		ns = append(ns, timeline.Since(m.start, m.end))
	}
	return ns
}

// spreadOf is nil without values.
func spreadOf(ns []int64) *Spread {
	if len(ns) == 0 {
		return nil
	}
	slices.Sort(ns)
	n := float64(len(ns))
	var mean, squares float64
	for _, x := range ns {
		mean += float64(x) / 1e6 / n
	}
	for _, x := range ns {
		squares += (float64(x)/1e6 - mean) * (float64(x)/1e6 - mean)
	}
	s := &Spread{N: len(ns), MinMS: float64(ns[0]) / 1e6, MaxMS: float64(ns[len(ns)-1]) / 1e6, MedianMS: float64(ns[len(ns)/2]) / 1e6}
	if len(ns)%2 == 0 {
		s.MedianMS = (s.MedianMS + float64(ns[len(ns)/2-1])/1e6) / 2
	}
	if len(ns) > 1 {
		s.StdMS = math.Sqrt(squares / (n - 1))
	}
	return s
}
