package pick

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
)

// load reads a recorded timeline of the repository.
func load(t testing.TB, name string) *Launches {
	t.Helper()
	file, err := nsys.OpenSQLite(fixture.Unpack(t, filepath.Join("..", "nsys", "testdata", "exports", name+".sqlite.gz")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	tl, err := file.Timeline(context.Background(), nsys.Regions|nsys.Machine)
	if err != nil {
		t.Fatal(err)
	}
	return Load(tl.Attribute())
}

// counted reads the launches of a recorded counter report.
func counted(t testing.TB, name string) []Counted {
	t.Helper()
	return countedIn(t, plainReport(t, name))
}

func plainReport(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("..", "ncurep", "testdata", name+".ncu-rep.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func countedIn(t testing.TB, data []byte) []Counted {
	t.Helper()
	rep, err := ncurep.NewReader(bytes.NewReader(data), int64(len(data)), ncurep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []Counted
	for r := range rep.All() {
		out = append(out, FromResult(r))
	}
	return out
}
