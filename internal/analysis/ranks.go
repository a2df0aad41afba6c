package analysis

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// jobProcesses makes a part of each process of a timeline that holds a job: at
// least two processes of it exchange data between GPUs.
func (jb *jobReader) jobProcesses(ctx context.Context) ([]*recording, error) {
	exchanging := map[uint32]bool{}
	comm := jb.tl.communicationKinds()
	for i := range comm {
		if comm[i] {
			exchanging[jb.tl.t.Queues[jb.tl.tape.Kinds[i].Queue].Process] = true
		}
	}
	if len(exchanging) < 2 {
		return nil, nil
	}
	var parts []*recording
	for _, process := range jb.tl.processes() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := jb.surveyProcess(ctx, process)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// surveyProcess reads the part of the timeline that is a process.
func (jb *jobReader) surveyProcess(ctx context.Context, process int) (*recording, error) {
	b := jb.further(jb.in.timeline())
	defer b.close()
	of, err := b.putOnTape(ctx, jb.tl.t.OfProcess(uint32(process)))
	if err != nil {
		return nil, err
	}
	if err := b.takeTimeline(ctx, of); err != nil {
		return nil, err
	}
	p := b.part(jb.in.timeline(), len(jb.tl.processes()))
	p.row.Details = true
	return p, nil
}

// judgeJob says what the ranks of a job tell together. It does
// nothing for parts that are not ranks.
func (jb *jobReader) judgeJob(parts []*recording) {
	if !ofJob(parts) {
		return
	}
	job := &Job{Collectives: []Collective{}}
	jb.job = job
	job.World, job.Missing = jb.worldOf(parts)
	job.Nodes = nodesOf(parts)
	ranks, at := jb.comparable(parts)
	all := matchExchanges(ranks)
	clock := alignClocks(&all)
	jb.checkClocks(parts, ranks, &clock)
	job.Matched, job.Unmatched = all.n, all.unmatched
	if job.Unmatched > 0 {
		job.Why = new(fact.New(exchangesDiffer, fact.Count("n", job.Unmatched)))
	}
	job.Waits = waitsOf(&all, at, &clock)
	job.Collectives = collectivesOf(parts, &all)
	job.Clock = clock
	job.Clock.OffsetsNS = atParts(clock.OffsetsNS, at, len(parts))
	jb.placeRanks(parts, &job.Clock)
	jb.findJob(parts)
}

// atParts puts the offsets of ranks at the places of their parts.
func atParts(offsets []int64, at []int, parts int) []int64 {
	if offsets == nil {
		return nil
	}
	out := make([]int64, parts)
	for i, ns := range offsets {
		out[at[i]] = ns
	}
	return out
}

// ofJob tells that parts are ranks: numbered as such, or processes of one
// timeline.
func ofJob(parts []*recording) bool {
	ranks := 0
	for _, p := range parts {
		if p.row.Of.Rank != nil || p.path == parts[0].path {
			ranks++
		}
	}
	return ranks == len(parts) && ranks > 1
}

// worldOf is the number of processes of the job as the ranks tell it, and the
// ranks without numbers.
func (jb *jobReader) worldOf(parts []*recording) (world int, missing []int) {
	seen, sizes := map[int]bool{}, map[int]bool{}
	for _, p := range parts {
		if p.row.Of.World > 0 {
			sizes[p.row.Of.World] = true
			world = max(world, p.row.Of.World)
		}
		if p.row.Of.Rank != nil && p.row.Lost == nil {
			seen[*p.row.Of.Rank] = true
		}
	}
	if len(sizes) > 1 {
		list := slices.Sorted(maps.Keys(sizes))
		jb.notes.warn(worldDiffers, fact.Count("least", list[0]), fact.Count("most", list[len(list)-1]))
	}
	for r := range rankCount(parts) {
		if !seen[r] && !jb.in.notChosen[r] && len(missing) < maxMissing {
			missing = append(missing, r)
		}
	}
	return world, missing
}

// rankCount is how many ranks the job has, by what they tell and by the highest
// of them; 0 where they have no numbers.
func rankCount(parts []*recording) int {
	world, highest := 0, -1
	for _, p := range parts {
		world = max(world, p.row.Of.World)
		if p.row.Of.Rank != nil {
			highest = max(highest, *p.row.Of.Rank)
		}
	}
	if highest < 0 {
		return 0
	}
	return max(world, highest+1)
}

// maxMissing bounds Job.Missing.
const maxMissing = 4096

// comparable are the ranks that can be held against each other, with their places
// among the parts: one of each rank, of the program that most ranks ran. Others
// are named.
func (jb *jobReader) comparable(parts []*recording) (ranks []*recording, at []int) {
	byProgram := map[string]int{}
	tools := map[string]bool{}
	for _, p := range parts {
		if p.row.Lost == nil && p.program != "" {
			byProgram[p.program]++
		}
		if p.row.Lost == nil && p.tool != "" {
			tools[p.tool] = true
		}
	}
	most := ""
	for _, name := range slices.Sorted(maps.Keys(byProgram)) {
		if most == "" || byProgram[name] > byProgram[most] {
			most = name
		}
	}
	if len(tools) > 1 {
		jb.notes.warn(rankVersions, fact.Names("versions", fact.KindName, slices.Sorted(maps.Keys(tools))))
	}
	seen := map[[3]int]bool{}
	for i, p := range parts {
		id := p.row.Of
		switch key := [3]int{-1 - i, id.Window, id.Repeat}; {
		case p.row.Lost != nil:
		case p.program != most && p.program != "": // what is not known may be the same
			jb.notes.warn(rankProgram, append(p.param(), fact.Name("program", p.program), fact.Name("most", most))...)
		default:
			if id.Rank != nil {
				key[0] = *id.Rank
			}
			if seen[key] {
				jb.notes.warn(rankTwice, append(p.param(), fact.File("file", p.row.File))...)
				continue
			}
			seen[key] = true
			ranks, at = append(ranks, p), append(at, i)
		}
	}
	return ranks, at
}

// param names a rank.
func (p *recording) param() []fact.Param {
	var params []fact.Param
	switch id := p.row.Of; {
	case id.Rank != nil:
		params = append(params, fact.Count("rank", *id.Rank))
	case id.Process != 0:
		params = append(params, fact.Count("process", id.Process))
	}
	if p.row.Of.Host != "" {
		params = append(params, fact.Name("host", p.row.Of.Host))
	}
	return params
}

// hostClockSlack is how far the clocks of hosts may differ without a warning, in nanoseconds.
const hostClockSlack = 1e9

// checkClocks names ranks whose time base in UTC cannot be right.
func (jb *jobReader) checkClocks(parts, ranks []*recording, c *Clock) {
	for r, p := range ranks {
		if off := c.offset(r); abs(off) > hostClockSlack {
			jb.notes.warn(clocksApart, append(p.param(), fact.NS("ns", abs(off)))...)
		}
	}
	if c.Method == "utc" && len(ranks) > 1 && !together(ranks) {
		jb.notes.warn(ranksNotTogether)
	}
	if c.Method == "none" && len(parts) > 1 {
		jb.notes.warn(noTimeBase)
	}
}

// nodesOf sums up the ranks of each host, where there are several hosts.
func nodesOf(parts []*recording) []Node {
	var nodes []Node
	for i, p := range parts {
		if p.row.Lost != nil || p.row.Of.Host == "" {
			continue
		}
		n := slices.IndexFunc(nodes, func(n Node) bool { return n.Host == p.row.Of.Host })
		if n < 0 {
			n = len(nodes)
			nodes = append(nodes, Node{Host: p.row.Of.Host})
		}
		node := &nodes[n]
		node.Ranks = append(node.Ranks, i)
		if p.row.WallNS > node.WallNS {
			node.WallNS, node.Slowest = p.row.WallNS, i
		}
		node.BusyNS += p.row.BusyNS
		node.KernelNS += p.row.KernelNS
		node.Launches += p.row.Launches
		if c := p.row.Communication; c != nil {
			node.CommunicationNS += c.NS
			node.ExposedNS += c.ExposedNS
		}
	}
	if len(nodes) < 2 {
		return nil
	}
	return nodes
}

// waitsOf splits the time in exchanges into transfer and waiting, and tells who
// came last.
func waitsOf(all *matches, at []int, c *Clock) []RankWait {
	if all.n == 0 {
		return nil
	}
	waits := make([]RankWait, len(all.ranks))
	longer := make([]map[TimePart]int64, len(all.ranks))
	arrivals, others := make([]int64, len(all.ranks)), make([]int64, 0, len(all.ranks))
	all.each(func(m matched) {
		transfer := m.transfer()
		last := 0
		for r, x := range m {
			waits[r].TransferNS += transfer
			waits[r].WaitNS += x.end - x.start - transfer
			if arrivals[r] = all.ranks[r].utc(x.start) + c.offset(r); arrivals[r] > arrivals[last] {
				last = r
			}
		}
		others = append(append(others[:0], arrivals[:last]...), arrivals[last+1:]...)
		late := arrivals[last] - median(others)
		if late <= *c.UncertaintyNS || late <= 0 {
			return
		}
		waits[last].Late++
		waits[last].LateNS += late
		if longer[last] == nil {
			longer[last] = map[TimePart]int64{}
		}
		m.addLonger(last, longer[last])
	})
	for r := range waits {
		waits[r].Part = at[r]
		waits[r].Meanwhile = longest(longer[r])
	}
	return waits
}

// longest are the three longest things that a rank did, without those that it
// took no longer for.
func longest(sums map[TimePart]int64) []TimePart {
	var list []TimePart
	for t, ns := range sums {
		if ns > 0 {
			list = append(list, TimePart{ID: t.ID, Label: t.Label, NS: ns})
		}
	}
	slices.SortFunc(list, func(x, y TimePart) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Label, y.Label))
	})
	return list[:min(3, len(list))]
}

