package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestTorture kills commands at random moments: TORTURE of them, several at once
// (-parallel), few where it is not set. TORTURE_SEED repeats a sequence.
// scripts/torture runs it at length.
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
	for _, sig := range deadly { // commands would inherit what nohup, or a shell in the background, ignores
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	victims, before := tortured(t), sharedObjects(t)
	t.Cleanup(func() { // after the last of the parallel ones
		for name, dead := range sharedObjects(t) {
			if _, old := before[name]; dead && !old {
				t.Errorf("left behind: /dev/shm/%s", name)
			}
		}
	})
	for i := range victims {
		victims[i].measure(t)
	}
	var hit tally
	t.Cleanup(func() { t.Logf("killed in: %v", hit.counts) })
	for i := range kills {
		k := kill{victim: victims[random.IntN(len(victims))], signal: deadly[random.IntN(len(deadly))], hit: &hit}
		k.phase, k.share = random.IntN(len(k.phases)), random.Float64()
		t.Run(fmt.Sprintf("%d-%s-%s-%s", i, k.name, k.signal, k.phases[k.phase].step), func(t *testing.T) {
			t.Parallel()
			k.dir, k.mark = t.TempDir(), fmt.Sprintf("TORTURE_RUN=%d-%d", os.Getpid(), i)
			k.test(t)
		})
	}
}

var deadly = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL, syscall.SIGHUP}

// A tally counts kills by command and step.
type tally struct {
	mutex  sync.Mutex
	counts map[string]int
}

func (c *tally) add(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what]++
}

// sharedObjects are those of Nsight Systems; true for one of no live process.
func sharedObjects(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		pid := regexp.MustCompile(`^(?:quadd-agent-instance|sem\.NSys-process_waiter)-(\d+)`).FindStringSubmatch(e.Name())
		if pid == nil {
			continue
		}
		_, err := os.Stat("/proc/" + pid[1])
		out[e.Name()] = err != nil
	}
	return out
}

// A victim is a command to kill.
type victim struct {
	name   string
	args   []string
	codes  []int   // exit codes of one that nobody kills
	phases []phase // in order
}

// A phase of a command lasts from its begin, or that of a step, to the next.
type phase struct {
	step   string // beginning before the first
	length time.Duration
}

const beginning = "beginning"

// tortured are commands that together go through every step: those of a session,
// those under real profilers where there are any, a recording, and a program that
// listens to nobody and has a daemon.
func tortured(t *testing.T) []victim {
	python, err := filepath.Abs("../../internal/pipeline/testdata/python3")
	if err != nil {
		t.Fatal(err)
	}
	list := []victim{
		{name: "demo", args: []string{"demo"}, codes: []int{0}},
		{name: "session", codes: []int{0}, args: []string{
			"run", "device=cpu", "pipeline.workload.python=" + python, "pipeline.nsys.enable=false", "pipeline.ncu.enable=false",
			"pipeline.torch_profiler.activities=[cpu]", "pipeline.direct_inference.enable=true", "pipeline.static_analysis.torch_flop_counter=true",
		}},
		{name: "stubborn", phases: []phase{{beginning, time.Second / 5}, {plan.StepUnprofiled, 2 * time.Second}}, args: []string{
			"run", "pipeline.nsys.enable=false", "pipeline.ncu.enable=false", "pipeline.supervision.stop_grace_s=1", "--",
			"sh", "-c", `trap "" TERM INT; setsid sh -c 'trap "" TERM INT; sleep 600' & sleep 600`,
		}},
	}
	nsys, ncu := os.Getenv("DEEPPROF_NSYS"), os.Getenv("DEEPPROF_NCU")
	if dir := os.Getenv("DEEPPROF_NSIGHT"); dir != "" {
		nsys, ncu = filepath.Join(dir, "trixie", "nsys"), filepath.Join(dir, "trixie", "ncu")
	}
	if nsys != "" && ncu != "" {
		list = append(list, victim{name: "profiled", codes: []int{0, 4}, args: []string{ // 4: no kernel for ncu
			"run", "--ignore-blockers", "pipeline.nsys.path=" + nsys, "pipeline.ncu.path=" + ncu, "pipeline.nsys.trace=[osrt]", "pipeline.ncu.pick.enable=false",
			"pipeline.ncu.ncu_cli.launch_count=1", "pipeline.supervision.stop_grace_s=2", "--", "sh", "-c", "sleep 0.5; ls / >/dev/null",
		}})
	}
	return list
}

