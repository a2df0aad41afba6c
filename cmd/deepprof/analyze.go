package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
)

// analyzeCommand: files are read, analyzed and reported; nothing is captured.
func analyzeCommand() command {
	return command{
		use: "analyze PATH...", short: "Say where the time goes and what limits each kernel, from files alone",
		long: `Analyze a run, or a few reports, and write the reports: result.json, report.html,
report.md, stakeholder_summary.md, kernels.md, operators.md, regions.md,
roofline.svg, roofline.csv and ncu/regions. No GPU is needed and, but for
.nsys-rep files, no vendor tool.

PATH is a run folder, any folder with a timeline and counters, a packed run, a run of the store ./runs by its id or as
"latest", or any of: one SQLite export or .nsys-rep, .ncu-rep files or CSV of
ncu, metrics.json, operators.json, flops.json and targets.json; reports may be
compressed (.gz, .zst). A model's config.json, with --prompt and --new, gives MFU
and MBU of a program of your own: of its regions prefill and decode, or of those
that --prefill-region and --decode-region name. A result.json, or a folder that analyze wrote, is drawn
again as it is.

A run that names regions (pipeline.ncu.ncu_cli.nvtx_include) is about their
launches alone: kernels, opportunities and findings leave out loading and
warm-up. --region names others, also for files. Where no regions are named, the
stages, or the outermost regions that hold most of the GPU time, are counted; in a
timeline without any range, the sequence of kernels that repeats. --whole counts
everything.

Where an input cannot be read, or a part of it is lost, the reports are of the
rest, their first lines say so, and the exit code is 4; --partial makes it 0.
Counters of another program than the timeline stand by themselves.

The reports go into the run. For files, and for a packed run, they go into the
folder NAME.deepprof, where NAME is that of the first; --output names another.
What an earlier analysis wrote there is replaced; a folder with other files in it
is refused, and so is, without --output, one with the analysis of other files.`,
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
			regions := f.StringArray("region", nil, "count the launches of the NVTX regions `EXPR` alone; may be given again")
			whole := f.Bool("whole", false, "count the whole timeline, not the stages or the regions of the run alone")
			partial := f.Bool("partial", false, "take what is left where an input is damaged or cannot be read: the exit code is 0, not 4")
			baseline := f.String("baseline", "", "hold the numbers of the page against those of the run or capture `PATH`; compare tells whether a difference is more than noise")
			var model modelFlags
			model.register(f)
			var rules configFlags
			f.StringVar(&rules.dir, "config-dir", "", "sort kernels by the categories.rules of `DIR` first, then by those of ./conf and the shipped ones")
			return func(ctx context.Context, args []string) error {
				if err := show.NameAll(args); err != nil {
					return err
				}
				if st, err := os.Stat(rules.dir); rules.dir != "" && (err != nil || !st.IsDir()) {
					return usagef("analyze --config-dir %s: there is no such folder", rules.dir)
				}
				in, err := show.OpenInput(ctx, "analyze", readVersion().String(), args)
				if err != nil {
					return err
				}
				defer in.Done()
				if err := model.count(f, in); err != nil {
					return err
				}
				if err := in.Scope(*regions, *whole); err != nil {
					return err
				}
				if in.Drawn != "" && rules.dir != "" {
					return usagef("analyze: %s is drawn as it is; give the run, or the files that it was made from, with --config-dir", in.Drawn)
				}
				dir := in.Folder
				if *output != "" {
					dir = *output
				}
				prints := *asJSON && *output == ""
				if !prints {
					if err := show.MayWrite(dir, in.Folder); err != nil {
						return err
					}
					if err := in.MayReplace(dir); *output == "" && err != nil {
						return err
					}
				}
				result, err := in.Result(ctx, rules.categories)
				if err != nil {
					return err
				}
				var told []fact.Fact
				for _, w := range result.Warnings {
					if w.Is(analysis.ChangedFile, analysis.OtherCapture) {
						fmt.Fprintln(s.err, report.Wrap(fmt.Sprintf("warning: %s; next: %s", message.Text(w.AsFact()), message.Next(w.AsFact())), terminalWidth(s.err), "  "))
						told = append(told, w.Fact)
					}
				}
				if prints {
					for _, n := range result.FirstNotes() {
						fmt.Fprintln(s.err, "warning: "+message.Text(n.AsFact()))
					}
					return cmp.Or(json.NewEncoder(s.out).Encode(result), incomplete(result, *partial))
				}
				if in.Drawn == "" {
					result.Source.Origin = in.Origin
				}
				if *baseline != "" {
					base, err := analyzeFiles(ctx, "analyze --baseline", []string{*baseline})
					if err != nil {
						return err
					}
					result.HoldAgainst(filepath.Base(*baseline), base)
				}
				_, before := os.Stat(filepath.Join(dir, runs.ResultName))
				write := folder.Write
				if dir == in.Folder { // perhaps a run
					write = func(dir string, r *analysis.Result) ([]string, error) { return folder.Rewrite(ctx, dir, r) }
				}
				if _, err := write(dir, result); err != nil {
					if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EROFS) {
						err = usagef("%w; name another folder with --output DIR", err)
					}
					return err
				}
				last := "written: " + dir
				if before == nil {
					last += " (replaced an earlier analysis)"
				}
				if err := summarize(s, result, filepath.Join(dir, runs.PageName), 1+len(told), told); err != nil {
					return err
				}
				_, err = fmt.Fprintln(s.out, last)
				return cmp.Or(err, incomplete(result, *partial))
			}
		},
	}
}

