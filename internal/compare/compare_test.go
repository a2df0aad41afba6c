package compare

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// llm is the result of a real capture of a Llama on an H200.
func llm(t testing.TB) *analysis.Result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "analysis", "testdata", "llm_scope.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r analysis.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// synthetic are runs of a real result with noise that is made up, and with one
// kernel of the scope slower by a factor.
func synthetic(t testing.TB, seed uint64, n int, noise, slower float64) []Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var side []Run
	for range n {
		r := llm(t)
		scale := func(ns *int64, by float64) { *ns = int64(float64(*ns) * by) }
		for i := range r.Kernels {
			by := 1 + noise*rng.NormFloat64()
			if i == 1 {
				by *= slower
			}
			scale(&r.Kernels[i].TotalNS, by)
		}
		by := 1 + noise*rng.NormFloat64()
		for i := range r.Stages {
			for _, ms := range []*float64{r.Stages[i].NsysMS, r.Stages[i].CleanMS} {
				if ms != nil {
					*ms *= by
				}
			}
			if st := r.Stages[i].NsysTimes; st != nil {
				st.MedianMS *= by
			}
		}
		side = append(side, Run{Name: "synthetic", Result: r})
	}
	return side
}

func mustCompare(t *testing.T, a, b []Run) *Comparison {
	t.Helper()
	c, err := Compare(a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// One process a side tells nothing about times, and everything about counts.
func TestOneSample(t *testing.T) {
	c := mustCompare(t, synthetic(t, 1, 1, 0.01, 1), synthetic(t, 2, 1, 0.01, 1))
	counts := 0
	for i := range c.Rows {
		switch r := &c.Rows[i]; {
		case metrics[r.Metric].counted:
			counts++
			if r.Verdict != NoChange {
				t.Errorf("%v: %s", r.Key, r.Verdict)
			}
		case r.Verdict != CannotTell || !r.Why.Is(oneSample) || r.Need == 0:
			t.Errorf("%v: %s %s, need %d", r.Key, r.Verdict, r.Why.Code, r.Need)
		}
	}
	if counts < 10 {
		t.Errorf("%d counts", counts)
	}
}

func TestSlowerKernelIsFound(t *testing.T) {
	c := mustCompare(t, synthetic(t, 1, 5, 0.003, 1), synthetic(t, 2, 5, 0.003, 1.05))
	slow := llm(t).Kernels[1]
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Kind != Kernel || r.Metric != Time {
			continue
		}
		named := strings.HasPrefix(r.Name, slow.Short) && value(r.Base) > 0.97*float64(slow.TotalNS) && value(r.Base) < 1.03*float64(slow.TotalNS)
		if (r.Verdict == Slower) != named {
			t.Errorf("%s: %s, change %.4f in %.4f to %.4f", r.Name, r.Verdict, value(r.Change), value(r.Low), value(r.High))
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, new  []float64
		metric     Metric
		want       Verdict
		needAtMost int
	}{
		{"equal", []float64{100, 100.1, 99.9, 100, 100.2}, []float64{100.1, 100, 99.8, 100.1, 100}, Time, NoChange, 0},
		{"slower", []float64{100, 100.1, 99.9, 100, 100.2}, []float64{105.1, 105, 104.8, 105.1, 105}, Time, Slower, 0},
		{"higher is better", []float64{100, 100.1, 99.9, 100, 100.2}, []float64{105.1, 105, 104.8, 105.1, 105}, Share, Faster, 0},
		{"below the least effect", []float64{100, 100.1, 99.9, 100, 100.2}, []float64{101, 101.1, 100.9, 101, 101.2}, Time, NoChange, 0},
		{"noisy", []float64{100, 120, 90, 105, 98}, []float64{104, 93, 122, 110, 99}, Time, CannotTell, mostRepeats},
		{"two samples", []float64{100, 101}, []float64{104, 105}, Time, CannotTell, 20},
	} {
		r := Row{Key: Key{Stage, "x", c.metric}, BaseSamples: c.base, NewSamples: c.new, Base: new(median(c.base)), New: new(median(c.new))}
		all := Comparison{Rows: []Row{r}}
		all.judge(Options{})
		if got := all.Rows[0]; got.Verdict != c.want || got.Need > c.needAtMost || (got.Verdict == CannotTell) != (got.Need > 0) || got.Why.Is(tooNoisy) != (got.Need >= mostRepeats) {
			t.Errorf("%s: %s, need %d", c.name, got.Verdict, got.Need)
		}
	}
}

// The parts of every waterfall add up to the nanosecond, whatever the number of
// runs of a side.
func TestFallsAddUp(t *testing.T) {
	c := mustCompare(t, synthetic(t, 1, 3, 0.01, 1), synthetic(t, 2, 7, 0.01, 1.5))
	if len(c.Falls) < 3 {
		t.Fatalf("%d waterfalls", len(c.Falls))
	}
	for _, f := range c.Falls {
		var base, fresh, delta int64
		for _, p := range f.Parts {
			base, fresh, delta = base+p.BaseNS, fresh+p.NewNS, delta+p.DeltaNS
			if p.LaunchesNS != nil && *p.LaunchesNS+*p.DurationNS != p.DeltaNS {
				t.Errorf("%s %s: %d by launches and %d by duration are not %d", f.Of, p.Name, *p.LaunchesNS, *p.DurationNS, p.DeltaNS)
			}
		}
		if base != f.BaseNS || fresh != f.NewNS || delta != f.NewNS-f.BaseNS {
			t.Errorf("%s: parts are %d, %d, %d of %d, %d", f.Of, base, fresh, delta, f.BaseNS, f.NewNS)
		}
		for _, most := range []int{0, 2, 1000} {
			list := f.Summed(most)
			sum := list[len(list)-1]
			for _, p := range list[:len(list)-1] {
				sum.DeltaNS -= p.DeltaNS
			}
			if sum.DeltaNS != 0 {
				t.Errorf("%s: %d parts miss %d ns", f.Of, most, sum.DeltaNS)
			}
		}
	}
}

func TestRenamedKernel(t *testing.T) {
	a, b := llm(t), llm(t)
	was := b.Kernels[0].Name
	for i := range b.Kernels {
		if b.Kernels[i].Name == was {
			b.Kernels[i].Name = strings.Replace(was, "_", "_v2_", 1)
			b.Kernels[i].Short = b.Kernels[i].Name
		}
	}
	c := mustCompare(t, []Run{{Result: a}}, []Run{{Result: b}})
	found := false
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Kind == Kernel && r.Metric == Launches && r.Status == Renamed {
			found = true
			if r.Verdict != NoChange || r.Was == "" || r.Alike < enoughAlike {
				t.Errorf("%s was %s, alike %.2f: %s", r.Name, r.Was, r.Alike, r.Verdict)
			}
		}
	}
	if !found {
		t.Error("no kernel was found to be renamed")
	}
}

func TestCircumstances(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Run)
		code   fact.Code
		bars   Key // a row that gets no verdict; none where its kind is ""
	}{
		"driver":    {func(r *Run) { r.Result.Environment.Driver = "1.2" }, otherDriver, Key{}},
		"nsys":      {func(r *Run) { r.Result.Environment.Nsys = "2031.1" }, otherNsys, Key{}},
		"inputs":    {func(r *Run) { r.Result.Workload.Shape = []analysis.Fact{{Name: "batch_size", Value: "64"}} }, otherInputs, Key{Stage, "decode", Time}},
		"passes":    {func(r *Run) { r.Result.Stages[0].Passes += 3 }, otherPasses, Key{Total, "", Launches}},
		"throttled": {func(r *Run) { r.Conditions = &Conditions{Samples: 10, Throttled: 4, Reasons: []string{"x"}} }, Throttled, Key{Stage, "decode", Time}},
	} {
		base, fresh := synthetic(t, 1, 3, 0.001, 1), synthetic(t, 2, 3, 0.001, 1)
		for i := range base {
			base[i].Result.Workload.Shape = []analysis.Fact{{Name: "batch_size", Value: "1"}}
			fresh[i].Result.Workload.Shape = base[i].Result.Workload.Shape
			c.change(&fresh[i])
		}
		made := mustCompare(t, base, fresh)
		seen := false
		for _, d := range made.Differ {
			seen = seen || d.Is(c.code)
		}
		if !seen {
			t.Errorf("%s: %v", name, made.Differ)
		}
		if r := made.find(c.bars); c.bars.Kind != "" && (r == nil || r.Verdict != CannotTell || !r.Why.Is(Forbidden)) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(r *analysis.Result){
		"half-finished":    func(r *analysis.Result) { r.Source.Status = "interrupted" },
		"another GPU":      func(r *analysis.Result) { r.Environment.GPUs[0].Name = "NVIDIA T4" },
		"no common kernel": func(r *analysis.Result) { renameAll(r) },
		"no kernel in common but by category": func(r *analysis.Result) {
			for i := range r.Kernels {
				r.Kernels[i].Name, r.Kernels[i].Short = "q"+r.Kernels[i].ID, "q"+r.Kernels[i].ID
			}
		},
		"negative": func(r *analysis.Result) { *r.Stages[0].NsysMS, r.Stages[0].NsysTimes = -1, nil },
	} {
		r := llm(t)
		if len(r.Environment.GPUs) == 0 {
			t.Fatal("the fixture tells no GPU")
		}
		change(r)
		if _, err := Compare([]Run{{Result: llm(t)}}, []Run{{Result: r}}, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Compare(nil, []Run{{Result: llm(t)}}, Options{}); err == nil {
		t.Error("an empty side: no error")
	}
}

func renameAll(r *analysis.Result) {
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Name, k.Short, k.Category, k.Calls = "q"+k.ID, "q"+k.ID, "unlike", k.Calls+1
	}
}
