package plan

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/load"
)

// rules check what one key alone cannot show. Each sees the whole plan; keys
// that already have a problem are left alone.
var rules = []func(*Plan, *decoder){
	checkDevice,
	checkRanks,
	checkInfer,
	checkDataset,
	checkModel,
	checkStageHooks,
	checkWorkload,
	checkCommand,
	checkServer,
	checkStages,
	checkTorchProfiler,
	checkStaticAnalysis,
	checkGate,
	checkGateName,
	checkGateEnd,
	checkDomains,
	checkTimeline,
	checkCounters,
	checkReplay,
	checkKernelFilters,
	checkExpressions,
	checkExtraArgs,
	checkPatterns,
}

// conflict reports that the values of some keys do not go together. The blame
// goes to the first that was given on the command line, or else to the first.
// It is silent where one of the keys has a problem of its own.
func (d *decoder) conflict(keys []string, format string, args ...any) {
	blamed := keys[0]
	for _, key := range keys {
		if d.bad[key] {
			return
		}
	}
	for _, key := range keys {
		if n := d.root.Lookup(key); n != nil && n.Origin().Override != "" {
			blamed = key
			break
		}
	}
	d.problems = append(d.problems, Problem{
		Key: blamed, Origin: d.root.Lookup(blamed).Origin(), Message: fmt.Sprintf(format, args...),
	})
}

var devicePattern = regexp.MustCompile(`^(all|cpu|cuda:[0-9]{1,3}|(GPU|MIG)-[0-9A-Za-z/-]+)$`)

func checkDevice(p *Plan, d *decoder) {
	if !devicePattern.MatchString(p.Device) {
		d.conflict([]string{"device"}, "want cuda:N, GPU-..., MIG-..., cpu or all, got the string %q", shorten(p.Device))
		d.bad["device"] = true
		return
	}
	if p.Device != "cpu" {
		return
	}
	for _, stage := range []struct {
		enabled bool
		key     string
	}{
		{p.Pipeline.Nsys.Enable, "pipeline.nsys.enable"},
		{p.Pipeline.Ncu.Enable, "pipeline.ncu.enable"},
	} {
		if stage.enabled {
			d.conflict([]string{"device", stage.key}, "there is no GPU work to capture with device=cpu; set %s=false or choose a GPU", stage.key)
		}
	}
	if t := p.Pipeline.TorchProfiler; t.Enable && slices.Contains(t.Activities, "cuda") {
		d.conflict([]string{"device", "pipeline.torch_profiler.activities"},
			"there is no cuda activity with device=cpu; set pipeline.torch_profiler.activities=[cpu]")
	}
}

func checkInfer(p *Plan, d *decoder) {
	in := p.Infer
	if in.DoSample && in.Temperature == 0 {
		d.conflict([]string{"infer.do_sample", "infer.temperature"},
			"sampling needs a temperature above 0; set infer.temperature, or infer.do_sample=false for greedy decoding")
	}
	if !in.DoSample {
		const advice = "has no effect while infer.do_sample is false; set infer.do_sample=true or leave it at %s"
		if in.Temperature != 0 {
			d.conflict([]string{"infer.temperature", "infer.do_sample"}, advice, "0")
		}
		if in.TopK != 0 {
			d.conflict([]string{"infer.top_k", "infer.do_sample"}, advice, "0")
		}
		if in.TopP != 1 {
			d.conflict([]string{"infer.top_p", "infer.do_sample"}, advice, "1")
		}
	}
	if in.CUDAGraphs && in.KVCache == "dynamic" {
		d.conflict([]string{"infer.cuda_graphs", "infer.kv_cache"}, "CUDA graphs need buffers that stay in place; set infer.kv_cache=static")
	}
	if in.CUDAGraphs && p.Model.AttnImplementation == "eager" && p.Model.Kind != ModelResNet {
		d.conflict([]string{"infer.cuda_graphs", "model.attn_implementation"},
			"the mask of eager attention waits for the host, which the capture of a CUDA graph does not allow; set model.attn_implementation=sdpa, or infer.cuda_graphs=false")
	}
	if in.Warmup > 0 {
		return
	}
	if in.CUDAGraphs {
		d.conflict([]string{"infer.cuda_graphs", "infer.warmup"}, "graphs are captured during the warm-up; set infer.warmup to at least 1")
	}
	if in.Compile {
		d.conflict([]string{"infer.compile", "infer.warmup"}, "torch.compile works during the warm-up; set infer.warmup to at least 1")
	}
}

