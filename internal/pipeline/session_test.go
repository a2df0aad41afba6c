package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// withoutProfilers are overrides for a machine without a GPU: sessions without a profiler.
var withoutProfilers = []string{"device=cpu", "pipeline.nsys.enable=false", "pipeline.ncu.enable=false", "pipeline.torch_profiler.activities=[cpu]"}

// sessions are the options of a run of a shipped program under the stand-in
// for Python.
func sessions(t *testing.T, overrides ...string) Options {
	t.Helper()
	python, err := filepath.Abs("testdata/python3")
	if err != nil {
		t.Fatal(err)
	}
	overrides = append([]string{"pipeline.workload.python=" + python}, overrides...)
	composed, err := config.Compose(config.Options{
		Sources: []config.Source{{Provider: "main", Path: "conf", FS: conf.FS}}, ConfigName: "config",
		Overrides: overrides, Now: time.Now(), Cwd: t.TempDir(), JobName: "deepprof",
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
	return Options{
		Plan: p, Config: root.YAML(), Dir: filepath.Join(t.TempDir(), "run"), Version: "test",
		Progress: func(string) {}, Say: func(line string) { t.Log(line) },
	}
}

func runSessions(t *testing.T, overrides ...string) *Summary {
	t.Helper()
	s, err := Run(context.Background(), sessions(t, overrides...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stepOf(t *testing.T, s *Summary, name string) StepResult {
	t.Helper()
	for _, st := range s.Steps {
		if st.Name == name {
			return st
		}
	}
	t.Fatalf("no stage %s in %+v", name, s.Steps)
	return StepResult{}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// smallFlops is what the default model costs torch for 512 tokens in, 32 out.
func smallFlops(t *testing.T) (prefill, decode, parameters int64) {
	t.Helper()
	m, err := flops.ParseMap(sessions(t).Plan.Model.Config.Values)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Count(flops.Shape{Prompt: 512, New: 32})
	if err != nil {
		t.Fatal(err)
	}
	return r.Stages[0].Torch, r.Stages[1].Torch, m.Parameters()
}

// TestSessions runs every stage that needs no profiler.
func TestSessions(t *testing.T) {
	prefill, decode, parameters := smallFlops(t)
	t.Setenv("FAKE_PREFILL", fmt.Sprint(prefill+prefill/500))
	t.Setenv("FAKE_DECODE", fmt.Sprint(decode))
	t.Setenv("FAKE_PARAMETERS", fmt.Sprint(parameters))
	s := runSessions(t, append(withoutProfilers, "pipeline.direct_inference.enable=true", "pipeline.static_analysis.torch_flop_counter=true", "pipeline.unprofiled.repeats=2")...)
	for _, name := range []string{"unprofiled", "static_analysis", "direct_inference", "torch_profiler", "torch_flops"} {
		if st := stepOf(t, s, name); st.State != runs.StateDone || st.Outcome.Kind != capture.Captured {
			t.Errorf("%s: %s, %s", name, st.State, inWords(st.Outcome))
		}
	}
	for _, name := range []string{
		"program/main.py", "program/session/run.py", "metrics.json", "predictions.jsonl", "flops.json", "flops_check.json", "deviations.json",
		"unprofiled/cmd.txt", "unprofiled/stdout.log", "unprofiled/metrics.json", "unprofiled/run-2/metrics.json", "direct_inference/metrics.json",
		"torch_profiler/operators.json", "torch_flops/flops.json",
	} {
		if _, err := os.Stat(filepath.Join(s.Dir, "workload", name)); err != nil {
			t.Error(err)
		}
	}
	var report flops.Report
	readJSON(t, filepath.Join(s.Dir, runs.FlopsReport), &report)
	if report.Model.Parameters != parameters || report.Shape.Tokens != 512 || len(report.Warnings) != 0 {
		t.Errorf("flops.json: %+v", report.Model)
	}
	var compared flops.Comparison
	readJSON(t, filepath.Join(s.Dir, runs.FlopsComparison), &compared)
	if !compared.Agree || len(compared.Stages) != 2 {
		t.Errorf("flops_check.json: %+v", compared)
	}
	var spec workload.Spec
	readJSON(t, filepath.Join(s.Dir, "workload/torch_profiler/spec.json"), &spec)
	if spec.Infer["max_new_tokens"] != 16.0 || spec.Infer["repeats"] != 1.0 || spec.Device != "cpu" || spec.Out != filepath.Join(s.Dir, "workload/torch_profiler") {
		t.Errorf("spec: %+v", spec)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "workload/unprofiled/cmd.txt"))
	if err != nil || !strings.Contains(string(text), "CUDA_VISIBLE_DEVICES='' ") || !strings.Contains(string(text), "main.py --spec ") {
		t.Errorf("cmd.txt: %s, %v", text, err)
	}
	text, err = os.ReadFile(filepath.Join(s.Dir, runs.InputsName))
	if err != nil || !strings.Contains(string(text), filepath.Join(s.Dir, "workload/unprofiled/spec.json")) {
		t.Errorf("inputs.yaml: %s, %v", text, err)
	}
	store, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := runs.Verify(context.Background(), store)
	if err != nil || len(bad) != 0 {
		t.Errorf("verify: %v, %v", bad, err)
	}
	if label := store.Manifest().Label; label != "llm llama_small" {
		t.Errorf("label %q", label)
	}
}

// TestSessionFails: what a session says of its end decides, and everything is
// kept.
func TestSessionFails(t *testing.T) {
	for _, c := range []struct {
		how, partial string
		kind         capture.Kind
		says         []string
	}{
		{"exception", "", capture.WorkloadFailed, []string{"something made up", "File x, line 1 | f() | RuntimeError: made up"}},
		{"missing_weights", "", capture.WorkloadFailed, []string{"the session failed: something made up"}},
		{"out_of_memory", "1", capture.WorkloadFailed, []string{"something made up", "RuntimeError: made up"}},
		{"silent", "", capture.WorkloadFailed, []string{"exit code 1", "RuntimeError: made up"}},
		{"empty", "", capture.WorkloadFailed, []string{"exit code 0 and without a good metrics.json", "does not exist"}},
		{"empty", "1", capture.WorkloadFailed, []string{"is not complete"}},
		{"crash", "", capture.WorkloadCrashed, []string{"signal 11"}},
	} {
		t.Run(c.how+c.partial, func(t *testing.T) {
			t.Setenv("FAKE_FAILS", c.how)
			t.Setenv("FAKE_PARTIAL", c.partial)
			s := runSessions(t, withoutProfilers...)
			st := stepOf(t, s, "unprofiled")
			if st.State != runs.StateFailed || st.Outcome.Kind != c.kind || message.Next(st.Outcome.Cause) == "" {
				t.Errorf("%s, %s", st.State, inWords(st.Outcome))
			}
			for _, text := range c.says {
				if !strings.Contains(inWords(st.Outcome), text) {
					t.Errorf("%q is not in %s", text, inWords(st.Outcome))
				}
			}
			if kept := st.Outcome.Cause.Text("file") != ""; kept != (c.partial != "") {
				t.Errorf("partial %q: cause %v", c.partial, st.Outcome.Cause)
			}
			if next := stepOf(t, s, "torch_profiler"); next.State != runs.StateSkipped || !next.Reason.Is(stepUnproven) {
				t.Errorf("torch_profiler: %s, %v", next.State, next.Reason)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, "workload/unprofiled/stderr.log")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLaterSessionFails: a failed pass of its own does not undo the others.
func TestLaterSessionFails(t *testing.T) {
	t.Setenv("FAKE_FAILS", "exception")
	t.Setenv("FAKE_FAILS_IN", "torch_profiler")
	s := runSessions(t, withoutProfilers...)
	if st := stepOf(t, s, "unprofiled"); st.State != runs.StateDone {
		t.Errorf("baseline: %s", inWords(st.Outcome))
	}
	if st := stepOf(t, s, "torch_profiler"); st.State != runs.StateFailed || st.Outcome.Kind != capture.WorkloadFailed {
		t.Errorf("torch_profiler: %s", inWords(st.Outcome))
	}
	if st := stepOf(t, s, "static_analysis"); st.Outcome.Kind != capture.WithWarnings || st.Outcome.Warnings[0].Number("ran") != 1 {
		t.Errorf("static_analysis: %+v", st.Outcome)
	}
	if s.Status != runs.StatusFailed {
		t.Errorf("run %s", s.Status)
	}
}

func TestMissingPackages(t *testing.T) {
	for _, name := range []string{"torch", "transformers", "torch transformers"} {
		t.Setenv("FAKE_MISSING", name)
		o := sessions(t, withoutProfilers...)
		report, err := Examine(context.Background(), o)
		if want := strings.Count(name, " ") + 1; err != nil || report.Count("blocker") != want {
			t.Errorf("%s: %d blockers, %v", name, report.Count("blocker"), err)
		}
		name, _, _ := strings.Cut(name, " ")
		_, err = Run(context.Background(), o)
		var blocked *doctor.BlockedError
		if !errors.As(err, &blocked) {
			t.Fatalf("%s: %v", name, err)
		}
		said := false
		for _, row := range blocked.Report.Rows {
			missing := row.Seen.Is("torch-absent") && name == "torch" || slices.Contains(row.Seen.Params["names"].List, name)
			said = said || row.Status == "blocker" && missing && row.Seen.Text("python") == o.Plan.Pipeline.Workload.Python
		}
		if !said {
			t.Errorf("%s: %+v", name, blocked.Report.Rows)
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Error("a run was made")
		}
	}
	t.Setenv("FAKE_MISSING", "transformers")
	if _, err := Run(context.Background(), sessions(t, append(withoutProfilers, "workload=resnet")...)); err != nil {
		t.Errorf("resnet needs torch withoutProfilers: %v", err)
	}
	o := sessions(t, append(withoutProfilers, "pipeline.workload.python=/nosuch/python3")...)
	if _, err := Run(context.Background(), o); err == nil {
		t.Error("an interpreter that is not there was used")
	}
}

// TestImageFlops: the tokens of the image are part of the prompt that ran.
func TestImageFlops(t *testing.T) {
	s := runSessions(t, append(withoutProfilers, "workload=vlm", "model.image_size=768", "pipeline.torch_profiler.enable=false")...)
	var report flops.Report
	readJSON(t, filepath.Join(s.Dir, runs.FlopsReport), &report)
	if report.Shape.Tokens != 512 || report.Shape.Prompt != 512-145 || report.Shape.Images != 1 || len(report.Stages) != 5 {
		t.Errorf("%+v", report.Shape)
	}
}

// TestUncountable: a model whose FLOPs cannot be told costs no run.
func TestUncountable(t *testing.T) {
	s := runSessions(t, append(withoutProfilers, "pipeline.torch_profiler.enable=false", "~model.config.hidden_size")...)
	st := stepOf(t, s, "static_analysis")
	if st.State != runs.StateDone || st.Outcome.Kind != capture.MissingData || !strings.Contains(message.Text(st.Outcome.What), "no hidden_size") {
		t.Errorf("%s: %s", st.State, inWords(st.Outcome))
	}
}

// TestOperatorsFollow: operators come from the process of the unprofiled run, or
// from one of their own where that one did not get to them.
func TestOperatorsFollow(t *testing.T) {
	for follows, started := range map[string]bool{"well": false, "crash": true, "": true} {
		t.Run("follows "+follows, func(t *testing.T) {
			t.Setenv("FAKE_FOLLOWS", follows)
			s, err := Run(context.Background(), sessions(t, withoutProfilers...))
			if err != nil || s.Status != runs.StatusDone {
				t.Fatalf("%+v, %v", s, err)
			}
			m, err := runs.ReadManifest(s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			step := m.Step(plan.StepTorchProfiler)
			if len(step.Attempts) != 1 || (len(step.Attempts[0].Command) > 0) != started {
				t.Errorf("attempts %+v", step.Attempts)
			}
			if !slices.ContainsFunc(step.Files(), func(f runs.File) bool { return f.Path == "workload/torch_profiler/operators.json" }) {
				t.Errorf("files %+v", step.Files())
			}
			if s.Result == nil || len(s.Result.Operators) == 0 {
				t.Error("the report has no operators")
			}
		})
	}
}

func TestDryRunSessions(t *testing.T) {
	lines, err := DryRun(context.Background(), sessions(t, append(withoutProfilers, "pipeline.direct_inference.enable=true")...))
	if err != nil || len(lines) != 2 { // operators follow the unprofiled run
		t.Fatalf("%q, %v", lines, err)
	}
	for i, stage := range []string{"unprofiled", "direct_inference"} {
		if !strings.HasSuffix(lines[i], "/run/workload/"+stage+"/spec.json") {
			t.Errorf("%s: %s", stage, lines[i])
		}
	}
}

// TestProfiledSession: a real nsys runs the program that was written for it.
// The stand-in has no NVTX, so that the timeline is empty.
func TestProfiledSession(t *testing.T) {
	tools := os.Getenv("DEEPPROF_NSIGHT")
	if tools == "" {
		t.Skip("needs a real nsys: DEEPPROF_NSIGHT names the folder of the tools")
	}
	overrides := []string{
		"pipeline.nsys.path=" + filepath.Join(tools, "trixie/nsys"), "pipeline.nsys.trace=[nvtx]", "pipeline.ncu.enable=false",
		"pipeline.unprofiled.enable=false", "pipeline.torch_profiler.enable=false",
	}
	do := func() *Summary {
		o := sessions(t, overrides...)
		o.IgnoreBlockers = true // the stand-in needs no GPU
		s, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := do()
	st := stepOf(t, s, "nsys")
	// On a busy machine the stand-in is over before nsys begins to collect.
	for range 2 {
		if st.Outcome.Kind != capture.NothingCollected {
			break
		}
		s = do()
		st = stepOf(t, s, "nsys")
	}
	if st.Outcome.Kind != capture.MissingData {
		t.Errorf("%s", inWords(st.Outcome))
	}
	var spec workload.Spec
	readJSON(t, filepath.Join(s.Dir, "workload/nsys/spec.json"), &spec)
	if spec.Mode != workload.ModeProfile || spec.Infer["repeats"] != 1.0 || spec.Device != "cuda:0" {
		t.Errorf("spec %+v", spec)
	}
	if _, err := workload.ReadMetrics(filepath.Join(s.Dir, "workload/nsys")); err != nil {
		t.Error(err)
	}
	m, err := runs.ReadManifest(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"workload/nsys/spec.json", "workload/nsys/metrics.json", runs.DeviationsFile} {
		if !slices.ContainsFunc(m.Step("nsys").Files(), func(f runs.File) bool { return f.Path == name }) {
			t.Errorf("the manifest does not know %s", name)
		}
	}
	t.Setenv("FAKE_FAILS", "no_logits")
	s = do()
	if st := stepOf(t, s, "nsys"); st.State != runs.StateFailed || st.Outcome.Kind != capture.WorkloadFailed || !strings.Contains(message.Text(st.Outcome.What), "something made up") {
		t.Errorf("%s: %s", st.State, inWords(st.Outcome))
	}
}