// addLonger adds how much longer than the median of the others a rank took for
// each thing that it did before the exchange.
func (m matched) addLonger(rank int, sums map[TimePart]int64) {
	for _, t := range m[rank].meanwhile {
		what := TimePart{ID: t.ID, Label: t.Label}
		var others []int64
		for r, x := range m {
			if r != rank {
				at := slices.IndexFunc(x.meanwhile, func(u TimePart) bool { return u.ID == t.ID && u.Label == t.Label })
				if at < 0 {
					others = append(others, 0)
					continue
				}
				others = append(others, x.meanwhile[at].NS)
			}
		}
		sums[what] += t.NS - median(others)
	}
}

// transfer is the shortest duration over the ranks, in nanoseconds: that rank came last, and
// waited for nobody. No clock matters for it.
func (m matched) transfer() int64 {
	shortest := m[0].end - m[0].start
	for _, x := range m[1:] {
		shortest = min(shortest, x.end-x.start)
	}
	return shortest
}

// busFactor is what the links move for each byte of a message, by kind and
// number of ranks, as nccl-tests counts; 0 for kinds that have none.
func busFactor(kind string, ranks int) float64 {
	n := float64(ranks)
	switch kind {
	case "all_reduce":
		return 2 * (n - 1) / n
	case "all_gather", "reduce_scatter", "all_to_all":
		return (n - 1) / n
	case "broadcast", "reduce", "send_recv":
		return 1
	}
	return 0
}

