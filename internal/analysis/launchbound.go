package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// highShare is the part of all stages that the waits of a launch-bound stage must
// be for it to come before all else.
const highShare = 0.1

// stagesNS is how long the stages take together, in nanoseconds of all passes, unprofiled where
// that is known.
func (st *stageClock) stagesNS(list []*Stage) (total int64) {
	for _, s := range list {
		ns, _ := st.stageNS(s)
		total += ns
	}
	return total
}

// findMain tells of the stage that takes most of the time where no finding that
// it is launch-bound does. It comes before all else where that stage decides: it
// takes half of the time, or the GPU waits in most of it.
func (cn *conclusion) findMain() {
	list := cn.stages.stagesInScope()
	var s *Stage
	var longest int64
	for _, x := range list {
		if x.Region == "" && !x.whole() || x.Split.WallNS == 0 {
			continue
		}
		if ns, _ := cn.stages.stageNS(x); s == nil || ns > longest {
			s, longest = x, ns
		}
	}
	if s == nil || s.Split.LaunchBound || cn.waitsBefore(s) {
		return
	}
	sp := &s.Split
	ns, times := cn.stages.timesOf(s)
	params := append(s.busyParams(), fact.NS("of", ns), timesParam(times))
	if times == timesClean {
		params = append(params, fact.NS("clean", ns))
	}
	if n := cn.stages.gpusOf(s); n > 1 {
		params = append(params, fact.Count("gpus", n))
	}
	weight := weightMedium
	if len(list) > 1 {
		all := cn.stages.stagesNS(list)
		if 2*ns >= all {
			weight = weightHigh
		}
		params = append(params, fact.Share("share", ratio(ns, all)))
	}
	busy := min(sp.BusyNS, ns)
	params = append(params, fact.Share("of_share", ratio(busy, ns)))
	if idle := ns - busy; 10*idle >= ns && len(sp.Idle) > 0 {
		if 2*idle >= ns {
			weight = weightHigh
		}
		params = append(params, fact.ID("cause", "idle", sp.Idle[0].ID), fact.NS("cause_ns", sp.Idle[0].NS))
		if copies := sp.idle("copy"); copies > 0 {
			params = append(params, fact.NS("copies", copies))
			if sp.Idle[0].ID != "copy" {
				params = append(params, fact.NS("copied", copies))
			}
		}
		if s.whole() {
			params = append(params, fact.Because("more", fact.New(codeProgramRanges)))
		}
		cn.find("main-"+s.Name, weight, codeStageIdle, params...)
		return
	}
	if k := cn.res.mainKernel(s); k != nil && k.Limiter.Kind != "" {
		params = append(params, fact.ID("limits", "limits", k.Limiter.Kind))
	}
	cn.find("main-"+s.Name, weight, codeStageBusy, params...)
}

// gpusOf is how many GPUs run kernels of a stage; 1 where that is not known.
func (st *stageClock) gpusOf(s *Stage) int {
	if st.tl == nil || st.tl.t == nil || len(st.tl.devices()) < 2 {
		return 1
	}
	among := st.launchedIn(s)
	used := map[int32]bool{}
	for i := range st.tl.tape.Kinds {
		if k := &st.tl.tape.Kinds[i]; k.Kind == timeline.OpKernel && among[i] {
			used[st.tl.t.Queues[k.Queue].Device] = true
		}
	}
	return max(1, len(used))
}

// launchedIn tells which kinds of work a stage launched; the whole program launched all.
func (st *stageClock) launchedIn(s *Stage) []bool {
	kinds := slices.Repeat([]bool{true}, len(st.tl.tape.Kinds))
	if regions := st.regionsOf(s); len(regions) > 0 {
		in := st.tl.at.InRegions(regions)
		for i := range kinds {
			kinds[i] = in[st.tl.tape.Kinds[i].Place]
		}
	}
	return kinds
}

