package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// schema1 is a copy of a run that an earlier version made, with run.json of
// schema 1, and that was interrupted under the torch profiler. Its sessions ran
// under the stand-in for Python: the numbers in it are made up.
func schema1(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "schema1")
	if err := os.CopyFS(dir, os.DirFS("testdata/schema1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReadSchema1: an old run is listed and analyzed from its captures.
func TestReadSchema1(t *testing.T) {
	dir := schema1(t)
	list, warnings, err := runs.List(filepath.Dir(dir), runs.Filter{})
	if err != nil || len(warnings) != 0 || len(list) != 1 || len(list[0].Steps) != 9 || list[0].Steps[1] != (runs.StepState{Name: plan.StepUnprofiled, State: runs.StateDone}) {
		t.Fatalf("list: %+v, %v, %v", list, warnings, err)
	}
	in, err := analysis.FromRun(dir)
	if err != nil || in.Metrics[plan.StepUnprofiled] == "" || in.Metrics[plan.StepDirectInference] == "" || in.Flops == "" {
		t.Fatalf("inputs: %+v, %v", in, err)
	}
	result, err := analysis.Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Stages) != 1 || result.Stages[0].CleanMS == nil || *result.Stages[0].CleanMS != 1.5 {
		t.Errorf("stages: %+v", result.Stages)
	}
}

// TestResumeSchema1: an old run goes on, keeps what it has, and is written in
// the schema of today.
func TestResumeSchema1(t *testing.T) {
	dir := schema1(t)
	bin, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	composed, err := config.Compose(config.Options{
		Sources: []config.Source{{Provider: "main", Path: dir, FS: os.DirFS(dir), Check: true}}, ConfigName: strings.TrimSuffix(runs.ConfigName, ".yaml"), Renames: plan.Renames,
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := composed.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, problems := plan.Decode(root)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := Resume(context.Background(), dir, Options{Plan: p, Version: "test", Progress: func(string) {}, Say: func(line string) { t.Log(line) }})
	if err != nil || s.Status != runs.StatusDone {
		t.Fatalf("resume: %+v, %v", s, err)
	}
	m, err := runs.ReadManifest(dir)
	if err != nil || m.Resumed != 1 {
		t.Fatalf("manifest: %+v, %v", m, err)
	}
	if n := len(m.Step(plan.StepUnprofiled).Attempts); n != 1 {
		t.Errorf("the unprofiled run was done %d times", n)
	}
	if n := len(m.Step(plan.StepTorchProfiler).Attempts); n != 2 {
		t.Errorf("the interrupted step has %d attempts", n)
	}
	text, err := os.ReadFile(filepath.Join(dir, runs.ManifestName))
	if err != nil || !strings.Contains(string(text), `"steps": [`) || strings.Contains(string(text), `"stages"`) {
		t.Errorf("run.json, %v: %.200s", err, text)
	}
}
