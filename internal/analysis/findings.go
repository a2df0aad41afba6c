package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// The weights of findings.
const (
	weightHigh   = "high"
	weightMedium = "medium"
	weightLow    = "low"
)

// conclude writes the findings, those that matter most first.
func (a *analyzer) conclude(context.Context) error {
	a.cleanShares()
	a.tellOverhead()
	a.findDamage()
	a.findContradictions()
	a.findMain()
	a.findLaunchBound()
	a.findIdle()
	a.findOutside()
	a.findLargest()
	a.findSaving()
	a.findUtilisation()
	if a.tl == nil {
		a.findCleanTimes()
	}
	order := []string{weightHigh, weightMedium, weightLow}
	slices.SortStableFunc(a.res.Findings, func(x, y Finding) int {
		return cmp.Compare(slices.Index(order, x.Weight), slices.Index(order, y.Weight))
	})
	return nil
}

func (a *analyzer) find(id, weight, text, plain string) {
	begin := func(s string) string { // names of programs stay as they are
		if strings.HasPrefix(s, "the program ") {
			return "T" + s[1:]
		}
		return s
	}
	a.res.Findings = append(a.res.Findings, Finding{ID: id, Weight: weight, Text: begin(text), Plain: begin(plain)})
}

// duration writes nanoseconds for people.
func duration(ns int64) string {
	switch x := float64(ns); {
	case x >= 1e9:
		return fmt.Sprintf("%.2f s", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.1f ms", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.1f \u00b5s", x/1e3)
	}
	return fmt.Sprintf("%d ns", ns) // below 0 only in damaged files
}

func shareOf(part, whole int64) string {
	if whole <= 0 {
		return "0 %"
	}
	return shareText(float64(part) / float64(whole))
}

// words name a stage within a sentence.
func (s *Stage) words() string {
	if s.whole() {
		return "the program"
	}
	return s.Name
}

// whole tells the stage that stands for a program without ranges.
func (s *Stage) whole() bool { return s.Region == "" && s.Name == wholeProgram }

// paths are those of the regions that a stage is measured by.
func (s *Stage) paths() []string {
	if len(s.Regions) > 0 {
		return s.Regions
	}
	return []string{s.Region}
}

func (s *Split) idle(id string) int64 {
	for _, p := range s.Idle {
		if p.ID == id {
			return p.NS
		}
	}
	return 0
}

// findIdle tells of a stage that waits for something other than launches.
func (a *analyzer) findIdle() {
	for _, s := range a.stagesInScope() {
		if s.Split.LaunchBound || s.Split.WallNS == 0 {
			continue
		}
		for _, c := range []struct{ id, words, plain string }{
			{"sync", "the host waits in synchronisation while the GPU has nothing to run", "waits for results before handing out more work"},
			{"copy", "memory is copied while no kernel runs", "moves data between the host and the GPU"},
			{"alloc", "memory is allocated or released while the GPU is idle", "asks for memory"},
			{"call", "CUDA calls other than launches" + callWords(a.otherCalls(s)) + " run while the GPU is idle", "makes calls other than handing out work"},
		} {
			if ns := s.Split.idle(c.id); 10*ns >= s.Split.WallNS {
				a.find(c.id+"-"+s.Name, weightMedium,
					fmt.Sprintf("In %s of %s (%s, under nsys) %s.", shareOf(ns, s.Split.WallNS), s.words(), duration(ns), c.words),
					fmt.Sprintf("In %s of %s, as measured under the profiler, the GPU stands still while the program %s.", shareOf(ns, s.Split.WallNS), s.words(), c.plain))
			}
		}
	}
}

