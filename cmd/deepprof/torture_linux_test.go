package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/runs"
)

// TestTorture kills commands at random moments: TORTURE of them, few where it is
// not set. TORTURE_SEED repeats a sequence. scripts/torture runs it at length.
func TestTorture(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("TORTURE"))
	if err != nil {
		kills = 8
	}
	seed, err := strconv.ParseUint(os.Getenv("TORTURE_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("TORTURE_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	python, err := filepath.Abs("../../internal/pipeline/testdata/python3")
	if err != nil {
		t.Fatal(err)
	}
	session := []string{
		"run", "device=cpu", "pipeline.workload.python=" + python, "pipeline.nsys.enable=false", "pipeline.ncu.enable=false",
		"pipeline.torch_profiler.activities=[cpu]", "pipeline.direct_inference.enable=true", "pipeline.static_analysis.torch_flop_counter=true",
	}
	stubborn := []string{
		"run", "pipeline.nsys.enable=false", "pipeline.ncu.enable=false", "pipeline.supervision.stop_grace_s=1", "--",
		"sh", "-c", `trap "" TERM INT; setsid sh -c 'trap "" TERM INT; sleep 600' & sleep 600`,
	}
	for i := range kills {
		k := kill{dir: t.TempDir(), signal: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL, syscall.SIGHUP}[random.IntN(4)]}
		k.args = [][]string{session, stubborn, {"demo"}}[random.IntN(3)]
		k.after = time.Duration(random.IntN(1500)) * time.Millisecond
		t.Run(fmt.Sprintf("%d-%s-%s-%s", i, k.args[0], k.signal, k.after), k.test)
	}
}

// A kill is one command that is sent a signal.
type kill struct {
	dir    string // empty; the working directory
	args   []string
	signal syscall.Signal
	after  time.Duration
}

func (k kill) test(t *testing.T) {
	temp := filepath.Join(k.dir, "tmp")
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	mark := "TORTURE_RUN=" + filepath.Base(k.dir) + strconv.Itoa(os.Getpid())
	env := append(os.Environ(), "TMPDIR="+temp, "XDG_CACHE_HOME="+filepath.Join(os.TempDir(), "deepprof-torture-cache"), mark)
	code, output := k.run(t, env)
	before := code == -1 && output == "" // the signal came before main
	if k.signal != syscall.SIGKILL && code != 130 && code != 0 && !before {
		t.Errorf("exit code %d\n%s", code, output)
	}
	waitForEnd(t, mark)
	store := filepath.Join(k.dir, runs.DefaultRoot)
	if left, _ := os.ReadDir(store); slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".tmp-") }) {
		time.Sleep(time.Second) // it may still get its name until then
	}
	list, warnings, err := runs.List(store, runs.Filter{})
	if err != nil || len(warnings) > 0 || len(list) > 1 {
		t.Errorf("list: %+v, %v, %v\n%s", list, warnings, err, output)
	}
	if strings.Contains(output, "run: ") && len(list) == 0 {
		t.Errorf("a run was named and is not listed\n%s", output)
	}
	for _, r := range list {
		k.resume(t, env, mark, r)
	}
	next := exec.Command("deepprof", "version") // any command sweeps
	next.Env, next.Dir = env, k.dir
	if text, err := next.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	for _, dir := range []string{temp, store} {
		left, _ := os.ReadDir(dir)
		for _, e := range left {
			if dir == temp || strings.HasPrefix(e.Name(), ".") {
				t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
			}
		}
	}
}

// run starts the command, sends the signal and gives the exit code, -1 for one
// that the signal itself ended.
func (k kill) run(t *testing.T, env []string) (int, string) {
	t.Helper()
	cmd := exec.Command("deepprof", k.args...)
	var output bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, k.dir, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(k.after)
	_ = cmd.Process.Signal(k.signal)
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), output.String()
}

// resume goes on with a run, or has deepprof say why not. The stubborn command
// is only asked for its plan.
func (k kill) resume(t *testing.T, env []string, mark string, r runs.Summary) {
	t.Helper()
	if r.Status == runs.StatusRunning {
		t.Errorf("%s is shown as running", r.ID)
	}
	if r.Status == runs.StatusDone || slices.Contains(k.args, "--") {
		return
	}
	cmd := exec.Command("deepprof", "runs", "resume", r.ID)
	cmd.Env, cmd.Dir = env, k.dir
	text, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	if k.args[0] == "demo" && (code != 2 || !bytes.Contains(text, []byte("cannot go on"))) {
		t.Errorf("resume of a recording: %v, %s", err, text)
	}
	if k.args[0] == "run" && code != 0 {
		t.Errorf("resume: %v, %s", err, text)
	}
	waitForEnd(t, mark)
}

// waitForEnd waits until no process has the mark in its environment.
func waitForEnd(t *testing.T, mark string) {
	t.Helper()
	var left []string
	for range 300 {
		if left = marked(mark); len(left) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("alive: %q", left)
}

func marked(mark string) []string {
	var out []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool { return string(kv) == mark }) {
			line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			out = append(out, e.Name()+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return out
}
