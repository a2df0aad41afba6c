package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A scoped is the part of the timeline that the analysis is about.
type scoped struct {
	places  []bool                // whether work that was launched there is in it, by place
	selects func(nvtx.State) bool // the ranges that are not excluded
	regions []uint32              // outermost ones
	window  moment                // from the first opening of one to its end, or that of the last work
	moments []moment              // its time, known once its regions are summed
}

// noKernel is the timed.row of kernels without a launch in the scope.
const noKernel = ^uint32(0)

// findScope resolves the expressions of the input as the choice of launches to
// count does. Where they select nothing, everything counts.
// It leaves tl.scope nil then, and the reason in tl.noScope, which refuses the analysis
// where a person asked for these regions just now.
func (tr *timelineReader) findScope() {
	in := tr.in
	if len(in.Include) == 0 {
		tr.defaultScope()
		return
	}
	whole := func(why fact.Fact, err error) {
		tr.tl.noScope = err
		tr.notes.warn(scopeUnused, fact.Because("why", why))
	}
	include := fact.Names("include", fact.KindRegion, in.Include)
	seen := append([]nvtx.Seen{}, tr.tl.at.Seen()...)
	filters, err := pick.ResolveFilters(in.Include, in.Exclude, seen)
	var nothing *pick.NothingError
	switch {
	case errors.As(err, &nothing):
		whole(fact.New(scopeNoRegion, include), err)
		if _, err := nvtx.Resolve(in.Include, seen); err != nil {
			tr.tl.noScope = err // with the nearest names
		}
		return
	case err != nil:
		whole(fact.New(scopeInvalid, fact.Error("error", err)), err)
		return
	}
	tr.notes.unmatched(filters.Unmatched)
	s := &scoped{places: tr.tl.at.PlaceMatcher(filters.Match), selects: filters.Match}
	if tr.tl.launchedIn(s) == 0 {
		whole(fact.New(scopeNoKernel, include), fmt.Errorf("no kernel was launched in the regions that were asked for (%s)", strings.Join(in.Include, ", ")))
		return
	}
	s.regions = tr.tl.matching(s, filters.Match)
	tr.tl.setWindow(s)
	tr.tl.scope = s
}

// A ScopeError says that the regions that a person asked for select nothing.
type ScopeError struct{ Why error }

// The error reads as its reason, which has the nearest names where there are any.
func (e *ScopeError) Error() string { return e.Why.Error() }
func (e *ScopeError) Unwrap() error { return e.Why }

// launchedIn counts the kernels and whole graphs in the scope.
func (tl *timed) launchedIn(s *scoped) (n int64) {
	for i := range tl.tape.Kinds {
		if k := &tl.tape.Kinds[i]; s.places[k.Place] && (k.Kind == timeline.OpKernel || k.Kind == timeline.OpGraph) {
			n += k.Launches
		}
	}
	return n
}

// matching lists the outermost regions that the filter selects. An expression
// that needs several ranges at once selects none by itself: then it is the
// regions that the launches lie in.
func (tl *timed) matching(s *scoped, match func(nvtx.State) bool) []uint32 {
	in := map[uint32]bool{}
	for i := range tl.regions {
		in[tl.regions[i].ID] = match(stateOf(&tl.regions[i]))
	}
	if list := tl.outer(in); len(list) > 0 {
		return list
	}
	for i := range tl.tape.Kinds {
		if k := &tl.tape.Kinds[i]; k.Kind == timeline.OpKernel && s.places[k.Place] && k.Region != 0 {
			in[k.Region] = true
		}
	}
	return tl.outer(in)
}

// stateOf is what filters are matched against inside a region.
func stateOf(r *timeline.Region) nvtx.State {
	if r.Kind == timeline.StartEnd {
		return nvtx.State{Open: r.Stack}
	}
	return nvtx.State{Stacks: [][]nvtx.Range{r.Stack}}
}

