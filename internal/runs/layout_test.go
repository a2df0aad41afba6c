package runs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFiles: the manifest tells what a run holds; without one its folders do. No
// name of a folder is taken for a pattern.
func TestFiles(t *testing.T) {
	for _, name := range []string{"plain", "exp [v2]", "r?", "*", `back\slash`, "[a-z]"} {
		root := t.TempDir()
		dir := filepath.Join(root, name)
		for _, rel := range []string{
			"nsys/run.sqlite", "nsys/other.sqlite", "nsys/attempt-1/run.sqlite", "ncu/run.ncu-rep", "ncu/run2/run.ncu-rep", "ncu/attempt-1/run.ncu-rep",
			"workload/nsys/metrics.json", "workload/flops.json", "result.json", "targets.json",
		} {
			must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(rel)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, rel), []byte(rel), 0o644))
		}
		// A neighbor that a pattern made from the path would hit.
		must(t, os.MkdirAll(filepath.Join(root, "rx", "nsys"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, "rx", "nsys", "run.sqlite"), nil, 0o644))
		for kind, want := range map[FileKind][]string{
			TimelineFile: {"nsys/run.sqlite", "nsys/other.sqlite"}, CountersFile: {"ncu/run.ncu-rep", "ncu/run2/run.ncu-rep"},
			MetricsFile: {"workload/nsys/metrics.json"}, FlopsFile: {"workload/flops.json"}, TargetsFile: {"targets.json"}, TimelineReportFile: nil,
		} {
			var got []string
			for _, path := range Files(dir, kind) {
				rel, err := filepath.Rel(dir, path)
				must(t, err)
				got = append(got, filepath.ToSlash(rel))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %s are %v, want %v", name, kind, got, want)
			}
		}
	}
}

// TestFilesOfManifest: a report that somebody copied into a run is none of it.
func TestFilesOfManifest(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{Steps: []Step{{Name: "nsys"}}})
	must(t, r.WriteFile("nsys/mine.sqlite", []byte("x")))
	must(t, r.StartStep("nsys"))
	must(t, r.StartAttempt("nsys", "", "nsys"))
	files, err := r.HashFiles(ctx, "nsys/mine.sqlite")
	must(t, err)
	must(t, r.EndAttempt("nsys", Result{Files: files}))
	must(t, os.WriteFile(r.Path("nsys/run.sqlite"), []byte("another"), 0o644))
	if got := Files(r.Dir(), TimelineFile); len(got) != 1 || filepath.Base(got[0]) != "mine.sqlite" {
		t.Errorf("timelines: %v", got)
	}
	must(t, os.Remove(r.Path("nsys/mine.sqlite")))
	if got := Files(r.Dir(), TimelineFile); len(got) != 1 || filepath.Base(got[0]) != "run.sqlite" {
		t.Errorf("timelines without the one of the manifest: %v", got)
	}
}
