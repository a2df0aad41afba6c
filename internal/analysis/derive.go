package analysis

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A TimeLimiter is what decides how long a stage, a region or a program takes.
type TimeLimiter struct {
	// Kind: launch (launch-bound), idle (no kernel runs most of the time, and not
	// for launches) or work (kernels run at least half of the time).
	Kind string `json:"kind"`
	// Part is the ID of the largest part: of the causes where it is idle, of the
	// categories where it is work; "" where it is launch-bound.
	Part  string `json:"part,omitempty"`
	Label string `json:"label,omitempty"` // of a category, as its rules name it
}

// Kinds of what limits time.
const (
	TimeLaunch = "launch"
	TimeIdle   = "idle"
	TimeWork   = "work"
)

// A RegionLimiter is what holds back more of the GPU time of a region than
// anything else.
type RegionLimiter struct {
	// Kind is as in Limiter; launch-bound where the GPU waits for the host more
	// than it works, none where the region has no GPU work, "" without a verdict.
	Kind  string   `json:"kind"`
	Units []string `json:"units"`           // as in Limiter
	Share float64  `json:"share,omitempty"` // of the GPU time of the region; 0 where the verdict is on the whole of it
}

// Kinds of region limiters that no kernel has.
const (
	regionLaunchBound = "launch-bound"
	regionNoWork      = "none"
)

// A ClockPair is a limit at the clock that MFU is held against, and at the one that
// the roofline is drawn at.
type ClockPair struct {
	Peak Peak `json:"peak"`
	Roof Peak `json:"roof"`
}

// A LaneTop is a name in a lane with the time that it takes there.
type LaneTop struct {
	Name int   `json:"n"` // index into Overview.Names
	NS   int64 `json:"ns"`
}

const (
	sameClock    = 0.001  // times and clocks that differ by less are the same
	fullCoverage = 0.9995 // coverage from which nothing worth telling is left out
	minElsewhere = 0.01   // share of launches counted in other regions that is told
	fewValues    = 20     // below which a high percentile is the largest value
	laneTops     = 3      // names of a lane that are told

)

// Derive fills what follows from the other fields, so that no renderer computes or
// decides: limiters of stages and regions, shares, sums and what is worth telling.
// Analyze calls it last, and whoever reads a stored result calls it too. It may be called
// again after a change.
func (r *Result) Derive() {
	r.Method.OverheadLimit = cmp.Or(r.Method.OverheadLimit, defaultThresholds.Overhead) // older results lack it
	r.deriveTotals()
	for i := range r.Stages {
		r.deriveStage(&r.Stages[i])
	}
	for i := range r.Regions {
		r.deriveRegion(&r.Regions[i])
	}
	for i := range r.RegionGroups {
		r.deriveGroup(&r.RegionGroups[i])
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		for j := range k.Stages {
			k.Stages[j].Share = shareOf(k.Stages[j].NS, k.TotalNS)
		}
	}
	r.deriveOperators()
	for i := range r.Opportunities {
		o := &r.Opportunities[i]
		if o.Share = nil; o.OfNS > 0 {
			o.Share = new(o.Seconds * 1e9 / float64(o.OfNS))
		}
	}
	r.Roofline.Clocks = r.clockPair()
	for i := range r.Overview.Lanes {
		r.Overview.Lanes[i].derive(r.Overview.EndNS - r.Overview.StartNS)
	}
}

// deriveTotals gives shares of the wall time; those over several GPUs are means.
func (r *Result) deriveTotals() {
	t := &r.Totals
	gpus := max(1, len(t.Devices))
	t.BusyShare = shareOf(t.BusyNS, t.WallNS*int64(gpus))
	for i := range t.Devices {
		t.Devices[i].Share = shareOf(t.Devices[i].BusyNS, t.WallNS)
	}
	t.Split.derive()
	for i := range t.Aggregates {
		t.Aggregates[i].Few = t.Aggregates[i].N < fewValues && t.Aggregates[i].N > 0
	}
	if s := r.Scope; s != nil {
		s.BusyShare = shareOf(s.BusyNS, s.WallNS*int64(gpus))
		s.Split.derive()
	}
}

