package show

import (
	"context"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A Param is a parameter of views: a flag of commands, a field of REST and MCP.
type Param struct {
	// Name is that of the flag without dashes, and of the field in REST and MCP.
	Name string
	Help string // what stands between back quotes names the value
	// Value is where a request holds it: a *string, *bool, *int, *int64, *[]int or *[]string.
	Value func(*Request) any
}

// Parameters that several views have. Their names are the same everywhere, so a request can
// hold each once.
var (
	topParam     = Param{"top", "keep the first `N` rows; 0 keeps all", func(r *Request) any { return &r.Top }}
	regionParam  = Param{"region", "only work launched inside NVTX ranges that match `EXPR`, in ncu's syntax; a;b means either", func(r *Request) any { return &r.Region }}
	kernelParam  = Param{"kernel", "only kernels whose name matches `REGEX`", func(r *Request) any { return &r.Kernel }}
	deviceParam  = Param{"device", "only these CUDA devices, by `index`", func(r *Request) any { return &r.Devices }}
	processParam = Param{"process", "only these processes, by `pid`", func(r *Request) any { return &r.Processes }}

	partParam = Param{"part", "of several timelines, the one of this `RANK`, or with this file name", func(r *Request) any { return &r.Part }}

	partialParam = Param{"partial", "take what is left of a damaged file: the exit code is 0, not 4", func(r *Request) any { return &r.Partial }}

	capturedParam = Param{"captured", "count work of CUDA graphs to the ranges that were open when it was captured, not to those around the launch of the graph", func(r *Request) any { return &r.Captured }}
	wholeParam    = Param{"whole", "for a run that names regions show the whole timeline, not these regions alone", func(r *Request) any { return &r.Whole }}
)

// launchParams choose launches, of a timeline or of counters.
// more come last in the help. The slice is new on every call.
func launchParams(more ...Param) []Param {
	return append([]Param{topParam, regionParam, kernelParam, deviceParam, processParam, partParam, partialParam}, more...)
}

// byParam divides rows; of lists the words that --by takes, for the help. The view checks them.
func byParam(of string) Param {
	return Param{"by", "split rows by `LIST` of " + of, func(r *Request) any { return &r.By }}
}

// Views is the table of views, in the order of the help.
// Names are unique; commands, the REST API and the MCP tools are made from this table.
func Views() []View {
	return []View{
		{
			Name: "kernels", Short: "Time by kernel: the numbers of 'nsys stats --report cuda_gpu_kern_sum'; for a run, those of its reports",
			Example: "  deepprof show kernels report.sqlite --top 10\n  deepprof show kernels latest --top 10\n  deepprof show kernels report.sqlite --by region,launch-config --json",
			Params:  launchParams(byParam("device, process, region, launch-config"), capturedParam, wholeParam),
			Tables:  []report.Declared{report.KernelView}, answer: ofLaunches(showKernels),
		},
		{
			Name: "regions", Short: "Time by NVTX region path: wall, GPU busy and idle, kernels with and without nested ranges",
			Example: "  deepprof show regions report.sqlite\n  deepprof show regions report.sqlite --by process,device --md",
			Params:  launchParams(byParam("device, process"), capturedParam),
			Tables:  []report.Declared{report.RegionView, report.NcuRegionView}, answer: ofLaunches(showRegions),
		},
		{
			Name: "layers", Short: "GPU time by module of the model: one row a place in all layers, or each module with --all",
			Example: "  deepprof show layers latest\n  deepprof show layers report.sqlite --all --csv",
			Params:  launchParams(wholeParam), Sums: true,
			Tables: []report.Declared{report.LayerView}, answer: ofLaunches(showLayers),
		},
		{
			Name: "steps", Short: "Steps of decode and other loops: distribution of step time, GPU time and gaps; each step with --all",
			Long:    "For a server --by divides its kinds of steps by kernel or layer, shows all steps over time, or where the time of the next token goes.",
			Example: "  deepprof show steps latest\n  deepprof show steps latest --all\n  deepprof show steps latest --by layer",
			Params:  launchParams(byParam("kernel, layer, time, token"), Param{"distribution", "the distribution of the steps, which a terminal shows by itself, also as JSON, CSV or Markdown", func(r *Request) any { return &r.Distribution }}),
			Tables:  []report.Declared{report.ModelStepView, report.StepGroupView, report.ServingStepView, report.StepKernelView, report.StepLayerView, report.StepTimeView, report.NextTokenView}, answer: stepsOf,
		},
		{
			Name: "ranges", Short: "Every instance of every NVTX range",
			Example: "  deepprof show ranges report.sqlite --region 'decode/step/' --csv",
			Params:  launchParams(),
			Tables:  []report.Declared{report.RangeView}, answer: ofLaunches(showRanges),
		},
		{
			Name: "launches", Short: "Every kernel launch, from a timeline or from counters",
			Example: "  deepprof show launches report.sqlite --kernel gemm --top 20\n  deepprof show launches report.ncu-rep --json",
			Params:  launchParams(wholeParam),
			Tables:  []report.Declared{report.LaunchView, report.CountedLaunchView}, answer: ofLaunches(showLaunches),
		},
		{
			Name: "gaps", Short: "Times in which the GPU ran nothing by cause and region; each with the CUDA calls that filled it with --all",
			Example: "  deepprof show gaps report.sqlite --min-gap 10us\n  deepprof show gaps report.sqlite --all --top 20 --json",
			Params: launchParams(
				Param{"min-gap", "leave out gaps shorter than `DURATION`", func(r *Request) any { return &r.MinGap }},
				Param{"streams", "also list the gaps of each stream that shares its device with others", func(r *Request) any { return &r.Streams }},
				wholeParam),
			Sums: true, Tables: []report.Declared{report.GapGroupView, report.GapView}, answer: ofLaunches(showGaps),
		},
		metricsView(),
		{
			Name: "stages", Many: true, Short: "Prefill, decode and other stages: unprofiled time, overhead, where the time goes, MFU and MBU",
			Example: "  deepprof show stages latest\n  deepprof show stages report.sqlite report.ncu-rep --json",
			Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.StageView}, answer: ofResult("stages", report.Stages),
		},
		{
			Name: "operators", Many: true, Short: "Operators of the torch profiler, with CPU and device time",
			Example: "  deepprof show operators latest --md",
			Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.OperatorView}, answer: ofResult("operators", report.Operators),
		},
		{
			Name: "roofline", Many: true, Short: "Each counted kernel against the roofs of its data types and memory levels",
			Example: "  deepprof show roofline latest --csv > points.csv",
			Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.RooflineView}, answer: ofResult("roofline", report.RooflinePoints),
		},
		findingsView(),
		nextView(),
		ranksView(),
		{
			Name: "requests", Many: true, Short: "What the clients of a server saw in each window: latencies, throughput, errors",
			Example: "  deepprof show requests latest\n  deepprof show requests latest --csv",
			Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.RequestView}, answer: ofResult("requests", report.Requests),
		},
		{
			Name: "samples", Many: true, Short: "Counters that nsys sampled while regions and steps ran: tensor cores, DRAM, SMs, with readings and error",
			Example: "  deepprof show samples latest\n  deepprof show samples report.sqlite --csv",
			Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.SampleView}, answer: ofResult("samples", report.Samples),
		},
		flopsView(),
		{
			Name: "info", Short: "What made the report: tool versions, machine, GPUs, processes, tables, warnings",
			Example: "  deepprof show info report.sqlite\n  deepprof show info report.ncu-rep --json",
			Params:  []Param{partParam, partialParam},
			Tables:  []report.Declared{report.FactView}, answer: ofLaunches(showInfo),
		},
	}
}

// ofLaunches answers a view of launches: parameters are checked before the path is opened.
// The answer holds no open file: show closes what it opened before it returns.
func ofLaunches(show func(context.Context, string, timeline.Query, *Request) (report.Printable, error)) func(context.Context, *Request) (*Answer, error) {
	return func(ctx context.Context, r *Request) (*Answer, error) {
		q, err := r.query()
		if err != nil {
			return nil, err
		}
		t, err := show(ctx, r.Paths[0], q, r)
		if err != nil {
			return nil, err
		}
		return &Answer{Printable: t}, nil
	}
}
