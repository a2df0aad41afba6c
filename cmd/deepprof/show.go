package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// showFlags are what every view of a report understands.
type showFlags struct {
	json, csv, md bool
	top           int
	region        string
	kernel        string
	devices       []int
	processes     []int
}

func (f *showFlags) register(fs *pflag.FlagSet) {
	f.registerFormats(fs)
	f.registerTop(fs)
	fs.StringVar(&f.region, "region", "", "only work launched inside NVTX ranges that match `EXPR`, in ncu's syntax; a;b means either")
	fs.StringVar(&f.kernel, "kernel", "", "only kernels whose name matches `REGEX`")
	fs.IntSliceVar(&f.devices, "device", nil, "only these CUDA devices, by `index`")
	fs.IntSliceVar(&f.processes, "process", nil, "only these processes, by `pid`")
}

func (f *showFlags) registerFormats(fs *pflag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "print JSON: an object with a schema version and rows")
	fs.BoolVar(&f.csv, "csv", false, "print CSV with every column and exact values")
	fs.BoolVar(&f.md, "md", false, "print a Markdown table")
}

func (f *showFlags) registerTop(fs *pflag.FlagSet) {
	fs.IntVar(&f.top, "top", 0, "keep the first `N` rows; 0 keeps all")
}

// first keeps what --top asks for of a table that holds all rows.
func (f *showFlags) first(t report.Printable) report.Printable {
	if f.top > 0 {
		t.First(f.top)
	}
	return t
}

// filters names the filters that are set, for an answer without rows.
func (f *showFlags) filters() string {
	var set []string
	for _, x := range []struct {
		name, value string
		on          bool
	}{
		{"--region", f.region, f.region != ""}, {"--kernel", f.kernel, f.kernel != ""},
		{"--device", fmt.Sprint(f.devices), len(f.devices) > 0}, {"--process", fmt.Sprint(f.processes), len(f.processes) > 0},
	} {
		if x.on {
			set = append(set, x.name+" "+x.value)
		}
	}
	return strings.Join(set, ", ")
}

// query translates the flags; everything wrong with them is found here.
func (f *showFlags) query() (timeline.Query, error) {
	q := timeline.Query{Top: f.top, Devices: f.devices, Processes: f.processes, Shorten: cxx.Short}
	formats := 0
	for _, on := range []bool{f.json, f.csv, f.md} {
		if on {
			formats++
		}
	}
	if formats > 1 {
		return q, usagef("--json, --csv and --md exclude each other")
	}
	if f.top < 0 {
		return q, usagef("--top %d: a number of rows is not negative", f.top)
	}
	if f.kernel != "" {
		re, err := regexp.Compile(f.kernel)
		if err != nil {
			return q, usagef("--kernel %q: %w", f.kernel, err)
		}
		q.Kernel = re
	}
	if f.region != "" {
		exprs, err := nvtx.ParseList(f.region)
		if err != nil {
			return q, usagef("--region: %w", err)
		}
		q.Region = func(s nvtx.State) bool {
			for _, e := range exprs {
				if e.Match(s) {
					return true
				}
			}
			return false
		}
	}
	return q, nil
}

// print writes an answer in the format that was asked for. Notes go where
// they do not mix with data.
func (f *showFlags) print(s streams, t report.Printable) error {
	switch {
	case f.json:
		return t.WriteJSON(s.out)
	case f.md:
		return t.WriteMarkdown(s.out)
	case f.csv:
		if err := t.WriteCSV(s.out); err != nil {
			return err
		}
	default:
		if err := t.WriteText(s.out, terminalWidth(s.out)); err != nil {
			return err
		}
	}
	for _, n := range t.Footnotes() {
		fmt.Fprintln(s.err, report.Wrap("note: "+n, terminalWidth(s.err), "  "))
	}
	if set := f.filters(); set != "" && t.Written() == 0 {
		fmt.Fprintf(s.err, "note: nothing passes %s\n", set)
	}
	return nil
}

// terminalWidth is 0 where the output is no terminal: files and pipes get
// whole names.
func terminalWidth(w io.Writer) int {
	width, _ := terminalSize(w)
	return width
}

// screenRows are those of a terminal that does not tell how many it has.
const screenRows = 24

// terminalSize is 0, 0 where the output is no terminal; one that does not know
// its width has 0, which cuts nothing.
func terminalSize(w io.Writer) (width, height int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, cmp.Or(height, screenRows)
}

