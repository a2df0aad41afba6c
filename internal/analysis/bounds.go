package analysis

import (
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// The runs that a saving is held against.
const (
	timesClean = "clean"
	timesNsys  = "nsys"
)

// maxCleanMS bounds what is taken for a time: a year.
const maxCleanMS = maxSpan / 1e6

// minUnprofiledShare is how long an unprofiled pass must be at least, as a share of the time in
// which kernels run: it cannot be much shorter than they are.
const minUnprofiledShare = 0.9

// A stageClock tells how long stages last: without the profiler where that is
// known, with moments that several instances share counted once, and what of it
// could go. It changes neither the stages nor the timeline.
type stageClock struct {
	selfTimes
	// stages are those of the result: pointers into them are keys of the maps.
	stages []Stage
	tl     *timed // nil without a timeline
	// gains and others remember what was asked before.
	gains  map[*Stage]gain
	others map[*Stage][]otherCall
}

// newStageClock takes the stages of the result themselves, not a copy: what it tells of a stage
// is remembered by its address.
func newStageClock(stages []Stage, tl *timed, self selfTimes) *stageClock {
	return &stageClock{selfTimes: self, stages: stages, tl: tl}
}

// unprofiledNS is how long the passes of a stage that the timeline holds take without
// the profiler. It is not known without an unprofiled run of the same shape, where
// passes run at the same time, nor where it is too short for the kernels in it.
func (st *stageClock) unprofiledNS(s *Stage) (int64, bool) {
	if s.CleanMS == nil || s.Passes == 0 || s.Split.WallNS == 0 || !st.alike() || st.overlap(s) {
		return 0, false
	}
	ms := *s.CleanMS * float64(s.Passes)
	if !(ms > 0 && ms < maxCleanMS) || ms*1e6 < minUnprofiledShare*float64(s.Split.BusyNS) {
		return 0, false
	}
	return int64(math.Round(ms * 1e6)), true
}

// setUnprofiledShares sets what share of its unprofiled time kernels run in each stage.
func (cn *conclusion) setUnprofiledShares() {
	for i := range cn.res.Stages {
		s := &cn.res.Stages[i]
		if ns, ok := cn.stages.unprofiledNS(s); ok {
			s.CleanBusy = new(min(1, float64(s.Split.BusyNS)/float64(ns)))
		}
	}
}

// stageNS is the time of a stage: unprofiled, or else under nsys.
func (st *stageClock) stageNS(s *Stage) (ns int64, clean bool) {
	if ns, ok := st.unprofiledNS(s); ok {
		return ns, true
	}
	return s.Split.WallNS, false
}

// bounded is the most that idle time under nsys, in nanoseconds, can be without the
// profiler: no more than the unprofiled time leaves beside GPU work. An unprofiled
// run that was slower, because something disturbed it, has more of it.
func (st *stageClock) bounded(s *Stage, ns int64) int64 {
	clean, ok := st.unprofiledNS(s)
	if !ok {
		return ns
	}
	idle := max(0, clean-s.Split.BusyNS)
	if had := s.Split.IdleNS; had > 0 && idle > had {
		return min(idle, int64(math.Round(float64(ns)*float64(idle)/float64(had))))
	}
	return min(ns, idle)
}

// span is the time that savings are held against: that of the scope, or of the
// timeline, in which stages last as long as in the unprofiled run where one tells.
func (sv *savings) span() (ns int64, times string) {
	wall := sv.res.wallNS()
	ns, times = wall, timesNsys
	for _, s := range sv.stages.stagesInScope() {
		if clean, ok := sv.stages.unprofiledNS(s); ok {
			ns, times = ns+clean-s.Split.WallNS, timesClean
		}
	}
	if ns <= 0 { // stages that lie in each other
		return wall, timesNsys
	}
	return ns, times
}

// boundFact says which times a bound of idle time rests on.
func (st *stageClock) boundFact(s *Stage) fact.Fact {
	clean, ok := st.unprofiledNS(s)
	if !ok {
		return fact.New(codeTimesNsys)
	}
	code := codeTimesCapped
	if clean-s.Split.BusyNS > s.Split.IdleNS {
		code = codeTimesScaled
	}
	return fact.New(code, fact.Count("passes", s.Passes), fact.NS("clean", clean), fact.NS("busy", s.Split.BusyNS))
}

// usesTorch tells whether advice for PyTorch fits what was run.
func (r *Result) usesTorch() bool {
	return len(r.Operators) > 0 ||
		r.Environment.has("PyTorch") ||
		slices.ContainsFunc(r.Kernels, func(k Kernel) bool {
			return ofTorch(k.Name) || strings.HasPrefix(k.Name, "triton_")
		})
}

// ofTorch tells whether PyTorch ships a kernel of this name.
func ofTorch(kernel string) bool { return strings.Contains(kernel, "at::native") }

// advice chooses what fits the program.
func (r *Result) advice(code fact.Code) []fact.Fact {
	if r.usesTorch() {
		code = forTorch(code)
	}
	return because(code)
}
