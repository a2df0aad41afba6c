package pick

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
)

// A group is kernel, grid and block, and its launches may still differ in work:
// a GEMM of one grid sums over more or fewer columns. A launch that lasts about
// as long as a counted one did the same. For another the time is the best guess.
const (
	alikeShare = 0.25
	// alikeNS is how far launches of the same work are apart anyway: the shortest
	// last less than a microsecond, most of which is starting and ending.
	alikeNS = 500
	// timerNS is what ncu's timer adds to a launch, about.
	timerNS = 1000
)

// Alike tells whether a launch lasts about as long as another one.
func Alike(ns, other int64) bool {
	return float64(max(ns-other, other-ns)) <= max(alikeNS, alikeShare*float64(other))
}

// A representative is what was counted of launches that last equally long: results
// that stand for a group.
type representative struct {
	results []int
	ns      int64 // of the launch in the timeline
	rank    int
	here    bool // counted in the region that is asked about
}

// A representation tells which results stand for which launches of the timeline.
type representation struct {
	l      *Launches
	groups map[int][]representative        // none of them here
	where  []map[string]bool               // by result: the regions around it
	within []map[string]bool               // by result: the innermost of them
	known  map[standKey][][]representative // by group; nil as long as nobody asked
	last   standKey                        // those of one region are asked for in a row
	ofLast [][]representative
}

// A standKey is a region, with or without the ranges below it.
type standKey struct {
	path string
	own  bool
}

// ranks prefer typical launches, and any to the slowest.
var ranks = map[string]int{RoleTypical: 4, RoleSame: 3, RoleOther: 3, RoleUnasked: 3, "": 2, RoleSlowest: 1}

// findRepresentatives finds for each group the counted launches that may stand for it, by what the
// verification says of them.
func findRepresentatives(l *Launches, results []Counted, v *Verification) *representation {
	s := &representation{l: l, groups: map[int][]representative{}, where: make([]map[string]bool, len(results)), within: make([]map[string]bool, len(results)), known: map[standKey][][]representative{}}
	for i := range results {
		s.where[i], s.within[i] = results[i].Enclosing(), map[string]bool{}
		for _, path := range results[i].Paths() {
			s.within[i][path] = true
		}
	}
	ids := map[string]int{}
	for g := range l.groups {
		ids[l.groups[g].id] = g
	}
	times := &groupTimes{l: l}
	for ask := range 2 { // first for what is asked for, since launches are gone through once
		for _, m := range v.Matches {
			g, ok := ids[m.Group]
			if !ok || !m.usable() || m.Result >= len(results) {
				continue
			}
			ns := times.of(g, &m, &results[m.Result])
			if ask == 1 {
				s.groups[g] = addRepresentative(s.groups[g], representative{results: []int{m.Result}, ns: ns, rank: ranks[m.Role]})
			}
		}
		times.collect()
	}
	return s
}

// addRepresentative joins a representative to one of the same duration, rank and place.
func addRepresentative(list []representative, add representative) []representative {
	for i := range list {
		if p := &list[i]; p.ns == add.ns && p.rank == add.rank && p.here == add.here {
			p.results = append(p.results, add.results...)
			return list
		}
	}
	return append(list, add)
}

// of lists the representatives of a group, those counted in a region first, then by
// rank. For the launches outside nested regions (own), what was counted in
// nested ones is from elsewhere.
func (s *representation) of(g int, path string, own bool) []representative {
	key := standKey{path, own}
	if s.ofLast == nil || key != s.last {
		byGroup, ok := s.known[key]
		if !ok {
			byGroup = make([][]representative, len(s.l.groups))
			s.known[key] = byGroup
		}
		s.last, s.ofLast = key, byGroup
	}
	if list := s.ofLast[g]; list != nil {
		return list
	}
	where := s.where
	if own {
		where = s.within
	}
	list := []representative{}
	for _, p := range s.groups[g] {
		for _, r := range p.results {
			list = addRepresentative(list, representative{results: []int{r}, ns: p.ns, rank: p.rank, here: where[r][path]})
		}
	}
	slices.SortStableFunc(list, func(x, y representative) int {
		if x.here != y.here {
			if x.here {
				return -1
			}
			return 1
		}
		return cmp.Compare(y.rank, x.rank)
	})
	s.ofLast[g] = list
	return list
}

// weigh finds what stands for a launch of some duration and calls fn with each:
// those of the first rank in which any is alike, in equal parts, with their
// values as they are; else the one nearest in duration, whose additive values
// count times as often as the launch lasts longer.
func weigh(list []representative, ns int64, fn func(i int, part, times float64)) {
	for from, to := 0, 0; from < len(list); from = to {
		total := 0
		for to = from; to < len(list) && list[to].here == list[from].here && list[to].rank == list[from].rank; to++ {
			if Alike(ns, list[to].ns) {
				total += len(list[to].results)
			}
		}
		for i := from; i < to && total > 0; i++ {
			if Alike(ns, list[i].ns) {
				fn(i, float64(len(list[i].results))/float64(total), 1)
			}
		}
		if total > 0 {
			return
		}
	}
	if len(list) > 0 {
		i := nearest(list, ns)
		fn(i, 1, ratio(ns, list[i].ns))
	}
}

