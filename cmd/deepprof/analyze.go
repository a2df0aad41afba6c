package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
)

func analyzeCommand() command {
	return command{
		use: "analyze PATH...", short: "Say where the time goes and what limits each kernel, from files alone",
		long: `Analyse a run, or a few reports, and write the reports: result.json, report.html,
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
				in, err := openInput(ctx, "analyze", args)
				if err != nil {
					return err
				}
				defer in.done()
				in.rules = rules
				if err := model.count(f, in); err != nil {
					return err
				}
				if err := in.scope(*regions, *whole); err != nil {
					return err
				}
				if in.drawn != "" && rules.dir != "" {
					return usagef("analyze: %s is drawn as it is; give the run, or the files that it was made from, with --config-dir", in.drawn)
				}
				dir := in.folder
				if *output != "" {
					dir = *output
				}
				prints := *asJSON && *output == ""
				if !prints {
					if err := mayWrite(dir, in.folder); err != nil {
						return err
					}
					if err := in.mayReplace(dir); *output == "" && err != nil {
						return err
					}
				}
				result, err := in.result(ctx)
				if err != nil {
					return err
				}
				var told []fact.Fact
				for _, w := range result.Warnings {
					if w.Is(analysis.ChangedFile, analysis.OtherCapture) {
						fmt.Fprintln(s.err, report.Wrap(fmt.Sprintf("warning: %s; next: %s", message.Text(w.Said()), message.Next(w.Said())), terminalWidth(s.err), "  "))
						told = append(told, w.Fact)
					}
				}
				if prints {
					for _, n := range result.FirstNotes() {
						fmt.Fprintln(s.err, "warning: "+message.Text(n.Said()))
					}
					return cmp.Or(json.NewEncoder(s.out).Encode(result), incomplete(result, *partial))
				}
				if in.drawn == "" {
					result.Source.Origin = in.origin
				}
				_, before := os.Stat(filepath.Join(dir, folder.ResultFile))
				write := folder.Write
				if dir == in.folder { // perhaps a run
					write = func(dir string, r *analysis.Result) ([]string, error) { return pipeline.Rewrite(ctx, dir, r) }
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
				if err := summarise(s, result, filepath.Join(dir, "report.html"), 1+len(told), told); err != nil {
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
func incomplete(r *analysis.Result, partial bool) error {
	if lost := r.Incomplete(); len(lost) > 0 && !partial {
		return &failure{exitNothing, fmt.Errorf("analyze: %s; take the rest with --partial", message.Text(lost[0].Fact))}
	}
	if other := r.Unrelated(); len(other) > 0 {
		return usagef("analyze: %s; %s", message.Text(other[0].Said()), message.Next(other[0].Said()))
	}
	return nil
}

// An analysisInput is what the arguments of analyze name.
type analysisInput struct {
	in     analysis.Input
	drawn  string   // a result.json that is taken as it is
	folder string   // where the reports belong
	names  []string // of the files, as the result has them
	origin string   // of files and packed runs: see analysis.Source
	rules  configFlags
	// command is what was typed, for messages.
	command string
	done    func()
}

// scope takes what the command line says of the part to count.
func (a *analysisInput) scope(regions []string, whole bool) error {
	switch {
	case len(regions) == 0 && !whole:
		return nil
	case len(regions) > 0 && whole:
		return usagef("analyze: --region and --whole exclude each other")
	case a.drawn != "":
		return usagef("analyze: %s is drawn as it is; give the run, or the timeline, with --region or --whole", a.drawn)
	case len(a.in.Timelines) == 0:
		return usagef("analyze: --region and --whole choose from a timeline, and there is none")
	}
	a.in.Include, a.in.Exclude, a.in.Asked, a.in.DefaultScope = regions, nil, len(regions) > 0, false
	return nil
}

// analyzeFiles makes the result of what a view is asked to show.
func analyzeFiles(ctx context.Context, command string, paths []string) (*analysis.Result, error) {
	in, err := openInput(ctx, command, paths)
	if err != nil {
		return nil, err
	}
	defer in.done()
	return in.result(ctx)
}

func (a *analysisInput) result(ctx context.Context) (*analysis.Result, error) {
	if a.drawn != "" {
		return folder.Read(a.drawn)
	}
	var err error
	if a.in.Categories, err = categories(a.rules.sources()); err != nil {
		return nil, err
	}
	result, err := analysis.Analyze(ctx, a.in)
	var scope *analysis.ScopeError
	var unused *analysis.UnusedError
	if errors.As(err, &unused) {
		return nil, usagef("%s: %w", cmp.Or(a.command, "analyze"), unused)
	}
	if errors.As(err, &scope) {
		return nil, usagef("analyze %s: --region: %w", a.in.Timelines[0], scope)
	}
	if errors.Is(err, ncurep.ErrNoTable) {
		err = cmp.Or(show.NoReport(a.command, a.in.Counters[0]), err)
	}
	return result, err
}

// categories loads the rules that sort kernels from every folder of the
// configuration.
func categories(sources []config.Source) (*analysis.Categories, error) {
	var overlays []fs.FS
	for _, source := range sources {
		if source.Path != shippedTree {
			overlays = append(overlays, source.FS)
		}
	}
	c, err := analysis.LoadCategories(overlays...)
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// mayReplace refuses to replace the analysis of other files in a folder that
// nobody named: report.sqlite and report.ncu-rep both belong into
// report.deepprof, and so do the files of that name in other folders. Whoever adds a file, or has made one anew, means that folder.
func (a *analysisInput) mayReplace(dir string) error {
	if a.drawn != "" || dir == a.in.Run {
		return nil
	}
	before, err := folder.Read(filepath.Join(dir, folder.ResultFile))
	if err != nil {
		return nil // there is none that anybody could read
	}
	var files []string
	others := false
	for _, f := range before.Source.Files {
		files = append(files, f.Path)
		others = others || !slices.Contains(a.names, f.Path)
	}
	of := strings.Join(files, ", ")
	switch packed := a.in.Run != ""; {
	case before.Source.Origin != "" && before.Source.Origin != a.origin:
		of += " in another folder"
	case before.Source.Run != "" && !packed:
		of = "a packed run"
	case before.Source.Run != "" || !packed && !others:
		return nil
	}
	return usagef("analyze: %s holds the analysis of %s; name another folder with --output DIR, or that one to replace it", dir, of)
}

// originOf is a digest of the folder that a file lies in.
func originOf(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// openInput sorts the paths by what they hold. A run stands alone.
func openInput(ctx context.Context, command string, paths []string) (*analysisInput, error) {
	a := &analysisInput{command: command, done: func() {}}
	a.folder, a.origin = format.BaseName(paths[0])+".deepprof", originOf(paths[0])
	for _, path := range paths {
		kind, err := show.Recognize(path)
		if err != nil {
			return nil, err
		}
		a.names = append(a.names, filepath.Base(path))
		switch {
		case kind == show.Folder || kind == show.Pack:
			if len(paths) > 1 {
				return nil, usagef("%s: %s is a run; it goes alone", command, path)
			}
			return openRun(ctx, command, path, kind)
		case kind == show.Result && len(paths) > 1:
			return nil, usagef("%s: %s is an analysis already; it goes alone", command, path)
		case kind == show.Result:
			a.drawn, a.folder = path, filepath.Dir(path)
		default:
			err = a.in.Add(path)
		}
		if err != nil {
			return nil, usage(err)
		}
	}
	a.in.Version, a.in.DefaultScope = readVersion().String(), true
	return a, nil
}

// openRun takes a run, or a folder that holds reports.
func openRun(ctx context.Context, command, path string, kind show.Kind) (*analysisInput, error) {
	a := &analysisInput{folder: path, done: func() {}}
	dir := path
	if kind == show.Pack {
		r, err := runs.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		dir, a.done = r.Dir(), func() { r.Close() }
		a.folder, a.origin = strings.TrimSuffix(filepath.Base(path), runs.PackExt)+".deepprof", originOf(path)
	}
	in, err := analysis.FromRun(dir)
	if drawn := filepath.Join(dir, folder.ResultFile); err == nil && in.Empty() && isFile(drawn) {
		a.drawn = drawn // what analyze wrote
		return a, nil
	}
	if err == nil && in.Empty() && kind == show.Folder {
		if in, err = analysis.FromFolder(dir); err != nil {
			err = usage(err)
		}
		a.folder = folderName(path) + ".deepprof" // somebody else's folder is not filled with reports
	}
	if err == nil && in.Empty() {
		err = usagef("%s: %s holds neither a timeline nor counters (looked for nsys/*.sqlite, nsys/*.nsys-rep, ncu/*.ncu-rep, *.sqlite, *.nsys-rep, *.ncu-rep)", command, path)
	}
	if err != nil {
		a.done()
		return nil, err
	}
	in.Version, in.DefaultScope = readVersion().String(), true
	a.in = in
	return a, nil
}

// folderName is the name of a folder, also of ".".
func folderName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// mayWrite refuses to fill a folder of somebody else's with reports: one that
// is neither the run itself, nor empty, nor made by an earlier analysis.
func mayWrite(dir, own string) error {
	if dir == own {
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
			return nil
		}
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return usage(err)
	}
	if _, err := os.Stat(filepath.Join(dir, folder.ResultFile)); err == nil {
		return nil
	}
	return usagef("analyze: %s is a folder with other files in it; name another with --output", dir)
}

// takesEscapes tells whether a terminal is to get escape sequences.
func takesEscapes() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// summarise prints one screen, of which some rows are used already, partly by
// warnings, and the path of the report.
func summarise(s streams, r *analysis.Result, path string, used int, shown []fact.Fact) error {
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
