package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// indexName is a cache of what List shows, in the store. Nothing depends on it: a
// row counts only if the run's folder and manifest are those that it was made
// from, and a store without it, or with a damaged one, is read run by run.
const indexName = ".index.json"

// indexedRuns is the number of runs from which a store gets an index.
const indexedRuns = 100

const indexSchema = 1

type index struct {
	Schema int                 `json:"schema"`
	Rows   map[string]indexRow `json:"rows"` // by the name of the run's folder
}

// indexRow is a run that has ended. Of others the process decides what to show.
type indexRow struct {
	Stamp   stamp   `json:"stamp"`
	Summary Summary `json:"summary"` // Path is set when it is read
}

// stamp identifies the state of a run's folder.
type stamp struct {
	Inode  uint64 `json:"inode"` // of the manifest, which every change replaces
	Size   int64  `json:"size"`
	Time   int64  `json:"time"`   // of the manifest, in nanoseconds
	Folder int64  `json:"folder"` // time of the folder
}

func stampOf(dir string) (stamp, bool) {
	m, err := os.Lstat(filepath.Join(dir, ManifestName))
	if err != nil || !m.Mode().IsRegular() {
		return stamp{}, false
	}
	d, err := os.Lstat(dir)
	if err != nil {
		return stamp{}, false
	}
	return stamp{Inode: inode(m), Size: m.Size(), Time: m.ModTime().UnixNano(), Folder: d.ModTime().UnixNano()}, true
}

func readIndex(root string) index {
	x := index{Schema: indexSchema}
	if data, err := readRegular(filepath.Join(root, indexName), maxManifest); err == nil {
		var stored index
		if json.Unmarshal(data, &stored) == nil && stored.Schema == indexSchema {
			x = stored
		}
	}
	if x.Rows == nil {
		x.Rows = map[string]indexRow{}
	}
	return x
}

// summaries lists the runs of a store, newest first, through its index.
func summaries(root string) ([]Summary, []Warning, error) {
	if root == "" {
		root = DefaultRoot
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, fmt.Errorf("list runs: %w", err)
	}
	entries, err := os.ReadDir(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list runs: %w", err)
	}
	sweepHalfMade(abs, entries)
	old, next := index{}, index{Schema: indexSchema, Rows: map[string]indexRow{}}
	if len(entries) >= indexedRuns {
		old = readIndex(abs)
	}
	var out []Summary
	warnings := []Warning{}
	changed := false
	for _, e := range entries {
		// Links are not followed: what they point to is listed, and cleaned, where it is.
		if !e.IsDir() || !isRunName(e.Name()) {
			continue
		}
		dir := filepath.Join(abs, e.Name())
		now, ok := stampOf(dir)
		if row, hit := old.Rows[e.Name()]; ok && hit && row.Stamp == now {
			next.Rows[e.Name()] = row
			row.Summary.Path = dir
			out = append(out, row.Summary)
			continue
		}
		r, warning := openListed(filepath.Join(root, e.Name()), e.Name())
		if warning != nil {
			warnings = append(warnings, *warning)
		}
		if r == nil {
			continue
		}
		s := summarise(r)
		out = append(out, s)
		if ok && r.m.Status != StatusRunning {
			s.Path = ""
			next.Rows[e.Name()] = indexRow{now, s}
			changed = true
		}
	}
	if len(next.Rows) >= indexedRuns && (changed || len(next.Rows) != len(old.Rows)) {
		if data, err := json.Marshal(next); err == nil {
			_ = writeFileAtomic(filepath.Join(abs, indexName), data) // a store that cannot be written is read run by run
		}
	}
	slices.SortStableFunc(out, func(a, b Summary) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return out, warnings, nil
}

// openListed opens a folder of a store; nil where it is none of a run.
func openListed(path, name string) (*Run, *Warning) {
	r, err := openDir(path)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, fs.ErrNotExist):
		// Removed while we looked.
	case errors.Is(err, ErrNotRun) && !ValidID(name):
		// Somebody else's folder.
	default:
		return nil, &Warning{path, strings.TrimPrefix(err.Error(), "open run: ")}
	}
	return nil, nil
}

// newest finds the run that was created last. Names that are ids sort by time to
// the second; of those only the last second is read. Folders with names of the
// user's are told by their manifests.
func newest(root string, names []string) (string, error) {
	ids := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !ValidID(n) })
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	best, when := "", Manifest{}.Created
	try := func(name string) {
		if m, err := ReadManifest(filepath.Join(root, name)); err == nil && m.Created.After(when) {
			best, when = filepath.Join(root, name), m.Created
		}
	}
	second := ""
	for _, id := range ids {
		at, _, _ := strings.Cut(id, "-")
		if best != "" && at != second {
			break
		}
		second = at
		try(id)
	}
	var rows map[string]indexRow
	if len(names)-len(ids) >= indexedRuns {
		rows = readIndex(root).Rows
	}
	for _, name := range names {
		if ValidID(name) {
			continue
		}
		if row, ok := rows[name]; ok {
			if now, ok := stampOf(filepath.Join(root, name)); ok && now == row.Stamp && !row.Summary.Created.After(when) {
				continue
			}
		}
		try(name)
	}
	if best == "" {
		return "", fmt.Errorf("find the latest run: %s holds no run", root)
	}
	return best, nil
}
