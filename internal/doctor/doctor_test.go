package doctor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestHealthyMachine(t *testing.T) {
	r := healthy(t).examine(t)
	for _, row := range r.Rows {
		if row.Status != OK && row.Status != NotApplicable || message.Next(row.Seen) != "" || message.Text(row.Seen) == "" {
			t.Errorf("%+v", row)
		}
	}
	if r.HasBlocker() || len(r.Rows) != len(checks) || r.Count(OK) < 18 {
		t.Errorf("%+v", r)
	}
}

// Every status that a check can have is tested above; a new check without
// tests fails here.
func TestEveryCheckHasAnIdentifier(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks {
		if c.id == "" || message.Label("check", c.id) == c.id && c.id != "nvidia-smi" && c.id != "container" || seen[c.id] {
			t.Errorf("check %+v", c.id)
		}
		seen[c.id] = true
	}
}

// The examination of the machine that runs the tests: whatever it is, every
// check answers, and nothing is left behind.
func TestThisMachine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	o := Options{Timeline: true, Counters: true, CUDA: true, Torch: true}
	o.RunDir, o.TempDir = filepath.Join(dir, "runs"), dir
	r := Check(t.Context(), o, Host{})
	for _, row := range r.Rows {
		if row.Status == "" || row.Seen.IsZero() || row.Status == Blocker && message.Next(row.Seen) == "" {
			t.Errorf("%+v", row)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInspectRunsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	out, errs, exit, err := tool.Output(t.Context(), tool.Command{Path: python, Args: []string{"-c", inspect, "json", "nosuch"}})
	var m modules
	if err != nil || !exit.OK() || json.Unmarshal(out, &m) != nil || m.Packages["json"] == "" || len(m.Packages) != 1 {
		t.Errorf("%s %s %v %v", out, errs, exit, err)
	}
}

// The real importers: those of Nsight Systems start, the one inside Nsight
// Compute may lack a library and then names it.
func TestRealImporters(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real tools")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, dist := range []string{"bookworm", "trixie"} {
		o := Options{Timeline: true, NsysPath: filepath.Join(folder, dist, "nsys"), TempDir: t.TempDir(), RunDir: t.TempDir()}
		row := Check(t.Context(), o, Host{}).row("nsys-importer")
		if row.Status != OK && !row.Seen.Is(importLibrary) {
			t.Errorf("%s: %+v", dist, row)
		}
	}
}
