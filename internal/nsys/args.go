package nsys

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// The gates of a capture.
const (
	// With any gate but gateNone, nsys records from when the gate opens; a gate that
	// never opens ends with exit code 0 and without a report.
	gateNone         = "none"            // the whole program
	gateNVTX         = "nvtx"            // opens with a named NVTX range
	gateCUDAProfiler = "cudaProfilerApi" // opens with cudaProfilerStart of the program
)

// CaptureOptions describe one run of nsys profile. The zero value of a field
// is stated beside it; "" in the place of a name is an error.
type CaptureOptions struct {
	// Output is the report to write, with or without .nsys-rep. With a range
	// end of repeat nsys adds a number before the extension.
	Output string
	// Command is the program to profile and its arguments.
	Command []string

	Trace    []string // APIs to trace, "cuda", "nvtx" and so on
	Sample   string   // CPU sampling: none, process-tree, system-wide; "" is none
	CPUCtxSw string   // thread scheduling: the same values; "" is none

	// CaptureRange is the gate; "" is none.
	CaptureRange string
	// CaptureRangeEnd is what happens when the gate closes: none, stop,
	// stop-shutdown, repeat, repeat:N, repeat-shutdown:N. "" leaves it to nsys,
	// whose default kills the program. Without a gate it is not used.
	CaptureRangeEnd string
	// NVTXCapture is the range that opens the gate: name, name@domain, name@*.
	NVTXCapture string
	// NVTXRegisterOnly lets only registered strings open the gate. PyTorch and
	// plain nvtxRangePush do not register theirs.
	NVTXRegisterOnly bool

	NVTXDomainInclude []string // domains to keep, "default" for the default one; empty keeps all
	NVTXDomainExclude []string // domains to drop

	// CUDAGraphTrace is node or graph; 2023.4 and later also take an origin,
	// node:host-only. "" is node: with graph the kernels inside are absent.
	CUDAGraphTrace string

	// SampleHz is how often counters of the GPUs SampleGPUs are read ("all", or ids
	// of nsys); 0 reads none.
	SampleHz   int
	SampleGPUs string

	// PythonSampling has nsys look a thousand times a second what Python executes.
	PythonSampling bool

	// TraceForkBeforeExec also traces a child between its fork and its exec, where
	// workers of multiprocessing live that never exec.
	TraceForkBeforeExec bool
	Wait                string        // primary or all; "" is primary
	Delay               time.Duration // 0 starts at once
	Duration            time.Duration // 0 captures to the end
	ExtraArgs           []string      // each --name=value
}

// maxTarget is the longest command line of a program that nsys records: its
// length is a 16-bit number, and 2022.4 hangs beyond it.
const maxTarget = 65000

// maxName leaves room in a file name of 255 bytes for ".123.nsys-rep" and the
// suffixes of temporary files.
const maxName = 255 - 32

// traceSince tells the APIs that some supported version lacks. Those of 2024.1
// are known to be absent from 2023.4 and present in 2025.3, those of 2025.4 to
// be absent from 2025.3: a version between that lacks one says so itself.
var traceSince = map[string]tool.Version{
	"python-gil":       tool.V(2023, 4, 0),
	"cuda-hw":          tool.V(2024, 1, 0),
	"cusolver":         tool.V(2024, 1, 0),
	"cusolver-verbose": tool.V(2024, 1, 0),
	"gds":              tool.V(2024, 1, 0),
	"cuda-sw":          tool.V(2025, 4, 0),
	"syscall":          tool.V(2025, 4, 0),
}

// traceAlways are the APIs of every supported version.
var traceAlways = []string{
	"cuda", "nvtx", "osrt", "cublas", "cublas-verbose", "cusparse", "cusparse-verbose", "cudnn",
	"mpi", "oshmem", "ucx", "opengl", "opengl-annotations", "openacc", "openmp", "nvvideo", "vulkan", "vulkan-annotations",
}

// reservedArgs are options that the judging of a capture depends on.
var reservedArgs = map[string]string{
	"output":          "the run decides where the report goes",
	"force-overwrite": "the run removes earlier output itself",
	"env-var":         "set variables in the environment of deepprof; nsys cuts values at commas",
	"command-file":    "options in a file cannot be checked; list them in extra_args",
	"help":            "it would print help instead of profiling",
	"version":         "it would print the version instead of profiling",
	"export":          "the run exports the report itself",
	"stats":           "the analysis computes statistics itself",
	"stop-on-exit":    "the run waits for the program itself",
}