func checkDataset(p *Plan, d *decoder) {
	ds := p.Dataset
	if ds.Root != "" {
		if ds.SubsetFilelist == "" && len(ds.FallbackPatterns) == 0 {
			d.conflict([]string{"dataset.root", "dataset.subset_filelist", "dataset.fallback_patterns"},
				"nothing says which files of the dataset to take; set dataset.subset_filelist or dataset.fallback_patterns")
		}
		return
	}
	if ds.SubsetFilelist != "" {
		d.conflict([]string{"dataset.subset_filelist", "dataset.root"}, "a list of files needs dataset.root; without it inputs are generated")
	}
	if len(ds.FallbackPatterns) > 0 {
		d.conflict([]string{"dataset.fallback_patterns", "dataset.root"}, "patterns need dataset.root; without it inputs are generated")
	}
}

func checkModel(p *Plan, d *decoder) {
	m := p.Model
	source := []string{"model.path", "model.config", "model.kind"}
	switch {
	case m.Kind == ModelNone && m.TrustRemoteCode:
		d.conflict([]string{"model.trust_remote_code", "model.kind"}, "there is no model whose code could be run; choose one with model=pretrained model.path=...")
	case m.Kind == ModelNone && (m.Path != "" || m.Config.given()):
		d.conflict(source, "model.kind none has neither model.path nor model.config; choose a model with model=...")
	case m.Kind == ModelNone:
		return
	case m.Path != "" && m.Config.given():
		d.conflict(source, "a model comes from model.path or from model.config, not from both; set one of them to null")
	case m.Path == "" && !m.Config.given():
		d.conflict(source, "a model needs model.path (a local folder) or model.config (random weights)")
	case m.TrustRemoteCode && m.Path == "":
		d.conflict([]string{"model.trust_remote_code", "model.path"},
			"code is run from a local folder only; name it in model.path, or set model.trust_remote_code=false")
	case m.Kind == ModelResNet && m.Path != "":
		d.conflict(source, "the resnet workload builds its model from model.config; set model.path=null")
	}
	if m.Config.Values != nil {
		if text, ok := m.Config.Values["model_type"].(string); !ok || text == "" {
			d.conflict([]string{"model.config"}, "the mapping has no model_type, without which transformers cannot build it")
		}
	}
	if m.Config.given() && m.ImageSize == 0 && (m.Kind == ModelImageText || m.Kind == ModelResNet) {
		d.conflict([]string{"model.image_size", "model.config"}, "a model of kind %s with random weights needs model.image_size in pixels", m.Kind)
	}
}

func checkStageHooks(p *Plan, d *decoder) {
	for _, label := range slices.Sorted(maps.Keys(p.Model.StageHooks)) {
		key := "model.stage_hooks." + label
		switch {
		case slices.Contains([]string{"prefill", "decode", "step"}, label):
			d.failAt(key, "model.stage_hooks", "the label %s is a range of the workload already; choose another", label)
		case label == "":
			d.failAt(key, "model.stage_hooks", "a label must not be empty")
		case p.Model.StageHooks[label] == "":
			d.failAt(key, "model.stage_hooks", "want the path of a module, as named_modules() lists it")
		}
	}
}

// modelKinds says which kind of model a shipped workload runs.
var modelKinds = map[string]string{
	WorkloadLLM:    ModelCausalLM,
	WorkloadVLM:    ModelImageText,
	WorkloadResNet: ModelResNet,
}

