package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// timedKernel has one kernel with launches of the given durations.
func timedKernel(durations ...int64) *state {
	tl := &timed{t: &timeline.Timeline{Queues: make([]timeline.Queue, 1), Functions: make([]timeline.Function, 1), Configs: make([]timeline.LaunchConfig, 1)}, rowOf: []uint32{0}}
	for _, ns := range durations {
		tl.t.Kernels = append(tl.t.Kernels, timeline.Kernel{End: ns})
	}
	at := tl.t.Attribute()
	tl.tape = at.Tape(at, nil)
	a := analyzerWith(Input{})
	a.tl = tl
	a.res.Kernels = []Kernel{{}}
	a.res.Kernels[0].measure(timeline.SampleOf(durations), 1)
	return a
}

// count adds a counted launch that lasts so long in the timeline.
func (a *state) count(lasts float64, values map[string]float64) {
	l := &launch{report: "x.ncu-rep", res: counterReport(values).Results[0], values: values, lastsNS: lasts}
	l.res.ID = len(a.counted)
	a.counted = append(a.counted, l)
	a.launches[0] = append(a.launches[0], l)
}

// Launches of another duration that are limited otherwise have their verdict
// beside that of the kernel, with the time of those like them.
func TestOtherLimiters(t *testing.T) {
	a := timedKernel(9_000, 9_200, 9_300, 9_300, 19_000, 19_400, 40_000)
	waves := map[string]float64{counterWaves[0]: 0.5, counterActiveAvg: 50, counterActiveMax: 100, "gpu__time_duration.sum": 9_700}
	a.count(9_200, use(20, 53, 20, waves))
	a.count(19_000, use(20, 65, 20, map[string]float64{counterWaves[0]: 0.97, "gpu__time_duration.sum": 20_000}))
	a.reader().chooseTypical()
	a.judge()
	k := &a.res.Kernels[0]
	if k.Limiter.Kind != limitSmall || len(k.OtherLimiters) != 1 {
		t.Fatalf("%+v", k)
	}
	// 40 us are like neither.
	if o := &k.OtherLimiters[0]; o.Limiter.Kind != limitL2 || o.Launch != 1 || o.TimelineNS != 19_000 || o.Calls != 2 || o.Share != 38_400.0/115_200 {
		t.Errorf("%+v", o)
	}
	if k.Counted.TimelineNS != 9_200 {
		t.Errorf("%+v", k.Counted)
	}
}

// One that lasts as the speaker does, or is limited alike, adds nothing.
func TestNoOtherLimiters(t *testing.T) {
	a := timedKernel(9_000, 9_200, 9_300, 19_000)
	a.count(9_200, use(20, 53, 20, nil))
	a.count(9_300, use(80, 53, 20, nil))
	a.count(19_000, use(20, 53, 20, nil))
	a.reader().chooseTypical()
	a.judge()
	if k := &a.res.Kernels[0]; len(k.OtherLimiters) != 0 {
		t.Errorf("%+v", k.OtherLimiters)
	}
}

// A launch unlike most of its kernel says so, and so does the row of a region
// whose launches are unlike it.
func TestNotTypical(t *testing.T) {
	a := timedKernel(8_500, 23_000, 23_000, 23_100)
	a.count(8_500, use(20, 28, 20, map[string]float64{counterIssue[0]: 49}))
	a.res.Regions = []Region{{Top: []RegionKernel{{Kernel: 0, Calls: 2, NS: 46_000}, {Kernel: 0, Calls: 1, NS: 8_500}}}}
	a.reader().chooseTypical()
	a.reader().mark(a.res.Kernels[0].Counted, a.counted[0], pick.Match{Verdict: pick.Sound})
	a.judge()
	k := &a.res.Kernels[0]
	if !k.Counted.Verified || len(k.Counted.Note) != 1 || !k.Counted.Note[0].Is(countedAlike) || k.Counted.Note[0].Number("calls") != 1 || k.Counted.Note[0].Number("of") != 4 {
		t.Errorf("%+v", k.Counted)
	}
	if k.Limiter.Kind != limitLatency || k.Limiter.Why[1].Code != codeVerdictHolds || k.Limiter.Why[1].Number("lasts") != 8_500 || k.Limiter.Why[1].Number("calls") != 1 {
		t.Errorf("%+v", k.Limiter)
	}
	if top := a.res.Regions[0].Top; top[0].BasisNS != 8_500 || top[1].BasisNS != 0 {
		t.Errorf("%+v", top)
	}
}

// Launch overhead is told by the median, whatever was counted.
func TestShortElsewhere(t *testing.T) {
	a := timedKernel(1_700, 1_760, 1_800)
	a.count(4_600, use(5, 5, 5, nil))
	a.res.Regions = []Region{{Top: []RegionKernel{{Kernel: 0, Calls: 1, NS: 4_150}}}}
	a.reader().chooseTypical()
	a.judge()
	if k := &a.res.Kernels[0]; k.Limiter.Kind != limitLaunch || hasFact(k.Limiter.Why, codeVerdictHolds) {
		t.Errorf("%+v", k.Limiter)
	}
	if row := a.res.Regions[0].Top[0]; row.BasisNS != 1_760 {
		t.Errorf("%+v", row)
	}
}
