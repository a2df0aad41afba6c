package main

import "strings"

// command is one thing to measure.
type command struct {
	name  string
	args  []string
	env   []string
	proof string // what its output must contain to count: the vendor's tools exit 0 after failures too
	slow  bool
	lacks string // what is missing to run it
}

const pythonImport = `
import ncu_report, sys
report = ncu_report.load_report(sys.argv[1])
n = 0
for r in range(report.num_ranges()):
    for a in range(report.range_by_idx(r).num_actions()):
        action = report.range_by_idx(r).action_by_idx(a)
        for name in action.metric_names():
            action.metric_by_name(name).value()
            n += 1
print("values", n)
`

// thing is a program or file that a command needs, with the way to give it.
type thing struct{ value, name string }

// lacking names those of the things that are not there.
func lacking(things ...thing) string {
	var names []string
	for _, t := range things {
		if t.value == "" {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, " and ")
}

// commands is the list of everything that is measured.
func commands(in inputs) []command {
	var (
		deepprof = thing{in.deepprof, "deepprof (-deepprof)"}
		scan     = thing{in.scan, "bench/scan (-scan)"}
		nsys     = thing{in.nsys, "nsys (-nsight or DEEPPROF_NSIGHT)"}
		ncu      = thing{in.ncu, "ncu (-nsight or DEEPPROF_NSIGHT)"}
		python   = thing{in.python, "a Python with NVIDIA's ncu_report (-python or DEEPPROF_BENCH_PYTHON)"}
		small    = thing{in.small, "a timeline of 3 million kernels (-small)"}
		large    = thing{in.large, "a timeline of 10 million kernels (-large)"}
		choose   = thing{in.choose, "bench/choose (-choose)"}
		counters = thing{in.counters, "an .ncu-rep of the program of the timelines (-counters)"}
		metrics  = thing{in.metrics, "a timeline with GPU metrics (-metrics or DEEPPROF_BENCH_METRICS)"}
		report   = thing{in.report, "an .ncu-rep (-report or DEEPPROF_BENCH_REPORT)"}
		store    = thing{in.store, "a store of 10,000 runs (-store)"}
	)
	const json = `"rows"`
	show := func(what, file string) []string { return []string{in.deepprof, "show", what, file, "--json"} }
	cores := func(n string) []string { return []string{"GOMAXPROCS=" + n} }
	return []command{
		{name: "nothing", args: []string{"true"}},
		{name: "cat small", args: []string{"cat", in.small}, lacks: lacking(small)},
		{name: "scan small", args: []string{in.scan, in.small}, proof: "rows read", lacks: lacking(scan, small)},
		{name: "kernels small", args: show("kernels", in.small), proof: json, lacks: lacking(deepprof, small)},
		{name: "kernels small, 1 core", args: show("kernels", in.small), env: cores("1"), proof: json, lacks: lacking(deepprof, small)},
		{name: "kernels small, 2 cores", args: show("kernels", in.small), env: cores("2"), proof: json, lacks: lacking(deepprof, small)},
		{name: "regions small", args: show("regions", in.small), proof: json, slow: true, lacks: lacking(deepprof, small)},
		{name: "analyze small", args: []string{in.deepprof, "analyze", in.small, "--json"}, proof: `"kernels"`, slow: true, lacks: lacking(deepprof, small)},
		{name: "launches small", args: show("launches", in.small), proof: json, slow: true, lacks: lacking(deepprof, small)},
		{name: "gaps small", args: show("gaps", in.small), proof: json, slow: true, lacks: lacking(deepprof, small)},
		{name: "gaps small, all", args: append(show("gaps", in.small), "--all"), proof: json, slow: true, lacks: lacking(deepprof, small)},
		{name: "analyze small with counters", args: []string{in.deepprof, "analyze", in.small, in.counters, "--json"}, proof: `"kernels"`, slow: true, lacks: lacking(deepprof, small, counters)},
		{name: "choose small", args: []string{in.choose, in.small}, proof: "groups", slow: true, lacks: lacking(choose, small)},
		{name: "analyze large with counters", args: []string{in.deepprof, "analyze", in.large, in.counters, "--json"}, proof: `"kernels"`, slow: true, lacks: lacking(deepprof, large, counters)},
		{name: "choose large", args: []string{in.choose, in.large}, proof: "groups", slow: true, lacks: lacking(choose, large)},
		{name: "regions large", args: show("regions", in.large), proof: json, slow: true, lacks: lacking(deepprof, large)},
		{name: "info, GPU metrics", args: show("info", in.metrics), proof: json, slow: true, lacks: lacking(deepprof, metrics)},
		{name: "analyze, GPU metrics", args: []string{in.deepprof, "analyze", in.metrics, "--json"}, proof: `"kernels"`, slow: true, lacks: lacking(deepprof, metrics)},
		{name: "cat, GPU metrics", args: []string{"cat", in.metrics}, lacks: lacking(metrics)},
		{name: "nsys stats small", args: []string{in.nsys, "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", in.small},
			proof: "Total Time (ns)", slow: true, lacks: lacking(nsys, small)},
		{name: "cat large", args: []string{"cat", in.large}, lacks: lacking(large)},
		{name: "kernels large", args: show("kernels", in.large), proof: json, lacks: lacking(deepprof, large)},
		{name: "metrics", args: show("metrics", in.report), proof: json, lacks: lacking(deepprof, report)},
		{name: "ncu raw", args: []string{in.ncu, "--import", in.report, "--page", "raw", "--csv"},
			proof: `"ID"`, slow: true, lacks: lacking(ncu, report)},
		{name: "ncu_report", args: []string{in.python, "-c", pythonImport, in.report},
			proof: "values", slow: true, lacks: lacking(python, report)},
		{name: "config show", args: []string{in.deepprof, "config", "show"}, proof: ":", lacks: lacking(deepprof)},
		{name: "list of files of the store", args: []string{"ls", "-lR", in.store}, lacks: lacking(store)},
		{name: "runs list", args: []string{in.deepprof, "runs", "list", "--store", in.store}, proof: "done", lacks: lacking(deepprof, store)},
		{name: "runs list without an index", args: []string{"sh", "-c", `rm -f "$2/.index.json"; exec "$1" runs list --store "$2"`, "sh", in.deepprof, in.store},
			proof: "done", slow: true, lacks: lacking(deepprof, store)},
		{name: "runs show latest", args: []string{in.deepprof, "runs", "show", "latest", "--store", in.store}, proof: "done", lacks: lacking(deepprof, store)},
		{name: "version", args: []string{in.deepprof, "version"}, proof: ".", lacks: lacking(deepprof)},
	}
}

// quantity is what a ratio compares.
type quantity struct {
	name string
	of   func(sample) float64
}

var (
	wall   = quantity{"wall", func(s sample) float64 { return s.wall.Seconds() }}
	cpu    = quantity{"CPU", func(s sample) float64 { return s.cpu.Seconds() }}
	memory = quantity{"peak MB", func(s sample) float64 { return float64(s.rss) / 1e6 }}
)

// ratio is a row of the second table: over divided by under, or over alone.
// A goal is a bound from below (atLeast) or above (atMost); 0 is none.
type ratio struct {
	title           string
	of              quantity
	over, under     string
	atLeast, atMost float64
}

var ratios = []ratio{
	{title: "show kernels faster than nsys stats", of: wall, over: "nsys stats small", under: "kernels small", atLeast: 20},
	{title: "show kernels against cat", of: wall, over: "kernels small", under: "cat small", atMost: 8},
	{title: "show kernels against cat, large", of: wall, over: "kernels large", under: "cat large", atMost: 8},
	{title: "show kernels against the scan of its columns", of: wall, over: "kernels small", under: "scan small"},
	{title: "show kernels, memory", of: memory, over: "kernels small", atMost: 300},
	{title: "nsys stats, memory", of: memory, over: "nsys stats small", under: "kernels small"},
	{title: "10 million against 3 million kernels, wall", of: wall, over: "kernels large", under: "kernels small", atMost: 10. / 3 * 1.25},
	{title: "10 million against 3 million kernels, CPU", of: cpu, over: "kernels large", under: "kernels small", atMost: 10. / 3 * 1.25},
	{title: "show kernels, large, memory", of: memory, over: "kernels large"},
	{title: "1 core against 2", of: wall, over: "kernels small, 1 core", under: "kernels small, 2 cores", atLeast: 1.2},
	{title: "show regions against show kernels", of: wall, over: "regions small", under: "kernels small", atMost: 4},
	{title: "show regions against show kernels, CPU", of: cpu, over: "regions small", under: "kernels small"},
	{title: "show regions, memory", of: memory, over: "regions small"},
	{title: "10 million against 3 million kernels, regions", of: cpu, over: "regions large", under: "regions small", atMost: 10. / 3 * 1.25},
	{title: "show launches against show kernels", of: wall, over: "launches small", under: "kernels small"},
	{title: "show launches, memory", of: memory, over: "launches small", atMost: 100},
	{title: "show gaps against show kernels", of: wall, over: "gaps small", under: "kernels small", atMost: 12},
	{title: "show gaps against show kernels, CPU", of: cpu, over: "gaps small", under: "kernels small"},
	{title: "show gaps, memory", of: memory, over: "gaps small", atMost: 100},
	{title: "show gaps --all against show kernels", of: wall, over: "gaps small, all", under: "kernels small"},
	{title: "show gaps --all, memory", of: memory, over: "gaps small, all", atMost: 100},
	{title: "the whole analysis with counters against show kernels", of: wall, over: "analyze small with counters", under: "kernels small", atMost: 12},
	{title: "the whole analysis with counters against show kernels, CPU", of: cpu, over: "analyze small with counters", under: "kernels small"},
	{title: "the whole analysis with counters, memory", of: memory, over: "analyze small with counters", atMost: 500},
	{title: "10 million against 3 million kernels, the whole analysis with counters", of: cpu, over: "analyze large with counters", under: "analyze small with counters", atMost: 10. / 3 * 1.25},
	{title: "the whole analysis with counters, large, memory", of: memory, over: "analyze large with counters"},
	{title: "choosing launches against show kernels", of: wall, over: "choose small", under: "kernels small"},
	{title: "choosing launches, memory", of: memory, over: "choose small"},
	{title: "10 million against 3 million kernels, choosing", of: cpu, over: "choose large", under: "choose small", atMost: 10. / 3 * 1.25},
	{title: "choosing launches, large, memory", of: memory, over: "choose large"},
	{title: "analysis of GPU metrics against cat", of: wall, over: "analyze, GPU metrics", under: "cat, GPU metrics"},
	{title: "analysis of GPU metrics, memory", of: memory, over: "analyze, GPU metrics"},
	{title: "show regions faster than nsys stats", of: wall, over: "nsys stats small", under: "regions small"},
	{title: "show gaps faster than nsys stats", of: wall, over: "nsys stats small", under: "gaps small"},
	{title: "show regions against cat", of: wall, over: "regions small", under: "cat small"},
	{title: "show launches against cat", of: wall, over: "launches small", under: "cat small"},
	{title: "show gaps against cat", of: wall, over: "gaps small", under: "cat small"},
	{title: "the whole analysis with counters against cat", of: wall, over: "analyze small with counters", under: "cat small"},
	{title: "choosing launches against cat", of: wall, over: "choose small", under: "cat small"},
	{title: "the whole analysis against one report of nsys stats", of: wall, over: "analyze small", under: "nsys stats small"},
	{title: "the whole analysis, memory", of: memory, over: "analyze small"},
	{title: "show metrics faster than ncu --import", of: wall, over: "ncu raw", under: "metrics", atLeast: 20},
	{title: "show metrics faster than ncu_report", of: wall, over: "ncu_report", under: "metrics", atLeast: 10},
	{title: "show metrics, memory", of: memory, over: "metrics", atMost: 100},
	{title: "runs list of 10,000 runs against ls -lR", of: cpu, over: "runs list", under: "list of files of the store", atMost: 3},
	{title: "runs list of 10,000 runs, memory", of: memory, over: "runs list", atMost: 60},
	{title: "runs list against one without an index, CPU", of: cpu, over: "runs list without an index", under: "runs list"},
	{title: "runs list without an index, memory", of: memory, over: "runs list without an index", atMost: 60},
	{title: "runs show latest of 10,000 runs against version", of: cpu, over: "runs show latest", under: "version", atMost: 5},
	{title: "config show against version", of: cpu, over: "config show", under: "version"},
}
