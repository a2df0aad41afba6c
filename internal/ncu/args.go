// Package ncu drives Nsight Compute: it builds its command lines and knows
// which version takes which option.
package ncu

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/suggest"
	"github.com/deepprof/deepprof/internal/tool"
)

// Options describe one run of ncu.
type Options struct {
	// What the configuration says, for this run: NVTX expressions are in ncu's own
	// spelling, as nvtx.Resolve gives them, and modes are no longer auto. A text that is
	// "" stands for the default of the configuration.
	plan.NcuCLI

	// Output is the report to write, with or without .ncu-rep.
	Output string
	// Command is the program to profile and its arguments.
	Command []string
	// Peers tells that the program is one rank of a job: what is counted without a
	// choice of launches leaves out kernels that wait for other ranks.
	Peers bool
	// Kill has ncu end the program, which does not end by itself, once LaunchCount
	// launches are counted. Where the count is of each GPU or configuration, ncu does
	// not say when that is, and it is left out.
	Kill bool

	// KnownSets and KnownSections are what this ncu lists, to refuse a typo
	// that ncu itself would pass over; nil where it could not be told.
	KnownSets, KnownSections []string
}

// reservedArgs are options that the judging of a capture depends on.
var reservedArgs = map[string]string{
	"export":          "the run decides where the report goes",
	"force-overwrite": "the run removes earlier output itself",
	"import":          "it would read a report instead of profiling",
	"mode":            "the run launches the program itself",
	"log-file":        "the run reads ncu's output to judge the capture",
	"quiet":           "the run reads ncu's output to judge the capture",
	"page":            "with it ncu prints results; read the report instead",
	"csv":             "with it ncu prints results; read the report instead",
	"config-file":     "use the config key config_file",
	"nvtx":            "it is always on",
	"help":            "it would print help instead of profiling",
	"version":         "it would print the version instead of profiling",
	"query-metrics":   "it would list metrics instead of profiling",
	"list-sets":       "it would list sets instead of profiling",
	"list-sections":   "it would list sections instead of profiling",
	"list-metrics":    "it would list metrics instead of profiling",
	"list-rules":      "it would list rules instead of profiling",
}

// Args builds the command line of ncu, without ncu itself, and the variables
// that it must find in its environment.
// It is pure. The error is the first thing that is wrong with o, in the keys of the
// configuration.
func Args(o Options, v tool.Version) (args, env []string, err error) {
	f := &tool.Flags{Tool: "ncu", Version: v}
	o.addConfig(f)
	o.addOutput(f)
	o.addReplay(f)
	o.addWhat(f)
	o.addNVTX(f)
	o.addLaunches(f)
	o.addControl(f)
	f.Extra(o.ExtraArgs, reservedArgs)
	f.Target(o.Command, 0)
	if args, err = f.Args(); err != nil {
		return nil, nil, err
	}
	return args, []string{"LC_ALL=C"}, nil
}

// A config.ncu-cfg that lies about would change what is counted, so it is switched off.
func (o Options) addConfig(f *tool.Flags) {
	switch {
	case o.ConfigFile != "":
		if f.Since(2023, 1, "config_file") {
			f.Set("config-file", "on")
			f.Set("config-file-path", o.ConfigFile)
		}
	case f.Version.AtLeast(2023, 1):
		f.Set("config-file", "off")
	}
}

func (o Options) addOutput(f *tool.Flags) {
	base := filepath.Base(o.Output)
	switch {
	case o.Output == "" || base == "." || base == "/":
		f.Fail("no name for the report")
	case strings.Contains(o.Output, "%"):
		f.Fail("output %q: ncu expands %%; choose a folder and a name without it", o.Output)
	case len(base) > 255-len(".ncu-rep"):
		f.Fail("output %q: a name of %d bytes is too long", o.Output, len(base))
	}
	f.Set("export", strings.TrimSuffix(o.Output, ".ncu-rep"))
	f.Switch("force-overwrite")
}

// Range replay counts whole ranges, so it needs ranges and takes no filter of kernels.
func (o Options) addReplay(f *tool.Flags) {
	mode := cmp.Or(o.ReplayMode, plan.ReplayKernel)
	if !f.OneOf("replay_mode", mode, plan.ReplayKernel, plan.ReplayRange, plan.ReplayAppRange, plan.ReplayApplication) {
		return
	}
	if mode == plan.ReplayAppRange {
		f.Since(2023, 1, "replay_mode app-range")
	}
	f.Set("replay-mode", mode)
	ranged := mode == plan.ReplayRange || mode == plan.ReplayAppRange
	switch {
	case ranged && len(o.NVTXInclude) == 0 && o.ProfileFromStart:
		f.Fail("replay_mode %s needs ranges: give nvtx_include, or profile_from_start: false for those of cudaProfilerStart", mode)
	case ranged && (o.KernelName != "" || o.KernelID != ""):
		f.Fail("replay_mode %s counts whole ranges; kernel_name and kernel_id do not apply", mode)
	}
	graphs := cmp.Or(o.GraphProfiling, "node")
	if !f.OneOf("graph_profiling", graphs, "node", "graph") || graphs == "node" {
		return
	}
	if mode != plan.ReplayKernel {
		f.Fail("graph_profiling graph works with replay_mode kernel alone")
	}
	if f.Since(2022, 4, "graph_profiling graph") {
		f.Set("graph-profiling", graphs)
	}
}