// busyParams say how long kernels run in a stage, under nsys.
func (s *Stage) busyParams() []fact.Param {
	params := []fact.Param{s.param(), fact.NS("busy", s.Split.BusyNS), fact.Share("busy_share", ratio(s.Split.BusyNS, s.Split.WallNS)), fact.NS("wall", s.Split.WallNS)}
	return append(params, s.passesParam()...)
}

// timesOf is the time of a stage and the run that it is of.
func (st *stageClock) timesOf(s *Stage) (ns int64, times string) {
	ns, clean := st.stageNS(s)
	if clean {
		return ns, timesClean
	}
	return ns, timesNsys
}

// timesParam names the run that a time is of: timesClean or timesNsys.
func timesParam(times string) fact.Param { return fact.ID("times", "times", times) }

// mainKernel is the one that takes more than half of the GPU time of a stage,
// nil where none does.
func (r *Result) mainKernel(s *Stage) *Kernel {
	for i := range r.Kernels {
		if k := &r.Kernels[i]; 2*stageTime(k, s.Name) > s.Split.BusyNS {
			return k
		}
	}
	return nil
}

// findLaunchBound tells of stages in which the GPU waits for launches, those that
// lose most first.
func (cn *conclusion) findLaunchBound() {
	list := cn.stages.stagesInScope()
	var bound []*Stage
	for _, s := range list {
		if s.Split.LaunchBound {
			bound = append(bound, s)
			of, times := cn.stages.onceOf(s)
			s.LaunchGain = &Bound{NS: cn.stages.launchGain(s).NS, OfNS: of, Times: times}
		}
	}
	slices.SortStableFunc(bound, func(x, y *Stage) int { return cmp.Compare(cn.stages.hostWaits(y), cn.stages.hostWaits(x)) })
	all := cn.stages.stagesNS(list)
	for _, s := range bound {
		weight := weightHigh
		if float64(cn.stages.hostWaits(s)) < highShare*float64(all) {
			weight = weightMedium
		}
		cn.find("launch-bound-"+s.Name, weight, codeLaunchBound, cn.launchBoundParams(s)...)
	}
}

// hostWaits is the most that a stage can lose to waits for the host: launch gaps
// and long stretches of host code, but never the work of its busiest stream.
func (st *stageClock) hostWaits(s *Stage) int64 {
	ns, _ := st.onceOf(s)
	g := st.launchGain(s)
	return min(max(0, ns-g.busiest), g.NS+st.bounded(s, s.Split.idle("host")))
}

// onceOf is the time of a stage as timesOf gives it, in which moments under nsys
// that several of its instances share count once: the base of what the stage can
// lose and gain.
func (st *stageClock) onceOf(s *Stage) (ns int64, times string) {
	ns, times = st.timesOf(s)
	if times == timesNsys {
		ns = min(ns, st.stageUnion(s))
	}
	return ns, times
}

// launchBoundParams divide the time of a stage, unprofiled where that is known: busy,
// waits for the host, and the rest where it is worth telling.
func (cn *conclusion) launchBoundParams(s *Stage) []fact.Param {
	ns, times := cn.stages.onceOf(s)
	loses := cn.stages.hostWaits(s)
	busy := min(s.Split.BusyNS, ns)
	params := append(s.busyParams(), fact.Share("wait_share", ratio(s.Split.LaunchNS+s.Split.idle("host"), s.Split.WallNS)),
		timesParam(times), fact.NS("of", ns), fact.Share("of_busy", ratio(busy, ns)), fact.Share("of_waits", ratio(min(loses, ns-busy), ns)), fact.NS("left", ns-loses))
	if rest := ns - busy - loses; 1000*rest >= ns {
		params = append(params, fact.Share("of_rest", ratio(rest, ns)))
	}
	return append(params, fact.Because("more", cn.aboutLaunchBound(s)...))
}