// outer lists those regions that lie in no other of them.
func (tl *timed) outer(in map[uint32]bool) []uint32 {
	var list []uint32
	for _, r := range tl.regions {
		if in[r.ID] && !tl.within(r.Parent, func(id uint32) bool { return in[id] }) {
			list = append(list, r.ID)
		}
	}
	return list
}

// within tells whether a region, or one around it, is among some.
func (tl *timed) within(id uint32, among func(uint32) bool) bool {
	for ; id != 0; id = tl.regions[id-1].Parent {
		if among(id) {
			return true
		}
	}
	return false
}

// clip is the part of a stretch within the timeline; start is not before end where nothing of it
// is.
func (tl *timed) clip(start, end int64) moment { return moment{max(start, tl.lo), min(end, tl.hi)} }

// eachInstance visits instances within the timeline; those of no length are left out.
func (tl *timed) eachInstance(id uint32, visit func(thread uint32, m moment)) {
	tl.eachOf(id, workKey{-1, -1}, func(r *instance) {
		if m := tl.clip(r.start, r.end); m.start < m.end {
			visit(r.thread, m)
		}
	})
}

// disjoint joins stretches that touch, in the order of time.
func disjoint(list []moment) []moment {
	slices.SortFunc(list, func(x, y moment) int { return cmp.Compare(x.start, y.start) })
	kept := list[:0]
	for _, m := range list {
		if n := len(kept); n > 0 && m.start <= kept[n-1].end {
			kept[n-1].end = max(kept[n-1].end, m.end)
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// without cuts stretches out of others; both are disjoint and in order.
func without(list, cut []moment) []moment {
	var out []moment
	for _, m := range list {
		for _, c := range cut {
			if c.end <= m.start || c.start >= m.end {
				continue
			}
			if c.start > m.start {
				out = append(out, moment{m.start, c.start})
			}
			m.start = min(c.end, m.end)
		}
		if m.start < m.end {
			out = append(out, m)
		}
	}
	return out
}

// counts tells whether work of a kind is in the scope.
func (tl *timed) counts(k *timeline.WorkKind) bool {
	return tl.scope == nil || tl.scope.places[k.Place]
}

// counted is counts of all kinds, by their number.
func (tl *timed) counted() []bool {
	list := make([]bool, len(tl.tape.Kinds))
	for i := range list {
		list[i] = tl.counts(&tl.tape.Kinds[i])
	}
	return list
}

// wallNS is the time under nsys that savings are held against: that of the scope, or all.
func (r *Result) wallNS() int64 {
	if s := r.Scope; s != nil {
		return s.WallNS
	}
	return r.Totals.WallNS
}

// sumScope describes the scope.
func (tr *timelineReader) sumScope() {
	if tr.tl.scope == nil {
		return
	}
	tl := tr.tl
	s := &Scope{Expressions: tr.in.Include, Exclude: tr.in.Exclude, Regions: []string{}, Default: len(tr.in.Include) == 0}
	if s.Default {
		s.Expressions = []string{}
	}
	for _, id := range tr.tl.scope.regions {
		if path := tl.regions[id-1].Path; !slices.Contains(s.Regions, path) {
			s.Regions = append(s.Regions, path)
		}
	}
	s.Name = scopeName(s.Names())
	var beside sync.WaitGroup
	var others []fact.Fact
	beside.Go(func() {
		s.countKernels(tl)
		others = tl.beside()
	})
	tr.scopeTime(s)
	beside.Wait()
	s.Text = s.describe(tr.made.Totals.WallNS, others)
	tr.made.Scope = s
}

// countKernels counts the launches in the scope and outside.
func (s *Scope) countKernels(tl *timed) {
	named := make([]bool, len(tl.t.Functions))
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		switch {
		case k.Kind != timeline.OpKernel:
		case !tl.counts(k):
			s.OutsideLaunches += k.Launches
			s.OutsideKernelNS += k.NS
		default:
			s.Launches += k.Launches
			s.KernelNS += k.NS
			if at := &named[k.Function]; !*at {
				*at = true
				s.KernelNames++
			}
		}
	}
}

// Names are the paths of its regions, and the kinds of steps of a serving engine.
func (s *Scope) Names() (names []string) {
	for _, path := range s.Regions {
		if name := stageName(path); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// maxScopeNames is how many regions the name of a scope lists.
const maxScopeNames = 4

// scopeName lists a few names, and how many more there are.
func scopeName(regions []string) fact.Fact {
	n := len(regions)
	if n > maxScopeNames {
		listed := regions[:maxScopeNames-1]
		return fact.New(scopeNameMore, fact.Names("regions", fact.KindRegion, listed), fact.Count("more", n-len(listed)))
	}
	return fact.New(ScopeName, fact.Names("regions", fact.KindRegion, regions))
}

// describe says what is counted and what is not.
func (s *Scope) describe(wall int64, beside []fact.Fact) fact.Fact {
	params := []fact.Param{fact.Because("name", s.Name), fact.NS("time", s.WallNS), fact.NS("of", wall)}
	if s.OutsideLaunches == 0 {
		return fact.New(scopeWhole, params...)
	}
	return fact.New(scopePart, append(params, fact.NS("outside", s.OutsideKernelNS), fact.Count("launches", s.OutsideLaunches), fact.Because("parts", beside...))...)
}

// maxBeside is how many regions outside the scope are named.
const maxBeside = 4

// beside says which regions the GPU time outside the scope is in, the most first:
// loading, warm-up, compilation. A region around the scope is not one of them, but
// what else lies in it is.
func (tl *timed) beside() []fact.Fact {
	around := map[uint32]bool{}
	for _, id := range tl.scope.regions {
		for id = tl.regions[id-1].Parent; id != 0; id = tl.regions[id-1].Parent {
			around[id] = true
		}
	}
	byPath := map[string]int64{}
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		if k.Kind != timeline.OpKernel || tl.counts(k) {
			continue
		}
		path := ""
		for id := k.Region; id != 0 && !around[id]; id = tl.regions[id-1].Parent {
			path = tl.regions[id-1].Path
		}
		byPath[path] += k.NS
	}
	paths := slices.SortedFunc(maps.Keys(byPath), func(x, y string) int { return cmp.Or(cmp.Compare(byPath[y], byPath[x]), cmp.Compare(x, y)) })
	var parts []fact.Fact
	for _, path := range paths[:min(len(paths), maxBeside)] {
		if path == "" {
			parts = append(parts, fact.New(besideNone, fact.NS("ns", byPath[path])))
			continue
		}
		parts = append(parts, fact.New(besideRegion, fact.Region("region", path), fact.NS("ns", byPath[path])))
	}
	if rest := paths[len(parts):]; len(rest) > 0 {
		var ns int64
		for _, path := range rest {
			ns += byPath[path]
		}
		parts = append(parts, fact.New(besideMore, fact.Count("n", len(rest)), fact.NS("ns", ns)))
	}
	return parts
}

// Codes of a scope.
const (
	ScopeName     fact.Code = "scope-name"      // regions
	scopeNameMore fact.Code = "scope-name-more" // regions, more
	scopeWhole    fact.Code = "scope-whole"     // name, time, of: no kernel ran outside
	scopePart     fact.Code = "scope-part"      // name, time, of, outside, launches, parts
	besideRegion  fact.Code = "beside-region"   // region, ns
	besideNone    fact.Code = "beside-no-range" // ns
	besideMore    fact.Code = "beside-more"     // n, ns
)

// stagesInScope are the stages that findings and savings speak of: those within
// the scope.
func (st *stageClock) stagesInScope() []*Stage {
	var list []*Stage
	for i := range st.stages {
		if st.tl == nil || st.tl.scope == nil || st.stageInScope(i) {
			list = append(list, &st.stages[i])
		}
	}
	return list
}

// stageInScope needs all regions of the stage to lie in the scope; the whole program
// does not.
func (st *stageClock) stageInScope(stage int) bool {
	ids := st.stages[stage].ids
	among := func(id uint32) bool { return slices.Contains(st.tl.scope.regions, id) }
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id uint32) bool { return !st.tl.within(id, among) })
}
