package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// withHostFrames tells by samples of Python what the host did while the GPU waited
// for it in each stage.
func withHostFrames(stages []Stage, tl *timed) []Stage {
	if tl == nil || len(tl.t.PythonSamples) == 0 {
		return stages
	}
	gaps := tl.t.GapGroups(timeline.Query{WholeDevices: true}).Rows
	out := slices.Clone(stages)
	for i := range out {
		s := &out[i]
		for _, g := range gaps {
			if (g.Cause == "host" || g.Cause == "launch") && s.holds(g.NVTX) {
				s.HostFrames = addFrames(s.HostFrames, g.Python)
			}
		}
		slices.SortStableFunc(s.HostFrames, func(x, y timeline.HostFrame) int { return cmp.Compare(y.Samples, x.Samples) })
	}
	return out
}

// holds tells whether a region lies in the stage; all do in one without regions.
func (s *Stage) holds(region string) bool {
	paths := s.paths()
	return paths[0] == "" || slices.ContainsFunc(paths, func(p string) bool { return region == p || strings.HasPrefix(region, p+"/") })
}

// addFrames adds samples of the same function; line numbers are not told apart.
func addFrames(sums, more []timeline.HostFrame) []timeline.HostFrame {
	for _, f := range more {
		at := slices.IndexFunc(sums, func(s timeline.HostFrame) bool { return s.Function == f.Function && s.File == f.File })
		if at < 0 {
			sums = append(sums, f)
			continue
		}
		sums[at].Samples += f.Samples
	}
	return sums
}

// shownFrames is how many functions a sentence names.
const shownFrames = 3

// mostFrames is false where nsys did not sample Python.
func (s *Stage) mostFrames() (fact.Fact, bool) {
	if len(s.HostFrames) == 0 {
		return fact.Fact{}, false
	}
	var all int64
	for _, f := range s.HostFrames {
		all += f.Samples
	}
	first, shares := s.HostFrames[0], timeline.SampleShares(s.HostFrames)
	params := []fact.Param{fact.Name("frame", first.Name()), fact.Share("share", shares[0]), fact.Count("n", all)}
	var then []string
	for _, f := range s.HostFrames[1:min(shownFrames, len(s.HostFrames))] {
		then = append(then, f.Name())
	}
	if len(then) > 0 {
		params = append(params, fact.Names("then", fact.KindName, then))
	}
	return fact.New(codeHostFrames, params...), true
}

// hostAdvice is what to do about long stretches of host code, and what runs there
// where that was seen.
func (r *Result) hostAdvice(s *Stage) []fact.Fact {
	advice := r.advice(codeHowHost)
	if f, ok := s.mostFrames(); ok {
		return append(slices.Clone(advice), f)
	}
	return advice
}