// collectivesOf sums up the exchanges by kind, those with the most time first. Every kind that
// was matched has a row.
func collectivesOf(parts []*recording, all *matches) []Collective {
	rows := map[string]*Collective{}
	for _, p := range parts {
		for kind, t := range p.kinds {
			c := entry(rows, kind)
			c.Kind, c.Source = kind, cmp.Or(c.Source, p.source)
			c.Ranks++
			c.Launches += t.Launches
			c.NS += t.NS
			if p.source == "kernels" {
				exposed := t.ExposedNS
				if c.ExposedNS != nil {
					exposed += *c.ExposedNS
				}
				c.ExposedNS = &exposed
			}
		}
	}
	sizes := map[string]messages{}
	all.each(func(m matched) {
		c, transfer := rows[m[0].kind], m.transfer()
		c.Matched++
		for _, x := range m {
			c.TransferNS += transfer
			c.WaitNS += x.end - x.start - transfer
		}
		if sizes[c.Kind] == nil {
			sizes[c.Kind] = messages{}
		}
		sizes[c.Kind].add(m[0].bytes, transfer)
	})
	for kind, s := range sizes {
		s.tell(rows[kind], len(all.ranks))
	}
	list := make([]Collective, 0, len(rows))
	for _, kind := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[kind])
	}
	slices.SortStableFunc(list, func(x, y Collective) int { return cmp.Compare(y.NS, x.NS) })
	return list
}
