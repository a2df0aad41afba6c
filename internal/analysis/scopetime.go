package analysis

import (
	"iter"
	"sync"

	"github.com/deepprof/deepprof/internal/timeline"
)

// setWindow finds from when to when the timeline is about the scope.
func (tl *timed) setWindow(s *scoped) {
	first := true
	hold := func(m moment) {
		switch {
		case m.start >= m.end:
		case first:
			s.window, first = m, false
		default:
			s.window = moment{min(s.window.start, m.start), max(s.window.end, m.end)}
		}
	}
	for _, id := range s.regions {
		tl.eachInstance(id, func(_ uint32, m moment) { hold(m) })
	}
	tl.at.EachPlace(func(from, to int, place uint32) {
		if s.places[place] {
			for i := range tl.t.Kernels[from:to] {
				hold(tl.clip(tl.t.Kernels[from+i].Start, tl.t.Kernels[from+i].End))
			}
		}
	})
	for i := len(tl.t.Kernels); i < tl.t.Ops(); i++ {
		if op := tl.t.Op(i); s.places[tl.at.OpPlace(op)] {
			hold(tl.clip(op.Start, op.End))
		}
	}
}

// scopeTime tells how long the scope takes and what it does in that time: its own
// work alone, and that of others beside it.
func (tr *timelineReader) scopeTime(s *Scope) {
	tl, own := tr.tl, tr.tl.ownOfScope()
	tr.tl.scope.moments = tr.scopeMoments(own)
	for _, m := range tr.tl.scope.moments {
		s.WallNS += timeline.Since(m.start, m.end)
	}
	s.StartNS, s.EndNS = timeline.Since(tl.lo, tr.tl.scope.window.start), timeline.Since(tl.lo, tr.tl.scope.window.end)
	parts := make([]int64, tl.p.categories+int(causes))
	var beside sync.WaitGroup
	beside.Go(func() { s.BusyNS = tl.busyWithin(tl.scope.moments, own) })
	key, n := tl.keyOf(own)
	all, others := tl.painting(key), (iter.Seq[stint])(nil)
	if 2*n >= tl.work.len() {
		others = tl.chosen(own, false)
	}
	tl.addOwn(tl.chosen(own, true), others, func(into []int64) { all.splitAll(tl.scope.moments, into) }, tl.scope.moments, parts)
	beside.Wait()
	s.Split = new(tl.split(parts))
}

// ownOfScope marks the work that the scope launched, in the order of timed.work.
func (tl *timed) ownOfScope() []bool {
	own, work := make([]bool, tl.work.len()), tl.work.reader()
	for i := range own {
		if k, ok := work.kernel(i); ok {
			own[i] = tl.scope.kernels[k]
			continue
		}
		own[i] = tl.scope.places[tl.at.OpPlace(work.op(i))]
	}
	return own
}

// chosen goes through the work whose mark is as asked for, by start.
func (tl *timed) chosen(marked []bool, as bool) iter.Seq[stint] {
	return func(yield func(stint) bool) {
		work := tl.work.reader()
		for i, yes := range marked {
			if yes == as && !yield(work.get(i)) {
				return
			}
		}
	}
}

// keyOf chooses the one process and the one device that marked work is of, so that
// what others do is not held against it, and counts it.
func (tl *timed) keyOf(marked []bool) (key workKey, n int) {
	key = workKey{-1, -1}
	work := tl.work.reader()
	for i, yes := range marked {
		if !yes {
			continue
		}
		q := work.queue(i)
		switch {
		case n == 0:
			key = workKey{int(q.Process), int(q.Device)}
		case key.process != int(q.Process):
			key.process = -1
		}
		if key.device != int(q.Device) {
			key.device = -1
		}
		n++
	}
	if len(tl.devices()) < 2 {
		key.device = -1 // it is all there is
	}
	return key, n
}

