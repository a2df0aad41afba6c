package plan

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/suggest"
)

// TracesCUDA tells whether the timeline will hold kernels.
func (n Nsys) TracesCUDA() bool { return slices.ContainsFunc(n.Trace, OfCUDA) }

// OfCUDA also holds for cuda-hw and cuda-sw, the two ways of newer releases.
func OfCUDA(api string) bool { return strings.HasPrefix(api, "cuda") }

func (n Nsys) tracesNVTX() bool { return slices.Contains(n.Trace, "nvtx") }

// checkGate looks for gates that would never open.
func checkGate(p *Plan, d *decoder) {
	n := p.Pipeline.Nsys
	if !n.Enable {
		return
	}
	gate := []string{"pipeline.nsys.capture_range", "pipeline.nsys.nvtx_capture"}
	traced := []string{"pipeline.nsys.capture_range", "pipeline.nsys.trace"}
	switch {
	case n.CaptureRange == CaptureNVTX && n.NVTXCapture == "":
		d.conflict(gate, "the gate would never open; name its range in pipeline.nsys.nvtx_capture")
	case n.CaptureRange != CaptureNVTX && n.NVTXCapture != "":
		d.conflict([]string{gate[1], gate[0]}, "has no effect without a gate; set pipeline.nsys.capture_range=nvtx, or nvtx_capture=null")
	}
	if n.CaptureRange == CaptureNVTX && !n.tracesNVTX() {
		d.conflict(traced, "a gate on an NVTX range needs nvtx in pipeline.nsys.trace")
	}
	if n.CaptureRange == CaptureCUDAProfilerAPI && !n.TracesCUDA() {
		d.conflict(traced, "a gate on cudaProfilerStart needs cuda in pipeline.nsys.trace")
	}
}

// checkGateName looks for forms of nvtx_capture that nsys takes without a word
// and that then match no range, and for ranges that the session never opens.
func checkGateName(p *Plan, d *decoder) {
	n := p.Pipeline.Nsys
	if !n.Enable || n.CaptureRange != CaptureNVTX || n.NVTXCapture == "" {
		return
	}
	key := []string{"pipeline.nsys.nvtx_capture"}
	text := n.NVTXCapture
	name, domain, hasDomain := cutDomain(text)
	pattern, isRegex := strings.CutPrefix(name, "regex:")
	switch {
	case strings.TrimSpace(name) == "" || hasDomain && strings.TrimSpace(domain) == "":
		d.conflict(key, "want name, name@domain or name@*, got %q", shorten(text))
	case strings.Contains(strings.ReplaceAll(domain, `\@`, ""), "@"):
		d.conflict(key, `%q has a second "@"; the form is name or name@domain (write "\@" for the character)`, shorten(text))
	case isRegex:
		d.conflict(key, "nsys takes no regular expressions here; write the whole name of one range, such as %s", shorten(plainPart(pattern)))
	case strings.Trim(name, "'\"`") != name:
		d.conflict(key, "nsys takes the quotes for part of the name; write %s", shorten(strings.Trim(text, "'\"`")))
	case strings.ContainsAny(name, "*?"):
		d.conflict(key, "nsys takes no patterns here; write the whole name of one range, such as %s (only the domain may be a star: %s@*)",
			shorten(plainPart(name)), shorten(plainPart(name)))
	default:
		d.checkSessionRange(p, key[0], name, domain)
	}
}

// plainPart is the longest beginning of a pattern that is plain text: the
// likeliest name that was meant.
func plainPart(pattern string) string {
	pattern = strings.TrimLeft(pattern, "^(")
	if i := strings.IndexAny(pattern, `*?.+[](){}|\^$`); i >= 0 {
		pattern = pattern[:i]
	}
	if pattern = strings.TrimRight(pattern, "/"); pattern == "" {
		return "prefill"
	}
	return pattern
}

// sessionRanges are the ranges that the shipped sessions open, besides the
// labels of model.stage_hooks.
var sessionRanges = map[string][]string{
	WorkloadLLM:    {"prefill", "decode", "step"},
	WorkloadVLM:    {"prefill", "decode", "step"},
	WorkloadResNet: {"stem", "residual", "head"},
}

