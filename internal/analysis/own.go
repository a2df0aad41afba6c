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
	work map[uint32]*timeline.List // of each such region: numbers of timed.work, by start
	// spans are empty for ranges without work, and of regions that it does not matter
	// for.
	spans []moment // of each range: from the first to the last of its work
}

// collectOwn goes through all work once.
func (tl *timed) collectOwn(wanted map[uint32]bool) {
	tl.own = ownWork{work: map[uint32]*timeline.List{}, spans: make([]moment, len(tl.t.Ranges))}
	around := tl.at.RangesInTurn(func(r uint32) bool { return wanted[tl.at.RangeNode(int(r))] })
	last := make([]int, len(tl.regions)+1) // piece of each region that was added last, from 1
	work := tl.work.reader()
	for i := range work.len() {
		w := work.get(i)
		for _, r := range around(w.call) {
			id := tl.at.RangeNode(int(r))
			if last[id] != i+1 {
				if last[id] == 0 {
					tl.own.work[id] = &timeline.List{}
				}
				tl.own.work[id].Add(uint32(i))
				last[id] = i + 1
			}
			tl.own.spans[r].hold(&w)
		}
	}
}

// hold widens a stretch to a piece of work; an empty one becomes that.
func (m *moment) hold(w *stint) {
	if *m == (moment{}) {
		*m = moment{w.start, w.end}
	}
	m.start, m.end = min(m.start, w.start), max(m.end, w.end)
}

// spansOn are the spans of ranges by the work of one device, of all where it is
// negative.
func (tl *timed) spansOn(device int, ids []uint32) func(r uint32) moment {
	if device < 0 {
		return func(r uint32) moment { return tl.own.spans[r] }
	}
	spans, work := map[uint32]moment{}, tl.work.reader()
	for _, id := range ids {
		for _, i := range tl.own.work[id].All() {
			if int(work.queue(int(i)).Device) == device {
				w := work.get(int(i))
				tl.at.RangesAround(w.call, func(r uint32) {
					m := spans[r]
					m.hold(&w)
					spans[r] = m
				})
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
		tl.eachOf(id, only, func(i uint32, process int) {
			m := moment{tl.t.Ranges[i].Start, tl.t.Ranges[i].End}
			if async {
				m = span(i)
			}
			if m.start < m.end {
				windows[process] = append(windows[process], m)
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
		own, others := tl.ownOf(ids), (iter.Seq[stint])(nil)
		if own != nil && 2*own.Len() >= tl.work.len() {
			others = tl.workAt(own.Missing(uint32(tl.work.len())), key)
		}
		tl.addOwn(tl.workAt(own.Numbers(), key), others, all, list, ns)
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
func (tl *timed) addOwn(work, others iter.Seq[stint], splitAll func([]int64), windows []moment, ns []int64) {
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
func runsWithin(work iter.Seq[stint], windows []moment) bool {
	if !areApart(windows) {
		return true
	}
	next := 0
	for w := range work {
		for next < len(windows) && windows[next].end <= w.start {
			next++
		}
		if next == len(windows) {
			break
		}
		if w.end > w.start && windows[next].start < w.end {
			return true
		}
	}
	return false
}

// ownOf lists the work of regions by start, each piece once; nil is empty.
func (tl *timed) ownOf(ids []uint32) *timeline.List {
	if len(ids) == 1 {
		return tl.own.work[ids[0]]
	}
	var all []uint32
	for _, id := range ids {
		for _, i := range tl.own.work[id].All() {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	packed := timeline.ListOf(slices.Compact(all))
	return &packed
}

// workAt goes through the work at places of timed.work that key chooses.
func (tl *timed) workAt(places iter.Seq[uint32], key workKey) iter.Seq[stint] {
	return func(yield func(stint) bool) {
		work := tl.work.reader()
		for i := range places {
			if w := work.get(int(i)); key.chooses(&tl.t.Queues[w.queue]) && !yield(w) {
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
	device, work := -1, tl.work.reader()
	for _, id := range ids {
		for _, i := range tl.own.work[id].All() {
			q := work.queue(int(i))
			switch {
			case !key.chooses(q) || device == int(q.Device):
			case device < 0:
				device = int(q.Device)
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

// eachOf visits the instances of a region that are meant, with their process.
func (tl *timed) eachOf(id uint32, only workKey, visit func(i uint32, process int)) {
	var used []bool
	if only.device >= 0 {
		used = tl.rangesOf(only.device)
	}
	for _, i := range tl.instances[id] {
		process := tl.processOf(i)
		if (used == nil || used[i]) && (only.process < 0 || process == only.process) {
			visit(i, process)
		}
	}
}

// processOf is the process of a range; -1 where it is not known.
func (tl *timed) processOf(r uint32) int {
	if process := int(tl.t.ThreadProcess(tl.t.Ranges[r].Thread)); process < len(tl.t.Processes) {
		return process
	}
	return -1
}

// passes are the instances of regions: when each was open on the host, or, async, from
// its first to its last work. Those of no length are left out.
func (tl *timed) passes(ids []uint32, async bool) (list []moment) {
	for _, id := range ids {
		tl.eachOf(id, workKey{-1, -1}, func(i uint32, _ int) {
			m := moment{tl.t.Ranges[i].Start, tl.t.Ranges[i].End}
			if async {
				m = tl.own.spans[i]
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
