package analysis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/timeline"
)

// FromFolder finds the inputs among the files of a folder that is no run, by what
// they hold: timelines, of which an export goes before its report, and reports of
// counters; CSV of ncu where there are none. Compressed files count. The input
// is empty where the folder has none of them.
func FromFolder(dir string) (Input, error) {
	var in Input
	entries, err := os.ReadDir(dir)
	if err != nil {
		return in, fmt.Errorf("analyze folder: %w", err)
	}
	var exports, reports, tables, broken []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		f, err := format.Recognize(filepath.Join(dir, e.Name()))
		if err != nil {
			return in, fmt.Errorf("analyze folder: %w", err)
		}
		switch f.Kind {
		case format.SQLite:
			exports = append(exports, f.Path)
		case format.NsysReport:
			reports = append(reports, f.Path)
		case format.NcuReport:
			in.Counters = append(in.Counters, f.Path)
		case format.NcuCSV:
			tables = append(tables, f.Path)
		default:
			if IsRankFile(f.Path) {
				broken = append(broken, f.Path)
			}
		}
	}
	if len(in.Counters) == 0 {
		in.Counters = tables
	}
	in.Timelines = withoutExported(exports, reports)
	if len(in.Timelines) > 0 {
		in.Timelines = withoutExported(in.Timelines, broken)
	}
	return in, nil
}

// IsRankFile tells by its name alone that a file is to be the timeline of a rank:
// where it holds something else, it cannot be read, and is not passed over.
func IsRankFile(path string) bool {
	switch format.Named(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")) {
	case format.SQLite, format.NsysReport:
		return timeline.IdentityOfName(format.BaseName(path)).Rank != nil
	}
	return false
}

// refuseUnused fails where a file was given by name and nothing of it is in the
// result.
func (a *analyzer) refuseUnused() error {
	if a.in.Run != "" {
		return nil
	}
	given := []string{a.in.Targets, a.in.Operators}
	for _, path := range a.in.Metrics {
		given = append(given, path)
	}
	slices.Sort(given)
	for _, path := range given {
		if path == "" || a.notes.used(path) {
			continue
		}
		e := &UnusedError{Path: path, Why: errors.New("nothing of it fits the other files")}
		if path == a.in.Targets {
			e.Why = errors.New("it was made from another timeline; give the one that it was made from")
		}
		if broken := a.notes.of(fileUnreadable); len(broken) == 1 {
			e.Why = errors.New(broken[0].Text("error"))
		}
		return e
	}
	return nil
}
