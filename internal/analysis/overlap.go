package analysis

import "github.com/deepprof/deepprof/internal/timeline"

// A moment is a stretch of the timeline.
type moment struct{ start, end int64 }

// joined are the instances of regions as stretches that do not overlap, within
// the timeline: those of one process, or of all where it is negative.
func (tl *timed) joined(regions []uint32, process int) []moment {
	var list []moment
	for _, id := range regions {
		for _, i := range tl.instances[id] {
			r := &tl.t.Ranges[i]
			if process >= 0 && int(tl.t.ThreadProcess(r.Thread)) != process {
				continue
			}
			if start, end := max(r.Start, tl.lo), min(r.End, tl.hi); start < end {
				list = append(list, moment{start, end})
			}
		}
	}
	return disjoint(list)
}

// momentsOf are when a stage took its time, in which moments that instances share
// count once: when they were open, or, where they close before their work has
// ended, their projected spans. It is of one process, or of all where that is
// negative.
func (a *analyzer) momentsOf(s *Stage, process int) []moment {
	regions := a.regionsOf(s)
	if s.Synchronous == nil || *s.Synchronous {
		return a.tl.joined(regions, process)
	}
	var list []moment
	for _, id := range regions {
		a.tl.eachOf(id, workKey{process, -1}, func(i uint32, _ int) {
			if m := a.tl.clip(a.tl.own.spans[i].start, a.tl.own.spans[i].end); m.start < m.end {
				list = append(list, m)
			}
		})
	}
	return disjoint(list)
}

// union is how much of the timeline lies in one of the regions.
func (tl *timed) union(regions []uint32, process int) int64 {
	var sum int64
	for _, m := range tl.joined(regions, process) {
		sum += timeline.Since(m.start, m.end)
	}
	return sum
}

// overlap tells of a stage whose instances run at the same time.
func (a *analyzer) overlap(s *Stage) bool {
	regions := a.regionsOf(s)
	async := s.Synchronous != nil && !*s.Synchronous // its split is a union already
	return len(regions) > 0 && !async && a.tl.union(regions, -1) < s.Split.WallNS
}

func (a *analyzer) regionsOf(s *Stage) []uint32 {
	for i := range a.res.Stages {
		if &a.res.Stages[i] == s || a.res.Stages[i].Name == s.Name {
			return a.res.Stages[i].ids
		}
	}
	return nil
}

// idleOnce is the idle time of a stage by cause, in which moments that several
// instances share count once for each process, and no cause for longer than the
// stage lasts: a change cannot save them twice.
func (a *analyzer) idleOnce(s *Stage) map[string]int64 {
	out := map[string]int64{}
	regions := a.regionsOf(s)
	if len(regions) == 0 || !a.overlap(s) {
		for _, p := range s.Split.Idle {
			out[p.ID] = p.NS
		}
		return out
	}
	for process := range a.tl.t.Processes {
		ns := make([]int64, a.tl.p.categories+int(causes))
		for _, m := range a.tl.joined(regions, process) {
			a.tl.painting(workKey{process, -1}).split(m.start, m.end, ns)
		}
		for c, id := range causeIDs {
			out[id] += ns[a.tl.p.categories+c]
		}
	}
	most := max(0, a.tl.union(regions, -1)-a.busiestStream(s).busiest) // what runs then has to run
	for id := range out {
		out[id] = min(out[id], most)
	}
	return out
}
