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
	for w := range tl.workOfPlaces(s.places, true) {
		hold(tl.clip(w.Span()))
	}
}

// scopeTime tells how long the scope takes and what it does in that time: its own
// work alone, and that of others beside it.
func (tr *timelineReader) scopeTime(s *Scope) {
	tl := tr.tl
	tl.scope.moments = tr.scopeMoments()
	for _, m := range tr.tl.scope.moments {
		s.WallNS += timeline.Since(m.start, m.end)
	}
	s.StartNS, s.EndNS = timeline.Since(tl.lo, tr.tl.scope.window.start), timeline.Since(tl.lo, tr.tl.scope.window.end)
	parts := make([]int64, tl.p.categories+int(causes))
	var beside sync.WaitGroup
	beside.Go(func() { s.BusyNS = tl.busyWithin(tl.scope.moments) })
	key, n := tl.keyOfScope()
	all, others := tl.painting(key), (iter.Seq[*timeline.WorkReader])(nil)
	if 2*n >= int64(tl.tape.WorkLen()) {
		others = tl.workOfPlaces(tl.scope.places, false)
	}
	tl.addOwn(tl.workOfPlaces(tl.scope.places, true), others, func(into []int64) { all.splitAll(tl.scope.moments, into) }, tl.scope.moments, parts)
	beside.Wait()
	s.Split = new(tl.split(parts))
}

// workOfPlaces goes through the work that was launched in some places, or elsewhere.
func (tl *timed) workOfPlaces(places []bool, there bool) iter.Seq[*timeline.WorkReader] {
	kinds := make([]bool, len(tl.tape.Kinds))
	for i := range kinds {
		kinds[i] = places[tl.tape.Kinds[i].Place] == there
	}
	return func(yield func(*timeline.WorkReader) bool) {
		for w := tl.tape.Work(); w.Next(); {
			if kinds[w.Kind()] && !yield(w) {
				return
			}
		}
	}
}

// keyOfScope chooses the one process and the one device that the work of the scope is of, so
// that what others do is not held against it, and counts that work.
func (tl *timed) keyOfScope() (key workKey, n int64) {
	key = workKey{-1, -1}
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		if !tl.counts(k) {
			continue
		}
		q := &tl.t.Queues[k.Queue]
		switch {
		case n == 0:
			key = workKey{int(q.Process), int(q.Device)}
		case key.process != int(q.Process):
			key.process = -1
		}
		if key.device != int(q.Device) {
			key.device = -1
		}
		n += k.Launches
	}
	if len(tl.devices()) < 2 {
		key.device = -1 // it is all there is
	}
	return key, n
}

// scopeMoments are the time of the scope, without what is excluded within it: that
// of the instances of regions that are synchronous, and the projected spans of the
// others. The work of the scope is part of it in any case.
func (tr *timelineReader) scopeMoments() []moment {
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
	spans := tr.spansOfEarly(early, among, excluded)
	open, closed := map[uint32][]moment{}, map[uint32][]moment{} // by thread
	add := func(to map[uint32][]moment, ids map[uint32]bool) {
		for id, yes := range ids {
			if !yes {
				continue
			}
			tl.eachOf(id, workKey{-1, -1}, func(r *instance) {
				m := r.moment
				if early[id] {
					m = spans[r.number]
				}
				if m = tl.clip(m.start, m.end); m.start < m.end {
					to[r.thread] = append(to[r.thread], m)
				}
			})
		}
	}
	add(open, among)
	add(closed, excluded)
	var all []moment
	for thread, list := range open {
		all = append(all, without(disjoint(list), disjoint(closed[thread]))...)
	}
	all = disjoint(all)
	return disjoint(append(all, tl.beyond(all)...))
}

// spansOfEarly are the projected spans of the ranges that close early, of regions that are among
// those of the scope, or excluded: from their first to their last work, of the former by work of
// the scope alone.
func (tr *timelineReader) spansOfEarly(early, among, excluded map[uint32]bool) (spans []moment) {
	tl := tr.tl
	kept, out := make([]bool, len(tl.regions)+1), make([]bool, len(tl.regions)+1)
	any := false
	for id := range kept {
		kept[id], out[id] = early[uint32(id)] && (among[uint32(id)] || excluded[uint32(id)]), excluded[uint32(id)]
		any = any || kept[id]
	}
	if !any {
		return nil
	}
	spans = make([]moment, tl.tape.RangeLen())
	ranges, counted := tl.tape.Ranges(), tl.counted()
	around := tl.tape.AroundWork(func(r uint32) bool { return kept[ranges.Region(r)] })
	for w := tl.tape.Work(); w.Next(); {
		for _, r := range around(w) {
			if counted[w.Kind()] || out[ranges.Region(r)] {
				spans[r].hold(w.Span())
			}
		}
	}
	return spans
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

// beyond is when work of the scope ran outside stretches of time, which are in order:
// there is much work, and little of it does.
func (tl *timed) beyond(open []moment) (out []moment) {
	at := 0
	for w := range tl.workOfPlaces(tl.scope.places, true) {
		m := tl.clip(w.Span())
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

// busyWithin is how long devices did work of the scope within stretches of time, which
// are in order, added up over the devices.
func (tl *timed) busyWithin(moments []moment) (ns int64) {
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
	for w := range tl.workOfPlaces(tl.scope.places, true) {
		m, d := tl.clip(w.Span()), byQueue[w.Of().Queue]
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