// aboutLaunchBound is what to know of a launch-bound stage.
func (cn *conclusion) aboutLaunchBound(s *Stage) []fact.Fact {
	ns, times := cn.stages.onceOf(s)
	gain := cn.stages.launchGain(s).NS
	code := codeGraphsGain
	if s.fromGraphs() {
		code = codeAheadGain
	}
	params := []fact.Param{fact.NS("gain", gain), fact.Share("share", ratio(gain, ns)), fact.NS("of", ns), timesParam(times)}
	params = append(params, s.passesParam()...)
	more := []fact.Fact{fact.New(code, params...)}
	if host := s.Split.idle("host"); host > 0 {
		params := []fact.Param{fact.NS("host", host), fact.NS("longer", cn.th.HostGap.Nanoseconds())}
		if where := cn.whereHost(s); where != "" {
			params = append(params, fact.Region("region", where))
		}
		more = append(more, fact.New(codeHostStretches, params...))
	}
	if f, ok := s.mostFrames(); ok {
		more = append(more, f)
	}
	if _, clean := cn.stages.stageNS(s); clean && 2*s.Split.BusyNS > ns {
		more = append(more, fact.New(codeProfilerWaits))
	}
	more = append(more, fact.New(codeLaunchesFirst))
	if cn.stages.overlap(s) {
		more = append(more, fact.New(codeStageOverlaps, fact.NS("sum", s.Split.WallNS), fact.NS("once", cn.stages.stageUnion(s))))
	}
	if f, ok := s.passTimes(); ok {
		more = append(more, f)
	}
	return more
}

// passTimes compares the two times of a pass, by one clock.
func (s *Stage) passTimes() (fact.Fact, bool) {
	if s.CleanMS == nil || s.NsysMS == nil || s.Overhead == nil && s.OverheadWhy == nil {
		return fact.Fact{}, false
	}
	params := []fact.Param{fact.ID("clock", "clock", s.NsysClock), fact.NS("clean", *s.CleanMS*1e6), fact.NS("nsys", *s.NsysMS*1e6)}
	if s.Overhead != nil && (s.OverheadWhy == nil || !s.OverheadWhy.Is(fasterUnderNsys)) {
		params = append(params, fact.Share("overhead", *s.Overhead))
	}
	return fact.New(codePassTimes, params...), true
}

// whereHost names the deepest region within the stage that has most of its long
// host stretches; "" where none has.
func (cn *conclusion) whereHost(s *Stage) string {
	best, total := "", s.Split.idle("host")
	regions := undivided(cn.res.Regions)
	for i := range regions {
		r := &regions[i]
		if slices.ContainsFunc(s.paths(), func(p string) bool { return strings.HasPrefix(r.Path, p+"/") }) && 5*r.Split.idle("host") >= 4*total {
			best = r.Path
		}
	}
	return best
}

// A gain is the most that closing the launch gaps of a stage can save.
type gain struct {
	NS      int64 // of the time of the stage that stageNS gives
	Streams int64 // of it what kernels of several streams could then run beside each other
	busiest int64 // how long the busiest stream works
}

// launchGain bounds the change "close the launch gaps" once, for every finding,
// table and opportunity. The host then launches in no time: launches, the code
// between them and other CUDA calls go, while kernels last as long as they do.
// No stage is then shorter than the work of its busiest stream, nor than what the
// host still does: long stretches of code, allocation, loading, synchronization.
// What of that is hidden behind kernels now may be hidden then, and the reverse.
func (st *stageClock) launchGain(s *Stage) gain {
	if g, ok := st.gains[s]; ok {
		return g
	}
	g := st.findLaunchGain(s)
	if st.gains == nil {
		st.gains = map[*Stage]gain{}
	}
	st.gains[s] = g
	return g
}

// findLaunchGain is launchGain without its memory.
func (st *stageClock) findLaunchGain(s *Stage) gain {
	once := st.idleOnce(s)
	on := st.busiestStream(s)
	kept := once["host"] + once["alloc"] + once["none"] + st.loading(s)
	least := max(on.busiest, kept) + once["sync"] // in one stream nothing runs beside a synchronization
	if on.streams > 1 {
		least = max(on.busiest, kept+once["sync"])
	}
	union := st.stageUnion(s)
	if union < s.Split.WallNS || on.threads > 1 { // what one thread or process keeps doing, others may hide
		least = on.busiest
	}
	saves := max(0, union-least)
	if ns, clean := st.stageNS(s); clean {
		if idle, had := ns-s.Split.BusyNS, s.Split.IdleNS; had > 0 && idle > had { // it was slower
			saves = int64(float64(saves) * float64(idle) / float64(had))
		}
		saves = min(saves, max(0, ns-on.busiest))
	}
	return gain{saves, max(0, s.Split.BusyNS-on.busiest-on.exchanging), on.busiest}
}

