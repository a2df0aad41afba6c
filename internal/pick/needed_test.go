package pick

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNamesThatSelectNothing(t *testing.T) {
	l := load(t, "toy")
	_, err := Choose(l, Policy{Include: []string{"prefil"}})
	var nothing *NothingError
	if !errors.As(err, &nothing) || !slices.Equal(nothing.Unmatched[0].Near, []string{"prefill"}) || !strings.Contains(err.Error(), "did you mean prefill?") {
		t.Errorf("a region that never opened gives %v", err)
	}
	got, err := Choose(l, Policy{Include: []string{"prefill", "decod"}, KernelExclude: []string{"saxpi"}, KernelInclude: []string{"regex:gemm", "saxpy"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Unmatched{
		{"nvtx_include", "decod", because(noSuchRange), []string{"decode"}},
		{"kernel_exclude", "saxpi", because(noSuchKernel), []string{"saxpy"}},
	}
	if !reflect.DeepEqual(got.Unmatched, want) {
		t.Errorf("unmatched %+v", got.Unmatched)
	}
	if _, err = Choose(l, Policy{KernelInclude: []string{"saxpi"}, KernelKey: "kernel_name"}); !errors.As(err, &nothing) || nothing.Regions || nothing.Totals.Launches == 0 || !strings.Contains(err.Error(), `kernel_name "saxpi"`) {
		t.Errorf("a pattern under another key gives %v", err)
	}
	if _, err = Choose(l, Policy{Include: []string{"decod", "prefil"}}); !errors.As(err, &nothing) || !nothing.Regions || len(nothing.Unmatched) != 2 ||
		!strings.Contains(err.Error(), `did you mean decode?; nvtx_include "prefil"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("two regions that never opened give %v", err)
	}
	_, err = Choose(l, Policy{KernelInclude: []string{"nosuch"}})
	if err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("a pattern that leaves nothing gives %v", err)
	}
	if _, err = Choose(l, Policy{Include: []string{"idle"}}); err == nil || !strings.Contains(err.Error(), "no kernel was launched in the chosen regions") {
		t.Errorf("an empty region gives %v", err)
	}
	if _, err = Choose(l, Policy{KernelInclude: []string{"regex:("}}); err == nil {
		t.Error("a broken pattern is accepted")
	}
}

// TestExcludeGoesFirst: a kernel that both lists name is left out.
func TestExcludeGoesFirst(t *testing.T) {
	got, err := Choose(load(t, "toy"), Policy{KernelInclude: []string{"regex:."}, KernelExclude: []string{"saxpy"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Groups {
		if g.Function == "saxpy" && g.Chosen {
			t.Error("saxpy is chosen")
		}
	}
}

func TestPasses(t *testing.T) {
	for _, test := range []struct {
		c    Collect
		want int
	}{
		{Collect{Set: "basic"}, 10}, // measured
		{Collect{Set: "full"}, 38},  // measured
		{Collect{Set: "roofline", Sections: []string{"LaunchStats", "Occupancy", "MemoryWorkloadAnalysis"}}, 18}, // measured
		{Collect{}, 10},
		{Collect{Metrics: []string{"dram__bytes.sum"}}, 1},
	} {
		if got, basis := test.c.Passes(); got != test.want || len(basis) == 0 {
			t.Errorf("%+v: %d passes (%+v), want %d", test.c, got, basis, test.want)
		}
	}
}

func TestForesee(t *testing.T) {
	p := defaults()
	if f := p.Foresee(); f.Params["alike"].Facts != nil {
		t.Errorf("%+v although it is off", f)
	}
	p.Alike = 0.97
	f := p.Foresee()
	if f.Params["alike"].Facts == nil || f.Number("kernels") != 30 || f.Number("budget") != 120e9 || math.Abs(f.Number("each")-1.47e9) > 5e7 || math.Abs(f.Number("process")-28e9) > 5e8 {
		t.Errorf("%+v", f)
	}
}

func TestNeeded(t *testing.T) {
	r := Run{Planned: []Planned{{Group: "a", Role: RoleTypical, Launch: Launch{ID: 7}}, {Group: "b", Role: RoleUnasked}}}
	v := &Verification{Matches: []Match{{Group: "a", Verdict: Sound}}}
	if r.needed(v) {
		t.Error("everything was counted already")
	}
	if v.Matches[0].Verdict = Doubtful; !r.needed(v) {
		t.Error("a doubtful result is enough")
	}
	for _, role := range []string{RoleSlowest, RoleOther} {
		r.Planned[0].Role, v.Matches[0].Verdict = role, Sound
		if !r.needed(v) {
			t.Errorf("the launch of role %q is another one", role)
		}
		if v.Matches[0].Launch = 7; r.needed(v) {
			t.Errorf("the launch of role %q was counted", role)
		}
		v.Matches[0].Launch = 0
	}
	r.Planned[0].Role, v.Matches[0].Role = RoleTypical, RoleSame
	if !r.needed(v) {
		t.Error("a launch away from the median is no typical one")
	}
}

// Where no regions are named, what runs outside the stages is not worth counting.
func TestMainRegionsAreChosenFrom(t *testing.T) {
	l := load(t, "llm")
	p := defaults()
	all, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	p.MainRegions = true
	got, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	if got.Totals.RegionLaunches >= all.Totals.RegionLaunches || got.Totals.Launches != all.Totals.Launches || len(got.Include) > 0 {
		t.Errorf("%d of %d launches, include %v", got.Totals.RegionLaunches, got.Totals.Launches, got.Include)
	}
	p.Include = []string{"prefill", "decode"}
	named, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	if named.Totals.RegionNS != got.Totals.RegionNS {
		t.Errorf("%d ns in the main regions, %d in prefill and decode", got.Totals.RegionNS, named.Totals.RegionNS)
	}
}