// measure lets the command end by itself and looks how long each phase takes, so
// that moments are drawn from all of them on any machine. The times in the run do
// not tell: those of a recording are of its captures.
func (v *victim) measure(t *testing.T) {
	t.Helper()
	if v.phases != nil {
		return
	}
	cmd := exec.Command("deepprof", v.args...)
	cmd.Dir = t.TempDir()
	v.phases = []phase{{step: beginning}}
	start, done := time.Now(), make(chan struct{})
	next := func(step string) {
		v.phases[len(v.phases)-1].length, start = time.Since(start), time.Now()
		v.phases = append(v.phases, phase{step: step})
	}
	go func() {
		defer close(done)
		text, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); !slices.Contains(v.codes, code) {
			t.Errorf("%s: %v\n%s", v.name, err, text)
		}
	}()
	for alive(done, 2*time.Millisecond) {
		if step := lastStep(cmd.Dir); step != v.phases[len(v.phases)-1].step {
			next(step)
		}
	}
	next("")
	v.phases = v.phases[:len(v.phases)-1]
	t.Logf("%s: %v", v.name, v.phases)
}

// alive waits so long; false where the command ends before.
func alive(ended <-chan struct{}, d time.Duration) bool {
	select {
	case <-ended:
		return false
	case <-time.After(d):
		return true
	}
}

// begun are the steps that have begun of the run in the store of a folder.
func begun(dir string) []string {
	names, store := []string{beginning}, filepath.Join(dir, runs.DefaultRoot)
	entries, _ := os.ReadDir(store)
	for _, e := range entries {
		m, err := runs.ReadManifest(filepath.Join(store, e.Name()))
		for _, s := range m.Steps {
			if err == nil && s.Started != nil {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

func lastStep(dir string) string {
	names := begun(dir)
	return names[len(names)-1]
}

// A kill is one command that is sent a signal.
type kill struct {
	victim
	dir    string // empty; the working directory
	mark   string // in the environment of every process of it
	signal syscall.Signal
	phase  int     // to kill it in
	share  float64 // of the phase that is over then
	hit    *tally
}

func (k kill) test(t *testing.T) {
	temp := filepath.Join(k.dir, "tmp")
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "TMPDIR="+temp, "XDG_CACHE_HOME="+filepath.Join(os.TempDir(), "deepprof-torture-cache"), k.mark)
	code, output := k.run(t, env)
	before := code == -1 && output == "" // the signal came before main
	if k.signal != syscall.SIGKILL && code != 130 && !slices.Contains(k.codes, code) && !before {
		t.Errorf("exit code %d\n%s", code, output)
	}
	waitForEnd(t, k.mark)
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
		k.resume(t, env, r)
	}
	next := exec.Command("deepprof", "version") // any command sweeps
	next.Env, next.Dir = env, k.dir
	if text, err := next.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	waitForEnd(t, k.mark)
	for _, dir := range []string{temp, store} {
		left, _ := os.ReadDir(dir)
		for _, e := range left {
			if dir == temp || strings.HasPrefix(e.Name(), ".") {
				within, _ := filepath.Glob(filepath.Join(dir, e.Name(), "*"))
				t.Errorf("left behind: %s %q", filepath.Join(dir, e.Name()), within)
			}
		}
	}
}

// run starts the command, sends the signal and gives the exit code, -1 for one
// that the signal itself ended. Of a command that ends before, an earlier phase is
// tried.
func (k kill) run(t *testing.T, env []string) (int, string) {
	t.Helper()
	for ; k.phase >= 0; k.phase-- {
		cmd := exec.Command("deepprof", k.args...)
		var output bytes.Buffer
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, k.dir, &output, &output
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		var err error
		go func() { defer close(ended); err = cmd.Wait() }()
		if k.await(ended) {
			step := lastStep(k.dir)
			_ = cmd.Process.Signal(k.signal)
			if <-ended; err != nil && cmd.ProcessState == nil && !errors.Is(err, exec.ErrWaitDelay) {
				t.Fatal(err)
			}
			k.hit.add(k.name + "/" + step)
			return cmd.ProcessState.ExitCode(), output.String()
		}
		if err := os.RemoveAll(filepath.Join(k.dir, runs.DefaultRoot)); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the command ended before every signal")
	return 0, ""
}

// await waits for the moment to kill; false where the command ends before it.
func (k kill) await(ended <-chan struct{}) bool {
	phase := k.phases[k.phase]
	for phase.step != beginning && !slices.Contains(begun(k.dir), phase.step) {
		if !alive(ended, 5*time.Millisecond) {
			return false
		}
	}
	return alive(ended, time.Duration(k.share*float64(phase.length)))
}

// resume goes on with a run, or has deepprof say why not. The stubborn command
// is only asked for its plan.
func (k kill) resume(t *testing.T, env []string, r runs.Summary) {
	t.Helper()
	if r.Status == runs.StatusRunning {
		t.Errorf("%s is shown as running", r.ID)
	}
	if r.Status == runs.StatusDone || k.codes == nil {
		return
	}
	cmd := exec.Command("deepprof", "runs", "resume", r.ID)
	cmd.Env, cmd.Dir = env, k.dir
	text, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	if k.args[0] == "demo" && (code != 2 || !bytes.Contains(text, []byte("cannot go on"))) {
		t.Errorf("resume of a recording: %v, %s", err, text)
	}
	if k.args[0] == "run" && !slices.Contains(k.codes, code) {
		t.Errorf("resume: %v, %s", err, text)
	}
	waitForEnd(t, k.mark)
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
