package pick

import (
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// The model of what counting costs, from PyTorch processes under Nsight Compute
// 2025.3.1 on H200 machines. A pass takes longer the more launches the program
// made before: 18 passes took 0.62 s after 600 launches, 0.65 s after 2,200 and
// 1.1 to 1.7 s after 23,000. Whole processes take a tenth of a second a launch more
// (their own 16 s left out): 78 launches, spread over 11,439, took 68 s, 44 launches
// 30 and 36 s. --set basic is 10 passes, full 38; roofline with launch statistics,
// occupancy and memory is 18.
const (
	SecondsPerPass = 0.035  // of the first launch
	secondsBeside  = 0.1    // of a launch, beside its passes
	slowerByLaunch = 1.8e-6 // seconds of a pass, for each launch before
	// launches of two passes of a small Llama, 32 tokens each: where nothing is known
	usualBefore = 23_000
	// a kernel in a pass against the timeline: lower clocks, its memory saved and restored
	slowerInPass = 3.0
	startSeconds = 3.0 // of one ncu process beside the program: injection, modules, the report

	// ncu runs the nodes of a CUDA graph one by one: on a server with steps of 865
	// nodes the first step that it saw took 50 s beside what it counted in it, steps of
	// another with 1,500 nodes 16 to 19 s once it knew them.
	newNodeSeconds = 0.058
	nodeSeconds    = 0.011
	servedBefore   = 14_500 // launches that a server has made by then: one of 18 passes took 1.1 s
)

// setPasses are the passes of the section sets.
var setPasses = map[string]int{"basic": 10, "default": 10, "roofline": 12, "detailed": 22, "full": 38, "source": 8, "pmsampling": 6, "nvlink": 2}

// sectionPasses are what a section adds to a set that lacks it. Only
// MemoryWorkloadAnalysis was measured (18 against 12); the others are
// estimates by the number of counters.
var sectionPasses = map[string]int{
	"SpeedOfLight": 8, "SpeedOfLight_RooflineChart": 4, "ComputeWorkloadAnalysis": 4, "InstructionStats": 2,
	"MemoryWorkloadAnalysis": 6, "MemoryWorkloadAnalysis_Chart": 4, "MemoryWorkloadAnalysis_Tables": 6,
	"SchedulerStats": 2, "WarpStateStats": 3, "SourceCounters": 6, "LaunchStats": 0, "Occupancy": 0,
	"WorkloadDistribution": 4, "PmSampling": 3, "PmSampling_WarpStates": 3, "Nvlink": 1, "Nvlink_Tables": 1, "Nvlink_Topology": 0, "NumaAffinity": 0,
}

// inSets says which sections bring nothing on top of a set.
var inSets = map[string][]string{
	"basic":    {"LaunchStats", "Occupancy", "SpeedOfLight", "WorkloadDistribution"},
	"default":  {"LaunchStats", "Occupancy", "SpeedOfLight"},
	"roofline": {"SpeedOfLight", "SpeedOfLight_RooflineChart", "WorkloadDistribution"},
	"detailed": {"LaunchStats", "Occupancy", "SpeedOfLight", "SpeedOfLight_RooflineChart", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Chart", "SourceCounters", "WorkloadDistribution"},
}

const (
	otherSection  = 3 // a section that is not in the table
	chartSection  = 2 // a further roofline chart
	metricsInPass = 3 // single metrics that share a pass, on average
	patternPasses = 10
)

// Passes predicts how often ncu repeats each launch, and says from what.
// It is at least 1. A set that is not in the table counts as detailed.
func (c Collect) Passes() (int, []fact.Fact) {
	n, known := setPasses[c.Set]
	var from []fact.Fact
	ofSet := func(code fact.Code, set string) {
		from = append(from, fact.New(code, fact.Name("set", set), fact.Count("n", n)))
	}
	switch {
	case known:
		ofSet(passesOfSet, c.Set)
	case c.Set != "":
		n = setPasses["detailed"]
		ofSet(passesOfUnknown, c.Set)
	case len(c.Sections)+len(c.Metrics) == 0:
		n = setPasses["basic"]
		ofSet(passesOfSet, "basic")
	}
	added := 0
	for _, s := range c.Sections {
		if c.Set == "full" && !strings.Contains(s, "Hierarchical") || slices.Contains(inSets[c.Set], s) {
			continue
		}
		passes, ok := sectionPasses[s]
		switch {
		case ok:
		case strings.Contains(s, "Roofline"):
			passes = chartSection
		default:
			passes = otherSection
		}
		added += passes
	}
	if added > 0 {
		from = append(from, fact.New(passesOfSections, fact.Count("n", added)))
	}
	if m := c.metricPasses(); m > 0 {
		added += m
		from = append(from, fact.New(passesOfMetrics, fact.Count("n", m)))
	}
	return max(1, n+added), from
}

// metricPasses is what metrics that are named one by one cost, without the sections: a
// pattern counts as several, since what it collects is known to ncu alone.
func (c Collect) metricPasses() int {
	single, passes := 0, 0
	for _, m := range c.Metrics {
		if strings.Contains(m, ":") {
			passes += patternPasses
		} else {
			single++
		}
	}
	return passes + (single+metricsInPass-1)/metricsInPass
}

// A costModel predicts seconds.
type costModel struct {
	// repeats of each counted launch; see Passes
	passes  int
	program float64 // one run of the program
	before  int     // launches that the program makes before the first that can be counted
	first   int     // index of that first one in the timeline
	steps   float64 // seconds of the steps of a server in which launches are counted, beside these
}

// launch predicts the seconds of the launch with an index that takes ns on the
// GPU: the fixed price of each pass, what the launches before it add to that, and
// the kernel itself.
func (m *costModel) launch(index int, ns int64) float64 {
	before := m.before + max(0, index-m.first)
	return secondsBeside + float64(m.passes)*(SecondsPerPass+slowerByLaunch*float64(before)+slowerInPass*float64(ns)/1e9)
}

// least predicts the seconds of a launch that takes no time, the first one.
func (m *costModel) least() float64 { return m.launch(m.first, 0) }

// process is the price of one more ncu process.
func (m *costModel) process() float64 { return m.program + startSeconds + m.steps }

// seconds predicts what the steps of a server take under ncu beside the counted
// launches: the one in which counting begins is followed by one with the first
// prompts, and further prompts come in every second step, since they arrive while one
// runs.
func (s *Serving) seconds() float64 {
	return s.GraphNodes * (newNodeSeconds + nodeSeconds*float64(max(0, 2*len(s.Prompts)-1)))
}

// round3 keeps milliseconds of seconds, for what people read.
func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// share is 0 where the whole is nothing: no part of nothing is missed.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Foresee says what counting can cost at most, before there is a timeline: the
// largest number of groups with a launch or two each, in one process, unless
// the budget ends the choice before. Program is the time of the program alone, 0
// where it is not known.
func (p *Policy) Foresee() fact.Fact {
	passes, basis := p.Collect.Passes()
	m := costModel{passes: passes, program: p.Program.Seconds(), before: usualBefore}
	if p.BriefStart {
		m.before = 0
	}
	each := m.least()
	params := []fact.Param{fact.Seconds("each", each), fact.Because("basis", basis...)}
	launches := p.TopN
	if p.Slowest {
		launches *= 2
	}
	if launches > 0 {
		params = append(params, fact.Count("kernels", p.TopN), fact.Seconds("all", float64(launches)*each))
	}
	if p.Program > 0 {
		params = append(params, fact.Seconds("process", m.process()))
	} else {
		params = append(params, fact.Because("unknown", fact.New(costUnknown)))
	}
	if p.Alike > 0 {
		params = append(params, fact.Because("alike", fact.New(costAlike)))
	}
	if p.Budget > 0 {
		params = append(params, fact.Seconds("budget", p.Budget.Seconds()))
	}
	return fact.New(costAhead, params...)
}
