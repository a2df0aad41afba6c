package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
)

// manyRuns makes a store of n finished runs, a second apart.
func manyRuns(t *testing.T, n int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		writeRun(t, root, i, fmt.Sprintf("run %d", i))
	}
	return root
}

func writeRun(t *testing.T, root string, i int, label string) {
	t.Helper()
	created := at("2026-01-01T00:00:00Z").Add(time.Duration(i) * time.Second)
	id := fmt.Sprintf("%s-1-%012x", created.Format("20060102T150405Z"), i)
	data, err := json.Marshal(Manifest{Schema: schemaVersion, ID: id, Status: StatusDone, Label: label, Created: created, Finished: &created, Steps: []Step{}})
	must(t, err)
	dir := filepath.Join(root, id)
	must(t, os.MkdirAll(dir, 0o755))
	must(t, writeFileAtomic(filepath.Join(dir, ManifestName), data))
}

func listing(t *testing.T, root string) []byte {
	t.Helper()
	rows, warnings, err := List(root, Filter{})
	must(t, err)
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	data, err := json.Marshal(rows)
	must(t, err)
	return data
}

// TestIndex: the index changes nothing that List shows, whatever becomes of the
// runs or of itself.
func TestIndex(t *testing.T) {
	root := manyRuns(t, indexedRuns+20)
	check := func(what string) {
		t.Helper()
		with := listing(t, root)
		must(t, os.RemoveAll(filepath.Join(root, indexName)))
		if without := listing(t, root); !bytes.Equal(with, without) {
			t.Errorf("%s: the index changes the list:\n%.300s\n%.300s", what, with, without)
		}
	}
	listing(t, root)
	if _, err := os.Stat(filepath.Join(root, indexName)); err != nil {
		t.Fatal("no index was written")
	}
	check("untouched")
	writeRun(t, root, 5, "renamed")
	check("a changed run")
	must(t, os.RemoveAll(filepath.Join(root, "20260101T000007Z-1-000000000007")))
	check("a run that is gone")
	writeRun(t, root, 5000, "new")
	check("a new run")
	must(t, os.WriteFile(filepath.Join(root, indexName), []byte(`{"schema":1,"rows":{"x":{}}`), 0o644))
	check("a damaged index")
	dir, err := Resolve(root, "latest")
	if err != nil || filepath.Base(dir) != "20260101T012320Z-1-000000001388" {
		t.Errorf("latest is %s, %v", dir, err)
	}
}

// TestIndexIsUsed: a run whose manifest did not change is not opened again.
func TestIndexIsUsed(t *testing.T) {
	root := manyRuns(t, indexedRuns)
	listing(t, root)
	rows, _ := readIndex(root)
	row := rows["20260101T000003Z-1-000000000003"]
	row.Summary.Label = "from the index"
	addToIndex(root, []indexRow{row})
	if !bytes.Contains(listing(t, root), []byte("from the index")) {
		t.Error("the index was not read")
	}
}

// TestRunsEnterIndex: a run that ends adds itself, so that the next list opens no
// run; half a line that a killed process left does no harm.
func TestRunsEnterIndex(t *testing.T) {
	root := manyRuns(t, indexedRuns)
	for range 3 {
		r := mustCreate(t, root, CreateOptions{})
		must(t, r.Finish(StatusDone, fact.Fact{}))
		rows, _ := readIndex(root)
		if now, ok := stampOf(r.Dir()); !ok || rows[filepath.Base(r.Dir())].Stamp != now {
			t.Error("the run is not in the index as it is")
		}
	}
	path := filepath.Join(root, indexName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"schema":2,"name":"x`)
	must(t, errors.Join(err, f.Close()))
	r := mustCreate(t, root, CreateOptions{})
	must(t, r.Finish(StatusDone, fact.Fact{}))
	for range 2 {
		if rows, _, err := List(root, Filter{}); err != nil || len(rows) != indexedRuns+4 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	}
	if rows, _ := readIndex(root); len(rows) != indexedRuns+4 {
		t.Errorf("%d rows in the index", len(rows))
	}
	for range 3 * indexedRuns { // of a run that changes again and again
		addToIndex(root, []indexRow{{Schema: indexSchema, Name: filepath.Base(r.Dir())}})
	}
	listing(t, root)
	if _, lines := readIndex(root); lines != indexedRuns+4 {
		t.Errorf("%d lines are left", lines)
	}
}

// TestPackBomb: a pack that would become far larger than packs do is refused
// before anything is written.
func TestPackBomb(t *testing.T) {
	files := []File{{Path: ManifestName, Size: 10, SHA256: sha("x")}, {Path: "nsys/run.sqlite", Size: 4 << 30, SHA256: sha("x")}}
	path := forge(t, PackIndex{Schema: PackSchemaVersion, ID: "x", Files: files})
	if _, err := OpenWith(ctx, path, UnpackOptions{CacheDir: t.TempDir()}); !errors.Is(err, format.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// TestPartOfPack: what a view does not need is neither written nor checked, and
// what it needs is.
func TestPartOfPack(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	for _, name := range []string{"ncu/run.ncu-rep", "nsys/run.sqlite", "workload/stdout.log"} {
		must(t, r.WriteFile(name, bytes.Repeat([]byte(name), 1000)))
	}
	must(t, r.Finish(StatusDone, fact.Fact{}))
	out := filepath.Join(t.TempDir(), "x"+PackExt)
	_, err := Pack(ctx, r, out, PackOptions{})
	must(t, err)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	part, err := OpenWith(ctx, out, UnpackOptions{Only: []FileKind{CountersFile}})
	must(t, err)
	if got := Files(part.Dir(), CountersFile); len(got) != 1 {
		t.Errorf("counters %v", got)
	}
	if n, files := dirSize(part.Dir()); files != 2 {
		t.Errorf("%d files of %d bytes, want the manifest and the counters", files, n)
	}
	must(t, part.Close())
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// The limit is on what is written.
	if _, err := OpenWith(ctx, out, UnpackOptions{MaxBytes: 1000, Only: []FileKind{CountersFile}}); !errors.Is(err, format.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	whole, err := os.ReadFile(out)
	must(t, err)
	must(t, os.WriteFile(out, whole[:len(whole)/2], 0o644))
	if _, err := OpenWith(ctx, out, UnpackOptions{Only: []FileKind{CountersFile}}); err == nil {
		t.Error("half a pack was opened")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// BenchmarkList10000 is the store that `runs list` must show within half a
// second.
func BenchmarkList10000(b *testing.B) {
	root := b.TempDir()
	for i := range 10000 {
		created := at("2026-01-01T00:00:00Z").Add(time.Duration(i) * time.Second)
		id := fmt.Sprintf("%s-1-%012x", created.Format("20060102T150405Z"), i)
		data, _ := json.Marshal(Manifest{Schema: schemaVersion, ID: id, Status: StatusDone, Created: created, Steps: []Step{}})
		os.MkdirAll(filepath.Join(root, id), 0o755)
		if err := os.WriteFile(filepath.Join(root, id, ManifestName), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	List(root, Filter{})
	for b.Loop() {
		if rows, _, err := List(root, Filter{}); err != nil || len(rows) != 10000 {
			b.Fatal(len(rows), err)
		}
	}
}