// shareOf is absent where there is no whole.
func shareOf(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// derive may be called on nil, which stays absent. Older results lack HostNS and the
// shares, and get them here.
func (s *Split) derive() {
	if s == nil || s.WallNS <= 0 {
		return
	}
	switch idle, busy := largestPart(s.Idle), largestPart(s.Busy); {
	case s.LaunchBound:
		s.Limiter = &TimeLimiter{Kind: TimeLaunch}
	case s.IdleNS > s.BusyNS:
		s.Limiter = &TimeLimiter{Kind: TimeIdle, Part: idle.ID}
	default:
		s.Limiter = &TimeLimiter{Kind: TimeWork, Part: busy.ID, Label: busy.Label}
	}
	s.BusyShare = shareOf(s.BusyNS, s.WallNS)
	s.HostNS = s.idle("launch") + s.idle("python") + s.idle("host")
	s.IdleShare, s.HostShare = shareOf(s.IdleNS, s.WallNS), shareOf(s.HostNS, s.WallNS)
	for _, parts := range [][]TimePart{s.Busy, s.Idle} {
		for i := range parts {
			parts[i].Share = shareOf(parts[i].NS, s.WallNS)
		}
	}
}

// OfWall is a time as a share of the wall time; nil where there is none.
func (t *Totals) OfWall(ns int64) *float64 { return shareOf(ns, t.WallNS) }

// OfWall is a time as a share of the wall time of the scope; nil where there is none.
func (s *Scope) OfWall(ns int64) *float64 { return shareOf(ns, s.WallNS) }

// largestPart is the first of equal ones; empty without parts.
func largestPart(parts []TimePart) (most TimePart) {
	for _, p := range parts {
		if p.NS > most.NS {
			most = p
		}
	}
	return most
}

// deriveStage leaves RangeMS absent where it would repeat NsysMS.
func (r *Result) deriveStage(s *Stage) {
	s.Split.derive()
	if b := s.LaunchGain; b != nil {
		b.Share = shareOf(b.NS, b.OfNS)
	}
	s.OverheadHigh = s.Overhead != nil && *s.Overhead > r.Method.OverheadLimit
	s.RangeMS = nil
	if s.NsysMS == nil || s.NsysClock == clockOfRange || s.Passes <= 0 || s.Split.WallNS <= 0 {
		return
	}
	if ms := float64(s.Split.WallNS) / float64(s.Passes) / 1e6; math.Abs(ms-*s.NsysMS) > sameClock*ms {
		s.RangeMS = &ms
	}
}

// deriveRegion goes by the limiters of kernels, which must be known. A share of the
// scope is absent for a region outside it, and without a timeline.
func (r *Result) deriveRegion(g *Region) {
	g.Split.derive()
	g.Limiter = r.regionLimiter(g)
	if g.Times == timesOfNcu {
		g.NcuNS = max(g.KernelNS, g.ProjectedNS)
	}
	for i := range g.Top {
		k := &g.Top[i]
		k.Share, k.MeanNS = shareOf(k.NS, g.KernelNS), float64(k.NS)/float64(max(k.Calls, 1))
	}
	g.Share = nil
	if ns, in := r.InScope(g); in && g.Times == "" {
		g.Share = shareOf(ns, r.kernelNS())
	}
	c := g.Counters
	if c == nil {
		return
	}
	g.Coverage = &c.Coverage
	c.Partial = c.Coverage < fullCoverage
	c.Elsewhere = nil
	if x := float64(c.ElsewhereNS) / max(1, c.Coverage*float64(g.KernelNS)); x >= minElsewhere {
		c.Elsewhere = new(min(1, x))
	}
}

// kernelNS is the GPU time that shares are of: that of the scope, or all.
func (r *Result) kernelNS() int64 {
	if r.Scope != nil {
		return r.Scope.KernelNS
	}
	return r.Totals.KernelNS
}

// InScope is the GPU time of a region that lies in the scope, and whether it has
// any part in it: a range of another domain can do so with some of its instances.
func (r *Result) InScope(g *Region) (ns int64, in bool) {
	switch {
	case r.Scope == nil:
		return g.KernelNS, true
	case g.ScopeNS != nil && g.KernelNS > 0:
		return *g.ScopeNS, *g.ScopeNS > 0
	}
	in = slices.ContainsFunc(r.Scope.Regions, func(path string) bool { return g.Path == path || strings.HasPrefix(g.Path, path+"/") })
	if !in {
		return 0, false
	}
	return g.KernelNS, true
}

// regionLimiter names what holds a region back: the host, or that which limits
// most of its GPU time, without verdicts that rest on launches unlike its own.
func (r *Result) regionLimiter(g *Region) *RegionLimiter {
	switch c := g.Counters; {
	case g.Split.LaunchBound:
		return &RegionLimiter{Kind: regionLaunchBound, Units: []string{}}
	case c != nil && c.Limiter != nil && c.Limiter.Kind != "":
		return &RegionLimiter{Kind: c.Limiter.Kind, Units: c.Limiter.Units}
	case g.Kernels == 0 && g.Times == "":
		return &RegionLimiter{Kind: regionNoWork, Units: []string{}}
	}
	var sums []RegionLimiter
	for _, k := range g.Top {
		if k.Kernel < 0 || k.Kernel >= len(r.Kernels) || k.BasisNS > 0 {
			continue
		}
		if l := &r.Kernels[k.Kernel].Limiter; l.Kind != "" {
			sums = addLimiter(sums, l, float64(k.NS))
		}
	}
	if len(sums) == 0 || g.KernelNS <= 0 {
		return &RegionLimiter{Units: []string{}}
	}
	most := largestLimiter(sums)
	most.Share /= float64(g.KernelNS)
	return &most
}

// addLimiter adds time to the Share of a limiter, which holds the sum until it is divided by the
// whole. A limiter that is new to the list comes last.
func addLimiter(sums []RegionLimiter, l *Limiter, time float64) []RegionLimiter {
	at := slices.IndexFunc(sums, func(x RegionLimiter) bool { return x.Kind == l.Kind && slices.Equal(x.Units, l.Units) })
	if at < 0 {
		return append(sums, RegionLimiter{Kind: l.Kind, Units: l.Units, Share: time})
	}
	sums[at].Share += time
	return sums
}

// largestLimiter is the first of equal ones, and has no kind where there is none.
func largestLimiter(sums []RegionLimiter) (most RegionLimiter) {
	for _, x := range sums {
		if most.Kind == "" || x.Share > most.Share {
			most = x
		}
	}
	return most
}

// deriveOperators gives each operator its share of all self time: of the device,
// or of the CPU where no operator has any of the device.
func (r *Result) deriveOperators() {
	whole := 0.0
	for i := range r.Operators {
		whole += r.Operators[i].selfUS(r.OnlyCPU())
	}
	for i := range r.Operators {
		o := &r.Operators[i]
		if o.Share = nil; whole > 0 {
			o.Share = new(o.selfUS(r.OnlyCPU()) / whole)
		}
	}
}

// selfUS is the time without operators that it calls, in microseconds: of the CPU, or
// of the device.
func (o *Operator) selfUS(cpu bool) float64 {
	if cpu {
		return o.SelfCPUUS
	}
	return o.SelfDeviceUS
}

// OnlyCPU tells that no operator has device time, so that the time of the CPU is
// all there is to compare.
func (r *Result) OnlyCPU() bool {
	return !slices.ContainsFunc(r.Operators, func(o Operator) bool { return o.TotalDeviceUS > 0 || o.SelfDeviceUS > 0 })
}

// Python tells whether the workload is a program of Python: its command says so, or
// what ran is PyTorch.
func (r *Result) Python() bool {
	command := r.Workload.Command
	return r.Workload.Model != nil || r.Environment.has("python") || r.Environment.has("torch") || r.Environment.has("pytorch") ||
		len(command) > 0 && strings.HasPrefix(path.Base(filepath.ToSlash(command[0])), "python")
}

// has tells whether some software is named, however its name is written.
func (env *Environment) has(name string) bool {
	return slices.ContainsFunc(env.Software, func(f Fact) bool { return strings.EqualFold(f.Name, name) })
}

// clockPair is the first limit of which MFU and the roofline have different clocks;
// nil where none has.
func (r *Result) clockPair() *ClockPair {
	for i := range r.Stages {
		for _, u := range slices.Concat(r.Stages[i].MFU, r.Stages[i].HFU) {
			for _, roof := range r.Roofline.Roofs {
				if roof.ID == u.Peak.ID && roof.ClockHz > 0 && u.Peak.ClockHz > 0 && math.Abs(roof.ClockHz/u.Peak.ClockHz-1) >= sameClock {
					return &ClockPair{u.Peak, roof}
				}
			}
		}
	}
	return nil
}

// derive sums the boxes of a lane by name.
func (l *Lane) derive(span int64) {
	l.BusyNS, l.Top = 0, nil
	byName := map[int]int64{}
	for _, b := range l.Boxes {
		ns := b.Len
		if b.Count > 1 {
			ns = b.Busy
		}
		l.BusyNS += ns
		byName[b.Name] += ns
	}
	for name, ns := range byName {
		l.Top = append(l.Top, LaneTop{name, ns})
	}
	slices.SortFunc(l.Top, func(x, y LaneTop) int { return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name)) })
	l.Top = l.Top[:min(len(l.Top), laneTops)]
	l.Share = shareOf(l.BusyNS, span)
}

