package plan

import (
	"net/url"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/load"
)

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