func checkWorkload(p *Plan, d *decoder) {
	w := p.Pipeline.Workload
	if want, shipped := modelKinds[w.Kind]; shipped {
		if p.Model.Kind != want {
			d.conflict([]string{"model.kind", "pipeline.workload.kind"},
				"the %s workload runs models of kind %s, not %s; choose another model=... or workload=...", w.Kind, want, p.Model.Kind)
		}
		if len(w.Command) > 0 {
			d.conflict([]string{"pipeline.workload.command", "pipeline.workload.kind"},
				"the %s workload is a program of its own and takes no command; choose workload=command", w.Kind)
		}
	}
	if w.Chdir && w.Cwd != "" {
		d.conflict([]string{"pipeline.workload.cwd", "pipeline.workload.chdir"},
			"hydra.job.chdir=true runs the workload in the folder of the run, so that pipeline.workload.cwd has no effect; set one of them")
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(w.Env[name], "\x00") {
			d.failAt("pipeline.workload.env."+name, "pipeline.workload.env", "not a name and value that an environment can hold")
		}
	}
}

func checkCommand(p *Plan, d *decoder) {
	w := p.Pipeline.Workload
	if w.Kind != WorkloadCommand && (w.Kind != WorkloadServer || p.Pipeline.Server.Engine == engine.LLMServer) {
		return
	}
	const key = "pipeline.workload.command"
	switch {
	case len(w.Command) == 0 || w.Command[0] == "":
		d.conflict([]string{key}, "no program to run; give it after --, or as a list in %s", key)
	case strings.HasPrefix(w.Command[0], "-"):
		d.conflict([]string{key}, "the program %q begins with a dash, which nsys and ncu take for an option; write ./%s", w.Command[0], w.Command[0])
	case slices.ContainsFunc(w.Command, func(arg string) bool { return strings.Contains(arg, "\x00") }):
		d.conflict([]string{key}, "an argument holds a NUL byte, which no program can be given")
	}
	for _, stage := range []struct {
		enabled bool
		key     string
	}{
		{p.Pipeline.DirectInference.Enable, "pipeline.direct_inference.enable"},
		{p.Pipeline.TorchProfiler.Enable, "pipeline.torch_profiler.enable"},
		{p.Pipeline.StaticAnalysis.TorchFlopCounter, "pipeline.static_analysis.torch_flop_counter"},
	} {
		if stage.enabled {
			d.conflict([]string{stage.key, "pipeline.workload.kind"}, "works with the shipped workloads only, not with a command; set %s=false", stage.key)
		}
	}
}

func checkStages(p *Plan, d *decoder) {
	pl := p.Pipeline
	if pl.Unprofiled.Enable || pl.DirectInference.Enable || pl.TorchProfiler.Enable || pl.StaticAnalysis.Enable || pl.Nsys.Enable || pl.Ncu.Enable {
		return
	}
	d.conflict([]string{"pipeline.nsys.enable", "pipeline.ncu.enable", "pipeline.unprofiled.enable", "pipeline.torch_profiler.enable",
		"pipeline.direct_inference.enable", "pipeline.static_analysis.enable"}, "every stage is turned off; enable at least one")
}

func checkTorchProfiler(p *Plan, d *decoder) {
	t := p.Pipeline.TorchProfiler
	if !t.Enable {
		return
	}
	if len(t.Activities) == 0 {
		d.conflict([]string{"pipeline.torch_profiler.activities"}, "nothing to record; want cpu, cuda or both")
	}
	if t.GroupByInputShape && !t.RecordShapes {
		d.conflict([]string{"pipeline.torch_profiler.group_by_input_shape", "pipeline.torch_profiler.record_shapes"},
			"grouping by shape needs pipeline.torch_profiler.record_shapes=true")
	}
}

func checkStaticAnalysis(p *Plan, d *decoder) {
	s := p.Pipeline.StaticAnalysis
	if s.Enable && (p.Model.Kind == ModelNone || p.Model.Kind == ModelResNet) {
		d.conflict([]string{"pipeline.static_analysis.enable", "model.kind"},
			"FLOPs are derived from the config of a transformer, and a model of kind %s has none; set pipeline.static_analysis.enable=false", p.Model.Kind)
	}
	if s.TorchFlopCounter && !s.Enable {
		d.conflict([]string{"pipeline.static_analysis.torch_flop_counter", "pipeline.static_analysis.enable"},
			"there is nothing to compare with while pipeline.static_analysis.enable is false")
	}
}

