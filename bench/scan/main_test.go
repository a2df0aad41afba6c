package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	in, err := os.Open("../../internal/sqlite/testdata/toy.sqlite.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "toy.sqlite")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(path, 0, &out); err != nil {
		t.Fatal(err)
	}
	if want := "31 rows read; 4 names, 2535718 ns, "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if err := run("main.go", 0, &out); err == nil {
		t.Error("read a program as a database")
	}
}
