package workload

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

// TestPipes: a pipe that nobody writes to is refused; to open it would wait for ever.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if checkConfig(pipe).IsZero() {
		t.Error("a pipe was taken for a config.json")
	}
	if checkList(dir, pipe).IsZero() {
		t.Error("a pipe was taken for a list of files")
	}
	if _, err := architecture(plan.Model{Config: plan.ModelConfig{File: pipe}}, dir); err == nil {
		t.Error("a pipe was taken for the config of a model")
	}
	if err := read(dir, "pipe", new(Metrics), new(int)); err == nil {
		t.Error("a pipe was taken for metrics")
	}
	if _, err := readAnnotatedProcess(pipe, 1); err == nil {
		t.Error("a pipe was taken for a side file")
	}
}
