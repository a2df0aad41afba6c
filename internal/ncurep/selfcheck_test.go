package ncurep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

// vendor finds a real ncu in the folder that DEEPPROF_NSIGHT names.
func vendor(t *testing.T, release string) tool.Tool {
	t.Helper()
	root := os.Getenv("DEEPPROF_NSIGHT")
	if root == "" {
		t.Skip("DEEPPROF_NSIGHT names no folder with Nsight Compute releases")
	}
	found, err := tool.Find(t.Context(), tool.Spec{Name: tool.Ncu, Path: filepath.Join(root, release, "ncu")})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSelfCheckWithNcu(t *testing.T) {
	ncu := vendor(t, "trixie")
	for _, name := range reports(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name+".ncu-rep")
			if err := os.WriteFile(path, fixture(t, name+".ncu-rep"), 0o644); err != nil {
				t.Fatal(err)
			}
			c, err := SelfCheck(t.Context(), path, ncu)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d cells, %d units guessed by ncu %s", c.Cells, c.Guessed, ncu.Version)
			for _, d := range c.Differences[:min(5, len(c.Differences))] {
				t.Error(d)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	if notes := (&Check{Cells: 10}).Notes(); notes != nil {
		t.Errorf("nothing was left out, but %q", notes)
	}
	notes := (&Check{Guessed: 12, Names: 3}).Notes()
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "12 units were guessed") || !strings.HasPrefix(notes[1], "3 kernel names were not compared") {
		t.Errorf("%q", notes)
	}
}

// The reports that NVIDIA ships as examples come from 2022.2 and 2023.3.
func TestSelfCheckVendorExamples(t *testing.T) {
	for _, release := range []string{"trixie", "bookworm"} {
		ncu := vendor(t, release)
		files, err := filepath.Glob(filepath.Join(os.Getenv("DEEPPROF_NSIGHT"), release, "usr/share/doc/nsight-compute/examples/*/*.ncu-rep"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Skipf("%s has no example reports", release)
		}
		for _, file := range files {
			c, err := SelfCheck(t.Context(), file, ncu)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %s: %d cells, %d guessed", release, filepath.Base(file), c.Cells, c.Guessed)
			for _, d := range c.Differences[:min(5, len(c.Differences))] {
				t.Errorf("%s %s: %v", release, filepath.Base(file), d)
			}
		}
	}
}

func TestSelfCheckFailures(t *testing.T) {
	ncu := vendor(t, "trixie")
	if _, err := SelfCheck(t.Context(), "nosuch.ncu-rep", ncu); err == nil {
		t.Error("a missing file passed")
	}
	path := filepath.Join(t.TempDir(), "cut.ncu-rep")
	if err := os.WriteFile(path, fixture(t, "toy_nest.ncu-rep")[:100_000], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := SelfCheck(t.Context(), path, ncu); err == nil || !strings.Contains(err.Error(), "Failed to load report file") {
		t.Errorf("a truncated file: %v", err)
	}
}
