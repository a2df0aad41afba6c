package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// analyzeCommand: files are read, analyzed and reported; nothing is captured.
func analyzeCommand() command {
	return command{
		use: "analyze PATH...", short: "Say where the time goes and what limits each kernel, from files alone",
		long: `Analyze a run, or a few reports, and write the reports: result.json, report.html,
report.md, stakeholder_summary.md, kernels.md, operators.md, regions.md,
roofline.svg, roofline.csv and ncu/regions. This needs no GPU and, except for
.nsys-rep files, no vendor tool.

PATH is a run folder, any folder with a timeline and counters, a packed run, or a
run of the store ./runs by its id or as "latest". Or give files: one SQLite export
or .nsys-rep, .ncu-rep files or CSV of ncu, metrics.json, operators.json,
flops.json and targets.json; reports may be compressed (.gz, .zst). With a model's
config.json, --prompt and --new, the reports have MFU and MBU of your own program,
for its regions prefill and decode or those that --prefill-region and
--decode-region name. For a result.json, or a folder that analyze wrote, the
reports are written again from the same result.

The reports cover the regions that the run names
(pipeline.ncu.ncu_cli.nvtx_include) and leave out loading and warm-up; --region
names other regions. If none are named, they cover the stages, or the outermost
regions with most of the GPU time; in a timeline without ranges, the sequence of
kernels that repeats. --whole covers everything.

If an input cannot be read, or a part of it is lost, the reports cover the rest,
their first lines say so, and the exit code is 4; --partial makes it 0. Counters
of another program than that of the timeline are reported separately.

The reports go into the run. For files and for a packed run they go into the
folder NAME.deepprof, named after the first file; --output names another. Reports
of an earlier analysis of the same files are replaced. A folder with other files
in it is refused, and so is, without --output, one with the analysis of other files.`,
		example: `  deepprof analyze latest
  deepprof analyze report.sqlite report.ncu-rep
  deepprof analyze report.sqlite --region prefill --region decode
  deepprof analyze report.sqlite report.ncu-rep config.json --prompt 512 --new 32
  deepprof analyze report.sqlite --output out && xdg-open out/report.html
  deepprof analyze out --output redrawn`,
		args: atLeast("PATH"),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			output := f.StringP("output", "o", "", "write into `DIR`")
			asJSON := f.Bool("json", false, "print the result as JSON and write nothing")
			regions := f.StringArray("region", nil, "count only the launches of the NVTX regions `EXPR`; may be repeated")
			whole := f.Bool("whole", false, "count the whole timeline, not only the stages or the regions of the run")
			partial := f.Bool("partial", false, "take what is left if an input is damaged or cannot be read: the exit code is 0, not 4")
			baseline := f.String("baseline", "", "show the numbers of the run or capture `PATH` beside those of the page; whether a difference is more than noise, compare tells")
			model := modelFlags{flags: f}
			model.register()
			var rules configFlags
			f.StringVar(&rules.Dir, "config-dir", "", "sort kernels by the categories.rules of `DIR` first, then by those of ./conf and the shipped ones")
			return func(ctx context.Context, args []string) error {
				asked := show.Analysis{
					Paths: args, Version: readVersion().String(), Output: *output, Print: *asJSON && *output == "", Regions: *regions, Whole: *whole,
					Rules: rules.Dir, Baseline: *baseline, Analyze: analyzeFiles, Categories: rules.categories, Model: model.given(),
				}
				made, err := asked.Do(ctx)
				if err != nil {
					return err
				}
				return cmp.Or(printAnalyzed(s, made), incomplete(made.Result, *partial))
			}
		},
	}
}

// printAnalyzed prints the result itself if it was not written, else one screen of
// it and where it lies.
// Warnings of printed JSON go to the error stream, so that the data stays valid.
func printAnalyzed(s streams, made *show.Analyzed) error {
	var told []fact.Fact
	for _, w := range made.Told {
		printLines(s, "warning: ", []string{fmt.Sprintf("%s; next: %s", message.Text(w.AsFact()), message.Next(w.AsFact()))})
		told = append(told, w.Fact)
	}
	if made.Dir == "" {
		for _, n := range made.Result.FirstNotes() {
			fmt.Fprintln(s.err, "warning: "+message.Text(n.AsFact()))
		}
		return json.NewEncoder(s.out).Encode(made.Result)
	}
	if err := terminal.Summarize(s.out, made.Result, filepath.Join(made.Dir, runs.PageName), 1+len(told), told); err != nil {
		return err
	}
	last := "written: " + made.Dir
	if made.Replaced {
		last += " (replaced an earlier analysis)"
	}
	_, err := fmt.Fprintln(s.out, last)
	return err
}

// incomplete fails if an input was lost, wholly or in part, and nobody said
// that the rest is enough, and where timelines are of different programs.
// The reports have been written by then. The first loss is named; the reports list all.
// --partial does not excuse timelines of different programs: their sums would mean nothing.
func incomplete(r *analysis.Result, partial bool) error {
	if lost := r.Incomplete(); len(lost) > 0 && !partial {
		return &failure{exitNothing, fmt.Errorf("analyze: %s; take the rest with --partial", message.Text(lost[0].Fact))}
	}
	if other := r.Unrelated(); len(other) > 0 {
		return usagef("analyze: %s; %s", message.Text(other[0].AsFact()), message.Next(other[0].AsFact()))
	}
	return nil
}

// analyzeFiles is the Analyzer of every command; --config-dir does not reach it.
func analyzeFiles(ctx context.Context, command string, paths []string) (*analysis.Result, error) {
	return show.AnalyzeFiles(readVersion().String())(ctx, command, paths)
}

// categories are the rules that sort kernels, of every folder of the configuration.
func (c *configFlags) categories() (*analysis.Categories, error) { return show.Categories(&c.Composer) }

// modelFlags are what analyze needs to count the work of a config.json.
type modelFlags struct {
	flags *pflag.FlagSet
	names []string // of those that mean nothing without a config.json
	show.ModelShape
}

// register adds them to the flags of analyze.
// Prompt and new have no default, and 0 means not given: a guess would give a wrong MFU.
func (m *modelFlags) register() {
	number := func(to *int64, name string, value int64, help string) {
		m.names = append(m.names, name)
		m.flags.Int64Var(to, name, value, "with a config.json: "+help)
	}
	text := func(to *string, name, help string) {
		m.names = append(m.names, name)
		m.flags.StringVar(to, name, "", "with a config.json: "+help)
	}
	number(&m.Shape.Prompt, "prompt", 0, "`tokens` of the prompt of each sequence")
	number(&m.Shape.New, "new", 0, "`tokens` that were generated; the first comes out of prefill")
	number(&m.Shape.Batch, "batch", 1, "`sequences` at a time")
	text(&m.Shape.DType, "dtype", "data `type` of activations and of what is not quantized (default: that of the config, or bf16)")
	text(&m.Shape.CacheDType, "cache-dtype", "data `type` of the KV cache (default: that of the config, or --dtype)")
	text(&m.Shape.Latent, "latent", "how decode runs latent attention: `expanded` as transformers does, or absorbed as vLLM and SGLang do")
	text(&m.Regions.Prefill, "prefill-region", "the `region` that is prefill (default: prefill)")
	text(&m.Regions.Decode, "decode-region", "the `region` that is decode (default: decode)")
}

// given is the shape with the names of the flags that were given.
// Call it once, after the flags were parsed: it appends to Given.
func (m *modelFlags) given() show.ModelShape {
	for _, name := range m.names {
		if m.flags.Changed(name) {
			m.Given = append(m.Given, name)
		}
	}
	return m.ModelShape
}
