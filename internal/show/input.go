package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// Kind is what a path holds, as far as commands differ: internal/format tells more of it.
type Kind string

// Kinds of input. The words stand in messages.
const (
	Timeline Kind = "timeline" // SQLite export, .nsys-rep or .qdrep
	Counters Kind = "counters" // .ncu-rep
	CSV      Kind = "CSV"      // of ncu or of nsys stats
	Result   Kind = "result"
	Folder   Kind = "folder"
	Pack     Kind = "packed run"
	Facts    Kind = "facts"   // JSON that one of our steps wrote, or a model's configuration
	Unknown  Kind = "unknown" // the reader that is asked says what is wrong
)

// inspect looks at a path before anything opens it: it is a folder or a regular
// file.
// An error is a UsageError, also for a pipe or a device, which nobody may open blindly.
func inspect(path string) (fs.FileInfo, error) {
	st, err := format.Inspect(path)
	if err != nil {
		return nil, usage(err)
	}
	return st, nil
}

// Recognize tells what a path holds.
// A folder is Folder whatever it holds. An empty file is an error, not a Kind.
// It reads little of a file and never blocks. A path that does not exist is a UsageError.
func Recognize(path string) (Kind, error) {
	f, err := format.Recognize(path)
	if err != nil {
		return "", usage(err)
	}
	switch {
	case f.Kind == format.Empty:
		return "", fmt.Errorf("read %s: the file is empty; the capture that should have written it failed", path)
	case f.Kind == format.Pack:
		return Pack, nil
	case f.Kind == format.Result:
		return Result, nil
	case f.Holds == format.Captures:
		return Folder, nil
	case f.Holds == format.Timeline:
		return Timeline, nil
	case f.Holds == format.Counters, f.Kind == format.Unknown && format.Named(path) == format.NcuReport: // its reader says what is wrong
		return Counters, nil
	case f.Holds == format.Table:
		return CSV, nil
	case f.Holds == format.Facts:
		return Facts, nil
	}
	return Unknown, nil
}

// noReport refuses a text that has commas, and is of no tool; nil for CSV of one. It reads the
// file again, which only a refusal does.
func noReport(command, path string) error {
	if _, err := ncurep.ReadCSVFile(path); !errors.Is(err, ncurep.ErrNoTable) {
		return nil
	}
	if _, err := nsys.ReadStatsCSVFile(path); !errors.Is(err, nsys.ErrNoStats) {
		return nil
	}
	return usagef("%s %s: the file is neither a report nor CSV of nsys or ncu; "+
		"name an .sqlite, a .nsys-rep, an .ncu-rep, a run, or what 'nsys stats --format csv' or 'ncu --csv' printed", command, path)
}

// named gives the path that a person means: a file or folder, or a run of the
// store ./runs by its id or as "latest".
// A path that exists wins over a run of that name. A name that is neither comes back as it is:
// the reader says that it does not exist.
func named(path string) (string, error) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	run, err := runs.Resolve(runs.DefaultRoot, path)
	switch {
	case err == nil:
		return run, nil
	case path == "latest":
		return "", usagef("%w; deepprof run and deepprof demo make one", err)
	}
	return path, nil
}

// NameAll puts in place of each name the path that a person means: see named. It changes
// paths, and ends at the first that stands for nothing.
func NameAll(paths []string) (err error) {
	for i := range paths {
		if paths[i], err = named(paths[i]); err != nil {
			return err
		}
	}
	return nil
}

// A source is what a view reads: a file, or those of a run. Who has one calls done once, also
// after an error.
type source struct {
	kind  Kind     // of the files
	files []string // one, but for the counters of a run
	dir   string   // the folder or the unpacked run that holds them; "" for a file that was named
	done  func()   // gives it back
	// a note for people; nil where there is only one
	which []string // which of several files is read
}

// choose leaves the timeline of a rank, by its number, or of a file, by its name;
// "" takes the one that the details of the result are about.
// It leaves one file in s.files.
// An unknown part is a UsageError that names the timelines there are.
func (s *source) choose(part string) error {
	if len(s.files) == 1 && part == "" {
		return nil
	}
	in := analysis.Input{Timelines: s.files, Counters: runs.Files(s.dir, runs.CountersFile), Identities: runs.Identities(s.dir)}
	all := in.Ordered()
	names := make([]string, len(all))
	for i, file := range all {
		names[i] = within(s.dir, file)
		id := in.Identity(file)
		if part == "" || part == names[i] || part == filepath.Base(file) || id.Rank != nil && part == strconv.Itoa(*id.Rank) {
			s.files = all[i : i+1]
			if len(all) > 1 {
				s.which = []string{message.Phrase("timeline-part-shown", len(all), cmp.Or(message.Identity(id), within(s.dir, file)))}
			}
			return nil
		}
	}
	return usagef("--part %q: there are the timelines %s", part, strings.Join(names, ", "))
}

// packed are the files of a packed run that a view reads; others are not unpacked.
var packed = map[Kind][]runs.FileKind{Timeline: {runs.TimelineFile, runs.TimelineReportFile}, Counters: {runs.CountersFile}}

