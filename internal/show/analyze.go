package show

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// An Analysis is what analyze is asked for.
type Analysis struct {
	Paths   []string // as they were typed; not empty
	Version string   // of this program
	Output  string   // folder of the reports; "" is that of the input
	Print   bool     // the result is printed and nothing is written
	Regions []string // NVTX expressions; none is the scope of the run, or the default
	Whole   bool     // the whole timeline is counted
	Rules   string   // folder of categories.rules; "" for none
	// Baseline is a run or capture that the numbers of the page are held against; "" for
	// none. Analyze makes the result of it.
	Baseline string
	Analyze  func(ctx context.Context, command string, paths []string) (*analysis.Result, error)
	// Categories sorts kernels; it is asked only where something is analyzed.
	Categories func() (*analysis.Categories, error)
	Model      ModelShape
}

// ModelShape is what analyze needs to count the work of a config.json.
type ModelShape struct {
	Shape   flops.Shape           // tokens and sequences; 0 is not given
	Regions analysis.ModelRegions // "" is the region of that name
	Given   []string              // flags of the shape that were given, in any order
}

// Analyzed is what came of it.
type Analyzed struct {
	Result   *analysis.Result
	Told     []analysis.Note // of the inputs, which a person must see at once
	Dir      string          // where the reports are; "" where none were written
	Replaced bool            // an earlier analysis stood there
}

// Do analyzes what the paths name and writes the reports. What is wrong with the
// request comes back as a UsageError, before anything slow starts.
// It changes a.Paths: names become paths. Nothing is written where Print is set.
func (a *Analysis) Do(ctx context.Context) (*Analyzed, error) {
	if err := NameAll(a.Paths); err != nil {
		return nil, err
	}
	if st, err := os.Stat(a.Rules); a.Rules != "" && (err != nil || !st.IsDir()) {
		return nil, usagef("analyze --config-dir %s: there is no such folder", a.Rules)
	}
	in, err := OpenInput(ctx, "analyze", a.Version, a.Paths)
	if err != nil {
		return nil, err
	}
	defer in.Done()
	if err := a.check(in); err != nil {
		return nil, err
	}
	dir := in.Folder
	if a.Output != "" {
		dir = a.Output
	}
	if !a.Print {
		if err := mayWrite(dir, in.Folder); err != nil {
			return nil, err
		}
		if err := in.MayReplace(dir); a.Output == "" && err != nil {
			return nil, err
		}
	}
	made := &Analyzed{}
	in.In.Events = !a.Print
	if made.Result, err = in.Result(ctx, a.Categories); err != nil {
		return nil, err
	}
	for _, w := range made.Result.Warnings {
		if w.Is(analysis.ChangedFile, analysis.OtherCapture) {
			made.Told = append(made.Told, w)
		}
	}
	if a.Print {
		return made, nil
	}
	if in.Drawn == "" {
		made.Result.Source.Origin = in.Origin
	}
	if a.Baseline != "" {
		base, err := a.Analyze(ctx, "analyze --baseline", []string{a.Baseline})
		if err != nil {
			return nil, err
		}
		made.Result.HoldAgainst(filepath.Base(a.Baseline), base)
	}
	made.Dir, made.Replaced = dir, isFile(filepath.Join(dir, runs.ResultName))
	return made, writeReports(ctx, dir, in.Folder, made.Result)
}

// check refuses what cannot be done with an input.
// Errors are UsageErrors. It changes in: the scope and the counted model.
func (a *Analysis) check(in *AnalysisInput) error {
	if err := a.Model.count(in); err != nil {
		return err
	}
	if err := in.Scope(a.Regions, a.Whole); err != nil {
		return err
	}
	if in.Drawn != "" && a.Rules != "" {
		return usagef("analyze: %s is drawn as it is; give the run, or the files that it was made from, with --config-dir", in.Drawn)
	}
	return nil
}

// writeReports fills a folder; own is that of the input, perhaps a run, whose manifest
// is kept true.
// A folder that cannot be written is a UsageError, because --output names another.
func writeReports(ctx context.Context, dir, own string, r *analysis.Result) (err error) {
	if dir == own {
		_, err = folder.Rewrite(ctx, dir, r)
	} else {
		_, err = folder.Write(dir, r)
	}
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EROFS) {
		return usagef("%w; name another folder with --output DIR", err)
	}
	return err
}

// count counts the work of the model. A shape means nothing without a config.json, and
// that nothing without a shape.
func (m *ModelShape) count(in *AnalysisInput) error {
	if in.In.Model == "" {
		if len(m.Given) > 0 {
			return usagef("analyze --%s: there is no config.json of a model to count; give it beside the timeline", m.Given[0])
		}
		return nil
	}
	var missing []string
	for _, part := range []struct {
		name string
		n    int64
	}{{"prompt", m.Shape.Prompt}, {"new", m.Shape.New}, {"batch", m.Shape.Batch}} {
		switch {
		case part.n < 0 || part.n == 0 && slices.Contains(m.Given, part.name):
			return usagef("analyze --%s %d: want at least 1", part.name, part.n)
		case part.n == 0:
			missing = append(missing, "--"+part.name+" N")
		}
	}
	if len(missing) > 0 {
		return usagef("analyze: the work of %s depends on the shape; add --prompt N and --new N, the tokens of each sequence (missing: %s)", in.In.Model, strings.Join(missing, ", "))
	}
	if err := in.In.CountModel(m.Shape, m.Regions); err != nil {
		return usage(err)
	}
	return nil
}
