package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// copied is a run as it comes back from a file under another name.
func copied(t *testing.T, r Run) Run {
	t.Helper()
	text, err := json.Marshal(r.Result)
	if err != nil {
		t.Fatal(err)
	}
	var again analysis.Result
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	again.Source, again.Overview = analysis.Source{Run: "elsewhere"}, analysis.Overview{}
	return Run{Name: "a copy", Result: &again}
}

// A process that is named three times is one sample, and a warning says so.
func TestSameRunTwice(t *testing.T) {
	base, fresh := synthetic(t, 1, 1, 0.01, 1), synthetic(t, 2, 3, 0.01, 1)
	c := mustCompare(t, []Run{base[0], base[0], copied(t, base[0])}, fresh)
	if len(c.Base.Runs) != 1 || len(c.New.Runs) != 3 || len(c.Warnings) != 1 || !c.Warnings[0].Is(givenAgain) {
		t.Errorf("%d and %d runs, %v", len(c.Base.Runs), len(c.New.Runs), c.Warnings)
	}
	if r := c.find(Key{Stage, "decode", Time}); len(r.BaseSamples) != 1 || !r.Why.Is(oneSample) {
		t.Errorf("%+v", r)
	}
	if _, err := Self([]Run{base[0], copied(t, base[0])}, Options{}); err == nil {
		t.Error("the noise of one process was measured")
	}
}

// A side against itself proves nothing about times.
func TestSameRunOnBothSides(t *testing.T) {
	side := synthetic(t, 1, 5, 0.001, 1)
	c := mustCompare(t, side, append(synthetic(t, 2, 4, 0.001, 1), side[0]))
	if !slices.ContainsFunc(c.Differ, func(d Difference) bool { return d.Is(sameProcess) }) {
		t.Errorf("%v", c.Differ)
	}
	if r := c.find(Key{Stage, "decode", Time}); r.Verdict != CannotTell || !r.Why.Is(Forbidden) {
		t.Errorf("%+v", r)
	}
	if r := c.find(Key{Stage, "decode", Launches}); r.Verdict != NoChange {
		t.Errorf("%+v", r)
	}
}

// withModel gives stages an unprofiled time of half of that under nsys, and an MFU
// over the best time there is.
func withModel(side []Run, unprofiled bool) []Run {
	for i := range side {
		st := &side[i].Result.Stages[0]
		st.CleanMS, st.CleanTimes = nil, nil
		seconds := *st.NsysMS / 1e3
		if unprofiled {
			st.CleanMS = new(*st.NsysMS / 2)
			seconds /= 2
		}
		st.MFU = []analysis.Utilization{{Method: "analytic", Value: new(1e-3 / seconds), Seconds: seconds}}
	}
	return side
}

// MFU over the unprofiled time is not held against MFU over the time under nsys.
func TestUseOverTheSameTime(t *testing.T) {
	c := mustCompare(t, withModel(synthetic(t, 1, 3, 0.001, 1), true), withModel(synthetic(t, 2, 3, 0.001, 1), false))
	r := c.find(Key{MFU, llm(t).Stages[0].Name, Share})
	if r == nil || r.Clock != UnderNsys || r.BaseClock != "" || math.Abs(*r.Change) > 0.01 {
		t.Errorf("%+v", r)
	}
	both := mustCompare(t, withModel(synthetic(t, 1, 3, 0.001, 1), true), withModel(synthetic(t, 2, 3, 0.001, 1), true))
	if r := both.find(Key{MFU, llm(t).Stages[0].Name, Share}); r.Clock != Unprofiled {
		t.Errorf("%+v", r)
	}
}

// Times of different kinds get no change and no verdict, and no rule passes.
func TestTimesOfDifferentKinds(t *testing.T) {
	base, fresh := withModel(synthetic(t, 1, 3, 0.001, 1), true), withModel(synthetic(t, 2, 3, 0.001, 1), false)
	for i := range base {
		base[i].Result.Stages[0].NsysMS, base[i].Result.Stages[0].NsysTimes = nil, nil
	}
	c := mustCompare(t, base, fresh)
	name := llm(t).Stages[0].Name
	for _, k := range []Key{{MFU, name, Share}, {Stage, name, Time}} {
		if r := c.find(k); r.BaseClock != Unprofiled || r.Clock != UnderNsys || r.Change != nil || r.Verdict != CannotTell || !r.Why.Is(otherTime) {
			t.Errorf("%+v", r)
		}
	}
	for _, text := range []string{"mfu:" + name + " > -50%", "stage:" + name + ".time < +1000%", "stage:" + name + ".time < +1s"} {
		rule, err := parseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply([]Rule{rule}); err != nil || c.Gate.Outcome != Unknown {
			t.Errorf("%s: %+v, %v", text, c.Gate, err)
		}
	}
}

// GPU time of a stage is the sum of its kernels, not the time in which one ran.
func TestStageGPUTime(t *testing.T) {
	r := llm(t)
	st := &r.Stages[0]
	var want int64
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Path == st.Region && g.Process == nil && g.Device == nil {
			want = g.KernelNS
		}
	}
	st.Split.BusyNS = want / 2 // as if all kernels ran two at a time
	c := mustCompare(t, []Run{{Result: r}}, synthetic(t, 1, 1, 0.01, 1))
	if row := c.find(Key{Stage, st.Name, GPUTime}); want == 0 || row == nil || *row.Base != float64(want)/float64(max(st.Passes, 1)) {
		t.Errorf("%+v, want %d", row, want)
	}
}

