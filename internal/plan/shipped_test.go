package plan

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/conf"
)

// shippedOptions lists the files of a group.
func shippedOptions(t *testing.T, group string) []string {
	t.Helper()
	entries, err := fs.ReadDir(conf.FS, group)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no options in %s", group)
	}
	return out
}

// needs is what an option leaves to the user, and the workload that it fits.
var needs = map[string][]string{
	"workload=command":          {"pipeline.workload.command=[./app]"},
	"workload=server":           {"pipeline.workload.command=[./app]"},
	"workload=vllm":             {"pipeline.workload.command=[./app]"},
	"workload=sglang":           {"pipeline.workload.command=[./app]"},
	"workload=trtllm":           {"pipeline.workload.command=[./app]"},
	"workload=dynamo":           {"pipeline.workload.command=[./app]"},
	"workload=llamacpp":         {"pipeline.workload.command=[./app]"},
	"model=none":                {"workload=command", "pipeline.workload.command=[./app]"},
	"model=pretrained":          {"model.path=/models/llama"},
	"model=pretrained_vlm":      {"model.path=/models/ocr", "workload=vlm"},
	"model=deepseek_ocr2":       {"workload=vlm"},
	"model=deepseek_ocr2_small": {"workload=vlm"},
	"model=llava_small":         {"workload=vlm"},
	"model=resnet_shallow":      {"workload=resnet"},
	"pipeline/nsys=sampled":     {"pipeline.ncu.enable=false"},
	"dataset=images":            {"dataset.root=/data"},
	"dataset=prompts":           {"dataset.root=/data"},
}

var shippedGroups = []string{"workload", "model", "dataset", "dataset/sampling", "pipeline/nsys", "pipeline/ncu", "pipeline/torch_profiler"}

func TestEveryOptionDecodes(t *testing.T) {
	for _, group := range shippedGroups {
		for _, option := range shippedOptions(t, group) {
			choice := group + "=" + option
			mustDecode(t, append([]string{choice}, needs[choice]...)...)
		}
	}
}

func TestEveryCombinationOfPresetsDecodes(t *testing.T) {
	for _, workload := range shippedOptions(t, "workload") {
		for _, nsys := range shippedOptions(t, "pipeline/nsys") {
			for _, ncu := range shippedOptions(t, "pipeline/ncu") {
				for _, sampling := range shippedOptions(t, "dataset/sampling") {
					overrides := []string{"workload=" + workload, "pipeline/nsys=" + nsys, "pipeline/ncu=" + ncu, "dataset/sampling=" + sampling}
					mustDecode(t, slices.Concat(overrides, needs[overrides[0]], needs[overrides[1]])...)
				}
			}
		}
		if len(needs["workload="+workload]) > 0 || workload == "llm_server" { // commands, and a server
			continue
		}
		for _, torch := range shippedOptions(t, "pipeline/torch_profiler") {
			mustDecode(t, "workload="+workload, "pipeline/torch_profiler="+torch)
		}
	}
}

