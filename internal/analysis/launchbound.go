package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// highShare is the part of all stages that the waits of a launch-bound stage must
// be for it to come before all else.
const highShare = 0.1

// stagesNS is how long the stages take together, clean where that is known.
func (a *analyzer) stagesNS(list []*Stage) (total int64) {
	for _, s := range list {
		ns, _ := a.stageNS(s)
		total += ns
	}
	return total
}

// findMain tells of the stage that takes most of the time where no finding that
// it is launch-bound does. It comes before all else where that stage decides: it
// takes half of the time, or the GPU waits in most of it.
func (a *analyzer) findMain() {
	list := a.stagesInScope()
	var s *Stage
	for _, x := range list {
		if x.Region == "" && !x.whole() || x.Split.WallNS == 0 {
			continue
		}
		if s == nil || a.longer(x, s) {
			s = x
		}
	}
	if s == nil || s.Split.LaunchBound {
		return
	}
	sp := &s.Split
	ns, clean := a.stageNS(s)
	text, plain, weight := "", "", weightMedium
	if len(list) > 1 {
		all := a.stagesNS(list)
		if 2*ns >= all {
			weight = weightHigh
		}
		share := shareOf(ns, all)
		text = fmt.Sprintf("%s takes %s of the time of all stages. ", s.Name, share)
		plain = fmt.Sprintf("%s takes %s of the time of all stages. ", s.Name, share)
	}
	busy := sp.BusyNS
	share := shareOf(busy, sp.WallNS)
	when := "Under the profiler"
	text += fmt.Sprintf("In %s a kernel runs for %s: %s of its %s under nsys", s.words(), duration(busy), share, duration(sp.WallNS)+inPasses(s))
	if clean {
		when = "Without the profiler"
		busy = min(busy, ns)
		share = shareOf(busy, ns)
		text += fmt.Sprintf(", %s of its %s without the profiler", share, duration(ns))
	}
	text += "."
	if idle := ns - busy; 10*idle >= ns && len(sp.Idle) > 0 {
		why := sp.Idle[0]
		if 2*idle >= ns {
			weight = weightHigh
		}
		is := "is " + strings.ToLower(why.Label[:1]) + why.Label[1:]
		if why.ID == causeParts[causeNone].ID {
			is = "has no launch under way"
		}
		text += fmt.Sprintf(" The rest is idle; most of that, under nsys, %s (%s).", is, duration(why.NS))
		plain += fmt.Sprintf("%s, the GPU works %s of the time of %s and waits in the rest.", when, share, s.words())
		if s.whole() {
			text += " NVTX ranges around its parts would tell which of them waits."
			plain += " Starting and loading are part of that time."
		}
	} else {
		text += " The kernels decide how long it takes."
		plain += fmt.Sprintf("%s, the GPU works %s of the time of %s: how long it takes is decided by the work itself.", when, share, s.words())
		if k := a.mainKernel(s); k != nil && k.Limiter.Kind != "" {
			plain += fmt.Sprintf(" Most of that work is held back by %s.", limitWords[k.Limiter.Kind])
		}
	}
	a.find("main-"+s.Name, weight, text, plain)
}

// mainKernel is the one that takes more than half of the kernel time of a stage,
// nil where none does.
func (a *analyzer) mainKernel(s *Stage) *Kernel {
	for i := range a.res.Kernels {
		if k := &a.res.Kernels[i]; 2*stageTime(k, s.Name) > s.Split.BusyNS {
			return k
		}
	}
	return nil
}

// inPasses says that a time is that of several passes: tables give one.
func inPasses(s *Stage) string {
	if s.Passes > 1 {
		return fmt.Sprintf(" in %d passes", s.Passes)
	}
	return ""
}

func (a *analyzer) longer(x, y *Stage) bool {
	p, _ := a.stageNS(x)
	q, _ := a.stageNS(y)
	return p > q
}

// findLaunchBound tells of stages in which the GPU waits for launches, those that
// lose most first.
func (a *analyzer) findLaunchBound() {
	list := a.stagesInScope()
	var bound []*Stage
	for _, s := range list {
		if s.Split.LaunchBound {
			bound = append(bound, s)
			if _, ok := a.cleanNS(s); ok {
				gain := a.bounded(s, s.Split.GainNS)
				s.CleanGainNS = &gain
			}
		}
	}
	loses := func(s *Stage) int64 { return a.bounded(s, s.Split.GainNS+s.Split.idle("host")) }
	slices.SortStableFunc(bound, func(x, y *Stage) int { return cmp.Compare(loses(y), loses(x)) })
	all := a.stagesNS(list)
	for _, s := range bound {
		weight := weightHigh
		if float64(loses(s)) < highShare*float64(all) {
			weight = weightMedium
		}
		a.find("launch-bound-"+s.Name, weight, a.launchBoundText(s), a.launchBoundPlain(s, loses(s)))
	}
}

