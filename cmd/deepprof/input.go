package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// inputKind is what a path turned out to hold, judged by its content: people
// rename files.
type inputKind string

const (
	inputTimeline  inputKind = "timeline" // SQLite export, .nsys-rep or .qdrep
	inputCounters  inputKind = "counters" // .ncu-rep
	inputCSV       inputKind = "CSV"      // of ncu or of nsys stats
	inputDirectory inputKind = "folder"
	inputPack      inputKind = "packed run"
	inputUnknown   inputKind = "unknown" // the reader that is asked says what is wrong
)

var magics = []struct {
	magic string
	kind  inputKind
}{
	{"SQLite format 3\x00", inputTimeline},
	{"NVIDIA Tegra Profiler Report ", inputTimeline},
	{"NVR\x00", inputCounters},
	{"\x28\xb5\x2f\xfd", inputPack},
}

// inspect looks at a path before anything opens it: opening a pipe waits for its
// writer, and no signal ends that. It is a folder or a regular file.
func inspect(path string) (fs.FileInfo, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, usage(err)
	case st.Mode()&fs.ModeNamedPipe != 0:
		return nil, usagef("read %s: it is a pipe, and reports are read from files; write it to one and name that", path)
	case !st.IsDir() && !st.Mode().IsRegular():
		return nil, usagef("read %s: it is no regular file; name a report, or a run", path)
	}
	return st, nil
}

// sniff tells what a path holds.
func sniff(path string) (inputKind, error) {
	st, err := inspect(path)
	switch {
	case err != nil:
		return "", err
	case st.IsDir():
		return inputDirectory, nil
	case st.Size() == 0:
		return "", fmt.Errorf("read %s: the file is empty; the capture that should have written it failed", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", usage(err)
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	head = head[:n]
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind, nil
		}
	}
	if !bytes.ContainsRune(head, 0) && bytes.ContainsRune(head, ',') && !isJSON(head) {
		return inputCSV, nil
	}
	if strings.HasSuffix(path, ".ncu-rep") { // its reader says what is wrong
		return inputCounters, nil
	}
	return inputUnknown, nil
}

// noReport refuses a text that has commas, and is of no tool; nil for CSV of one.
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

// isJSON tells the beginning of a JSON document. What a program printed before
// the rows of ncu may begin like one, but goes on as something else.
func isJSON(head []byte) bool {
	if text := bytes.TrimSpace(head); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(head))
	var first json.RawMessage
	err := d.Decode(&first)
	if err == nil {
		_, err = d.Token()
		return errors.Is(err, io.EOF)
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// named gives the path that a person means: a file or folder, or a run of the
// store ./runs by its id or as "latest".
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

// nameAll is named for each of several.
func nameAll(paths []string) (err error) {
	for i := range paths {
		if paths[i], err = named(paths[i]); err != nil {
			return err
		}
	}
	return nil
}

// A source is what a view reads: a file, or those of a run.
type source struct {
	kind  inputKind // of the files
	files []string  // one, but for the counters of a run
	dir   string    // the folder or the unpacked run that holds them; "" for a file that was named
	done  func()    // gives it back
}

// locate gives what a view reads: path itself, or what a run folder or a packed
// run holds. The caller calls done when it has read it.
func locate(ctx context.Context, path string, want inputKind) (*source, error) {
	kind, err := sniff(path)
	s := &source{kind: kind, files: []string{path}, done: func() {}}
	switch {
	case err != nil:
		return nil, err
	case kind == inputDirectory:
		s.dir = path
	case kind == inputPack:
		r, err := runs.Open(ctx, path)
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
func (s *source) notes() []string {
	if s.dir == "" {
		return nil
	}
	if m, err := runs.ReadManifest(s.dir); err == nil && m.Recorded != nil {
		return []string{report.RecordedRun}
	}
	return nil
}

// one is the file of a source for what takes no more than one.
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

// within is the path of a file in a folder, as reports write it.
func within(dir, file string) string {
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(name)
}

// find gives the files of a run folder, or of any folder, that a view reads: of
// a run all counters. Other candidates are the caller's to choose from. Messages
// name the folder as path.
func find(dir, path string, want inputKind) ([]string, error) {
	var patterns []string
	switch want {
	case inputTimeline:
		patterns = []string{"nsys/*.sqlite", "nsys/*.nsys-rep", "*.sqlite", "*.nsys-rep"}
	case inputCounters:
		patterns = []string{"ncu/*.ncu-rep", "ncu/*/*.ncu-rep", "*.ncu-rep"}
		if in, err := analysis.FromRun(dir); err == nil && len(in.Counters) > 0 && filepath.Ext(in.Counters[0]) == ".ncu-rep" {
			for _, file := range in.Counters {
				if _, err := inspect(file); err != nil {
					return nil, err
				}
			}
			return in.Counters, nil
		}
	}
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			return nil, fmt.Errorf("look into %s: %w", path, err)
		}
		if len(found) > 1 {
			return nil, usagef("%s holds several %s; name one: %s", path, p, strings.Join(found, ", "))
		}
		if len(found) == 1 {
			_, err := inspect(found[0])
			return found, err
		}
	}
	if parquet, _ := filepath.Glob(filepath.Join(dir, "*.parquet")); len(parquet) > 0 {
		return nil, usagef("%s is a Parquet export, which deepprof does not read; make an SQLite one: nsys export --type=sqlite REPORT.nsys-rep", path)
	}
	if made, err := pipeline.ReadResult(filepath.Join(dir, pipeline.ResultFile)); err == nil && made.Source.Run == "" && len(made.Source.Files) > 0 {
		var files []string
		for _, f := range made.Source.Files {
			files = append(files, f.Path)
		}
		return nil, usagef("%s holds an analysis and no %s; name what it was made from: %s", path, want, strings.Join(files, ", "))
	}
	return nil, usagef("%s holds no %s (looked for %s)", path, want, strings.Join(patterns, ", "))
}
