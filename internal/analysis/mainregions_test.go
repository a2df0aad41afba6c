package analysis

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Where nobody names regions, the stages are the scope and warm-up lies outside.
func TestStagesAreTheDefaultScope(t *testing.T) {
	in, err := fromFiles(unpacked(t, toyTimeline))
	if err != nil {
		t.Fatal(err)
	}
	if whole := analyzed(t, in); whole.Scope != nil {
		t.Errorf("scope %v without a default", whole.Scope.Regions)
	}
	in.DefaultScope = true
	r := analyzed(t, in)
	checkResult(t, "default scope", r)
	s := r.Scope
	if s == nil || !s.Default || !slices.Equal(s.Regions, []string{"prefill", "decode"}) || s.Launches != 28 || s.OutsideLaunches != 3 {
		t.Fatalf("scope %+v", s)
	}
	beside := s.Text.Params["parts"].Facts
	var ns float64
	for _, f := range beside {
		ns += f.Number("ns")
	}
	if len(beside) == 0 || int64(ns) != s.OutsideKernelNS {
		t.Errorf("outside the scope: %+v, together %g of %d ns", beside, ns, s.OutsideKernelNS)
	}
}

// repeating is a synthetic program without ranges: set-up, then 6 times the same
// sequence of 4 kernels.
func repeating() scene {
	s := scene{end: 100_000}
	add := func(name string) {
		at := int64(len(s.calls)) * 1000
		s.calls = append(s.calls, sceneCall{at, at + 100, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 200, at + 900, name, len(s.calls) - 1, 0})
	}
	for _, name := range []string{"fill", "fill", "load", "quantize"} {
		add(name)
	}
	for range 6 {
		for _, name := range []string{"embed", "gemm", "softmax", "sample"} {
			add(name)
		}
	}
	return s
}

func TestDetectedPhasesAreTheDefaultScope(t *testing.T) {
	a := analyzerWith(Input{DefaultScope: true})
	if err := a.takeTimeline(t0(), repeating().timeline()); err != nil {
		t.Fatal(err)
	}
	r := a.res
	r.Warnings = a.notes.warnings
	i := slices.IndexFunc(r.Warnings, func(n Note) bool { return n.Code == timeline.CodePhases })
	if i < 0 {
		t.Fatal("nobody is told that phases were detected")
	}
	if f := r.Warnings[i].Fact; f.Number("before") != 4 || f.Number("n") != 6 || f.Number("kernels") != 4 || f.Number("median") != 4000 {
		t.Errorf("%+v", f)
	}
	if r.Scope == nil || r.Scope.Launches != 24 || r.Scope.OutsideLaunches != 4 {
		t.Errorf("scope %+v", r.Scope)
	}
	for i := range r.Regions {
		if r.Regions[i].Source != sourceDetected {
			t.Errorf("%s is of %s", r.Regions[i].Path, r.Regions[i].Source)
		}
	}
	if len(r.Regions) == 0 {
		t.Error("no regions")
	}
	if r.Steps == nil || len(r.Steps.Groups) != 1 || r.Steps.Groups[0].Stage != timeline.DetectedDomain+"@"+timeline.DetectedRepeat || r.Steps.Groups[0].Steps != 6 {
		t.Errorf("steps %+v", r.Steps)
	}
}

func TestInjectedRegionsAreMarked(t *testing.T) {
	dir := toyRun(t, "1", "0.1")
	folder := filepath.Join(dir, runs.AnnotateFolder, plan.StepNsys)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := `{"on":"auto"}` + "\n" + `{"range":["prefill"]}` + "\n" + `{"range":["prefill","mlp"]}` + "\n" + `{"ended":true}` + "\n"
	if err := os.WriteFile(filepath.Join(folder, "7.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	for path, want := range map[string]string{"prefill": sourceInjected, "prefill/mlp": sourceInjected, "prefill/attention": sourceProgram} {
		if got := regionAt(t, r, path).Source; got != want {
			t.Errorf("%s is of %q, want %s", path, got, want)
		}
	}
}