// incomplete fails where an input was lost, wholly or in part, and nobody said
// that the rest is enough, and where timelines are of different programs.
// The reports have been written by then. The first loss is named; the reports list all.
func incomplete(r *analysis.Result, partial bool) error {
	if lost := r.Incomplete(); len(lost) > 0 && !partial {
		return &failure{exitNothing, fmt.Errorf("analyze: %s; take the rest with --partial", message.Text(lost[0].Fact))}
	}
	if other := r.Unrelated(); len(other) > 0 {
		return usagef("analyze: %s; %s", message.Text(other[0].AsFact()), message.Next(other[0].AsFact()))
	}
	return nil
}

// analyzeFiles makes the result of what a view is asked to show.
// It is the Analyzer that views, comparisons and the server share.
func analyzeFiles(ctx context.Context, command string, paths []string) (*analysis.Result, error) {
	in, err := show.OpenInput(ctx, command, readVersion().String(), paths)
	if err != nil {
		return nil, err
	}
	defer in.Done()
	return in.Result(ctx, (&configFlags{}).categories)
}

// categories loads the rules that sort kernels from every folder of the
// configuration.
// Rules of the folders come before the shipped ones, in the order of the search path.
func (c *configFlags) categories() (*analysis.Categories, error) {
	var overlays []fs.FS
	for _, source := range c.sources() {
		if source.Path != shippedTree {
			overlays = append(overlays, source.FS)
		}
	}
	list, err := analysis.LoadCategories(overlays...)
	if err != nil {
		return nil, usage(err)
	}
	return list, nil
}

// takesEscapes tells whether a terminal is to get escape sequences.
func takesEscapes() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// summarize prints one screen, of which some rows are used already, partly by
// warnings, and the path of the report.
// A stream that is no terminal gets the whole summary without escapes.
func summarize(s streams, r *analysis.Result, path string, used int, shown []fact.Fact) error {
	width, height := terminalSize(s.out)
	o := report.SummaryOptions{Report: path, Shown: shown, Log: height == 0}
	if height > 0 {
		o.Width, o.Height, o.Bold = width, max(height-used, 1), takesEscapes()
	}
	if err := report.Summary(s.out, r, o); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// modelFlags are what analyze needs to count the work of a config.json.
type modelFlags struct {
	shape   flops.Shape           // tokens and sequences; 0 is not given
	regions analysis.ModelRegions // "" is the region of that name
}

// modelFlagNames are those that mean nothing without a config.json.
var modelFlagNames = []string{"prompt", "new", "batch", "dtype", "cache-dtype", "latent", "prefill-region", "decode-region"}

// register: all of them mean nothing without a config.json, which count checks.
func (m *modelFlags) register(f *pflag.FlagSet) {
	f.Int64Var(&m.shape.Prompt, "prompt", 0, "with a config.json: `tokens` of the prompt of each sequence")
	f.Int64Var(&m.shape.New, "new", 0, "with a config.json: `tokens` that were generated; the first comes out of prefill")
	f.Int64Var(&m.shape.Batch, "batch", 1, "with a config.json: `sequences` at a time")
	f.StringVar(&m.shape.DType, "dtype", "", "with a config.json: data `type` of activations and of what is not quantized (default that of the config, or bf16)")
	f.StringVar(&m.shape.CacheDType, "cache-dtype", "", "with a config.json: data `type` of the KV cache (default that of the config, or --dtype)")
	f.StringVar(&m.shape.Latent, "latent", "", "with a config.json: how decode runs latent attention: `expanded` as transformers does, or absorbed as vLLM and SGLang do")
	f.StringVar(&m.regions.Prefill, "prefill-region", "", "with a config.json: the `region` that is prefill (default the one of that name)")
	f.StringVar(&m.regions.Decode, "decode-region", "", "with a config.json: the `region` that is decode (default the one of that name)")
}

// count counts the work of the model, before anything slow starts.
func (m *modelFlags) count(f *pflag.FlagSet, in *show.AnalysisInput) error {
	if in.In.Model == "" {
		for _, name := range modelFlagNames {
			if f.Changed(name) {
				return usagef("analyze --%s: there is no config.json of a model to count; give it beside the timeline", name)
			}
		}
		return nil
	}
	var missing []string
	for name, n := range map[string]int64{"prompt": m.shape.Prompt, "new": m.shape.New, "batch": m.shape.Batch} {
		switch {
		case n < 0 || n == 0 && f.Changed(name):
			return usagef("analyze --%s %d: want at least 1", name, n)
		case n == 0:
			missing = append(missing, "--"+name+" N")
		}
	}
	if len(missing) > 0 {
		return usagef("analyze: the work of %s depends on the shape; add --prompt N and --new N, the tokens of each sequence (missing: %s)", in.In.Model, strings.Join(missing, ", "))
	}
	if err := in.In.CountModel(m.shape, m.regions); err != nil {
		return usage(err)
	}
	return nil
}