// addWhat adds set, sections and metrics.
func (o Options) addWhat(f *tool.Flags) {
	if set := o.set(f); set != "" {
		f.Set("set", set)
	}
	for _, s := range o.Sections {
		if o.KnownSections != nil && !strings.HasPrefix(s, "regex:") && !slices.Contains(o.KnownSections, s) {
			f.Fail("sections: ncu %s has no section %q%s; it has %s", f.Version, s, suggest.DidYouMean(s, o.KnownSections), strings.Join(o.KnownSections, ", "))
		}
	}
	f.Repeat("section", o.Sections)
	if len(o.Metrics) > 0 {
		for _, m := range o.Metrics {
			if strings.ContainsAny(m, ", \t\n") || m == "" {
				f.Fail("metrics: %q is not one metric name", m)
			}
		}
		f.Set("metrics", strings.Join(o.Metrics, ","))
	}
}

// set maps the name of the smallest set, which is "default" in old versions
// and "basic" in new ones; ncu takes the wrong one and collects nothing.
func (o Options) set(f *tool.Flags) string {
	set := o.Set
	if set == "basic" || set == "default" {
		switch {
		case slices.Contains(o.KnownSets, set):
		case slices.Contains(o.KnownSets, "basic"):
			set = "basic"
		case slices.Contains(o.KnownSets, "default"):
			set = "default"
		case f.Version.AtLeast(2024, 1):
			set = "basic"
		case !f.Version.IsZero() && !f.Version.AtLeast(2022, 4):
			set = "default"
		default:
			f.Fail("set: whether ncu %s calls its smallest set basic or default could not be told; name another set", f.Version)
		}
		return set
	}
	if set != "" && o.KnownSets != nil && !slices.Contains(o.KnownSets, set) {
		f.Fail("set: ncu %s has no set %q%s; it has %s", f.Version, set, suggest.DidYouMean(set, o.KnownSets), strings.Join(o.KnownSets, ", "))
	}
	return set
}

// addNVTX records NVTX states in the report always: they join launches with
// the timeline.
func (o Options) addNVTX(f *tool.Flags) {
	f.Switch("nvtx")
	for _, e := range slices.Concat(o.NVTXInclude, o.NVTXExclude) {
		if _, err := nvtx.Parse(e); err != nil {
			f.Fail("%w", err)
		}
		if strings.HasPrefix(e, "regex:") {
			f.Since(2022, 2, "a regular expression in an NVTX filter")
		}
	}
	f.Repeat("nvtx-include", o.NVTXInclude)
	f.Repeat("nvtx-exclude", o.NVTXExclude)
}

func (o Options) addLaunches(f *tool.Flags) {
	base := cmp.Or(o.KernelNameBase, "demangled")
	if !f.OneOf("kernel_name_base", base, "function", "demangled", "mangled") {
		return
	}
	switch {
	case o.KernelName != "" || o.KernelID != "":
		f.Set("kernel-name-base", base)
	case o.FilterMode == "per-launch-config": // else kernels that differ in template arguments count as one
		f.Set("kernel-name-base", "mangled")
	}
	if o.KernelName != "" {
		f.Set("kernel-name", o.KernelName)
	}
	if o.KernelID != "" {
		if strings.Count(o.KernelID, ":") < 3 {
			f.Fail("kernel_id: %q is not context:stream:[operator:]name:invocation", o.KernelID)
		}
		f.Set("kernel-id", o.KernelID)
	}
	if o.LaunchSkip < 0 || o.LaunchCount < 0 {
		f.Fail("launch_skip and launch_count cannot be negative")
	}
	if o.LaunchSkip > 0 {
		f.Set("launch-skip", strconv.Itoa(o.LaunchSkip))
	}
	if o.LaunchCount > 0 {
		f.Set("launch-count", strconv.Itoa(o.LaunchCount))
	}
	mode := cmp.Or(o.FilterMode, "global")
	if !f.OneOf("filter_mode", mode, "global", "per-gpu", "per-launch-config") {
		return
	}
	if mode == "per-launch-config" {
		f.Since(2022, 4, "filter_mode per-launch-config")
	}
	f.Set("filter-mode", mode)
	own := slices.ContainsFunc(o.ExtraArgs, func(arg string) bool { return strings.HasPrefix(arg, "--kill") })
	if o.Kill && o.LaunchCount > 0 && mode == "global" && !own {
		f.Set("kill", "on")
	}
}

// Clocks are locked to base and caches flushed unless asked otherwise, so that counters
// can be compared between runs; times come from nsys.
func (o Options) addControl(f *tool.Flags) {
	for _, c := range []struct {
		name, flag, value string
		allowed           []string
	}{
		{"target_processes", "target-processes", cmp.Or(o.TargetProcesses, "all"), []string{"all", "application-only"}},
		{"clock_control", "clock-control", cmp.Or(o.ClockControl, "base"), []string{"base", "none"}},
		{"cache_control", "cache-control", cmp.Or(o.CacheControl, "all"), []string{"all", "none"}},
	} {
		if f.OneOf(c.name, c.value, c.allowed...) {
			f.Set(c.flag, c.value)
		}
	}
	start := "off" // only between cudaProfilerStart and Stop
	if o.ProfileFromStart {
		start = "on"
	}
	f.Set("profile-from-start", start)
}
