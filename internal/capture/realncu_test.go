package capture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// plainProg is a program that no profiler can enter: without a driver ncu ends
// every other one before main.
const plainProg = `
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	printf("iteration 20\n");
	fflush(stdout);
	if (argc > 2) usleep(1000 * atoi(argv[2]));
	int n = argc > 1 ? atoi(argv[1]) : 0;
	if (n < 0) { kill(getpid(), -n); sleep(1); }
	return n;
}`

var buildStatic = sync.OnceValues(func() (string, error) {
	dir := programs()
	src, prog := filepath.Join(dir, "plain.c"), filepath.Join(dir, "plain")
	if err := os.WriteFile(src, []byte(plainProg), 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("gcc", "-static", "-o", prog, src).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	return prog, nil
})

// TestRealNcu drives ncu 2024.1 and 2022.3 as far as they go without a GPU.
func TestRealNcu(t *testing.T) {
	root := nsight(t)
	static, err := buildStatic()
	if err != nil {
		t.Fatal(err)
	}
	dynamic := buildProg(t)
	type change = func(*testing.T, *Capture)
	for _, version := range nsightVersions {
		for _, k := range []struct {
			name    string
			options []string
			target  []string
			change  change
			want    Kind
		}{
			{"no driver", nil, []string{dynamic}, nil, NoDriver},
			{"nothing matched", nil, []string{static}, nil, NothingMatched},
			{"nothing matched, range replay", []string{"--replay-mode", "range"}, []string{static}, nil, NothingMatched},
			{"exit code 3", nil, []string{static, "3"}, nil, WorkloadFailed},
			{"segmentation fault", nil, []string{static, "-11"}, nil, WorkloadCrashed},
			{"unknown option", []string{"--no-such-option"}, []string{static}, nil, ToolUsage},
			{"unknown section", []string{"--section", "NoSuch"}, []string{static}, nil, ToolUsage},
			{"workload missing", nil, []string{"/no/such/program"}, func(_ *testing.T, c *Capture) { c.Target = nil }, WorkloadMissing},
			{"output exists", nil, []string{static}, func(t *testing.T, c *Capture) {
				if err := os.WriteFile(c.Output+".ncu-rep", []byte("old"), 0o644); err != nil {
					t.Fatal(err)
				}
			}, NothingMatched},
			{"TMPDIR missing", nil, []string{static}, func(_ *testing.T, c *Capture) {
				c.Command.Env = append(os.Environ(), "TMPDIR=/no/such/dir")
			}, TempUnusable},
			{"interrupted", nil, []string{static, "0", "60000"}, pressing("iteration 20", 1, 300*time.Millisecond), Interrupted},
			{"interrupted twice", nil, []string{static, "0", "60000"}, pressing("iteration 20", 2, 300*time.Millisecond), Interrupted},
			{"timed out", nil, []string{static, "0", "60000"}, func(_ *testing.T, c *Capture) { c.Limits.Timeout = 2 * time.Second }, TimedOut},
			{"stalled", nil, []string{static, "0", "60000"}, func(_ *testing.T, c *Capture) { c.Limits.Stall = 2 * time.Second }, Stalled},
		} {
			t.Run(version+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				var dir string
				var r Result
				for range 3 { // of 300 captures one or two do not end: ncu has said all, and stays
					dir = t.TempDir()
					args := append(append([]string{}, k.options...), "-o", filepath.Join(dir, "r"))
					c := Capture{
						Tool:    Ncu,
						Command: tool.Command{Path: filepath.Join(root, version, "ncu"), Args: append(args, k.target...), Dir: dir},
						Output:  filepath.Join(dir, "r"), Target: k.target,
						Limits: tool.Limits{Timeout: 60 * time.Second, Grace: 10 * time.Second, Finish: 20 * time.Second, Settle: time.Second},
					}
					if k.change != nil {
						k.change(t, &c)
					}
					if r = Run(t.Context(), c); r.Outcome.Kind != TimedOut || k.want == TimedOut {
						break
					}
					t.Logf("ncu did not end within %s; again", c.Limits.Timeout)
				}
				if r.Outcome.Kind != k.want || len(r.Reports) > 0 {
					t.Fatalf("%s, want %s\n%s%s%s", r.Outcome.Kind, k.want, r.Outcome.explain(),
						readLog(Ncu, filepath.Join(dir, "stdout.log")), readLog(Ncu, filepath.Join(dir, "stderr.log")))
				}
				checkOutcome(t, k.name, r.Outcome)
				if left := processesIn(dir); len(left) > 0 {
					t.Errorf("alive after the run: %v", left)
				}
			})
		}
	}
}
