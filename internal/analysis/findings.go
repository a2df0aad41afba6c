package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// The weights of findings.
const (
	weightHigh   = "high"
	weightMedium = "medium"
	weightLow    = "low"
)

// overheadLimit is the overhead of the timeline's capture from which a lighter
// preset is advised.
const overheadLimit = 0.25

// conclude writes the findings, those that matter most first.
func (a *analyzer) conclude(context.Context) error {
	a.tellOverhead()
	a.findContradictions()
	a.findLaunchBound()
	a.findIdle()
	a.findLargest()
	a.findUtilisation()
	a.findSaving()
	order := []string{weightHigh, weightMedium, weightLow}
	slices.SortStableFunc(a.res.Findings, func(x, y Finding) int {
		return cmp.Compare(slices.Index(order, x.Weight), slices.Index(order, y.Weight))
	})
	return nil
}

func (a *analyzer) find(id, weight, text, plain string) {
	a.res.Findings = append(a.res.Findings, Finding{ID: id, Weight: weight, Text: text, Plain: plain})
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
	return fmt.Sprintf("%.1f %%", float64(part)/float64(whole)*100)
}

func (s *Split) idle(id string) int64 {
	for _, p := range s.Idle {
		if p.ID == id {
			return p.NS
		}
	}
	return 0
}

// findLaunchBound tells of stages in which the GPU waits for launches.
func (a *analyzer) findLaunchBound() {
	var bound []*Stage
	for i := range a.res.Stages {
		if a.res.Stages[i].Split.LaunchBound {
			bound = append(bound, &a.res.Stages[i])
		}
	}
	slices.SortStableFunc(bound, func(x, y *Stage) int {
		return cmp.Compare(y.Split.GainNS+y.Split.idle("host"), x.Split.GainNS+x.Split.idle("host"))
	})
	for _, s := range bound {
		sp := &s.Split
		host := sp.idle("host")
		text := fmt.Sprintf("%s is launch-bound: a kernel runs in %s of its %s, and the GPU waits for the host in %s.", s.Name, shareOf(sp.BusyNS, sp.WallNS), duration(sp.WallNS), shareOf(sp.GainNS+host, sp.WallNS))
		if host > 0 {
			text += fmt.Sprintf(" %s of that are stretches of more than %s without a CUDA call%s: work of the host that must leave the loop.", duration(host), duration(a.th.HostGap.Nanoseconds()), a.whereHost(s))
		}
		text += fmt.Sprintf(" CUDA graphs or fusion gain at most %s, %s of the stage. Counters of its kernels cannot help before the gaps are gone.", duration(sp.GainNS), shareOf(sp.GainNS, sp.WallNS))
		if s.Overhead != nil && s.CleanMS != nil {
			text += fmt.Sprintf(" These are times under nsys; a clean pass takes %.3g ms (%+.0f %% under nsys).", *s.CleanMS, *s.Overhead*100)
		}
		plain := fmt.Sprintf("During %s the GPU works only %s of the time. The rest it waits for the program on the host to hand it work, so a faster GPU would not help; removing the waits could shorten %s to about %s at best.",
			s.Name, shareOf(sp.BusyNS, sp.WallNS), s.Name, duration(sp.WallNS-sp.GainNS-host))
		a.find("launch-bound-"+s.Name, weightHigh, text, plain)
	}
}

// whereHost names the deepest region within the stage that has most of its long
// host stretches.
func (a *analyzer) whereHost(s *Stage) string {
	best, total := "", s.Split.idle("host")
	for i := range a.regionIDs {
		r := &a.res.Regions[i]
		if strings.HasPrefix(r.Path, s.Region+"/") && 5*r.Split.idle("host") >= 4*total {
			best = r.Path
		}
	}
	if best == "" {
		return ""
	}
	return " in " + best
}

// findIdle tells of a stage that waits for something other than launches.
func (a *analyzer) findIdle() {
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		if s.Split.LaunchBound || s.Split.WallNS == 0 {
			continue
		}
		for _, c := range []struct{ id, words, plain string }{
			{"sync", "the host waits in synchronisation while the GPU has nothing to run", "waits for results before handing out more work"},
			{"copy", "memory is copied while no kernel runs", "moves data between the host and the GPU"},
			{"alloc", "memory is allocated or released while the GPU is idle", "asks for memory"},
			{"call", "CUDA calls other than launches, such as loading of code, run while the GPU is idle", "prepares the GPU"},
		} {
			if ns := s.Split.idle(c.id); 10*ns >= s.Split.WallNS {
				a.find(c.id+"-"+s.Name, weightMedium,
					fmt.Sprintf("In %s of %s (%s) %s.", shareOf(ns, s.Split.WallNS), s.Name, duration(ns), c.words),
					fmt.Sprintf("In %s of %s the GPU stands still while the program %s.", shareOf(ns, s.Split.WallNS), s.Name, c.plain))
			}
		}
	}
}