// checkSessionRange refuses a range that a shipped session never opens. Its
// ranges are in the default domain; other domains belong to libraries. The
// paths of modules, which have dots, are opened by annotation.
func (d *decoder) checkSessionRange(p *Plan, key, name, domain string) {
	kind := p.Pipeline.Workload.Kind
	known, shipped := sessionRanges[kind]
	if !shipped || domain != "" && domain != "*" && domain != "default" {
		return
	}
	if kind != WorkloadResNet {
		known = slices.Concat(known, slices.Sorted(maps.Keys(p.Model.StageHooks)))
	}
	modules := p.Pipeline.Annotate == "auto" || p.Pipeline.Annotate == "modules"
	switch {
	case modules && strings.Contains(name, "."):
	case !slices.Contains(known, name):
		d.conflict([]string{key, "pipeline.workload.kind"}, "the gate would never open: the %s session opens the ranges %s, not %q%s",
			kind, strings.Join(known, ", "), shorten(name), suggest.DidYouMean(name, known))
	case (name == "decode" || name == "step") && p.Infer.MaxNewTokens == 1:
		d.conflict([]string{key, "infer.max_new_tokens"},
			"the gate would never open: with one new token there is no decode; set infer.max_new_tokens to 2 or more, or pipeline.nsys.nvtx_capture=prefill")
	}
}

