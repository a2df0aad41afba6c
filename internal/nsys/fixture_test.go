package nsys

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/rogpeppe/go-internal/txtar"
)

// export unpacks a recorded SQLite export and gives its path.
func export(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".sqlite")
	if err := os.WriteFile(path, fixture.Read(t, filepath.Join("testdata", "exports", name+".sqlite.gz")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openExport(t testing.TB, name string) *File {
	t.Helper()
	return openFile(t, export(t, name))
}

func openFile(t testing.TB, path string) *File {
	t.Helper()
	f, err := OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// recorded gives the reports that nsys stats of a version printed of an export.
func recorded(t *testing.T, path string) map[string]vendorTable {
	t.Helper()
	reports := map[string]vendorTable{}
	for _, f := range txtar.Parse(fixture.Read(t, path)).Files {
		reports[f.Name] = parseStats(string(f.Data))
	}
	return reports
}

// collect holds the rows of a stream.
func collect[T any](s timeline.Stream[T]) timeline.Rows[T] {
	rows := timeline.Rows[T]{Rows: []T{}, Cut: s.Cut, Warnings: s.Warnings}
	for row := range s.Rows {
		rows.Rows = append(rows.Rows, *row)
	}
	return rows
}

// launchRows are the launches of a file.
func launchRows(t testing.TB, f *File, q timeline.Query) timeline.Rows[timeline.LaunchRow] {
	t.Helper()
	s, err := f.StreamLaunches(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return collect(s)
}

// gapRows are the gaps of a file.
func gapRows(t testing.TB, f *File, q timeline.Query) timeline.Rows[timeline.GapRow] {
	t.Helper()
	s, err := f.StreamGaps(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return collect(s)
}