// Operators of a side that recorded none are not gone.
func TestProfilerOffOnOneSide(t *testing.T) {
	base, fresh := synthetic(t, 1, 1, 0.01, 1), synthetic(t, 2, 1, 0.01, 1)
	base[0].Result.Operators = []analysis.Operator{{Name: "aten::mm", SelfDeviceUS: 10, Calls: 3}}
	c := mustCompare(t, base, fresh)
	for _, m := range []Metric{Time, Launches} {
		if r := c.find(Key{Operator, "aten::mm", m}); r == nil || r.Status != NotMeasured || r.Verdict != CannotTell {
			t.Errorf("%+v", r)
		}
	}
	if len(c.Lines(Operator)) != 0 {
		t.Error("people see operators that one side did not record")
	}
	if !slices.ContainsFunc(c.Differ, func(d Difference) bool { return d.Is(sideLacks) }) {
		t.Errorf("%v", c.Differ)
	}
	fresh[0].Result.Operators = []analysis.Operator{{Name: "aten::add", SelfDeviceUS: 10, Calls: 3}}
	if r := mustCompare(t, base, fresh).find(Key{Operator, "aten::mm", Launches}); r.Status != Gone || r.Verdict != Fewer {
		t.Errorf("%+v", r)
	}
}

// A GPU that a side does not tell is a difference.
func TestUnknownGPU(t *testing.T) {
	base, fresh := synthetic(t, 1, 1, 0.01, 1), synthetic(t, 2, 2, 0.01, 1)
	fresh[1].Result.Environment.GPUs, fresh[1].Result.Environment.Driver = nil, ""
	c := mustCompare(t, base, fresh)
	i := slices.IndexFunc(c.Differ, func(d Difference) bool { return d.Is(notKnown) })
	if i < 0 || !slices.Equal(c.Differ[i].Forbids, []Claim{claimCause}) {
		t.Fatalf("%v", c.Differ)
	}
	text, err := json.Marshal(c.Differ[i])
	if err != nil || !strings.Contains(string(text), "compare.circumstance:gpu") || !strings.Contains(string(text), "compare.side:new") {
		t.Errorf("%s, %v", text, err)
	}
}

// The headline stays what it is when rows are left out.
func TestHeadlineOfSomeRows(t *testing.T) {
	c := mustCompare(t, synthetic(t, 1, 3, 0.001, 1), synthetic(t, 2, 3, 0.001, 1))
	want := c.Headline()
	c.Rows = slices.DeleteFunc(c.Rows, func(r Row) bool { return r.Kind != Kernel })
	if got := c.Headline(); want.Is(headNothing) || got.Code != want.Code {
		t.Errorf("%v, want %v", got.Code, want.Code)
	}
	if _, ok := want.Params["gpu"]; !ok {
		t.Errorf("the headline tells no GPU time: %v", want)
	}
}

// Every waterfall ends at the values of the row that it divides.
func TestFallsEndAtTheirRows(t *testing.T) {
	base, fresh := withModel(synthetic(t, 1, 3, 0.01, 1), true), withModel(synthetic(t, 2, 7, 0.01, 1.5), true)
	for _, c := range []*Comparison{mustCompare(t, base, fresh), mustCompare(t, synthetic(t, 1, 3, 0.01, 1), synthetic(t, 2, 7, 0.01, 1.5))} {
		for _, f := range c.Falls {
			r := wholeGPU(base, fresh)
			switch stage, isStage := strings.CutPrefix(f.Of, "stage:"); {
			case isStage:
				r = c.find(Key{Stage, stage, Time})
			case f.Of == "time":
				r = c.find(Key{Total, "", Time})
			case f.Of == "gpu_time":
				r = c.find(Key{Total, "", GPUTime})
			}
			if f.BaseNS != int64(math.Round(*r.Base)) || f.NewNS != int64(math.Round(*r.New)) || f.Clock != r.Clock {
				t.Errorf("%s %s: %d to %d, the row has %.0f to %.0f %s", f.Of, f.Clock, f.BaseNS, f.NewNS, *r.Base, *r.New, r.Clock)
			}
		}
	}
}

// Suggested rules are read again and mean the row that they are about, however
// large the noise is.
func TestSuggestedRules(t *testing.T) {
	for _, noise := range []float64{0.001, 0.05, 0.25} {
		n, err := Self(withModel(synthetic(t, 1, 6, noise, 1), true), Options{})
		if err != nil {
			t.Fatal(err)
		}
		suggested := 0
		for i := range n.Rows {
			r := &n.Rows[i]
			if r.Rule == "" {
				continue
			}
			suggested++
			rule, err := parseRule(r.Rule)
			if err != nil || !rule.matches(&Row{Key: r.Key}) || math.Abs(rule.limit) >= 1 || math.Abs(math.Abs(rule.limit)-*r.Threshold) > 1e-12 {
				t.Errorf("%s: %+v, %v", r.Rule, rule, err)
			}
			if at := strings.LastIndexAny(r.Rule, "+-"); len(r.Rule)-at > len("+99.5%") {
				t.Errorf("%s has too many digits", r.Rule)
			}
		}
		if suggested == 0 {
			t.Errorf("noise of %g: no rule", noise)
		}
	}
}