// rangeEnd matches the forms of --capture-range-end.
var rangeEnd = regexp.MustCompile(`^(none|stop|stop-shutdown|repeat|repeat:[1-9][0-9]{0,5}|repeat-shutdown:[1-9][0-9]{0,5})$`)

// graphTrace matches the forms of --cuda-graph-trace.
var graphTrace = regexp.MustCompile(`^(graph|node)(:host-only|:host-and-device)?$`)

// Args builds the command line of nsys profile, without nsys itself, and the
// variables that nsys and the program must find in their environment.
// It is pure and starts nothing. The error is the first thing that is wrong with o and
// names the key of the configuration; v decides which options exist.
func Args(o CaptureOptions, v tool.Version) (args, env []string, err error) {
	f := &tool.Flags{Tool: "nsys", Version: v}
	f.Word("profile")
	o.addTrace(f)
	o.addSampling(f)
	o.addGraphs(f)
	o.addPython(f)
	env = append([]string{"LC_ALL=C"}, o.addGate(f)...)
	o.addDomains(f)
	o.addWindow(f)
	o.addSamples(f)
	o.addOutput(f)
	f.Extra(o.ExtraArgs, reservedArgs)
	f.Target(o.Command, maxTarget)
	if args, err = f.Args(); err != nil {
		return nil, nil, err
	}
	return args, env, nil
}

// addTrace refuses an API that the version lacks, before anything is started.
func (o CaptureOptions) addTrace(f *tool.Flags) {
	if len(o.Trace) == 0 {
		f.Fail("trace: name at least one API, say cuda and nvtx")
	}
	for _, api := range o.Trace {
		if since, ok := traceSince[api]; ok {
			f.Since(since.Major, since.Minor, "trace "+api)
		} else if !slices.Contains(traceAlways, api) {
			f.Fail("trace: nsys knows no API %q", api)
		}
	}
	f.Set("trace", strings.Join(o.Trace, ","))
}

// addGraphs says what is traced of CUDA graphs and of children.
// The option is always written if CUDA is traced, so that the default of nsys does not matter.
func (o CaptureOptions) addGraphs(f *tool.Flags) {
	if o.tracesCUDA() {
		value := cmp.Or(o.CUDAGraphTrace, "node")
		if !graphTrace.MatchString(value) {
			f.Fail("cuda_graph_trace: %q is none of node, graph", value)
		}
		if strings.Contains(value, ":") {
			f.Since(2023, 4, "cuda_graph_trace "+value)
		}
		f.Set("cuda-graph-trace", value)
	} else if o.CUDAGraphTrace != "" && o.CUDAGraphTrace != "node" {
		f.Fail("cuda_graph_trace: needs cuda in trace")
	}
	if o.TraceForkBeforeExec {
		f.Set("trace-fork-before-exec", "true")
	}
	if wait := cmp.Or(o.Wait, "primary"); f.OneOf("wait", wait, "primary", "all") {
		f.Set("wait", wait)
	}
}

// addSampling always sets both options: left to itself, nsys samples the CPU, which
// slows the program and needs rights that containers lack.
func (o CaptureOptions) addSampling(f *tool.Flags) {
	for _, s := range []struct{ name, value string }{{"sample", o.Sample}, {"cpuctxsw", o.CPUCtxSw}} {
		value := cmp.Or(s.value, "none")
		if f.OneOf(s.name, value, "none", "process-tree", "system-wide") {
			f.Set(s.name, value)
		}
	}
}

// addPython has Python sampled. Earlier versions can sample it, but no export of
// theirs tells the code that ran.
func (o CaptureOptions) addPython(f *tool.Flags) {
	if o.PythonSampling && f.Since(jsonSince.Major, jsonSince.Minor, "python_sampling") {
		f.Set("python-sampling", "true")
	}
}

// addSamples has counters of GPUs read at a fixed rate.
// It writes nothing for SampleHz 0; "" for SampleGPUs is all of them.
func (o CaptureOptions) addSamples(f *tool.Flags) {
	if o.SampleHz <= 0 {
		return
	}
	option := "gpu-metrics-devices"
	if !f.Version.AtLeast(2025, 1) { // its older name
		option = "gpu-metrics-device"
	}
	f.Set(option, cmp.Or(o.SampleGPUs, "all"))
	f.Set("gpu-metrics-frequency", strconv.Itoa(o.SampleHz))
}

