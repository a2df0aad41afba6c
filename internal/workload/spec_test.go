package workload

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/workloads"
)

// compose decodes the shipped configuration under overrides.
func compose(t testing.TB, overrides ...string) *plan.Plan {
	t.Helper()
	c, err := config.Compose(config.Options{
		Sources: []config.Source{{Provider: "main", Path: "conf", FS: conf.FS}}, ConfigName: "config",
		Overrides: overrides, Now: time.Now(), Cwd: "/work", JobName: "deepprof",
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, problems := plan.Decode(root)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func build(t testing.TB, stage string, overrides ...string) Spec {
	t.Helper()
	spec, _, err := Build(compose(t, overrides...), stage, Places{Python: "/py", Program: "/run/workload/program", Out: "/run/workload/" + stage, Start: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestBuild(t *testing.T) {
	spec, argv, err := Build(compose(t), plan.StepUnprofiled, Places{Python: "/py", Program: "/p", Out: "/o", Start: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/py", "/p/main.py", "--spec", "/o/spec.json"}; !slices.Equal(argv, want) {
		t.Errorf("command %q", argv)
	}
	if spec.Schema != Schema || spec.Mode != ModeTime || spec.Kind != "llm" || spec.Device != "cuda:0" || spec.Out != "/o" || spec.Predictions {
		t.Errorf("%+v", spec)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{ // null stays null, and numbers stay whole
		`"path":null`, `"image_size":null`, `"prompt":null`, `"root":null`, `"subset_filelist":null`, `"num_samples_per_epoch":null`, `"seed":null`,
		`"fallback_patterns":[]`, `"stage_hooks":{}`, `"hidden_size":2048`, `"timeout_s":1800`, `"nvtx":{"sync":true}`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

// sampling is the section dataset.sampling.
func sampling(s Spec) map[string]any { return s.Dataset["sampling"].(map[string]any) }

func TestBuildStages(t *testing.T) {
	for _, c := range []struct {
		stage, mode string
		overrides   []string
		check       func(Spec) bool
	}{
		{plan.StepUnprofiled, ModeTime, nil, func(s Spec) bool { return s.Infer["repeats"] == 10 && sampling(s)["num_samples_per_epoch"] == nil }},
		{plan.StepDirectInference, ModeTime, nil, func(s Spec) bool { return s.Predictions && s.Infer["repeats"] == 10 }},
		{plan.StepDirectInference, ModeTime, []string{"pipeline.direct_inference.predictions=false"}, func(s Spec) bool { return !s.Predictions }},
		{plan.StepNsys, ModeProfile, nil, func(s Spec) bool {
			return s.Infer["repeats"] == 1 && sampling(s)["num_samples_per_epoch"] == 1 && s.Infer["max_new_tokens"] == 32 && s.TorchProfiler["enable"] == false && !s.Predictions
		}},
		{plan.StepNcu, ModeProfile, []string{"dataset.sampling.num_samples_per_epoch=4", "dataset.sampling.num_epochs=2"}, func(s Spec) bool {
			return sampling(s)["num_samples_per_epoch"] == 4 && sampling(s)["num_epochs"] == 2
		}},
		{plan.StepTorchProfiler, ModeTorchProfiler, nil, func(s Spec) bool {
			return s.Infer["max_new_tokens"] == 16 && s.Infer["repeats"] == 1 && s.TorchProfiler["enable"] == true
		}},
		{plan.StepTorchProfiler, ModeTorchProfiler, []string{"infer.max_new_tokens=5"}, func(s Spec) bool { return s.Infer["max_new_tokens"] == 5 }},
		{plan.StepTorchFlops, ModeFlops, []string{"infer.kv_cache=static", "infer.cuda_graphs=true", "infer.compile=true"}, func(s Spec) bool {
			return s.Infer["cuda_graphs"] == false && s.Infer["compile"] == false && s.Infer["kv_cache"] == "static" && s.Infer["max_new_tokens"] == 32
		}},
		{plan.StepUnprofiled, ModeTime, []string{"model=pretrained", "model.path=weights"}, func(s Spec) bool { return s.Model["path"] == "/home/u/weights" && s.Model["config"] == nil }},
		{plan.StepUnprofiled, ModeTime, []string{"model.config=some/config.json"}, func(s Spec) bool { return s.Model["config"] == "/home/u/some/config.json" }},
		{plan.StepUnprofiled, ModeTime, []string{"dataset=prompts", "dataset.root=data", "dataset.subset_filelist=/abs/list"}, func(s Spec) bool {
			return s.Dataset["root"] == "/home/u/data" && s.Dataset["subset_filelist"] == "/abs/list"
		}},
		{plan.StepUnprofiled, ModeTime, []string{"workload=vlm"}, func(s Spec) bool {
			return s.Kind == "vlm" && s.Model["image_size"] == 1024 && s.Model["stage_hooks"].(map[string]string)["sam"] == "model.vision_tower.sam_encoder"
		}},
		{plan.StepUnprofiled, ModeTime, []string{"device=GPU-1234"}, func(s Spec) bool { return s.Device == "cuda:0" }},
		{plan.StepUnprofiled, ModeTime, []string{"device=cpu", "pipeline.nsys.enable=false", "pipeline.ncu.enable=false", "pipeline.torch_profiler.enable=false"}, func(s Spec) bool { return s.Device == "cpu" }},
	} {
		if s := build(t, c.stage, c.overrides...); s.Mode != c.mode || s.Step != c.stage || !c.check(s) {
			t.Errorf("%s %q: %+v", c.stage, c.overrides, s)
		}
	}
	p := compose(t)
	if _, _, err := Build(p, "report", Places{}); err == nil {
		t.Error("a stage that runs nothing was built")
	}
	p.Pipeline.Workload.Kind = plan.WorkloadCommand
	if _, _, err := Build(p, plan.StepUnprofiled, Places{}); err == nil {
		t.Error("a command was built")
	}
}

// TestDeviations: what differs is listed, and only that; the list is what the
// spec does.
func TestDeviations(t *testing.T) {
	for _, step := range []string{plan.StepUnprofiled, plan.StepDirectInference} {
		if got := Deviations(compose(t), step); got != nil {
			t.Errorf("timed steps: %+v", got)
		}
	}
	keys := func(p *plan.Plan, stage string) string {
		var out []string
		for _, d := range Deviations(p, stage) {
			if d.Stage != stage || d.Configured == d.Used || len(d.Why) == 0 {
				t.Errorf("%+v", d)
			}
			out = append(out, d.Key+"="+d.Used)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		stage, want string
		overrides   []string
	}{
		{plan.StepNsys, "dataset.sampling.num_samples_per_epoch=1 infer.repeats=1 pipeline.torch_profiler.enable=false", nil},
		{plan.StepNcu, "", []string{"dataset.sampling.num_samples_per_epoch=2", "infer.repeats=1", "pipeline.torch_profiler.enable=false", "infer.warmup=0"}},
		{plan.StepNcu, "infer.warmup=1 pass, 3 tokens", []string{"dataset.sampling.num_samples_per_epoch=2", "infer.repeats=1", "pipeline.torch_profiler.enable=false"}},
		{plan.StepNcu, "pipeline.static_analysis.torch_flop_counter=false pipeline.direct_inference.predictions=false",
			[]string{"dataset.sampling.num_samples_per_epoch=2", "infer.repeats=1", "pipeline.torch_profiler.enable=false", "pipeline.static_analysis.torch_flop_counter=true", "pipeline.direct_inference.enable=true", "infer.compile=true"}},
		{plan.StepTorchProfiler, "dataset.sampling.num_samples_per_epoch=1 infer.repeats=1 dataset.sampling.num_epochs=1 infer.max_new_tokens=16",
			[]string{"dataset.sampling.num_epochs=3"}},
		{plan.StepTorchFlops, "infer.repeats=1 dataset.sampling.num_samples_per_epoch=1 infer.cuda_graphs=false",
			[]string{"dataset.sampling.num_samples_per_epoch=9", "infer.kv_cache=static", "infer.cuda_graphs=true"}},
	} {
		if got := keys(compose(t, c.overrides...), c.stage); got != c.want {
			t.Errorf("%s %q: %s", c.stage, c.overrides, got)
		}
	}
}

func TestUnpack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := Unpack(fstest.MapFS{"main.py": {Data: []byte("x")}, "p/q.py": {Data: []byte("y")}}, dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "p", "q.py")); err != nil || string(text) != "y" {
		t.Errorf("%s, %v", text, err)
	}
	if err := Unpack(fstest.MapFS{"main.py": {}}, "/proc/nowhere"); err == nil {
		t.Error("unpacked into a folder that cannot be made")
	}
}

// TestProgramTakesSpec: the shipped Python reads every spec that Go writes. An
// interpreter without packages of its own then misses torch, and says so in
// the form that Judge reads.
func TestProgramTakesSpec(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs a python3")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := Unpack(workloads.FS, program); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"llm", "vlm", "resnet"} {
		for stage := range modes {
			out := filepath.Join(dir, kind, stage)
			if err := os.MkdirAll(out, 0o777); err != nil {
				t.Fatal(err)
			}
			spec, argv, err := Build(compose(t, "workload="+kind), stage, Places{Python: python, Program: program, Out: out, Start: dir})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(out, runs.SpecName), text, 0o666); err != nil {
				t.Fatal(err)
			}
			said, err := exec.Command(argv[0], append([]string{"-S", "-E"}, argv[1:]...)...).CombinedOutput()
			if err == nil {
				t.Fatalf("%s %s ran without torch: %s", kind, stage, said)
			}
			v := Judge(exitOf(err), out, spec.Mode)
			if v.OK || v.Kind != "missing_package" || v.What.Params["why"].Facts[0].Text("package") != "torch" || v.Next.IsZero() {
				t.Fatalf("%s %s: %+v\n%s", kind, stage, v, said)
			}
		}
	}
}