// KernelsAfter sums the kernels that are not among the first n, with those that the
// result does not list; nil where there are none. Share is of the GPU time.
func (r *Result) KernelsAfter(n int) *Rest {
	rest := Rest{}
	if r.Rest != nil {
		rest = *r.Rest
	}
	for i := n; i < len(r.Kernels); i++ {
		rest.Kernels++
		rest.Calls += r.Kernels[i].Calls
		rest.NS += r.Kernels[i].TotalNS
	}
	if rest.Kernels == 0 {
		return nil
	}
	rest.Share = shareOf(rest.NS, r.kernelNS())
	return &rest
}

// LimiterOf is the kernel that takes most time of some of one name, which are
// sorted by that, and whether its limiter holds for all of their time, most of it
// or a part. It is nil where the first has no verdict.
func LimiterOf(same []*Kernel) (k *Kernel, holds string) {
	if len(same) == 0 || same[0].Limiter.Kind == "" {
		return nil, ""
	}
	first := &same[0].Limiter
	var all, alike int64
	for _, k := range same {
		all += k.TotalNS
		if k.Limiter.same(first) {
			alike += k.TotalNS
		}
	}
	switch {
	case !slices.ContainsFunc(same, func(k *Kernel) bool {
		return !k.Limiter.same(first) || k.Limiter.Detail != first.Detail || !sameLevel(k.Limiter.Level, first.Level)
	}):
		return same[0], holdsForAll
	case 2*alike > all:
		return same[0], holdsMostly
	}
	return same[0], holdsPartly
}

// How far the limiter of one kernel holds for others of its name.
const (
	holdsForAll = "all"
	holdsMostly = "mostly"
	holdsPartly = "partly"
)

// sameLevel compares as tables show them.
func sameLevel(x, y *float64) bool {
	if x == nil || y == nil {
		return x == y
	}
	return math.Round(*x*1000) == math.Round(*y*1000)
}

// Saves is the share of the whole run, or of the scope, that the opportunity takes
// away at most, 0 to 1; 0 where no speedup is known.
func (o *Opportunity) Saves() float64 {
	if o.Speedup <= 1 {
		return 0
	}
	return 1 - 1/o.Speedup
}

// LeadMS is how long no kernel ran before the first work of a pass, on average; nil
// where that is not known.
func (s *Stage) LeadMS() *float64 {
	if s.Lead == nil || s.Passes <= 0 {
		return nil
	}
	return new(float64(s.Lead.NS) / float64(s.Passes) / 1e6)
}

// SizesCut is how many sizes of messages no collective lists.
func (j *Job) SizesCut() (n int) {
	for _, c := range j.Collectives {
		n += c.SizesCut
	}
	return n
}