// findLargest tells where kernel time goes and what limits the first kernel.
func (a *analyzer) findLargest() {
	a.findWholeGraphs()
	switch {
	case a.tl != nil && len(a.tl.t.Kernels)+len(a.tl.t.Graphs) == 0:
		a.find("no-kernels", weightHigh, "No kernel ran on a GPU while the timeline was captured, or CUDA was not traced: nothing can be said of the GPU.",
			"The capture shows no work on a GPU. Either the program did not use it, or the capture did not see it.")
		return
	case len(a.res.Categories) == 0 || len(a.res.Kernels) == 0 || a.kernelNS() <= 0:
		a.findCounted()
		return
	}
	c := &a.res.Categories[0]
	of, plainOf := "kernel time", "the GPU's working time"
	if n, _ := a.wholeGraphs(); n > 0 {
		of, plainOf = "kernel time outside CUDA graphs", "the GPU's working time outside CUDA graphs"
	}
	most := "Most of"
	if c.Share <= 0.5 {
		most = "The largest part of"
	}
	label := strings.ToLower(c.Label)
	if c.ID == OtherCategory {
		label = "work of no known kind"
	}
	a.find("largest", weightMedium, fmt.Sprintf("%s takes %.0f %% of %s (%s); %s.", c.Label, c.Share*100, of, duration(c.NS), a.largestKernel()),
		fmt.Sprintf("%s %s, %.0f %%, is %s.", most, plainOf, c.Share*100, label))
	a.findLimits(of)
}

// largestKernel names the kernel of the most time, all its launch shapes
// together, and what limits the largest of them.
func (a *analyzer) largestKernel() string {
	type sum struct {
		share  float64
		shapes int
		first  int
	}
	byName := map[string]*sum{}
	best := ""
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Untimed || k.Calls == 0 {
			continue
		}
		n := byName[k.Name]
		if n == nil {
			n = &sum{first: i}
			byName[k.Name] = n
		}
		n.share += k.Share
		n.shapes++
	}
	for i := range a.res.Kernels { // in the order of rows, so that ties are told apart
		name := a.res.Kernels[i].Name
		if n := byName[name]; n != nil && (best == "" || n.share > byName[best].share) {
			best = name
		}
	}
	n := byName[best]
	k := &a.res.Kernels[n.first]
	text, which := fmt.Sprintf("the largest kernel is %s with %.0f %%", k.Short, n.share*100), "it"
	if n.shapes > 1 {
		text += fmt.Sprintf(" in %d grids and blocks", n.shapes)
		which = fmt.Sprintf("its largest grid (%s, %.0f %%)", extent(k.Grid), k.Share*100)
	}
	switch {
	case k.Limiter.Kind != "":
		return text + fmt.Sprintf("; %s is limited by %s", which, k.Limiter.Label)
	case k.Counted != nil:
		return text + fmt.Sprintf("; %s was counted, but its counters do not tell what limits it", which)
	}
	return text + fmt.Sprintf("; what limits %s was not counted", which)
}

// findWholeGraphs tells of CUDA graphs whose kernels are not known.
func (a *analyzer) findWholeGraphs() {
	n, ns := a.wholeGraphs()
	if n == 0 {
		return
	}
	a.find("graphs-whole", weightMedium, fmt.Sprintf("%s of CUDA graphs ran for %s, traced as a whole: kernel times, their shares and the opportunities of kernels leave them out. Capture with pipeline.nsys.cuda_graph_trace=node to see into them.", launches(int64(n)), duration(ns)),
		fmt.Sprintf("The GPU spent %s on work whose parts this capture does not show; statements about kernels leave it out.", duration(ns)))
}

// wholeGraphs are the CUDA graphs in the scope that were traced as a whole.
func (a *analyzer) wholeGraphs() (n int, ns int64) {
	if a.tl == nil {
		return 0, 0
	}
	for i := range a.tl.t.Graphs {
		g := &a.tl.t.Graphs[i]
		op := timeline.Op{Kind: timeline.OpGraph, Index: i, Start: g.Start, End: g.End, Queue: g.Queue, Correlation: g.Correlation}
		if a.scope == nil || a.scope.match(op) {
			n++
			ns += max(0, timeline.Since(g.Start, g.End))
		}
	}
	return n, ns
}

