package timeline

import "slices"

// WithEarlier gives a timeline the ranges of an earlier window of the same
// process in which the nodes of its CUDA graphs were captured: only those ranges
// say where that was. The clocks of both are joined by the nodes that both know;
// without such a node the timeline stays as it is.
// Only ranges that ended before time 0 of t, with the creation of a node in them, are added. They
// have negative times and come last. Their names get new numbers even where t has the same text.
// Neither t nor e is changed.
func (t *Timeline) WithEarlier(e *Timeline) *Timeline {
	shift, ok := t.clockShift(e)
	if !ok {
		return t
	}
	made := *t
	made.Names, made.Ranges = slices.Clone(t.Names), slices.Clone(t.Ranges)
	names, threads := map[StringID]StringID{}, t.threadsOf(e)
	captures := e.captureTimes()
	for _, r := range e.Ranges {
		thread, ok := threads[r.Thread]
		if !ok || r.End+shift > 0 || !anyWithin(captures[r.Thread], r.Start, r.End) {
			continue
		}
		name, ok := names[r.Name]
		if !ok {
			name = StringID(len(made.Names))
			made.Names = append(made.Names, e.Name(r.Name))
			names[r.Name] = name
		}
		made.Ranges = append(made.Ranges, Range{
			Start: r.Start + shift, End: r.End + shift, Name: name, Domain: t.domainLike(e, r.Domain), Thread: thread, EndThread: None, Payload: None, Kind: r.Kind, Unnamed: r.Unnamed,
		})
		made.recalledFrom = min(made.recalledFrom, r.Start+shift)
	}
	return &made
}

// clockShift is what is added to times of e to have times of t.
// ns. The first node of t that e knows too, and that t says was created before it began, decides.
func (t *Timeline) clockShift(e *Timeline) (int64, bool) {
	type node struct {
		pid int
		id  int64
	}
	seen := map[node]int64{}
	for _, n := range e.GraphNodes {
		seen[node{e.pid(e.ThreadProcess(n.Thread)), n.Node}] = n.Time
	}
	for _, n := range t.GraphNodes {
		if at, ok := seen[node{t.pid(t.ThreadProcess(n.Thread)), n.Node}]; ok && n.Time < 0 {
			return n.Time - at, true
		}
	}
	return 0, false
}

// threadsOf finds the threads of e among those of t.
// Threads are the same where the system gave them the same process and thread number.
func (t *Timeline) threadsOf(e *Timeline) map[uint32]uint32 {
	type thread struct{ pid, tid int }
	own := map[thread]uint32{}
	for i, th := range t.Threads {
		own[thread{t.pid(th.Process), th.TID}] = uint32(i)
	}
	out := map[uint32]uint32{}
	for i, th := range e.Threads {
		if at, ok := own[thread{e.pid(th.Process), th.TID}]; ok {
			out[uint32(i)] = at
		}
	}
	return out
}

// captureTimes are the moments at which each thread created nodes, in order.
func (t *Timeline) captureTimes() map[uint32][]int64 {
	out := map[uint32][]int64{}
	for _, n := range t.GraphNodes {
		out[n.Thread] = append(out[n.Thread], n.Time)
	}
	for _, times := range out {
		slices.Sort(times)
	}
	return out
}

// anyWithin tells whether one of the times, which ascend, lies from start to end, both included.
func anyWithin(times []int64, start, end int64) bool {
	i, _ := slices.BinarySearch(times, start)
	return i < len(times) && times[i] <= end
}

// domainLike is the domain of t with the name of a domain of e; the default one
// where there is none.
// The process of a domain is not looked at.
func (t *Timeline) domainLike(e *Timeline, domain uint32) uint32 {
	name := e.DomainName(domain)
	if i := slices.IndexFunc(t.Domains, func(d Domain) bool { return t.Name(d.Name) == name }); i > 0 {
		return uint32(i)
	}
	return 0
}
