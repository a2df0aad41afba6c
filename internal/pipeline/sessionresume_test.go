package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestResumeSessions: what an earlier attempt left is set aside.
func TestResumeSessions(t *testing.T) {
	o := sessions(t, withoutProfilers...)
	t.Setenv("FAKE_FAILS", "exception")
	s, err := Run(context.Background(), o)
	if err != nil || s.Status != runs.StatusFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	t.Setenv("FAKE_FAILS", "")
	s, err = Resume(context.Background(), s.Dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if st := stepOf(t, s, "unprofiled"); st.State != runs.StateDone {
		t.Errorf("baseline: %s", inWords(st.Outcome))
	}
	for _, name := range []string{"attempt-1/error.json", "metrics.json"} {
		if _, err := os.Stat(filepath.Join(s.Dir, "workload/unprofiled", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestResumeWhatIsNeeded: a step that failed is done again with what needs it,
// and nothing else.
func TestResumeWhatIsNeeded(t *testing.T) {
	o := sessions(t, append(withoutProfilers, "pipeline.static_analysis.torch_flop_counter=true", "dataset.sampling.randomize=true")...)
	t.Setenv("FAKE_FAILS", "exception")
	t.Setenv("FAKE_FAILS_IN", plan.StepTorchProfiler)
	s, err := Run(context.Background(), o)
	if err != nil || s.Status != runs.StatusFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	t.Setenv("FAKE_FAILS", "")
	o.Plan = nil // the run stores its own
	if s, err = Resume(context.Background(), s.Dir, o); err != nil || s.Status != runs.StatusDone {
		t.Fatalf("%+v, %v", s, err)
	}
	m, err := runs.ReadManifest(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{plan.StepUnprofiled: 1, plan.StepTorchProfiler: 2, plan.StepTorchFlops: 1, plan.StepReport: 2} {
		if n := len(m.Step(name).Attempts); n != want {
			t.Errorf("%s has %d attempts, want %d", name, n, want)
		}
	}
	var first, again struct {
		Dataset struct{ Sampling struct{ Seed *int } }
	}
	readJSON(t, filepath.Join(s.Dir, "workload/unprofiled/spec.json"), &first)
	readJSON(t, filepath.Join(s.Dir, "workload/torch_profiler/spec.json"), &again)
	if first.Dataset.Sampling.Seed == nil || *first.Dataset.Sampling.Seed != *again.Dataset.Sampling.Seed {
		t.Errorf("seeds %v and %v", first.Dataset.Sampling.Seed, again.Dataset.Sampling.Seed)
	}
}

// TestStoredPlan: the plan and the configuration are there before the name of
// the run is told, and hold no secret.
func TestStoredPlan(t *testing.T) {
	o := sessions(t, append(withoutProfilers, "+pipeline.workload.env={MY_PASSWORD: sesame, OTHER: plain}")...)
	told := false
	o.Say = func(line string) {
		dir, ok := strings.CutPrefix(line, "run: ")
		if !ok {
			return
		}
		told = true
		for _, name := range []string{runs.ConfigName, runs.PlanName} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || strings.Contains(string(text), "sesame") || !strings.Contains(string(text), "plain") {
				t.Errorf("%s: %v: %s", name, err, text)
			}
		}
	}
	s, err := Run(context.Background(), o)
	if err != nil || !told {
		t.Fatalf("told %v: %v", told, err)
	}
	store, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := runs.PlanOf(store.Dir())
	if err != nil || p.Model.Name != o.Plan.Model.Name || p.Pipeline.Workload.Env["MY_PASSWORD"] != redact.Mark {
		t.Errorf("plan %+v, %v", p, err)
	}
	if o.Plan.Pipeline.Workload.Env["MY_PASSWORD"] != "sesame" {
		t.Error("the plan of the caller was changed")
	}
}

// TestResumeLeavesNothingStale: a run that goes on has no report of what was
// before, and one that is refused stays as it was.
func TestResumeLeavesNothingStale(t *testing.T) {
	o := sessions(t, withoutProfilers...)
	s, err := Run(context.Background(), o)
	if err != nil || s.Status != runs.StatusDone || s.Result == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := os.Remove(filepath.Join(s.Dir, "workload/torch_profiler/operators.json")); err != nil {
		t.Fatal(err)
	}
	before, err := runs.ReadManifest(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_MISSING", "torch")
	var blocked *doctor.BlockedError
	if _, err := Resume(context.Background(), s.Dir, o); !errors.As(err, &blocked) {
		t.Fatalf("%v", err)
	}
	after, err := runs.ReadManifest(s.Dir)
	if err != nil || after.Status != before.Status || !after.Reason.Equal(before.Reason.Fact) || after.Resumed != before.Resumed || !exists(filepath.Join(s.Dir, runs.ResultName)) {
		t.Errorf("a refused resume left %+v, %v", after, err)
	}
	t.Setenv("FAKE_MISSING", "")
	if s, err = Resume(context.Background(), s.Dir, o); err != nil || s.Status != runs.StatusDone {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, name := range []string{"report/attempt-1/result.json", "report/attempt-1/report.html", "workload/torch_profiler/attempt-1/spec.json", "result.json", "report.html"} {
		if !exists(filepath.Join(s.Dir, name)) {
			t.Errorf("no %s", name)
		}
	}
	r, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if bad, err := runs.Verify(context.Background(), r); err != nil || len(bad) > 0 {
		t.Errorf("%v, %v", bad, err)
	}
}

// TestReplaySessions: a recording carries what the analysis reads, and a run
// that was resumed can be played.
func TestReplaySessions(t *testing.T) {
	o := sessions(t, append(withoutProfilers, "infer.repeats=2")...)
	t.Setenv("FAKE_FAILS", "exception")
	t.Setenv("FAKE_FAILS_IN", "torch_profiler")
	s, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_FAILS", "")
	if s, err = Resume(context.Background(), s.Dir, o); err != nil || s.Status != runs.StatusDone {
		t.Fatalf("%+v, %v", s, err)
	}
	r, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	played, err := Replay(context.Background(), r, Options{Dir: filepath.Join(t.TempDir(), "played"), Version: "test", Progress: func(string) {}, Say: func(string) {}})
	if err != nil || played.Result == nil {
		t.Fatalf("%+v, %v", played, err)
	}
	for _, name := range []string{"workload/metrics.json", "workload/unprofiled/metrics.json", "workload/torch_profiler/operators.json", runs.DeviationsFile} {
		if !exists(filepath.Join(played.Dir, name)) {
			t.Errorf("the recording lacks %s", name)
		}
	}
	if a, b := s.Result.Method.Deviations, played.Result.Method.Deviations; len(a) == 0 || len(a) != len(b) {
		t.Errorf("deviations %+v and %+v", a, b)
	}
	if a, b := s.Result.Operators, played.Result.Operators; a == nil || b == nil {
		t.Errorf("operators %v and %v", a, b)
	}
}

// TestUnwrittenReport: reports that could not be written are not announced.
func TestUnwrittenReport(t *testing.T) {
	o := sessions(t, withoutProfilers...)
	o.Say = func(line string) {
		if line == "report: started" { // a folder where the result should go
			if err := os.MkdirAll(filepath.Join(o.Dir, runs.ResultName, "x"), 0o777); err != nil {
				t.Error(err)
			}
		}
	}
	s, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if st := stepOf(t, s, "report"); st.State != runs.StateFailed || s.Result != nil || s.Status != runs.StatusFailed {
		t.Errorf("%s: %s; run %s", st.State, inWords(st.Outcome), s.Status)
	}
}

// TestRewrite: an analysis that is made again leaves nothing of the one before,
// and the manifest knows its files.
func TestRewrite(t *testing.T) {
	s := runSessions(t, withoutProfilers...)
	stale := filepath.Join(s.Dir, "ncu/regions", "gone", "report.md")
	if err := os.MkdirAll(filepath.Dir(stale), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.Result.Method.Deviations = nil
	if _, err := folder.Rewrite(context.Background(), s.Dir, s.Result); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Dir(stale)) {
		t.Error("a region of an earlier analysis is still there")
	}
	r, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if bad, err := runs.Verify(context.Background(), r); err != nil || len(bad) > 0 || r.Status() != runs.StatusDone {
		t.Errorf("%v, %v, %s", bad, err, r.Status())
	}
}