// findLimits sums what limits the counted kernels.
func (a *analyzer) findLimits(of string) {
	var byKind = map[string]int64{}
	var covered int64
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Limiter.Kind != "" {
			byKind[k.Limiter.Kind] += k.TotalNS
			covered += k.TotalNS
		}
	}
	best := ""
	for _, kind := range []string{LimitDRAM, LimitL2, LimitL1, LimitCompute, LimitLatency, LimitOccupancy, LimitSmall, LimitLaunch, LimitMixed} {
		if byKind[kind] > byKind[best] {
			best = kind
		}
	}
	if best == "" {
		return
	}
	share := shareOf(byKind[best], covered)
	plain := fmt.Sprintf("Where it was measured, the GPU's work is mostly held back by %s.", limitWords[best])
	if 2*byKind[best] <= covered {
		plain = fmt.Sprintf("Where it was measured, what holds the GPU's work back differs from kernel to kernel; most often (%s of the time) it is %s.", share, limitWords[best])
	}
	a.find("limiter", weightLow, fmt.Sprintf("Of the counted kernel time (%s of %s), %s is held back by %s.", shareOf(covered, a.kernelNS()), of, share, limitWords[best]), plain)
}

var limitWords = map[string]string{
	LimitDRAM: "the bandwidth of GPU memory", LimitL2: "the L2 cache", LimitL1: "L1 cache and shared memory", LimitCompute: "the units that compute", LimitLatency: "latency",
	LimitOccupancy: "occupancy", LimitSmall: "too little work per launch", LimitLaunch: "launch overhead", LimitMixed: "several limits at once",
}

// findCounted speaks of reports of counters without a timeline.
func (a *analyzer) findCounted() {
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Limiter.Kind != "" && k.Counted != nil && len(a.res.Findings) < 3 {
			a.find("kernel-"+k.ID, weightMedium, fmt.Sprintf("%s is limited by %s: %s.", k.Short, k.Limiter.Label, k.Limiter.Why),
				fmt.Sprintf("The kernel %s is held back by %s.", k.Short, limitWords[k.Limiter.Kind]))
		}
	}
}

// findSaving names the change that could save most and, where that is what a
// launch-bound stage loses and has been told, the next of another kind.
func (a *analyzer) findSaving() {
	list := a.res.Opportunities
	if len(list) == 0 {
		return
	}
	span, times := a.span()
	whole, of := a.whole(), "the time observed"
	if a.res.Scope != nil {
		of = a.res.Scope.Name
	}
	if times == timesClean {
		whole += " without the profiler"
	}
	say := func(id, weight string, o *Opportunity, text, plain string) {
		title := strings.ToLower(o.Title[:1]) + o.Title[1:]
		ns := int64(math.Round(o.Seconds * 1e9))
		a.find(id, weight, fmt.Sprintf("%s: %s, at most %s of the %s of %s.", text, title, duration(ns), duration(span), whole),
			fmt.Sprintf("%s: %s (up to %s, %s of %s).", plain, title, duration(ns), shareOf(ns, span), of))
	}
	say("first-saving", weightMedium, &list[0], "The largest single opportunity", "The change that could save most")
	told := func(o Opportunity) bool {
		return (o.Kind == "gaps" || o.Kind == "host") && slices.ContainsFunc(a.res.Stages, func(s Stage) bool { return s.Name == o.Stage && s.Split.LaunchBound })
	}
	if !told(list[0]) {
		return
	}
	if at := slices.IndexFunc(list, func(o Opportunity) bool { return !told(o) }); at > 0 {
		say("next-saving", weightLow, &list[at], "The largest beside the waits of launch-bound stages", "Beside the waits for the host, the change that could save most")
	}
}

// findContradictions tells of values that cannot be.
func (a *analyzer) findContradictions() {
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		for _, kind := range []struct {
			name string
			list []Utilisation
		}{{"mfu", s.MFU}, {"mbu", s.MBU}} {
			for _, u := range kind.list {
				if u.Contradiction {
					from := "the counters"
					if u.Method == "analytic" {
						from = "the work of the model"
					}
					a.find("contradiction-"+s.Name+"-"+kind.name+"-"+u.Method, weightHigh, fmt.Sprintf("The %s of %s from %s (of %s) contradicts itself: %s.", strings.ToUpper(kind.name), s.words(), from, u.Peak.Label, u.Why),
						fmt.Sprintf("One efficiency figure of %s (%s) came out impossible and is not shown; the inputs need a check.", s.Name, strings.ToUpper(kind.name)))
				}
			}
		}
	}
}
