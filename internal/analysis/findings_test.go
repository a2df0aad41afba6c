package analysis

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Both wordings of the first saving are of the first opportunity.
func TestSavingOfTheFindings(t *testing.T) {
	r := analyzeFiles(t, llmTimeline, llmCounters)
	first := r.Opportunities[0]
	f := findingNamed(r, "first-saving")
	title := strings.ToLower(first.Title[:1]) + first.Title[1:]
	if first.Kind != "host" || f == nil || !strings.Contains(f.Text, title+", at most 435.8 ms of the 4.07 s") || !strings.Contains(f.Plain, title+" (up to 435.8 ms, 10.7 % of the time observed)") {
		t.Errorf("%+v of %+v", f, first)
	}
	next := findingNamed(r, "next-saving")
	if next == nil || !strings.Contains(next.Text, "prepare before decode what its CUDA calls do, at most 13.7 ms") || !strings.Contains(next.Plain, "prepare before decode") {
		t.Errorf("%+v", next)
	}
	for _, o := range r.Opportunities {
		if strings.HasPrefix(o.Title, "Prepare") != (o.Kind == "calls") || strings.HasPrefix(o.Title, "Allocate") != (o.Kind == "alloc") {
			t.Errorf("%s is of kind %s", o.Title, o.Kind)
		}
	}
	if f := findingNamed(r, "outside-stages"); f == nil || !strings.Contains(f.Text, "87.0 % of the timeline (3.54 s of 4.07 s) lies outside the stages (prefill, decode)") || !strings.Contains(f.Text, "attn with 1.90 s, launch-bound") {
		t.Errorf("%+v", f)
	}
	if f := findingNamed(r, "largest"); !strings.Contains(f.Text, "with 16 % in 2 grids and blocks; what limits its largest grid (4x22x1, 9 %) was not counted") || !strings.HasPrefix(f.Plain, "The largest part of the GPU's working time, 46 %") {
		t.Errorf("%+v", f)
	}
}

func TestGraphsAreNoKernelTime(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {20, 30, "cudaGraphLaunch", 0}}, kernels: []sceneKernel{{10, 110, "gemm", 0, 0}}, end: 2000}
	tl := s.timeline()
	tl.Graphs = []timeline.GraphLaunch{{Start: 200, End: 1200, Correlation: 2}}
	r := take(t, tl, Thresholds{})
	if f := findingNamed(r, "largest"); f == nil || !strings.Contains(f.Text, "of kernel time outside CUDA graphs") || !strings.Contains(f.Plain, "outside CUDA graphs") {
		t.Errorf("%+v", f)
	}
	if f := findingNamed(r, "graphs-whole"); f == nil || !strings.Contains(f.Text, "1 launches of CUDA graphs ran for 1.0 \u00b5s") {
		t.Errorf("%+v", f)
	}
}

func TestNoKernelIsAFinding(t *testing.T) {
	r := take(t, scene{ranges: [][2]int64{{0, 1000}}, end: 1000}.timeline(), Thresholds{})
	if len(r.Findings) != 1 || r.Findings[0].ID != "no-kernels" {
		t.Errorf("%+v", r.Findings)
	}
}

func TestNotesAreMerged(t *testing.T) {
	a := &analyzer{res: newResult(Input{})}
	a.warn("timeline", "", "twice")
	a.warn("capture", "", "once")
	a.warn("regions", "", "twice")
	if err := a.mergeNotes(t0()); err != nil {
		t.Fatal(err)
	}
	if n := a.res.Warnings; len(n) != 2 || n[0].ID != "timeline" || n[1].Text != "once" {
		t.Errorf("%+v", n)
	}
}

// nsys writes zeros where there is no driver.
func TestNoDriver(t *testing.T) {
	tl := scene{end: 10}.timeline()
	tl.System = []timeline.Property{{Name: "NvDriverVersion", Value: "0"}, {Name: "CudaDriverVersion", Value: "0"}, {Name: "OsDescription", Value: "Linux 0"}}
	if env := take(t, tl, Thresholds{}).Environment; env.Driver != "" || env.CUDA != "" || env.OS != "Linux 0" {
		t.Errorf("%+v", env)
	}
}

func TestWorthwhile(t *testing.T) {
	gain := func(x float64) *float64 { return &x }
	list := []Opportunity{
		{ID: "tiny", Seconds: 0.00001, StageGain: gain(0.01)}, {ID: "stage", Seconds: 0.00002, StageGain: gain(0.5)},
		{ID: "a", Seconds: 0.5}, {ID: "b", Seconds: 0.0002}, {ID: "c", Seconds: 0.0001}, {ID: "d", Seconds: 0.00009},
	}
	var ids []string
	for _, o := range worthwhile(list, worthOfRun*1) {
		ids = append(ids, o.ID)
	}
	if got := strings.Join(ids, " "); got != "a b c stage" {
		t.Errorf("kept %s", got)
	}
}
