package plan

import (
	"slices"
	"strconv"
	"strings"
)

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
