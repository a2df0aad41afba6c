package ncurep

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixture unpacks a file of testdata. The reports are real ones of Nsight
// Compute 2025.3 on an H200, without their cubins.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatalf("unpack %s: %v", name, err)
	}
	return b
}

func readBytes(t testing.TB, b []byte, opts Options) *Report {
	t.Helper()
	rep, err := Read(bytes.NewReader(b), int64(len(b)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// reports lists the fixtures that are reports, without their suffix.
func reports(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.ncu-rep.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".ncu-rep.zst")
	}
	return files
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s line %d:\n got %s\nwant %s", name, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: got %d lines, want %d", name, len(g), len(w))
}

// Read reads a whole report from src.
func Read(src io.ReaderAt, size int64, opts Options) (*Report, error) {
	r, err := NewReader(src, size, opts)
	if err != nil {
		return nil, err
	}
	return r.report(), nil
}
