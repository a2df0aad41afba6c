package plan

import (
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
)

// envKey is where the variables of the workload stand, for config.Options:
// those of hydra.job.env_set are added there.
const envKey = "pipeline.workload.env"

// Renames are the keys and groups of older versions and of the Python original
// (llm-perf-opt), for config.Options. Keys of older versions are moved; keys of
// the original are refused with the key of today, because few of them mean
// exactly the same. docs/migration.md has the same table. A longer key stands
// before the shorter one that it begins with.
var Renames = []config.Rename{
	{From: "pipeline.baseline", To: "pipeline.unprofiled"}, // a baseline is a run to compare with

	{From: "pipeline.nsys.gating_nvtx", Advice: "write pipeline.nsys.capture_range=nvtx with pipeline.nsys.nvtx_capture=NAME for true, pipeline.nsys.capture_range=none for false"},
	{From: "pipeline.ncu.gating_nvtx", Advice: "name the regions in pipeline.ncu.ncu_cli.nvtx_include for true, leave that list empty for false"},
	{From: "nsys.gating_nvtx", Advice: "write pipeline.nsys.capture_range=nvtx with pipeline.nsys.nvtx_capture=NAME for true, pipeline.nsys.capture_range=none for false"},
	{From: "ncu.gating_nvtx", Advice: "name the regions in pipeline.ncu.ncu_cli.nvtx_include for true, leave that list empty for false"},
	{From: "gating_nvtx", Advice: "write pipeline.nsys.capture_range=nvtx with pipeline.nsys.nvtx_capture=NAME, and pipeline.ncu.ncu_cli.nvtx_include=[NAME]"},

	{From: "run.representative_max_new_tokens", Advice: "write pipeline.torch_profiler.rep_max_new_tokens, or infer.max_new_tokens for all steps"},
	{From: "run.stage1_repeats", Advice: "write infer.repeats for passes over each sample, dataset.sampling.num_epochs for passes over the dataset"},
	{From: "run.dataset_subset_filelist", Advice: "write dataset.subset_filelist"},
	{From: "run.top_n_kernels", Advice: "write pipeline.ncu.pick.top_n"},
	{From: "run.mode", Advice: "choose the pipeline steps with pipeline.STEP.enable"},
	{From: "representative_max_new_tokens", Advice: "write pipeline.torch_profiler.rep_max_new_tokens, or infer.max_new_tokens for all steps"},
	{From: "stage1_repeats", Advice: "write infer.repeats for passes over each sample, dataset.sampling.num_epochs for passes over the dataset"},
	{From: "repeats", Advice: "write infer.repeats"},
	{From: "stage1_runner.device", Advice: "write device"},
	{From: "stage1_runner.disable_static", Advice: "write pipeline.static_analysis.enable=false for true"},
	{From: "stage1_runner", Advice: "its keys are top-level today: device, infer.*, dataset.*, pipeline.*"},
	{From: "runner", Advice: "there are no runners: one command performs all pipeline steps; choose them with pipeline.STEP.enable"},

	{From: "experiment", Advice: "name runs with hydra.run.dir=runs/NAME"},
	{From: "artifacts", Advice: "write hydra.run.dir"},
	{From: "use_flash_attn", Advice: "write model.attn_implementation=flash_attention_2, or sdpa"},
	{From: "pipeline.torch_profiler.enabled", Advice: "write pipeline.torch_profiler.enable"},
	{From: "pipeline.torch_profiler.output", Advice: "the run stores its outputs; write pipeline.torch_profiler.chrome_trace for trace.json"},
	{From: "pipeline.direct_inference.output", Advice: "write pipeline.direct_inference.predictions"},
	{From: "pipeline.static_analysis.write_reports", Advice: "reports are always written; pipeline.static_analysis.enable turns the step on"},
	{From: "pipeline.static_analysis.use_analytic_fallback", Advice: "FLOPs are always derived from the model's config; remove the key"},
	{From: "pipeline.static_analysis.use_synthetic_inputs", Advice: "FLOPs are always derived from the model's config; remove the key"},
	{From: "pipeline.ncu.ncu_cli.nvtx", Advice: "write pipeline.ncu.ncu_cli.nvtx_include and nvtx_exclude"},
	{From: "pipeline.ncu.ncu_cli.export", Advice: "write pipeline.ncu.raw_csv=true for ncu/raw.csv"},
	{From: "pipeline.ncu.ncu_cli.force_overwrite", Advice: "a run folder is never reused; remove the key"},

	{From: "profiling/nsys", Advice: "write pipeline/nsys=default, light, sampled or full"},
	{From: "profiling/ncu", Advice: "write pipeline/ncu=default, compute, memory, roofline or high"},
	{From: "profiling/torch", Advice: "write pipeline/torch_profiler=default; 'deepprof config groups pipeline/torch_profiler' lists the options"},
	{From: "ncu", Advice: "write pipeline/ncu=NAME for a preset, pipeline.ncu.KEY for a key"},
	{From: "nsys", Advice: "write pipeline/nsys=NAME for a preset, pipeline.nsys.KEY for a key"},
	{From: "torch_profiler", Advice: "write pipeline/torch_profiler=NAME for a preset, pipeline.torch_profiler.KEY for a key"},
	{From: "model/deepseek_ocr/arch", Advice: "write model=deepseek_ocr2, or model=pretrained_vlm model.path=FOLDER"},
	{From: "model/deepseek_ocr/infer", Advice: "write the keys themselves: infer.max_new_tokens, infer.do_sample, infer.temperature"},
	{From: "output/torch", Advice: "the run stores its outputs; write pipeline.torch_profiler.chrome_trace for trace.json"},
	{From: "output/direct", Advice: "write pipeline.direct_inference.predictions"},
}

// renameAdvice says what to write instead of a key of the original; "" where
// the key is not one.
func renameAdvice(key string) string {
	for _, r := range Renames {
		if r.Advice != "" && (key == r.From || strings.HasPrefix(key, r.From+".")) {
			return r.Advice
		}
	}
	return ""
}

// renamed reports the keys of the original within an unknown mapping, each with
// the key of today; false where there are none.
func (d *decoder) renamed(key string, n *config.Node) bool {
	found := false
	n.Walk(func(path string, below *config.Node) bool {
		at := join(key, path)
		if below.Kind() == config.Map && below.Len() > 0 {
			return true
		}
		if advice := renameAdvice(at); advice != "" {
			d.failUnknown(at, below, " of the Python original; "+advice)
			found = true
		}
		return false
	})
	return found
}

// CommandOverrides returns the overrides that make a command line, as it
// stands after "--", the workload of a run: what the run stores can then be
// composed again.
func CommandOverrides(args []string) []string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	return []string{"workload=command", "pipeline.workload.command=[" + strings.Join(quoted, ",") + "]"}
}

// quote writes text as a quoted string of the override grammar. There, a
// backslash escapes only the quote, and backslashes right before a quote; and
// "${" begins an interpolation unless a backslash stands before it.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	slashes := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			slashes++
			b.WriteByte(c)
			continue
		case c == '\'':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		case c == '$' && i+1 < len(text) && text[i+1] == '{':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		slashes = 0
		b.WriteByte(text[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('\'')
	return b.String()
}

// SplitRunDir reads hydra.run.dir. Where its last element is "auto", the run
// store makes up a name in the folder parent; otherwise the run is dir itself.
func SplitRunDir(dir string) (parent string, auto bool) {
	clean := filepath.Clean(dir)
	if filepath.Base(clean) == "auto" {
		return filepath.Dir(clean), true
	}
	return clean, false
}
