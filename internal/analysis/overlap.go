package analysis

import "github.com/deepprof/deepprof/internal/timeline"

// A moment is a stretch of the timeline, in nanoseconds by the clock of the capture. The zero
// one is none.
type moment struct{ start, end int64 }

// joined are the instances of regions as stretches that do not overlap, within
// the timeline: those of one process, or of all where it is negative.
func (tl *timed) joined(regions []uint32, process int) []moment {
	var list []moment
	for _, id := range regions {
		tl.eachOf(id, workKey{process, -1}, func(r *instance) {
			if m := tl.clip(r.start, r.end); m.start < m.end {
				list = append(list, m)
			}
		})
	}
	return disjoint(list)
}

// momentsOf are when a stage took its time, in which moments that instances share
// count once: when they were open, or, where they close before their work has
// ended, their projected spans. It is of one process, or of all where that is
// negative.
func (st *stageClock) momentsOf(s *Stage, process int) []moment {
	regions := st.regionsOf(s)
	if !s.async() {
		return st.tl.joined(regions, process)
	}
	var list []moment
	for _, id := range regions {
		st.tl.eachOf(id, workKey{process, -1}, func(r *instance) {
			if m := st.tl.clip(st.tl.own.spans[r.number].start, st.tl.own.spans[r.number].end); m.start < m.end {
				list = append(list, m)
			}
		})
	}
	return disjoint(list)
}

// union is how much of the timeline lies in one of the regions, in nanoseconds.
func (tl *timed) union(regions []uint32, process int) int64 {
	var sum int64
	for _, m := range tl.joined(regions, process) {
		sum += timeline.Since(m.start, m.end)
	}
	return sum
}

// overlap tells of a stage whose instances run at the same time; never of an async
// one, whose split is a union already.
func (st *stageClock) overlap(s *Stage) bool {
	regions := st.regionsOf(s)
	return len(regions) > 0 && !s.async() && st.tl.union(regions, -1) < s.Split.WallNS
}

// regionsOf finds the stage by its name where s is a copy; nil for the whole program.
func (st *stageClock) regionsOf(s *Stage) []uint32 {
	for i := range st.stages {
		if &st.stages[i] == s || st.stages[i].Name == s.Name {
			return st.stages[i].ids
		}
	}
	return nil
}

// idleOnce is the idle time of a stage by cause, in which moments that several
// instances share count once for each process, and no cause for longer than the
// stage lasts: a change cannot save them twice.
func (st *stageClock) idleOnce(s *Stage) map[string]int64 {
	out := map[string]int64{}
	regions := st.regionsOf(s)
	if len(regions) == 0 || !st.overlap(s) {
		for _, p := range s.Split.Idle {
			out[p.ID] = p.NS
		}
		return out
	}
	for process := range st.tl.t.Processes {
		ns := make([]int64, st.tl.p.categories+int(causes))
		for _, m := range st.tl.joined(regions, process) {
			st.tl.painting(workKey{process, -1}).split(m.start, m.end, ns)
		}
		for c, id := range causeIDs {
			out[id] += ns[st.tl.p.categories+c]
		}
	}
	most := max(0, st.tl.union(regions, -1)-st.busiestStream(s).busiest) // what runs then has to run
	for id := range out {
		out[id] = min(out[id], most)
	}
	return out
}