// nearest is the first representative that is nearest in duration.
func nearest(list []representative, ns int64) int {
	best := 0
	for i := range list {
		if gap, least := max(list[i].ns-ns, ns-list[i].ns), max(list[best].ns-ns, ns-list[best].ns); gap < least {
			best = i
		}
	}
	return best
}

// ratio is 1 for durations that are alike, and where one is not known.
func ratio(ns, other int64) float64 {
	if other <= 0 || Alike(ns, other) {
		return 1
	}
	return float64(ns) / float64(other)
}

// groupTimes finds how long counted launches lasted in the timeline.
type groupTimes struct {
	l     *Launches
	known map[timesKey][]lasting
	asked map[timesKey]bool // that are not known yet
}

// A timesKey is the launches of a group in some regions, or in all.
type timesKey struct {
	group   int
	all     bool
	regions string
}

// A lasting is a duration, and how many launches have it.
type lasting struct {
	ns int64
	n  int
}

// of is the duration of the launch that a result was matched to. Where it is not
// known which one that is, those of the same regions are asked, and of these the
// ones that last about as long as the result under ncu. What is not collected yet is noted.
func (t *groupTimes) of(g int, m *Match, c *Counted) int64 {
	if m.Launch > 0 && (m.RegionInPlan || !c.HasState) {
		return m.TimelineNS
	}
	list := t.durations(g, c)
	if len(list) == 0 {
		return m.TimelineNS
	}
	if c.DurationNS <= 0 {
		return middle(list)
	}
	under := max(0, c.DurationNS-timerNS)
	i := sort.Search(len(list), func(i int) bool { return list[i].ns >= under })
	if i == len(list) || i > 0 && under-list[i-1].ns <= list[i].ns-under {
		i--
	}
	near := list[i].ns
	return middle(slices.DeleteFunc(slices.Clone(list), func(d lasting) bool { return !Alike(d.ns, near) }))
}

// durations of a group's launches in the regions of a result, the shortest first; in all
// regions where the result has none recorded.
func (t *groupTimes) durations(g int, c *Counted) []lasting {
	key := timesKey{group: g, all: !c.HasState}
	if c.HasState {
		key.regions = strings.Join(sorted(c.Paths()), "\n")
	}
	list, ok := t.known[key]
	if !ok {
		if t.asked == nil {
			t.asked = map[timesKey]bool{}
		}
		t.asked[key] = true
	}
	return list
}

// collect goes through all launches for what was asked for.
func (t *groupTimes) collect() {
	if len(t.asked) == 0 {
		return
	}
	l, keys := t.l, slices.Collect(maps.Keys(t.asked))
	regions := make([]string, len(l.at.Places())) // by place
	for i, p := range l.at.Places() {
		regions[i] = strings.Join(sorted(l.pathsOf(p.Own)), "\n")
	}
	counts, of := make([]map[int64]int, len(keys)), make([][]int, len(l.kinds)) // keys by kind
	for k := range counts {
		counts[k] = map[int64]int{}
	}
	for i := range l.kinds {
		for k, key := range keys {
			if l.kinds[i].group == key.group && (key.all || key.regions == regions[l.kinds[i].place]) {
				of[i] = append(of[i], k)
			}
		}
	}
	l.eachDuration(func(kind uint32, ns, n int64) {
		for _, k := range of[kind] {
			counts[k][ns] += int(n)
		}
	})
	t.known, t.asked = map[timesKey][]lasting{}, nil
	for k, key := range keys {
		list := []lasting{}
		for _, ns := range slices.Sorted(maps.Keys(counts[k])) {
			list = append(list, lasting{ns, counts[k][ns]})
		}
		t.known[key] = list
	}
}

// middle of durations, the shortest first, the lower of two; there is one.
func middle(list []lasting) int64 {
	all := 0
	for _, d := range list {
		all += d.n
	}
	before := 0
	for _, d := range list {
		if before += d.n; before > (all-1)/2 {
			return d.ns
		}
	}
	return list[len(list)-1].ns
}

// paths are the regions around the launch of a kernel, one for each stack; none where
// there is no such kernel.
func (l *Launches) paths(kernel int) []string {
	at := l.find(kernel)
	if at < 0 {
		return nil
	}
	return l.pathsOf(l.at.Places()[l.kind(at).place].Own)
}

// pathsOf keeps the order.
func (l *Launches) pathsOf(own []uint32) (out []string) {
	for _, node := range own {
		out = append(out, l.at.Path(node))
	}
	return out
}
