package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
)

func TestRun(t *testing.T) {
	path := fixture.Unpack(t, "../../internal/sqlite/testdata/toy.sqlite.gz")
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
