package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubborn ignores SIGTERM and SIGINT and leaves processes everywhere: a daemon
// in a session of its own, one without any environment, a stopped one.
const stubborn = `trap '' TERM INT
setsid sh -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 1; done' "$1" &
env -i /usr/bin/setsid /bin/sh -c 'trap "" TERM; echo $$ >>"$0"; while :; do /bin/sleep 1; done' "$1" &
sh -c 'echo $$ >>"$0"; kill -STOP $$' "$1" &
echo $$ >>"$1"
while :; do sleep 1; done
`

// TestSuperviseHelper is not a test: it is the process that TestGuard kills.
func TestSuperviseHelper(t *testing.T) {
	dir := os.Getenv("TOOL_TEST_GUARD")
	if dir == "" {
		t.Skip("runs as a child of TestGuard only")
	}
	_, err := Supervise(context.Background(), Job{
		Command: Command{Path: "/bin/sh", Args: []string{"-c", stubborn, "sh", filepath.Join(dir, "pids")}}, Profiler: os.Getenv("TOOL_TEST_PROFILER"),
		Limits: Limits{Grace: 300 * time.Millisecond},
	})
	t.Fatal("supervise returned", err)
}

// TestGuard: when the supervisor is killed, everything that it started ends
// within the grace.
func TestGuard(t *testing.T) {
	for _, profiler := range []string{"", Nsys, Ncu} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestSuperviseHelper$")
		cmd.Env = append(os.Environ(), "TOOL_TEST_GUARD="+dir, "TOOL_TEST_PROFILER="+profiler)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pids := waitForPIDs(t, filepath.Join(dir, "pids"), 4)
		time.Sleep(2 * guardScan) // the guard has seen them
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		deadline := time.Now().Add(20 * time.Second)
		for _, pid := range pids {
			for alive(pid) {
				if time.Now().After(deadline) {
					t.Errorf("profiler %q: process %d is alive", profiler, pid)
					_ = syscall.Kill(pid, syscall.SIGKILL)
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
}

func waitForPIDs(t *testing.T, path string, n int) []int {
	t.Helper()
	for range 2000 {
		text, _ := os.ReadFile(path)
		if fields := strings.Fields(string(text)); len(fields) == n && strings.HasSuffix(string(text), "\n") {
			var pids []int
			for _, f := range fields {
				pid, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			return pids
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the workload did not start")
	return nil
}

func alive(pid int) bool {
	p, ok := readProc(pid)
	return ok && !p.dead()
}
