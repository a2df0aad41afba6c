package analysis

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

var update = flag.Bool("update", false, "write the golden files anew")

// unpacked writes a compressed fixture to a folder of the test and gives its
// path there.
func unpacked(t testing.TB, path string) string {
	t.Helper()
	return fixture.Unpack(t, path)
}

const (
	llmTimeline = "../../testdata/h200/llm.sqlite.gz"
	llmCounters = "../../testdata/h200/llm.ncu-rep.gz"
	toyBegan    = "2026-11-15T01:18:29" // UTC, as toyTimeline says
	toyTimeline = "../nsys/testdata/exports/toy.sqlite.gz"
	toyCounters = "../ncurep/testdata/toy_full.ncu-rep.zst"
)

// inMemory reads a timeline with all its events.
func inMemory(t testing.TB, path string) *timeline.Timeline {
	t.Helper()
	f, err := nsys.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tl, err := f.Timeline(context.Background(), nsys.Everything)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func analyzeFiles(t testing.TB, fixtures ...string) *Result {
	t.Helper()
	var paths []string
	for _, f := range fixtures {
		paths = append(paths, unpacked(t, f))
	}
	in, err := fromFiles(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return analyzed(t, in)
}

func analyzed(t testing.TB, in Input) *Result {
	t.Helper()
	r, err := Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func kernelNamed(t testing.TB, r *Result, part string) *Kernel {
	t.Helper()
	for i := range r.Kernels {
		if strings.Contains(r.Kernels[i].Name, part) && r.Kernels[i].Counted != nil {
			return &r.Kernels[i]
		}
	}
	t.Fatalf("no counted kernel %q", part)
	return nil
}

func stageNamed(t testing.TB, r *Result, name string) *Stage {
	t.Helper()
	for i := range r.Stages {
		if r.Stages[i].Name == name {
			return &r.Stages[i]
		}
	}
	t.Fatalf("no stage %q", name)
	return nil
}

func t0() context.Context { return context.Background() }

// fromFiles makes an input of files by their names.
func fromFiles(paths ...string) (Input, error) {
	var in Input
	for _, path := range paths {
		if err := in.Add(path); err != nil {
			return Input{}, err
		}
	}
	return in, nil
}