func showCommand() command {
	return command{
		use: "show", short: "Show what a report holds, without the vendor's tools",
		long: `Show what a report of Nsight Systems or Nsight Compute holds. The files are read
natively: no GPU, no driver and, but for .nsys-rep files, no vendor tool.

PATH is an SQLite export, a .nsys-rep, a .ncu-rep, CSV of 'ncu --csv' or of
'nsys stats --format csv', a run folder or a packed run, or a run of the store
./runs by its id or as "latest".`,
		example: `  deepprof show kernels report.sqlite --top 10
  deepprof show kernels report.sqlite --region 'decode/' --by launch-config
  deepprof show regions report.sqlite
  deepprof show metrics report.ncu-rep --metric '^dram__' --csv
  deepprof show info report.ncu-rep`,
		sub: []command{
			timelineView("kernels", "Time by kernel: the numbers of 'nsys stats --report cuda_gpu_kern_sum'; of a run, those of its reports",
				"  deepprof show kernels report.sqlite --top 10\n  deepprof show kernels latest --top 10\n  deepprof show kernels report.sqlite --by region,launch-config --json", showKernels),
			timelineView("regions", "Time by NVTX region path: wall, GPU busy and idle, kernels with and without nested ranges",
				"  deepprof show regions report.sqlite\n  deepprof show regions report.sqlite --by process,device --md", showRegions),
			timelineView("ranges", "Every instance of every NVTX range",
				"  deepprof show ranges report.sqlite --region 'decode/step/' --csv", showRanges),
			timelineView("launches", "Every kernel launch, from a timeline or from counters",
				"  deepprof show launches report.sqlite --kernel gemm --top 20\n  deepprof show launches report.ncu-rep --json", showLaunches),
			timelineView("gaps", "Times in which the GPU ran nothing, and the CUDA calls that filled them",
				"  deepprof show gaps report.sqlite --min-gap 10us --top 20", showGaps),
			metricsCommand(),
			resultView("stages", "Prefill, decode and other stages: clean time, overhead, where the time goes, MFU and MBU",
				"  deepprof show stages latest\n  deepprof show stages report.sqlite report.ncu-rep --json", report.Stages),
			resultView("operators", "Operators of the torch profiler, with CPU and device time",
				"  deepprof show operators latest --md", report.Operators),
			resultView("roofline", "Each counted kernel against the roofs of its data types and memory levels",
				"  deepprof show roofline latest --csv > points.csv", report.RooflinePoints),
			flopsCommand(),
			timelineView("info", "What made the report: tool versions, machine, GPUs, processes, tables, warnings",
				"  deepprof show info report.sqlite\n  deepprof show info report.ncu-rep --json", showInfo),
		},
	}
}

// A viewer answers one view; more holds the flags that only some views have.
type viewer func(ctx context.Context, path string, q timeline.Query, more *viewFlags) (report.Printable, error)

// viewFlags are the flags that only some views have.
type viewFlags struct {
	by      string
	minGap  string
	streams bool
	region  string // the expression behind Query.Region
	whole   bool   // also what lies outside the scope of a run
	// captured counts replayed work to the ranges in which its graph was captured.
	captured bool
}

func timelineView(name, short, example string, view viewer) command {
	return command{
		use: name + " PATH", short: short, example: example, args: exactly("PATH"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			var f showFlags
			var more viewFlags
			if name == "info" {
				f.registerFormats(fs)
			} else {
				f.register(fs)
			}
			switch name {
			case "kernels":
				fs.StringVar(&more.by, "by", "", "split rows by `LIST` of device, process, region, launch-config")
			case "regions":
				fs.StringVar(&more.by, "by", "", "split rows by `LIST` of device, process")
			case "gaps":
				fs.StringVar(&more.minGap, "min-gap", "1us", "leave out gaps shorter than `DURATION`")
				fs.BoolVar(&more.streams, "streams", false, "also list the gaps of each stream that has company on its device")
			}
			if name == "kernels" || name == "regions" {
				fs.BoolVar(&more.captured, "captured", false, "count work of CUDA graphs to the ranges that were open when it was captured, not to those around the launch of the graph")
			}
			if name == "kernels" || name == "launches" || name == "gaps" {
				fs.BoolVar(&more.whole, "whole", false, "of a run that names regions show the whole timeline, not these regions alone")
			}
			return func(ctx context.Context, args []string) error {
				q, err := f.query()
				if err != nil {
					return err
				}
				if more.by != "" {
					if q.By, err = timeline.ParseBy(more.by); err != nil {
						return usagef("--by: %w", err)
					}
				}
				more.region, q.Captured = f.region, more.captured
				path, err := named(args[0])
				if err != nil {
					return err
				}
				t, err := view(ctx, path, q, &more)
				if err != nil {
					return err
				}
				return f.print(s, t)
			}
		},
	}
}

// wrongInput words the refusal of an input that lacks what a view shows.
func wrongInput(path string, kind inputKind, view string) error {
	if kind == inputCSV {
		if err := noReport("show "+view, path); err != nil {
			return err
		}
	}
	need := map[inputKind]string{
		inputCounters: "a timeline: name the .sqlite or .nsys-rep of an Nsight Systems capture",
		inputTimeline: "counters: name the .ncu-rep of an Nsight Compute capture",
		inputCSV:      "more than this CSV holds: name the report that it was printed from",
	}[kind]
	return usagef("show %s %s: %s", view, path, strings.TrimSpace("this view needs "+need))
}