// tracesCUDA: cuda-hw and cuda-sw are other ways to trace the same API.
func (o CaptureOptions) tracesCUDA() bool {
	return slices.ContainsFunc(o.Trace, func(api string) bool { return api == "cuda" || api == "cuda-hw" || api == "cuda-sw" })
}

// addGate returns the environment that the gate needs.
// nsys switches APIs on by itself if a gate needs them; here that is an error, so
// that the plan of a run says what is traced.
func (o CaptureOptions) addGate(f *tool.Flags) (env []string) {
	gate := cmp.Or(o.CaptureRange, gateNone)
	if !f.OneOf("capture_range", gate, gateNone, gateNVTX, gateCUDAProfiler) {
		return nil
	}
	if gate != gateNVTX && o.NVTXCapture != "" {
		f.Fail("nvtx_capture %q is set, but capture_range is %s and not nvtx", o.NVTXCapture, gate)
	}
	if gate == gateNone {
		f.Set("capture-range", gate)
		return nil
	}
	if gate == gateCUDAProfiler && !o.tracesCUDA() {
		f.Fail("capture_range cudaProfilerApi needs cuda in trace; nsys would switch it on by itself")
	}
	f.Set("capture-range", gate)
	if gate == gateNVTX {
		switch {
		case !slices.Contains(o.Trace, "nvtx"):
			f.Fail("capture_range nvtx needs nvtx in trace; nsys would switch it on by itself")
		case o.NVTXCapture == "":
			f.Fail("capture_range nvtx needs nvtx_capture, the range that opens the gate: the gate would never open")
		}
		f.Set("nvtx-capture", o.NVTXCapture)
		if !o.NVTXRegisterOnly {
			env = append(env, "NSYS_NVTX_PROFILER_REGISTER_ONLY=0")
		}
	}
	if o.CaptureRangeEnd == "" {
		return env
	}
	if !rangeEnd.MatchString(o.CaptureRangeEnd) {
		f.Fail("capture_range_end: %q is none of none, stop, stop-shutdown, repeat, repeat:N, repeat-shutdown:N with N from 1", o.CaptureRangeEnd)
	}
	f.Set("capture-range-end", o.CaptureRangeEnd)
	return env
}

// addDomains escapes commas in names of domains; nsys splits the list at the others.
func (o CaptureOptions) addDomains(f *tool.Flags) {
	in, ex := o.NVTXDomainInclude, o.NVTXDomainExclude
	if len(in) == 0 && len(ex) == 0 {
		return
	}
	if len(in) > 0 && len(ex) > 0 {
		f.Fail("nvtx_domain_include and nvtx_domain_exclude exclude each other; keep one")
	}
	if !slices.Contains(o.Trace, "nvtx") {
		f.Fail("nvtx_domain_include and nvtx_domain_exclude need nvtx in trace")
	}
	for name, list := range map[string][]string{"include": in, "exclude": ex} {
		if len(list) > 0 {
			escaped := make([]string, len(list))
			for i, d := range list {
				escaped[i] = strings.ReplaceAll(d, ",", `\,`)
			}
			f.Set("nvtx-domain-"+name, strings.Join(escaped, ","))
		}
	}
}

// addWindow writes seconds: delay from the start of the program, duration from there.
func (o CaptureOptions) addWindow(f *tool.Flags) {
	for _, w := range []struct {
		name  string
		value time.Duration
	}{{"delay", o.Delay}, {"duration", o.Duration}} {
		if w.value < 0 {
			f.Fail("%s: %s is negative", w.name, w.value)
		}
		if w.value <= 0 {
			continue
		}
		if w.value%time.Second != 0 {
			f.Since(2023, 4, "a fraction of a second in "+w.name)
		}
		f.Set(w.name, strconv.FormatFloat(w.value.Seconds(), 'f', -1, 64))
	}
}

// addOutput always overwrites: without it nsys writes to a folder under TMPDIR, exits
// with 0 and leaves the old report at the path.
func (o CaptureOptions) addOutput(f *tool.Flags) {
	base := filepath.Base(o.Output)
	switch {
	case o.Output == "" || base == "." || base == "/":
		f.Fail("no name for the report")
	case strings.Contains(o.Output, "%"):
		f.Fail("output %q: nsys expands %%; choose a folder and a name without it", o.Output)
	case len(base) > maxName:
		f.Fail("output %q: a name of %d bytes is too long, nsys loses the report; at most %d", o.Output, len(base), maxName)
	}
	f.Set("output", strings.TrimSuffix(o.Output, ".nsys-rep"))
	f.Set("force-overwrite", "true")
}