// locate gives what a view reads: path itself, or what a run folder or a packed
// run holds. The caller calls done when it has read it.
// An error leaves nothing unpacked. A file that is named comes back whatever it holds: the
// caller compares its kind with what it wants.
func locate(ctx context.Context, path string, want Kind) (*source, error) {
	kind, err := Recognize(path)
	s := &source{kind: kind, files: []string{path}, done: func() {}}
	switch {
	case err != nil:
		return nil, err
	case kind == Folder:
		s.dir = path
	case kind == Pack:
		r, err := runs.OpenWith(ctx, path, runs.UnpackOptions{Only: packed[want]})
		if err != nil {
			return nil, err
		}
		s.dir, s.done = r.Dir(), func() { r.Close() } // the run is a copy that nobody needs any more
	default:
		return s, nil
	}
	s.kind = want
	if s.files, err = find(s.dir, path, want); err != nil {
		s.done()
		return nil, err
	}
	return s, nil
}

// notes are what holds for every view of a run.
// A run that replayed a recording says so in every view.
// A manifest that cannot be read gives no note and no error.
func (s *source) notes() []string {
	if s.dir == "" {
		return s.which
	}
	if m, err := runs.ReadManifest(s.dir); err == nil && m.Recorded != nil {
		return append([]string{report.RecordedRun()}, s.which...)
	}
	return s.which
}

// one is the file of a source for what takes no more than one. Its error names the others,
// in a way that can be typed again.
func (s *source) one(path, what string) (string, error) {
	if len(s.files) == 1 {
		return s.files[0], nil
	}
	names, first := s.files, ""
	if s.dir != path { // a pack, in which they have no path
		names, first = nil, "unpack it (tar --zstd -xf) and "
		for i := range s.files {
			names = append(names, s.name(i))
		}
	}
	return "", usagef("%s %s: the run holds several reports, and this prints one: %sname one of %s", what, path, first, strings.Join(names, ", "))
}

// name is that of a file within its run; "" where there is no other to confuse
// it with.
func (s *source) name(i int) string {
	if len(s.files) == 1 {
		return ""
	}
	return within(s.dir, s.files[i])
}

// within is the path of a file in a folder, as reports write it: with slashes. A file
// elsewhere keeps its path.
func within(dir, file string) string {
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(name)
}

// find gives the files of a run folder, or of any folder, that a view reads: all
// timelines, and of a run all counters. Messages name the folder as path.
// Errors are UsageErrors. Several reports of counters that lie loose in a folder are refused,
// because nothing says that they belong together.
func find(dir, path string, want Kind) ([]string, error) {
	for _, found := range candidates(dir, want) {
		switch {
		case len(found) == 0:
			continue
		case len(found) > 1 && want == Counters && filepath.Dir(found[0]) == filepath.Clean(dir):
			return nil, usagef("%s holds several reports of counters; name one: %s", path, strings.Join(found, ", "))
		}
		for _, file := range found {
			if _, err := inspect(file); err != nil {
				return nil, err
			}
		}
		return found, nil
	}
	return nil, notFound(dir, path, want)
}

// candidates are the files that a folder has of a kind, the preferred ones first.
// Only the first list that is not empty is taken.
func candidates(dir string, want Kind) [][]string {
	switch want {
	case Timeline:
		return [][]string{
			runs.Files(dir, runs.TimelineFile), runs.Files(dir, runs.TimelineReportFile), ending(dir, ".sqlite"), ending(dir, ".nsys-rep"),
		}
	case Counters:
		return [][]string{runs.Files(dir, runs.CountersFile), ending(dir, ".ncu-rep")}
	}
	return nil
}

// ending lists what lies in a folder under names that end so, or so and the
// ending of a compression.
// It does not look into folders; order is that of the names.
func ending(dir, ext string) []string {
	entries, _ := os.ReadDir(dir)
	var found []string
	for _, e := range entries {
		name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".gz"), ".zst")
		if strings.HasSuffix(name, ext) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found
}

// notFound says what a folder holds instead of what was wanted, where that tells what to
// name: a Parquet export, or an analysis whose captures lie elsewhere.
func notFound(dir, path string, want Kind) error {
	if len(ending(dir, ".parquet")) > 0 {
		return usagef("%s is a Parquet export, which deepprof does not read; make an SQLite one: nsys export --type=sqlite REPORT.nsys-rep", path)
	}
	if made, err := folder.Read(filepath.Join(dir, runs.ResultName)); err == nil && made.Source.Run == "" && len(made.Source.Files) > 0 {
		var files []string
		for _, f := range made.Source.Files {
			files = append(files, f.Path)
		}
		return usagef("%s holds an analysis and no %s; name what it was made from: %s", path, want, strings.Join(files, ", "))
	}
	looked := map[Kind]string{Timeline: "nsys/*.sqlite, nsys/*.nsys-rep, *.sqlite, *.nsys-rep", Counters: "ncu/*.ncu-rep, ncu/*/*.ncu-rep, *.ncu-rep"}[want]
	return usagef("%s holds no %s (looked for %s)", path, want, looked)
}
