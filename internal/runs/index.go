package runs

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deepprof/deepprof/internal/fact"
)

// indexName is a cache of what List shows, in the store: a line of JSON for each
// run that has ended, of which the last counts. Nothing depends on it: a line
// counts only if the run's folder and manifest are those that it was made from, and
// a store without it, or with a damaged one, is read run by run. Runs add their
// line when they end, so that a list seldom has to.
const indexName = ".index.json"

// indexedRuns is the number of runs from which a store gets an index.
const indexedRuns = 100

// indexSchema changes with the meaning of a row: an index of another schema is made anew.
const indexSchema = 2

// maxIndex bounds what is read of an index: about 200,000 runs.
const maxIndex = 256 << 20

// indexRow is a run that has ended. What to show of a running one depends on its process.
type indexRow struct {
	Schema  int     `json:"schema"`
	Name    string  `json:"name"` // of the run's folder
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

// It is false if the manifest is no plain file or cannot be seen.
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

// readIndex gives the rows by the names of their folders, and the number of lines
// that they were read from.
// Lines that cannot be read, or of another schema, count as lines and give no row.
func readIndex(root string) (rows map[string]indexRow, lines int) {
	rows = map[string]indexRow{}
	f, err := openRegular(filepath.Join(root, indexName))
	if err != nil {
		return rows, 0
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, maxIndex))
	in.Buffer(make([]byte, 0, 64<<10), maxManifest)
	for ; in.Scan(); lines++ {
		var row indexRow
		if json.Unmarshal(in.Bytes(), &row) == nil && row.Schema == indexSchema {
			rows[row.Name] = row
		}
	}
	return rows, lines
}

// addToIndex appends rows. A line that a killed process left half written costs
// the one that follows it, which is then read from its folder again.
// Several processes may append at once: each writes its lines with one call.
func addToIndex(root string, rows []indexRow) {
	var text bytes.Buffer
	text.Grow(len(rows) << 10)
	for i := range rows {
		if json.NewEncoder(&text).Encode(&rows[i]) != nil {
			return
		}
	}
	f, err := os.OpenFile(filepath.Join(root, indexName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return // a store that cannot be written is read run by run
	}
	_, _ = f.Write(text.Bytes())
	_ = f.Close()
}

// enterIndex adds a run that has ended to the index of its store, and makes one
// if the store has become large.
// It never fails: the index is only a cache.
func enterIndex(dir string) {
	root, name := filepath.Split(dir)
	if _, err := os.Lstat(filepath.Join(root, indexName)); err != nil {
		if entries, err := os.ReadDir(root); err == nil && countRuns(entries) >= indexedRuns {
			_, _, _ = summaries(root)
		}
		return
	}
	if x := examine(root, name); x.row != nil {
		addToIndex(root, []indexRow{*x.row})
	}
}

// countRuns counts folders that are named like runs.
func countRuns(entries []os.DirEntry) (n int) {
	for _, e := range entries {
		if e.IsDir() && ValidID(e.Name()) {
			n++
		}
	}
	return n
}

// summaries lists the runs of a store, newest first, through its index.
// It also removes runs that were never finished being made. Runs of equal time are in
// the order of their ids, the last first.
func summaries(root string) ([]Summary, []Warning, error) {
	root = cmp.Or(root, DefaultRoot)
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
	var rows map[string]indexRow
	lines := 0
	if len(entries) >= indexedRuns {
		rows, lines = readIndex(abs)
	}
	var out []Summary
	var misses []string
	for _, e := range entries {
		// Links are not followed: what they point to is listed, and cleaned, where it is.
		if !e.IsDir() || !isRunName(e.Name()) {
			continue
		}
		dir := filepath.Join(abs, e.Name())
		row, hit := rows[e.Name()]
		if now, ok := stampOf(dir); hit && ok && row.Stamp == now {
			row.Summary.Path = dir
			out = append(out, row.Summary)
			continue
		}
		misses = append(misses, e.Name())
	}
	seen, warnings, fresh := examineAll(root, misses)
	hits := len(out)
	out = append(out, seen...)
	updateIndex(abs, rows, lines, hits, fresh)
	slices.SortStableFunc(out, func(a, b Summary) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
	})
	return out, warnings, nil
}

// updateIndex adds what a list found out. An index of which more than a third is
// out of date is written again.
func updateIndex(root string, rows map[string]indexRow, lines, hits int, fresh []indexRow) {
	all := hits + len(fresh)
	switch stale := lines - hits; {
	case all < indexedRuns:
	case stale > all/2+indexedRuns || lines == 0:
		for _, row := range fresh {
			delete(rows, row.Name)
		}
		writeIndex(root, rows, fresh)
	case len(fresh) > 0:
		addToIndex(root, fresh)
	}
}

// writeIndex replaces the index.
func writeIndex(root string, rows map[string]indexRow, fresh []indexRow) {
	var text bytes.Buffer
	text.Grow((len(rows) + len(fresh)) << 10)
	line := json.NewEncoder(&text)
	for _, row := range rows {
		if _, err := os.Lstat(filepath.Join(root, row.Name)); err == nil {
			_ = line.Encode(&row)
		}
	}
	for i := range fresh {
		_ = line.Encode(&fresh[i])
	}
	_ = writeFileAtomic(filepath.Join(root, indexName), text.Bytes())
}

// examined is what a folder of a store holds.
type examined struct {
	summary *Summary // nil if it is no run
	warning *Warning
	row     *indexRow // for the index, if the run has ended
}

// examineAll opens folders, several at a time.
// Results are in the order of names; the garbage collector is tuned for the whole
// process meanwhile.
func examineAll(root string, names []string) (out []Summary, warnings []Warning, rows []indexRow) {
	found := make([]examined, len(names))
	if len(names) > indexedRuns { // nearly all that is read is garbage at once
		defer debug.SetGCPercent(debug.SetGCPercent(20))
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(names), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				found[i] = examine(root, names[i])
			}
		})
	}
	all.Wait()
	warnings = []Warning{}
	for _, x := range found {
		if x.warning != nil {
			warnings = append(warnings, *x.warning)
		}
		if x.summary != nil {
			out = append(out, *x.summary)
		}
		if x.row != nil {
			rows = append(rows, *x.row)
		}
	}
	return out, warnings, rows
}

// examine opens one folder. The stamp is taken first: what changes afterwards is
// noticed by the next list.
func examine(root, name string) (x examined) {
	dir := filepath.Join(root, name)
	now, ok := stampOf(dir)
	r, warning := openListed(dir, name)
	x.warning = warning
	if r == nil {
		return x
	}
	s := summarize(r)
	x.summary = &s
	if ok && r.m.Status != StatusRunning {
		x.row = &indexRow{Schema: indexSchema, Name: name, Stamp: now, Summary: s}
		x.row.Summary.Path = ""
	}
	return x
}

// openListed opens a folder of a store; nil if it is no run.
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
		return nil, &Warning{Path: path, Why: fact.New(runUnreadable, fact.Error("error", errors.Unwrap(err)))} // openDir wraps the cause once
	}
	return nil, nil
}

// newest finds the run that was created last. Names that are ids sort by time to
// the second; of those only the last second is read. Folders with names of the
// user's are sorted by their manifests.
// The error says that the store holds no run.
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
		rows, _ = readIndex(root)
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