// stageUnion is how long a stage lasts under nsys, in which moments that several
// of its instances share count once.
func (st *stageClock) stageUnion(s *Stage) int64 {
	if regions := st.regionsOf(s); len(regions) > 0 && st.tl != nil && st.tl.t != nil {
		var union int64
		for _, m := range st.momentsOf(s, -1) {
			union += timeline.Since(m.start, m.end)
		}
		return min(s.Split.WallNS, union)
	}
	return s.Split.WallNS
}

// streamUse is how the work of a stage is spread over streams.
type streamUse struct {
	// All times are nanoseconds within the stage.
	busiest    int64 // how long it runs in the stream that has the most of it
	exchanging int64 // kernels that exchange data with other GPUs, in the stream with the most of them
	streams    int   // that have any
	threads    int   // of the host that launched it
}

// busiestStream tells how long work of a stage runs in its busiest stream; all busy
// time where nothing tells streams apart. Kernels that exchange data with other
// GPUs are told beside it: they wait for the last rank, and last less where it
// comes sooner.
func (st *stageClock) busiestStream(s *Stage) streamUse {
	if st.tl == nil || st.tl.t == nil {
		return streamUse{busiest: s.Split.BusyNS, streams: 1, threads: 1}
	}
	if found := st.tl.lookedAt(s); found != nil {
		return found.use
	}
	threads, last := map[uint32]bool{}, uint32(timeline.None)
	waits := make([]bool, len(st.tl.tape.Kinds))
	for i := range waits {
		waits[i] = st.tl.waitsForRanks(st.tl.p.label[i])
	}
	moments := []moment{{st.tl.lo, st.tl.hi}}
	switch regions := st.regionsOf(s); {
	case len(regions) > 0:
		moments = st.momentsOf(s, -1)
	case st.tl.scope != nil:
		moments = st.tl.scope.moments
	}
	busy, reach, began := make([]int64, len(st.tl.t.Queues)), make([]int64, len(st.tl.t.Queues)), make([]bool, len(st.tl.t.Queues))
	exchange := make([]int64, len(st.tl.t.Queues))
	at, own := 0, st.ownOfStage(s)
	for w := st.tl.tape.Work(); w.Next(); {
		if own != nil && !own.has(w.At()) {
			continue // of others, who may run it at another time
		}
		start, end := w.Span()
		k := w.Of()
		q := k.Queue
		for at < len(moments) && moments[at].end <= start {
			at++
		}
		if at == len(moments) {
			break // the rest begins later still
		}
		for j := at; j < len(moments) && moments[j].start < end; j++ {
			from, to := max(start, moments[j].start), min(end, moments[j].end)
			if began[q] {
				from = max(from, reach[q])
			}
			if from < to {
				if thread := k.Thread; w.Call() != timeline.None && (thread != last || len(threads) == 0) {
					threads[thread], last = true, thread
				}
				if waits[w.Kind()] {
					exchange[q] += to - from
				} else {
					busy[q] += to - from
				}
				reach[q], began[q] = to, true
			}
		}
	}
	use := streamUse{threads: len(threads)}
	for q, ns := range busy {
		if began[q] {
			use.busiest, use.exchanging = max(use.busiest, ns), max(use.exchanging, exchange[q])
			use.streams++
		}
	}
	return use
}

// ownOfStage marks the work that a stage launched; nil where no other runs while it does.
func (st *stageClock) ownOfStage(s *Stage) marks {
	ids := st.regionsOf(s)
	if !slices.ContainsFunc(ids, func(id uint32) bool { return st.tl.own.work[id] != nil }) {
		return nil
	}
	own, _ := st.tl.ownOf(ids)
	return own
}
