package show

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
)

// ask gives the rows of a view as CSV, and the error before or after them.
func ask(t *testing.T, view, path string, partial bool) (string, error) {
	t.Helper()
	views := Views()
	v := views[slices.IndexFunc(views, func(v View) bool { return v.Name == view })]
	r := NewRequest()
	r.Paths, r.Partial, r.Data = []string{path}, partial, true
	r.Analyze = analyzeFiles
	a, err := v.Answer(context.Background(), r)
	if err != nil {
		return "", err
	}
	defer a.Close()
	var out bytes.Buffer
	if err := a.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	_, err = a.After()
	return out.String(), err
}

func analyzeFiles(ctx context.Context, _ string, paths []string) (*analysis.Result, error) {
	var in analysis.Input
	for _, path := range paths {
		if err := in.Add(path); err != nil {
			return nil, err
		}
	}
	return analysis.Analyze(ctx, in)
}

func content(t *testing.T, fixture string) []byte {
	t.Helper()
	f, err := format.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTruncated: rows of a cut file that are not those of the whole one never
// come without an error, wherever the file is cut.
func TestTruncated(t *testing.T) {
	for _, c := range []struct {
		fixture string
		views   []string
	}{
		{"../nsys/testdata/exports/toy.sqlite.gz", []string{"kernels", "regions", "ranges", "launches", "gaps", "stages"}},
		{"../nsys/testdata/exports/multi_node.sqlite.gz", []string{"kernels", "regions", "gaps"}},
		{"../ncurep/testdata/toy_nest.ncu-rep.zst", []string{"kernels", "regions", "launches", "metrics", "roofline"}},
	} {
		data := content(t, c.fixture)
		path := filepath.Join(t.TempDir(), format.BaseName(c.fixture)+".report")
		partials := 0
		for _, view := range c.views {
			write(t, path, data)
			whole, err := ask(t, view, path, false)
			if err != nil {
				t.Fatalf("%s of %s: %v", view, c.fixture, err)
			}
			for at := 1; at < 20; at++ {
				cut := len(data) * at / 20
				write(t, path, data[:cut])
				rows, err := ask(t, view, path, false)
				if err == nil && rows != whole {
					t.Errorf("%s of %s, cut at %d of %d bytes: other rows and no error", view, c.fixture, cut, len(data))
				}
				if lost := (*partialError)(nil); errors.As(err, &lost) {
					partials++
					if again, err := ask(t, view, path, true); err != nil || again != rows {
						t.Errorf("%s of %s, cut at %d, partial: %v, rows equal %v", view, c.fixture, cut, err, again == rows)
					}
				}
			}
		}
		if partials == 0 {
			t.Errorf("%s: no cut left a part of any view", c.fixture)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