// scopeMoments are the time of the scope, without what is excluded within it: that
// of the instances of regions that are synchronous, and the projected spans of the
// others. Own marks the work of the scope, which is part of it in any case.
func (tr *timelineReader) scopeMoments(own []bool) []moment {
	tl, s := tr.tl, tr.tl.scope
	among := map[uint32]bool{}
	for _, id := range s.regions {
		among[id] = true
	}
	excluded := map[uint32]bool{}
	for i := range tl.regions {
		r := &tl.regions[i]
		excluded[r.ID] = tl.within(r.Parent, func(id uint32) bool { return among[id] }) && !s.selects(stateOf(r))
	}
	early := tr.closesEarly()
	spans := make([]moment, len(tl.t.Ranges)) // of those that close early
	around := tl.at.RangesInTurn(func(r uint32) bool {
		id := tl.at.RangeNode(int(r))
		return early[id] && (among[id] || excluded[id])
	})
	work := tl.work.reader()
	for i := range work.len() {
		list := around(work.call(i))
		if len(list) == 0 {
			continue
		}
		w := work.get(i)
		for _, r := range list {
			if own[i] || excluded[tl.at.RangeNode(int(r))] {
				spans[r].hold(&w)
			}
		}
	}
	open, closed := map[uint32][]moment{}, map[uint32][]moment{} // by thread
	add := func(to map[uint32][]moment, ids map[uint32]bool) {
		for id, yes := range ids {
			if !yes {
				continue
			}
			for _, i := range tl.instances[id] {
				r := &tl.t.Ranges[i]
				m := tl.clip(r.Start, r.End)
				if early[id] {
					m = tl.clip(spans[i].start, spans[i].end)
				}
				if m.start < m.end {
					to[r.Thread] = append(to[r.Thread], m)
				}
			}
		}
	}
	add(open, among)
	add(closed, excluded)
	var all []moment
	for thread, list := range open {
		all = append(all, without(disjoint(list), disjoint(closed[thread]))...)
	}
	all = disjoint(all)
	return disjoint(append(all, tl.beyond(own, all)...))
}

// closesEarly marks the regions whose time is their projected spans: those that
// close before their work has ended, and the others of their stage.
func (tr *timelineReader) closesEarly() map[uint32]bool {
	early := map[uint32]bool{}
	for _, r := range undivided(tr.made.Regions) {
		early[r.id] = r.AsyncInstances > 0
	}
	for i := range tr.made.Stages {
		if tr.made.Stages[i].async() {
			for _, id := range tr.made.Stages[i].ids {
				early[id] = true
			}
		}
	}
	return early
}

// beyond is when marked work ran outside stretches of time, which are in order:
// there is much work, and little of it does.
func (tl *timed) beyond(marked []bool, open []moment) (out []moment) {
	at := 0
	for w := range tl.chosen(marked, true) {
		m := tl.clip(w.start, w.end)
		for at < len(open) && open[at].end < m.start {
			at++
		}
		if m.start >= m.end || at < len(open) && open[at].start <= m.start && m.end <= open[at].end {
			continue
		}
		if n := len(out); n > 0 && m.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, m.end)
			continue
		}
		out = append(out, m)
	}
	return out
}

// busyWithin is how long devices did marked work within stretches of time, which
// are in order, added up over the devices.
func (tl *timed) busyWithin(moments []moment, marked []bool) (ns int64) {
	type device struct {
		reach int64 // until when its work is counted
		began bool
		at    int // the first stretch that is not over
	}
	devices := map[int32]*device{}
	byQueue := make([]*device, len(tl.t.Queues))
	for q := range byQueue {
		byQueue[q] = entry(devices, tl.t.Queues[q].Device)
	}
	work := tl.work.reader()
	for i, yes := range marked {
		if !yes {
			continue
		}
		w := work.get(i)
		m, d := tl.clip(w.start, w.end), byQueue[w.queue]
		if d.began {
			m.start = max(m.start, d.reach)
		}
		if m.start >= m.end {
			continue
		}
		d.reach, d.began = m.end, true
		for d.at < len(moments) && moments[d.at].end <= m.start {
			d.at++
		}
		for _, o := range moments[d.at:] {
			if o.start >= m.end {
				break
			}
			if start, end := max(m.start, o.start), min(m.end, o.end); start < end {
				ns += timeline.Since(start, end)
			}
		}
	}
	return ns
}