// checkPatterns compiles the patterns that the region reports apply themselves.
func checkPatterns(p *Plan, d *decoder) {
	for _, list := range []struct {
		key      string
		patterns []string
	}{
		{"pipeline.regions.kernel_include", p.Pipeline.Regions.KernelInclude},
		{"pipeline.regions.kernel_exclude", p.Pipeline.Regions.KernelExclude},
	} {
		for i, pattern := range list.patterns {
			text, isRegex := strings.CutPrefix(pattern, "regex:")
			at := list.key + "." + strconv.Itoa(i)
			if text == "" {
				d.failAt(at, list.key, "an empty pattern matches nothing; remove it")
				continue
			}
			if _, err := regexp.Compile(text); isRegex && err != nil {
				d.failAt(at, list.key, "%v", err)
			}
		}
	}
}

// failAt reports a problem with a part of a value, unless that part has one
// already.
func (d *decoder) failAt(key, whole, format string, args ...any) {
	if d.bad[key] {
		return
	}
	n := d.root.Lookup(key)
	if n == nil {
		n = d.root.Lookup(whole)
	}
	d.problems = append(d.problems, Problem{Key: key, Origin: n.Origin(), Message: fmt.Sprintf(format, args...)})
}

// checkServer looks at the keys of a server and its load.
func checkServer(p *Plan, d *decoder) {
	if p.Pipeline.Workload.Kind != WorkloadServer {
		return
	}
	s := p.Pipeline.Server
	if s.WarmupLimit < s.Warmup {
		d.conflict([]string{"pipeline.server.warmup_limit_s", "pipeline.server.warmup_s"}, "the limit is shorter than the warm-up itself")
	}
	if u, err := url.Parse(s.URL); s.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		d.conflict([]string{"pipeline.server.url"}, "want http://host:port, got %q", shorten(s.URL))
	}
	if n := p.Pipeline.Nsys; n.Enable && (n.CaptureRange != CaptureNone || n.Delay > 0 || n.Duration > 0) {
		d.conflict([]string{"pipeline.nsys.capture_range", "pipeline.nsys.delay", "pipeline.nsys.duration"},
			"a server is profiled in windows, which pipeline.server.windows and window_s decide; set capture_range=none, delay=0 and duration=null")
	}
	if s.Engine == engine.LLMServer {
		checkLLMServer(p, d)
	}
	checkLoad(s.Load, d)
}

func checkLLMServer(p *Plan, d *decoder) {
	l := p.Pipeline.Server.LLMServer
	if p.Model.Kind != ModelCausalLM {
		d.conflict([]string{"model.kind", "pipeline.server.engine"}, "the shipped server runs models of kind %s, not %s; choose another model=...", ModelCausalLM, p.Model.Kind)
	}
	if p.Model.Path != "" {
		d.conflict([]string{"model.path", "pipeline.server.engine"}, "the shipped server has random weights; give the architecture in model.config and set model.path=null")
	}
	if l.CUDAGraphs && !strings.HasPrefix(l.Device, "cuda") {
		d.conflict([]string{"pipeline.server.llm_server.cuda_graphs", "pipeline.server.llm_server.device"}, "CUDA graphs need a GPU; set cuda_graphs=false")
	}
	if len(p.Pipeline.Workload.Command) > 0 {
		d.conflict([]string{"pipeline.workload.command", "pipeline.server.engine"}, "the shipped server takes no command; choose workload=server for one of yours")
	}
}

func checkLoad(l Load, d *decoder) {
	const key = "pipeline.server.load."
	if l.Kind == LoadCommand && len(l.Command) == 0 {
		d.conflict([]string{key + "command", key + "kind"}, "no load program to run; give it as a list in %scommand", key)
	}
	if l.Kind != LoadCommand && len(l.Command) > 0 {
		d.conflict([]string{key + "command", key + "kind"}, "has no effect while %skind is %s; set it to command", key, l.Kind)
	}
	for name, text := range map[string]string{"prompt": l.Prompt, "output": l.Output} {
		if _, err := load.ParseDist(text); err != nil {
			d.conflict([]string{key + name}, "%v", err)
		}
	}
}