func (a *analyzer) launchBoundText(s *Stage) string {
	sp := &s.Split
	host := sp.idle("host")
	text := fmt.Sprintf("%s is launch-bound: under nsys a kernel runs in %s of its %s, and the GPU waits for the host in %s.", s.words(), shareOf(sp.BusyNS, sp.WallNS), duration(sp.WallNS)+inPasses(s), shareOf(sp.GainNS+host, sp.WallNS))
	what := "CUDA graphs or fusion"
	if s.fromGraphs() {
		what = "Launching its CUDA graphs ahead"
	}
	ns, clean := a.stageNS(s)
	gain := a.bounded(s, sp.GainNS)
	text += fmt.Sprintf(" %s can gain at most %s, %s of the ", what, duration(gain), shareOf(gain, ns))
	switch {
	case !clean:
		text += "stage under nsys."
	case s.Passes > 1:
		text += fmt.Sprintf("%s that its %d passes take without the profiler.", duration(ns), s.Passes)
	default:
		text += fmt.Sprintf("%s that it takes without the profiler.", duration(ns))
	}
	if host > 0 {
		text += fmt.Sprintf(" %s of the waits are stretches of more than %s without a CUDA call%s: work of the host that must leave the loop.", duration(host), duration(a.th.HostGap.Nanoseconds()), a.whereHost(s))
	}
	if clean && 2*sp.BusyNS > ns {
		text += " Without the profiler a kernel runs in more than half of the time: many of these waits are the profiler's."
	}
	text += " Counters of its kernels cannot help before the gaps are gone."
	if a.overlap(s) {
		text += " Instances of the stage run at the same time, and their times are added up."
	}
	return text + overheadWords(s)
}

// overheadWords compares the two times of a pass, by one clock.
func overheadWords(s *Stage) string {
	if s.CleanMS == nil || s.NsysMS == nil || s.Overhead == nil && s.OverheadWhy == nil {
		return ""
	}
	by := "By the NVTX range"
	if s.NsysClock == clockOfWorkload {
		by = "By its own clock"
	}
	over := "within the noise"
	switch {
	case s.OverheadWhy != nil && s.OverheadWhy.Is(FasterUnderNsys):
		over = "not told"
	case s.Overhead != nil:
		over = fmt.Sprintf("%+.0f %%", *s.Overhead*100)
	}
	return fmt.Sprintf(" %s a pass takes %.3g ms clean and %.3g ms under nsys (%s).", by, *s.CleanMS, *s.NsysMS, over)
}

func (a *analyzer) launchBoundPlain(s *Stage, loses int64) string {
	ns, clean := a.stageNS(s)
	when, upTo := "Under the profiler", ""
	if clean {
		when, upTo = "Without the profiler", "up to "
	}
	busy := min(s.Split.BusyNS, ns)
	text := fmt.Sprintf("%s, the GPU works only %s of the time of %s. For %s%s of it, it waits for the program on the host to hand it work", when, shareOf(busy, ns), s.words(), upTo, shareOf(loses, ns))
	if rest := ns - busy - loses; 1000*rest >= ns {
		text += fmt.Sprintf(", and for %s for other reasons", shareOf(rest, ns))
	}
	return text + fmt.Sprintf(". For %s, a faster GPU would help little; removing the waits for the host could shorten it from %s to about %s at best.", s.words(), duration(ns)+inPasses(s), duration(ns-loses))
}

// whereHost names the deepest region within the stage that has most of its long
// host stretches.
func (a *analyzer) whereHost(s *Stage) string {
	best, total := "", s.Split.idle("host")
	for i := range a.regionIDs {
		r := &a.res.Regions[i]
		if slices.ContainsFunc(s.paths(), func(p string) bool { return strings.HasPrefix(r.Path, p+"/") }) && 5*r.Split.idle("host") >= 4*total {
			best = r.Path
		}
	}
	if best == "" {
		return ""
	}
	return " in " + best
}