// TestDefaults holds the defaults that real use has proved.
func TestDefaults(t *testing.T) {
	p := mustDecode(t)
	nsys, cli, pick := p.Pipeline.Nsys, p.Pipeline.Ncu.CLI, p.Pipeline.Ncu.Pick
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"device", p.Device, "cuda:0"},
		{"trace", nsys.Trace, []string{"cuda", "nvtx"}},
		{"sample", nsys.Sample, "none"},
		{"cpuctxsw", nsys.CPUCtxSw, "none"},
		{"gate", nsys.CaptureRange, CaptureNone},
		{"gate's range", nsys.NVTXCapture, ""},
		{"gate's end", nsys.CaptureRangeEnd, "stop"},
		{"register only", nsys.NVTXRegisterOnly, false},
		{"graph trace", nsys.CUDAGraphTrace, "node"},
		{"timeout", nsys.Timeout, time.Hour},
		{"replay", cli.ReplayMode, ReplayKernel},
		{"filter mode", cli.FilterMode, "auto"},
		{"launch count", cli.LaunchCount, 1},
		{"target processes", cli.TargetProcesses, "all"},
		{"ncu config file", cli.ConfigFile, ""},
		{"coverage", pick.Coverage, 0.95},
		{"collectives", pick.Collectives, false},
		{"tokens", p.Infer.MaxNewTokens, 32},
		{"nvtx.sync", p.NVTX.Sync, true},
		{"model", p.Model.Config.Values["num_hidden_layers"], int64(8)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestWorkloadsChooseTheirModel: one choice gives a coherent run, and the
// command line still has the last word.
func TestWorkloadsChooseTheirModel(t *testing.T) {
	for _, c := range []struct {
		overrides   []string
		model, kind string
		device      string
		static      bool
		torch       bool
	}{
		{nil, "llama_small", WorkloadLLM, "cuda:0", true, true},
		{[]string{"model=llama_8b"}, "llama_8b", WorkloadLLM, "cuda:0", true, true},
		{[]string{"workload=vlm"}, "deepseek_ocr2", WorkloadVLM, "cuda:0", true, true},
		{[]string{"workload=vlm", "model=llava_small"}, "llava_small", WorkloadVLM, "cuda:0", true, true},
		{[]string{"workload=resnet"}, "resnet_shallow", WorkloadResNet, "cuda:0", false, true},
		{CommandOverrides([]string{"./app"}), "none", WorkloadCommand, "all", false, false},
		{append(CommandOverrides([]string{"./app"}), "device=cuda:2"), "none", WorkloadCommand, "cuda:2", false, false},
		{append(CommandOverrides([]string{"./app"}), "model=llama_8b", "pipeline.static_analysis.enable=true"), "llama_8b", WorkloadCommand, "all", true, false},
	} {
		p := mustDecode(t, c.overrides...)
		if p.Model.Name != c.model || p.Pipeline.Workload.Kind != c.kind || p.Device != c.device ||
			p.Pipeline.StaticAnalysis.Enable != c.static || p.Pipeline.TorchProfiler.Enable != c.torch {
			t.Errorf("%q: model %s, workload %s, device %s, static %v, torch %v", c.overrides, p.Model.Name,
				p.Pipeline.Workload.Kind, p.Device, p.Pipeline.StaticAnalysis.Enable, p.Pipeline.TorchProfiler.Enable)
		}
	}
}

// TestFamiliarOverrides: what users of Hydra-based profilers type.
func TestFamiliarOverrides(t *testing.T) {
	p := mustDecode(t, "pipeline.nsys.enable=false", "pipeline.ncu.ncu_cli.nvtx_include=[prefill,decode]", "infer.max_new_tokens=16",
		"dataset.sampling.num_samples_per_epoch=1", "hydra.run.dir=/tmp/x")
	if p.Pipeline.Nsys.Enable || p.Infer.MaxNewTokens != 16 || p.Dataset.Sampling.NumSamplesPerEpoch != 1 {
		t.Errorf("got %+v", p)
	}
	if got := p.Pipeline.Ncu.CLI.NVTXInclude; !slices.Equal(got, []string{"prefill", "decode"}) {
		t.Errorf("nvtx_include: got %q", got)
	}
}

func TestListsFromStrings(t *testing.T) {
	p := mustDecode(t, `pipeline.nsys.trace="cuda,nvtx, osrt"`, `pipeline.ncu.ncu_cli.nvtx_include="prefill;decode/step"`,
		"pipeline.ncu.ncu_cli.metrics=sm__throughput", "+pipeline.workload.env.OMP_NUM_THREADS=4")
	if got := p.Pipeline.Nsys.Trace; !slices.Equal(got, []string{"cuda", "nvtx", "osrt"}) {
		t.Errorf("trace: got %q", got)
	}
	if got := p.Pipeline.Ncu.CLI.NVTXInclude; !slices.Equal(got, []string{"prefill", "decode/step"}) {
		t.Errorf("nvtx_include: got %q", got)
	}
	if got := p.Pipeline.Ncu.CLI.Metrics; !slices.Equal(got, []string{"sm__throughput"}) {
		t.Errorf("metrics: got %q", got)
	}
	if got := p.Pipeline.Workload.Env["OMP_NUM_THREADS"]; got != "4" {
		t.Errorf("env: got %q", got)
	}
}

func TestNulls(t *testing.T) {
	p := mustDecode(t, "pipeline.nsys.timeout_s=null", "pipeline.ncu.ncu_cli.launch_count=null", "pipeline.supervision.stall_s=null",
		"dataset.sampling.seed=null", "pipeline.supervision.backoff_s=0.5", "pipeline.ncu.pick.budget_s=null")
	if p.Pipeline.Nsys.Timeout != 0 || p.Pipeline.Ncu.CLI.LaunchCount != 0 || p.Pipeline.Supervision.Stall != 0 || p.Pipeline.Ncu.Pick.Budget != 0 {
		t.Errorf("null is not zero: %+v", p.Pipeline)
	}
	if p.Dataset.Sampling.Seed != nil || p.Pipeline.Supervision.Backoff != 500*time.Millisecond {
		t.Errorf("seed %v, backoff %v", p.Dataset.Sampling.Seed, p.Pipeline.Supervision.Backoff)
	}
	if p := mustDecode(t, "dataset/sampling=random"); p.Dataset.Sampling.Seed == nil || *p.Dataset.Sampling.Seed != 0 {
		t.Errorf("seed 0 of the random preset is lost")
	}
}

func TestCommandOverrides(t *testing.T) {
	for _, args := range [][]string{
		{"python", "train.py", "--lr=1e-3", "a b", ""},
		{"./app", "it's", `"quoted"`, "a,b", "[x]", "{y: 1}", "k=v", "#", "é", "null", "true", "12", "???x"},
		{"./app", `C:\dir\`, `\'`, `a\\b`, `a\\`, `tab	newline
end`},
		{"./app", "${HOME}", "$HOME", `\${x}`, `a\\${y}`, "${", "$${z}"},
	} {
		p := mustDecode(t, CommandOverrides(args)...)
		if got := p.Pipeline.Workload.Command; !slices.Equal(got, args) {
			t.Errorf("got  %q\nwant %q", got, args)
		}
	}
}

func TestSplitRunDir(t *testing.T) {
	for _, c := range []struct {
		dir, parent string
		auto        bool
	}{
		{"runs/auto", "runs", true},
		{"/data/auto/", "/data", true},
		{"auto", ".", true},
		{"/tmp/x", "/tmp/x", false},
		{"runs/automatic", "runs/automatic", false},
	} {
		if parent, auto := SplitRunDir(c.dir); parent != c.parent || auto != c.auto {
			t.Errorf("%s: got %s, %v", c.dir, parent, auto)
		}
	}
}

func TestRunDirDefault(t *testing.T) {
	dir, _ := compose(t, nil).Hydra.Lookup("run.dir").Text()
	if parent, auto := SplitRunDir(dir); parent != "runs" || !auto {
		t.Errorf("hydra.run.dir: got %q", dir)
	}
}
