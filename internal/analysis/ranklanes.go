package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Limits of the lanes of ranks: boxes of all of them together, boxes of one, and
// lanes that a result holds.
const (
	rankBoxes    = 12000
	rankLaneMost = 600
	rankLanes    = 64
)

// A drawnRank is the lane of one rank by its own clock.
type drawnRank struct {
	lane  Lane
	names []string
	start int64 // that boxes count from
}

// drawRank draws a timeline as one lane: its GPU work, or the innermost ranges of
// a program of the CPU. Of is how many ranks there are.
func (tr *timelineReader) drawRank(of int) *drawnRank {
	tl := tr.tl
	one := &lane{Lane: Lane{Kind: "kernel"}}
	if tl.tape.WorkLen() > 0 {
		all := &sharedLane{lane: one}
		tl.workLanesBy(tr.kinds, func(*timeline.WorkKind) *sharedLane { return all })
	} else {
		one.Kind = "nvtx"
		tl.listHostWork(one)
	}
	if one.n == 0 {
		return nil
	}
	o := Overview{StartNS: tr.tl.lo, EndNS: tr.tl.hi}
	drawn := one.draw(&o, map[string]int{}, max(20, min(rankLaneMost, rankBoxes/max(1, of))), moment{})
	return &drawnRank{lane: drawn, names: o.Names, start: o.StartNS}
}

// listHostWork lists the innermost ranges in a lane, and those that mark an exchange.
func (tl *timed) listHostWork(l *lane) {
	ranges, own := tl.tape.Ranges(), tl.ownRanges()
	list := slices.Clone(own)
	for r := range uint32(tl.tape.RangeLen()) {
		if hostCollective.MatchString(tl.rangeName(ranges, r)) {
			list = append(list, r)
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(r uint32) bool { return ranges.Region(r) == 0 })
	l.laneEvents = listed(len(list), func(i int) moment { return forward(ranges.Span(list[i])) },
		func(i int) uint32 { return ranges.Region(list[i]) }, func(region uint32) title { return title{name: tl.regions[region-1].Name} })
	for _, r := range list {
		m := forward(ranges.Span(r))
		l.busy += m.end - m.start
	}
}

// placeRanks puts the lanes of ranks on the clock of the details, the slowest
// first. Offsets are by part; nil where clocks were not aligned.
func (jb *jobReader) placeRanks(parts []*recording, c *Clock) {
	origin := jb.made.Overview.StartNS
	details := slices.IndexFunc(parts, func(p *recording) bool { return p.row.Details && p.drawn != nil })
	if details < 0 {
		return
	}
	offset := func(i int) int64 {
		if i < len(c.OffsetsNS) {
			return c.OffsetsNS[i]
		}
		return 0
	}
	order := make([]int, 0, len(parts))
	for i, p := range parts {
		if p.drawn != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(parts[y].row.WallNS, parts[x].row.WallNS) })
	late := jb.job.latest()
	if n := len(order); n > rankLanes { // the slowest, the fastest, the one that is waited for and the slowest of the others
		kept := slices.Clone(order[:rankLanes-1])
		if at := slices.Index(order, late); at >= rankLanes-1 && at < n-1 {
			kept[rankLanes-2] = late
		}
		order = append(kept, order[n-1])
	}
	names := map[string]int{}
	d := parts[details]
	for k, i := range order {
		p := parts[i]
		shift := int64(0) // by their starts, where nothing tells their clocks
		if c.Method == "one" {
			shift = p.drawn.start - origin
		} else if p.epoch != 0 && d.epoch != 0 {
			shift = p.utc(p.drawn.start) + offset(i) - d.utc(origin) - offset(details)
		}
		jb.lanes = append(jb.lanes, RankLane{Part: i, Folded: k > 0 && k < len(order)-1 && i != late, Lane: p.drawn.placed(&jb.names, names, shift)})
	}
}

// latest is the part that the others wait for most; -1 for none.
func (j *Job) latest() int {
	at, most := -1, int64(0)
	for _, w := range j.Waits {
		if w.LateNS > most {
			at, most = w.Part, w.LateNS
		}
	}
	return at
}

// placed is the lane with its boxes moved, and their names among those of the
// lanes of all ranks.
func (d *drawnRank) placed(all *[]string, names map[string]int, shift int64) Lane {
	l := d.lane
	l.Boxes = slices.Clone(l.Boxes)
	for i := range l.Boxes {
		b := &l.Boxes[i]
		name := d.names[b.Name]
		n, ok := names[name]
		if !ok {
			n = len(*all)
			names[name] = n
			*all = append(*all, name)
		}
		b.Name = n
		b.Start += shift
	}
	return l
}
