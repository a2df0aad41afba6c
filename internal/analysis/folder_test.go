package analysis

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFromFolder: a folder is read by what its files hold, compressed or not.
func TestFromFolder(t *testing.T) {
	dir := t.TempDir()
	for name, from := range map[string]string{"a.sqlite.gz": toyTimeline, "b.ncu-rep.zst": toyCounters} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := FromFolder(dir)
	if err != nil || filepath.Base(in.timeline()) != "a.sqlite.gz" || len(in.Counters) != 1 {
		t.Fatalf("%+v, %v", in, err)
	}
	if r := analyzed(t, in); r.Totals.Launches != 31 || r.Kernels[0].Counted == nil {
		t.Errorf("%d launches, counted %v", r.Totals.Launches, r.Kernels[0].Counted)
	}
}

// TestUnusedFiles: a file that is given by name and not used is an error that
// names it.
func TestUnusedFiles(t *testing.T) {
	counters := unpacked(t, toyCounters)
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Input{
		"targets":   {Targets: broken},
		"operators": {Operators: broken},
		"metrics":   {Metrics: map[string]string{"unprofiled": broken}},
	} {
		in.Counters = []string{counters}
		_, err := Analyze(context.Background(), in)
		if unused := (*UnusedError)(nil); !errors.As(err, &unused) || unused.Path != broken {
			t.Errorf("%s: %v", name, err)
		}
	}
}