// cutDomain splits name@domain at the first "@" that no backslash escapes.
func cutDomain(text string) (name, domain string, found bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '@':
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

var gateEnd = regexp.MustCompile(`^(none|stop|stop-shutdown|repeat|(?:repeat|repeat-shutdown):([0-9]+))$`)

// checkGateEnd reads the forms of capture_range_end. A count of 0 would mean
// no limit to nsys, which nobody expects.
func checkGateEnd(p *Plan, d *decoder) {
	text := p.Pipeline.Nsys.CaptureRangeEnd
	key := []string{"pipeline.nsys.capture_range_end"}
	m := gateEnd.FindStringSubmatch(text)
	switch {
	case text == "":
	case m == nil && strings.HasPrefix(text, "repeat-shutdown"):
		d.conflict(key, "repeat-shutdown needs a count: repeat-shutdown:N, got %q", shorten(text))
	case m == nil:
		d.conflict(key, "want none, stop, stop-shutdown, repeat, repeat:N or repeat-shutdown:N, got %q", shorten(text))
	case m[2] == "":
	default:
		if n, err := strconv.Atoi(m[2]); err != nil || n < 1 || n > 1000 {
			d.conflict(key, "want a count from 1 to 1000, got %s; each capture costs a second and a file", shorten(m[2]))
		}
	}
}

func checkDomains(p *Plan, d *decoder) {
	n := p.Pipeline.Nsys
	include, exclude := "pipeline.nsys.nvtx_domain_include", "pipeline.nsys.nvtx_domain_exclude"
	if len(n.NVTXDomainInclude) > 0 && len(n.NVTXDomainExclude) > 0 {
		d.conflict([]string{include, exclude}, "nsys takes domains to include or to exclude, not both; empty one of the lists")
	}
	if n.Enable && len(n.NVTXDomainInclude)+len(n.NVTXDomainExclude) > 0 && !n.tracesNVTX() {
		key := include
		if len(n.NVTXDomainInclude) == 0 {
			key = exclude
		}
		d.conflict([]string{key, "pipeline.nsys.trace"}, "domains are filtered only with nvtx in pipeline.nsys.trace")
	}
}

// checkTimeline looks at what later stages need from the timeline.
func checkTimeline(p *Plan, d *decoder) {
	n, c := p.Pipeline.Nsys, p.Pipeline.Ncu
	if !n.Enable {
		return
	}
	if len(n.Trace) == 0 {
		d.conflict([]string{"pipeline.nsys.trace"}, "nothing to trace; want at least cuda")
		return
	}
	if !c.Enable {
		return
	}
	if c.Pick.Enable && !n.TracesCUDA() {
		d.conflict([]string{"pipeline.nsys.trace", "pipeline.ncu.pick.enable"},
			"launches are chosen from the kernels of the timeline: add cuda to pipeline.nsys.trace, or set pipeline.ncu.pick.enable=false")
	}
	if len(c.CLI.NVTXInclude)+len(c.CLI.NVTXExclude) > 0 && !n.tracesNVTX() {
		key := "pipeline.ncu.ncu_cli.nvtx_include"
		if len(c.CLI.NVTXInclude) == 0 {
			key = "pipeline.ncu.ncu_cli.nvtx_exclude"
		}
		d.conflict([]string{"pipeline.nsys.trace", key}, "regions are looked up in the timeline: add nvtx to pipeline.nsys.trace")
	}
}

// globForm gives the regular expression that an NVTX filter with stars in a
// name was probably meant to be; "" where it has none. A star that stands alone
// between two slashes is a quantifier of ncu's.
func globForm(text string) string {
	if strings.HasPrefix(text, "regex:") {
		return ""
	}
	parts := strings.Split(strings.Trim(text, "/"), "/")
	found := false
	for i, part := range parts {
		if part == "*" || part == "+" {
			continue
		}
		plain := strings.ReplaceAll(part, `\*`, "")
		found = found || strings.Contains(plain, "*")
		parts[i] = strings.ReplaceAll(part, "*", ".*")
	}
	if !found {
		return ""
	}
	return "regex:" + strings.Join(parts, "/") + "/"
}

func checkCounters(p *Plan, d *decoder) {
	c := p.Pipeline.Ncu.CLI
	if p.Pipeline.Ncu.Enable && c.Set == "" && len(c.Sections) == 0 && len(c.Metrics) == 0 {
		const at = "pipeline.ncu.ncu_cli."
		d.conflict([]string{at + "set", at + "sections", at + "metrics"}, "nothing to collect; give a set, sections or metrics")
	}
}

func checkReplay(p *Plan, d *decoder) {
	c := p.Pipeline.Ncu.CLI
	mode := "pipeline.ncu.ncu_cli.replay_mode"
	if !p.Pipeline.Ncu.Enable {
		return
	}
	whole := c.ReplayMode == ReplayRange || c.ReplayMode == ReplayAppRange
	if whole && len(c.NVTXInclude) == 0 && c.ProfileFromStart {
		d.conflict([]string{mode, "pipeline.ncu.ncu_cli.nvtx_include"},
			"%s replay needs the ranges to measure; name them in pipeline.ncu.ncu_cli.nvtx_include", c.ReplayMode)
	}
	if c.GraphProfiling == "graph" && c.ReplayMode != ReplayKernel {
		d.conflict([]string{"pipeline.ncu.ncu_cli.graph_profiling", mode},
			"ncu takes a CUDA graph as a whole with kernel replay only; set pipeline.ncu.ncu_cli.replay_mode=kernel")
	}
}

func checkKernelFilters(p *Plan, d *decoder) {
	c := p.Pipeline.Ncu.CLI
	id, name := "pipeline.ncu.ncu_cli.kernel_id", "pipeline.ncu.ncu_cli.kernel_name"
	if pattern, isRegex := strings.CutPrefix(c.KernelName, "regex:"); isRegex {
		_, err := regexp.Compile(pattern)
		switch {
		case pattern == "":
			d.conflict([]string{name}, "an empty expression matches every kernel; use null for that")
		case err != nil:
			d.conflict([]string{name}, "%v (look-around and back-references cannot be checked and are not accepted)", err)
		}
	}
	if c.KernelID == "" {
		return
	}
	if strings.Count(c.KernelID, ":") < 3 {
		d.conflict([]string{id}, "want context:stream:[operator:]name:invocation, got %q; ::gemm:2 is the second launch of gemm", shorten(c.KernelID))
		return
	}
	if p.Pipeline.Ncu.Enable && p.Pipeline.Ncu.Pick.Enable && p.Pipeline.Nsys.Enable {
		d.conflict([]string{id, "pipeline.ncu.pick.enable"},
			"a kernel id and the choice by GPU time exclude each other; set pipeline.ncu.pick.enable=false")
	}
}

// checkExpressions parses the NVTX expressions, which ncu itself would accept
// whatever they are.
func checkExpressions(p *Plan, d *decoder) {
	c := p.Pipeline.Ncu.CLI
	include, exclude := "pipeline.ncu.ncu_cli.nvtx_include", "pipeline.ncu.ncu_cli.nvtx_exclude"
	for i, text := range slices.Concat(c.NVTXInclude, c.NVTXExclude) {
		key := include
		if i >= len(c.NVTXInclude) {
			key = exclude
		}
		if _, err := nvtx.Parse(text); err != nil {
			d.failAt(key, key, "%v", err)
		} else if form := globForm(text); form != "" {
			d.failAt(key, key, "%q: ncu takes no globs and would look for a range with a star in its name; write %s", shorten(text), form)
		}
	}
	for _, text := range c.NVTXInclude {
		if slices.Contains(c.NVTXExclude, text) {
			d.conflict([]string{include, exclude}, "%q is both included and excluded", shorten(text))
		}
	}
}

// ownOptions are the options that deepprof itself passes, with the key that
// sets each, "" where none does. Both tools refuse an option given twice.
var ownOptions = map[string]map[string]string{
	"pipeline.nsys.extra_args": {
		"trace": "pipeline.nsys.trace", "sample": "pipeline.nsys.sample", "cpuctxsw": "pipeline.nsys.cpuctxsw",
		"capture-range": "pipeline.nsys.capture_range", "capture-range-end": "pipeline.nsys.capture_range_end",
		"nvtx-capture": "pipeline.nsys.nvtx_capture", "nvtx-domain-include": "pipeline.nsys.nvtx_domain_include",
		"nvtx-domain-exclude": "pipeline.nsys.nvtx_domain_exclude", "cuda-graph-trace": "pipeline.nsys.cuda_graph_trace",
		"trace-fork-before-exec": "pipeline.nsys.trace_fork_before_exec", "wait": "pipeline.nsys.wait",
		"delay": "pipeline.nsys.delay", "duration": "pipeline.nsys.duration", "env-var": "pipeline.workload.env",
		"output": "", "force-overwrite": "", "export": "", "stats": "", "start-later": "", "stop-on-exit": "",
	},
	"pipeline.ncu.ncu_cli.extra_args": {
		"replay-mode": "pipeline.ncu.ncu_cli.replay_mode", "set": "pipeline.ncu.ncu_cli.set",
		"section": "pipeline.ncu.ncu_cli.sections", "metrics": "pipeline.ncu.ncu_cli.metrics",
		"nvtx-include": "pipeline.ncu.ncu_cli.nvtx_include", "nvtx-exclude": "pipeline.ncu.ncu_cli.nvtx_exclude",
		"kernel-name": "pipeline.ncu.ncu_cli.kernel_name", "kernel-name-base": "pipeline.ncu.ncu_cli.kernel_name_base",
		"kernel-id": "pipeline.ncu.ncu_cli.kernel_id", "launch-skip": "pipeline.ncu.ncu_cli.launch_skip",
		"launch-count": "pipeline.ncu.ncu_cli.launch_count", "filter-mode": "pipeline.ncu.ncu_cli.filter_mode",
		"target-processes": "pipeline.ncu.ncu_cli.target_processes", "clock-control": "pipeline.ncu.ncu_cli.clock_control",
		"cache-control": "pipeline.ncu.ncu_cli.cache_control", "profile-from-start": "pipeline.ncu.ncu_cli.profile_from_start",
		"graph-profiling": "pipeline.ncu.ncu_cli.graph_profiling", "config-file": "pipeline.ncu.ncu_cli.config_file",
		"config-file-path": "pipeline.ncu.ncu_cli.config_file",
		"nvtx":             "", "export": "", "force-overwrite": "", "import": "", "mode": "", "log-file": "", "open-in-ui": "", "quiet": "",
	},
}

// checkExtraArgs refuses arguments that both tools would reject or misread:
// what does not look like --name or --name=value, and what is given twice.
func checkExtraArgs(p *Plan, d *decoder) {
	for _, list := range []struct {
		key  string
		args []string
	}{
		{"pipeline.nsys.extra_args", p.Pipeline.Nsys.ExtraArgs},
		{"pipeline.ncu.ncu_cli.extra_args", p.Pipeline.Ncu.CLI.ExtraArgs},
	} {
		var seen []string
		for i, arg := range list.args {
			at := list.key + "." + strconv.Itoa(i)
			text, long := strings.CutPrefix(arg, "--")
			name, _, _ := strings.Cut(text, "=")
			key, own := ownOptions[list.key][name]
			switch {
			case !long || name == "" || strings.ContainsAny(name, " \t"):
				d.failAt(at, list.key, "want --name or --name=value, got %q", shorten(arg))
			case own && key != "":
				d.failAt(at, list.key, "--%s is set by %s", name, key)
			case own:
				d.failAt(at, list.key, "--%s is set by deepprof itself", name)
			case slices.Contains(seen, name) && list.key == "pipeline.nsys.extra_args":
				d.failAt(at, list.key, "--%s is given twice, which nsys refuses", name)
			}
			seen = append(seen, name)
		}
	}
}
