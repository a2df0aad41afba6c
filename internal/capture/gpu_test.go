package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// TestGPU drives nsys and ncu over a CUDA program on a machine with a GPU, and
// leaves a recording of each run. It needs
//
//	DEEPPROF_GPU_PROG  the program: push/pop ranges prefill and idle (empty), a
//	                   start/end range decode, kernels in the first two
//	DEEPPROF_GPU_NSYS  nsys, DEEPPROF_GPU_NCU ncu
//	DEEPPROF_GPU_OUT   a folder for the recordings; optional
//
// TestRecorded has the same table over what was recorded.
func TestGPU(t *testing.T) {
	prog, nsys, ncu := os.Getenv("DEEPPROF_GPU_PROG"), os.Getenv("DEEPPROF_GPU_NSYS"), os.Getenv("DEEPPROF_GPU_NCU")
	if prog == "" {
		t.Skip("DEEPPROF_GPU_PROG is not set: no GPU to measure")
	}
	gated := func(end string) []string {
		return []string{"--capture-range=nvtx", "--nvtx-capture=prefill", "--capture-range-end=" + end}
	}
	then := func(script string) []string { return []string{"/bin/sh", "-c", prog + "; " + script} }
	for _, k := range []struct {
		name    string
		options []string
		target  []string
		change  func(*testing.T, *Capture)
		want    Kind
		reports int
	}{
		{"nsys-ungated", nil, nil, nil, Captured, 1},
		{"nsys-end-none", gated("none"), nil, nil, Captured, 1},
		{"nsys-end-stop", gated("stop"), nil, nil, Captured, 1},
		{"nsys-end-stop-shutdown", gated("stop-shutdown"), nil, nil, WithWarnings, 1},
		{"nsys-end-repeat-2", gated("repeat:2"), nil, func(_ *testing.T, c *Capture) { c.Expect.Reports = 2 }, Captured, 2},
		{"nsys-gate-never", []string{"--capture-range=nvtx", "--nvtx-capture=nosuch"}, nil, nil, GateNeverOpened, 0},
		{"nsys-exit-7", nil, then("exit 7"), nil, WithWarnings, 1},
		{"nsys-interrupted", nil, then("echo waiting; sleep 60"), pressing("waiting", 1, time.Second), Interrupted, 1},
		{"nsys-timed-out", nil, then("sleep 60"), func(_ *testing.T, c *Capture) { c.Limits.Timeout = 8 * time.Second }, TimedOut, 1},
		{"nsys-output-elsewhere", []string{"--output=/no/such/folder/r"}, nil, nil, WithWarnings, 1},

		{"ncu-kernel-replay", []string{"--nvtx", "--nvtx-include", "prefill/", "--launch-count", "3"}, nil, nil, Captured, 1},
		{"ncu-nvtx-no-slash", []string{"--nvtx", "--nvtx-include", "prefill"}, nil, nil, NothingMatched, 0},
		{"ncu-range-toy", []string{"--replay-mode", "range", "--nvtx", "--nvtx-include", "prefill/"}, nil, nil, Captured, 1},
		{"ncu-range-idle", []string{"--replay-mode", "range", "--nvtx", "--nvtx-include", "idle/"}, nil, nil, NothingMatched, 0},
		{"ncu-unknown-section", []string{"--section", "NoSuch"}, nil, nil, ToolUsage, 0},
		{"ncu-unknown-set", []string{"--set", "nosuch"}, nil, nil, MissingData, 1},
		{"ncu-exit-7", []string{"--launch-count", "1"}, then("exit 7"), nil, WithWarnings, 1},
		{"ncu-segfault", []string{"--launch-count", "1"}, then("kill -SEGV $$"), nil, WorkloadCrashed, 1},
		{"ncu-timed-out", []string{"--set", "full"}, then("sleep 60"), func(_ *testing.T, c *Capture) { c.Limits.Timeout = 15 * time.Second }, TimedOut, 1},
	} {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			target := k.target
			if target == nil {
				target = []string{prog}
			}
			c := Capture{
				Output: filepath.Join(dir, "r"), Target: target,
				Limits: tool.Limits{Timeout: 2 * time.Minute, Finish: 2 * time.Minute, Grace: 30 * time.Second},
			}
			var args []string
			if strings.HasPrefix(k.name, "nsys") {
				c.Tool, c.Command.Path = Nsys, nsys
				args = append([]string{"profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"}, k.options...)
				c.Gated = slices.ContainsFunc(k.options, func(o string) bool { return strings.HasPrefix(o, "--capture-range=") })
				c.EndsTarget = strings.Contains(strings.Join(k.options, " "), "shutdown")
				c.Command.Env = append(os.Environ(), "NSYS_NVTX_PROFILER_REGISTER_ONLY=0")
			} else {
				c.Tool, c.Command.Path = Ncu, ncu
				args = append([]string{"--target-processes", "all", "--clock-control", "none"}, k.options...)
			}
			if !strings.Contains(strings.Join(args, " "), "--output=") {
				args = append(args, "-o", c.Output)
			}
			c.Command.Args, c.Command.Dir = append(args, target...), dir
			if k.change != nil {
				k.change(t, &c)
			}
			c.Record = func(r Recording) { keepRecording(t, k.name, r) }
			r := Run(context.WithoutCancel(t.Context()), c)
			if r.Outcome.Kind != k.want || len(r.Reports) != k.reports {
				t.Errorf("%s with %d reports, want %s with %d\n%s", r.Outcome.Kind, len(r.Reports), k.want, k.reports, r.Outcome.explain())
			}
			checkOutcome(t, k.name, r.Outcome)
			if left := processesIn(dir); len(left) > 0 {
				t.Errorf("alive after the run: %v", left)
			}
		})
	}
}

func keepRecording(t *testing.T, name string, r Recording) {
	dir := os.Getenv("DEEPPROF_GPU_OUT")
	if dir == "" {
		return
	}
	r.Note = fmt.Sprintf("%s, recorded on %s", name, time.Now().Format(time.DateOnly))
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(r.String()), 0o644); err != nil {
		t.Error(err)
	}
}