// findLargest tells where kernel time goes and what limits the first kernel.
func (a *analyzer) findLargest() {
	if len(a.res.Categories) == 0 || len(a.res.Kernels) == 0 || a.res.Totals.KernelNS == 0 {
		a.findCounted()
		return
	}
	c, k := &a.res.Categories[0], &a.res.Kernels[0]
	text := fmt.Sprintf("%s takes %.0f %% of kernel time (%s); the largest kernel is %s with %.0f %%", c.Label, c.Share*100, duration(c.NS), k.Short, k.Share*100)
	if k.Limiter.Kind != "" {
		text += ", limited by " + k.Limiter.Label
	} else {
		text += "; what limits it was not counted"
	}
	a.find("largest", weightMedium, text+".", fmt.Sprintf("Most of the GPU's working time, %.0f %%, is %s.", c.Share*100, strings.ToLower(c.Label)))
	var byKind = map[string]int64{}
	var covered int64
	labels := map[string]string{}
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Limiter.Kind != "" {
			byKind[k.Limiter.Kind] += k.TotalNS
			covered += k.TotalNS
			labels[k.Limiter.Kind] = k.Limiter.Label
		}
	}
	best := ""
	for _, kind := range []string{LimitDRAM, LimitL2, LimitL1, LimitCompute, LimitLatency, LimitOccupancy, LimitSmall, LimitLaunch, LimitMixed} {
		if byKind[kind] > byKind[best] {
			best = kind
		}
	}
	if best != "" {
		a.find("limiter", weightLow, fmt.Sprintf("Of the counted kernels (%s of kernel time), %s are held back by %s.", shareOf(covered, a.res.Totals.KernelNS), shareOf(byKind[best], covered), limitWords[best]),
			fmt.Sprintf("Where it was measured, the GPU's work is mostly held back by %s.", limitWords[best]))
	}
}

var limitWords = map[string]string{
	LimitDRAM: "the bandwidth of GPU memory", LimitL2: "the L2 cache", LimitL1: "L1 cache and shared memory", LimitCompute: "a compute pipe", LimitLatency: "latency",
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

func (a *analyzer) findUtilisation() {
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		for _, u := range []struct {
			name, plain string
			list        []Utilisation
		}{{"MFU", "arithmetic", s.MFU}, {"MBU", "memory bandwidth", s.MBU}} {
			for _, x := range u.list {
				if x.Value == nil {
					continue
				}
				least := ""
				if x.Coverage != nil && *x.Coverage < a.th.Covered {
					least = "at least "
				}
				a.find(strings.ToLower(u.name)+"-"+s.Name, weightLow,
					fmt.Sprintf("%s of %s is %s%.2g %% (%s, of %s).", u.name, s.Name, least, *x.Value*100, x.Method, x.Peak.Label),
					fmt.Sprintf("%s uses %s%.2g %% of the %s that the GPU could give.", s.Name, least, *x.Value*100, u.plain))
				break
			}
		}
	}
}

func (a *analyzer) findSaving() {
	if len(a.res.Opportunities) == 0 {
		return
	}
	// What launch-bound stages lose has been told.
	at := slices.IndexFunc(a.res.Opportunities, func(o Opportunity) bool {
		return o.Kind != "gaps" && o.Kind != "host" || !slices.ContainsFunc(a.res.Stages, func(s Stage) bool { return s.Name == o.Stage && s.Split.LaunchBound })
	})
	if at < 0 {
		return
	}
	o := &a.res.Opportunities[at]
	what := "The largest single opportunity"
	if at > 0 {
		what = "The largest opportunity beside the gaps"
	}
	a.find("first-saving", weightMedium,
		fmt.Sprintf("%s: %s, at most %.3g s of the whole run.", what, strings.ToLower(o.Title[:1])+o.Title[1:], o.Seconds),
		fmt.Sprintf("The change that could save most: %s.", strings.ToLower(o.Title[:1])+o.Title[1:]))
}

// findContradictions tells of values that cannot be.
func (a *analyzer) findContradictions() {
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		for _, list := range [][]Utilisation{s.MFU, s.MBU} {
			for _, u := range list {
				if u.Contradiction {
					a.find("contradiction-"+s.Name, weightHigh, fmt.Sprintf("The %s utilisation of %s by %s is contradictory: %s.", u.Peak.Label, s.Name, u.Method, u.Why),
						fmt.Sprintf("One efficiency figure of %s came out impossible and is not shown; the inputs need a check.", s.Name))
				}
			}
		}
	}
}

// tellOverhead compares the clean run with that under nsys.
func (a *analyzer) tellOverhead() {
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		if s.Overhead == nil {
			continue
		}
		a.res.Method.Overhead = append(a.res.Method.Overhead, Fact{s.Name, fmt.Sprintf("%.3f ms clean, %.3f ms under nsys: %+.1f %%", *s.CleanMS, *s.NsysMS, *s.Overhead*100)})
		if *s.Overhead > overheadLimit {
			a.warn("overhead-"+s.Name, "use pipeline/nsys=light", "%s took %.0f %% longer under nsys than clean: gaps in the timeline are larger than in the clean run", s.Name, *s.Overhead*100)
		}
	}
}
