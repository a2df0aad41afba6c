package show

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// An AnalysisInput is what the arguments of analyze name.
// Either Drawn or In is used. The caller calls Done once, after the last use of In.
type AnalysisInput struct {
	// In is complete: every path in it exists and was recognized.
	In    analysis.Input
	Drawn string // a result.json that is taken as it is
	// a run's own folder, that of a result.json, or NAME.deepprof for files and packs
	Folder string   // where the reports belong
	Origin string   // of files and packed runs: see analysis.Source
	names  []string // of the files, as the result has them
	// command is what was typed, for messages.
	command string
	// Done lets go of what was opened, such as an unpacked run; never nil.
	Done func()
}

// Scope takes what the command line says of the part to count.
// Without either the scope of the run, or the default of the analysis, stays.
// Errors are UsageErrors. Call it before Result.
func (a *AnalysisInput) Scope(regions []string, whole bool) error {
	switch {
	case len(regions) == 0 && !whole:
		return nil
	case len(regions) > 0 && whole:
		return usagef("analyze: --region and --whole exclude each other")
	case a.Drawn != "":
		return usagef("analyze: %s is drawn as it is; give the run, or the timeline, with --region or --whole", a.Drawn)
	case len(a.In.Timelines) == 0:
		return usagef("analyze: --region and --whole choose from a timeline, and there is none")
	}
	a.In.Include, a.In.Exclude, a.In.Asked, a.In.DefaultScope = regions, nil, len(regions) > 0, false
	return nil
}

// Result analyzes the input; kernels are sorted by the categories. A result.json is
// read as it is.
// Mistakes of the caller come back as UsageError, damage as the errors of the readers.
func (a *AnalysisInput) Result(ctx context.Context, categories func() (*analysis.Categories, error)) (*analysis.Result, error) {
	if a.Drawn != "" {
		return folder.Read(a.Drawn)
	}
	var err error
	if a.In.Categories, err = categories(); err != nil {
		return nil, err
	}
	result, err := analysis.Analyze(ctx, a.In)
	var scope *analysis.ScopeError
	var unused *analysis.UnusedError
	if errors.As(err, &unused) {
		return nil, usagef("%s: %w", cmp.Or(a.command, "analyze"), unused)
	}
	if errors.As(err, &scope) {
		return nil, usagef("analyze %s: --region: %w", a.In.Timelines[0], scope)
	}
	if errors.Is(err, ncurep.ErrNoTable) {
		err = cmp.Or(noReport(a.command, a.In.Counters[0]), err)
	}
	return result, err
}

// MayReplace refuses to replace the analysis of other files in a folder that
// nobody named: report.sqlite and report.ncu-rep both belong into
// report.deepprof, and so do the files of that name in other folders. Whoever adds a file, or has made one anew, means that folder.
// nil also where the earlier analysis cannot be read. The error is a UsageError.
func (a *AnalysisInput) MayReplace(dir string) error {
	if a.Drawn != "" || dir == a.In.Run {
		return nil
	}
	before, err := folder.Read(filepath.Join(dir, runs.ResultName))
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
	switch packed := a.In.Run != ""; {
	case before.Source.Origin != "" && before.Source.Origin != a.Origin:
		of += " in another folder"
	case before.Source.Run != "" && !packed:
		of = "a packed run"
	case before.Source.Run != "" || !packed && !others:
		return nil
	}
	return usagef("analyze: %s holds the analysis of %s; name another folder with --output DIR, or that one to replace it", dir, of)
}

// originOf is a digest of the folder that a file lies in.
// It tells folders apart without storing a path of the user.
// It has 16 hexadecimal digits. Links are followed, so that one folder has one digest.
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

// OpenInput sorts the paths by what they hold; version is that of the program. A run stands alone.
// paths must not be empty. An error means that nothing stays open.
func OpenInput(ctx context.Context, command, version string, paths []string) (*AnalysisInput, error) {
	a := &AnalysisInput{command: command, Done: func() {}}
	a.Folder, a.Origin = format.BaseName(paths[0])+".deepprof", originOf(paths[0])
	for _, path := range paths {
		kind, err := Recognize(path)
		if err != nil && (len(paths) < 2 || !analysis.IsRankFile(path)) { // the analysis names a rank that cannot be read
			return nil, err
		}
		a.names = append(a.names, filepath.Base(path))
		switch {
		case kind == Folder || kind == Pack:
			if len(paths) > 1 {
				return nil, usagef("%s: %s is a run; it goes alone", command, path)
			}
			return openRun(ctx, command, version, path, kind)
		case kind == Result && len(paths) > 1:
			return nil, usagef("%s: %s is an analysis already; it goes alone", command, path)
		case kind == Result:
			a.Drawn, a.Folder = path, filepath.Dir(path)
		default:
			err = a.In.Add(path)
		}
		switch {
		case err != nil && kind == Unknown:
			return nil, err
		case err != nil:
			return nil, usage(err)
		}
	}
	a.In.Version, a.In.DefaultScope = version, true
	return a, nil
}

// openRun takes a run, or a folder that holds reports.
// Reports of a folder that is not laid out like a run go into a folder of the working
// directory.
func openRun(ctx context.Context, command, version, path string, kind Kind) (*AnalysisInput, error) {
	a := &AnalysisInput{Folder: path, command: command, Done: func() {}}
	dir := path
	if kind == Pack {
		r, err := runs.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		dir, a.Done = r.Dir(), func() { r.Close() }
		a.Folder, a.Origin = strings.TrimSuffix(filepath.Base(path), runs.PackExt)+".deepprof", originOf(path)
	}
	in, err := analysis.FromRun(dir)
	if drawn := filepath.Join(dir, runs.ResultName); err == nil && in.Empty() && isFile(drawn) {
		a.Drawn = drawn // what analyze wrote
		return a, nil
	}
	if err == nil && in.Empty() && kind == Folder {
		if in, err = analysis.FromFolder(dir); err != nil {
			err = usage(err)
		}
		a.Folder = folderName(path) + ".deepprof" // somebody else's folder is not filled with reports
	}
	if err == nil && in.Empty() {
		err = usagef("%s: %s holds neither a timeline nor counters (looked for nsys/*.sqlite, nsys/*.nsys-rep, ncu/*.ncu-rep, *.sqlite, *.nsys-rep, *.ncu-rep)", command, path)
	}
	if err != nil {
		a.Done()
		return nil, err
	}
	in.Version, in.DefaultScope = version, true
	a.In = in
	return a, nil
}

// folderName is the name of a folder, also of ".".
func folderName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// isFile is false for a folder, a pipe and what does not exist.
func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// mayWrite refuses to fill a folder of somebody else's with reports: one that
// is neither the run itself, nor empty, nor made by an earlier analysis.
// dir is where reports go, own is the folder of the input. The error is a UsageError.
func mayWrite(dir, own string) error {
	if dir == own {
		if _, err := os.Stat(filepath.Join(dir, runs.ManifestName)); err == nil {
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
	if _, err := os.Stat(filepath.Join(dir, runs.ResultName)); err == nil {
		return nil
	}
	return usagef("analyze: %s is a folder with other files in it; name another with --output", dir)
}
