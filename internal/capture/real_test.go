package capture

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// nsightVersions are the folders below DEEPPROF_NSIGHT, each with the wrappers
// nsys and ncu: nsys 2023.4 and 2022.4.
var nsightVersions = []string{"trixie", "bookworm"}

// nsight is the folder with the real tools. Tests that need it are skipped
// where it is not set.
func nsight(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DEEPPROF_NSIGHT")
	if dir == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: no real nsys and ncu to drive")
	}
	if testing.Short() {
		t.Skip("drives real profilers")
	}
	return dir
}

// programs is a folder for compiled workloads; TestMain removes it.
var programs = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "deepprof-prog-")
	if err != nil {
		panic(err)
	}
	return dir
})

var buildOnce = sync.OnceValues(func() (string, error) {
	headers, err := filepath.Glob(filepath.Join(os.Getenv("DEEPPROF_NSIGHT"), "*/usr/lib/*/nsight-systems/target-linux-x64/nvtx/include"))
	if err != nil || len(headers) == 0 {
		return "", fmt.Errorf("no NVTX headers below DEEPPROF_NSIGHT")
	}
	prog := filepath.Join(programs(), "prog")
	out, err := exec.Command("gcc", "-O1", "-I", headers[0], "-o", prog, "testdata/prog.c", "-ldl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	return prog, nil
})

func buildProg(t *testing.T) string {
	t.Helper()
	prog, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// slots bounds how many profilers run at once: they are started in parallel
// because they mostly wait.
var slots = make(chan struct{}, 3)

// oneAtATime keeps runs of nsys 2022.4 apart: it keeps its semaphores in
// /dev/shm, where runs that start together disturb each other ("sem_open",
// "Local Endpoint is not available", "End of file"). Other users of the machine
// may still do so, hence the retries.
var oneAtATime sync.Mutex

// A realCase is one run of a real nsys through the engine.
type realCase struct {
	name    string
	options []string // of nsys, besides the usual
	prog    []string // arguments of the program
	change  func(t *testing.T, c *Capture)

	want    Kind
	reports int
	must    []string // ids of warnings
	usable  bool
	check   func(t *testing.T, c Capture, r Result)
}

func nsysCapture(t *testing.T, version string, options, prog []string) Capture {
	t.Helper()
	dir := t.TempDir()
	target := append([]string{buildProg(t)}, prog...)
	args := append([]string{"profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none"}, options...)
	args = append(args, "--output="+filepath.Join(dir, "r"))
	c := Capture{
		Tool:    Nsys,
		Command: tool.Command{Path: filepath.Join(nsight(t), version, "nsys"), Args: append(args, target...), Dir: dir},
		Output:  filepath.Join(dir, "r"), Target: target,
		Retries: 4, Backoff: 200 * time.Millisecond, // see oneAtATime
		Limits: tool.Limits{Timeout: 60 * time.Second, Finish: 60 * time.Second, Grace: 15 * time.Second, Settle: time.Second},
	}
	for _, o := range options {
		if strings.HasPrefix(o, "--capture-range=") {
			c.Gated, c.EndsTarget = true, true
			c.Command.Env = append(os.Environ(), "NSYS_NVTX_PROFILER_REGISTER_ONLY=0")
		}
	}
	for _, o := range options {
		if end, ok := strings.CutPrefix(o, "--capture-range-end="); ok {
			c.EndsTarget = strings.Contains(end, "shutdown")
		}
	}
	return c
}

var gate = []string{"--capture-range=nvtx", "--nvtx-capture=prefill"}

func gated(end string) []string { return append(slices.Clone(gate), "--capture-range-end="+end) }

// pressing sends interrupts when a line begins with a text, n of them.
func pressing(line string, n int, delay time.Duration) func(*testing.T, *Capture) {
	return func(t *testing.T, c *Capture) {
		keys := make(chan os.Signal, n)
		c.Interrupts = keys
		watchOutput(t, c, line, func() {
			time.Sleep(delay)
			for range n {
				keys <- os.Interrupt
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
}

// watchOutput calls do once, when the log of the run holds the text.
func watchOutput(t *testing.T, c *Capture, text string, do func()) {
	logs := filepath.Join(filepath.Dir(c.Output), "stdout*.log") // one for each attempt
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			found, _ := filepath.Glob(logs)
			for _, log := range found {
				if data, err := os.ReadFile(log); err == nil && strings.Contains(string(data), text) {
					do()
					return
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

func realCases() []realCase {
	return []realCase{
		{name: "ungated", want: Captured, reports: 1, usable: true},
		{name: "gated none", options: gated("none"), want: Captured, reports: 1, usable: true},
		{name: "gated stop", options: gated("stop"), want: Captured, reports: 1, usable: true},
		{name: "gated stop-shutdown", options: gated("stop-shutdown"), prog: []string{"iters=200", "ms=20"}, want: WithWarnings, must: []string{"ended-as-asked"}, reports: 1, usable: true},
		{name: "gated default end", options: gate, prog: []string{"iters=200", "ms=20"}, want: WithWarnings, must: []string{"ended-as-asked"}, reports: 1, usable: true},
		{name: "gated repeat", options: gated("repeat"), prog: []string{"iters=2"}, want: Captured, reports: 2, usable: true},
		{name: "gated repeat:0", options: gated("repeat:0"), prog: []string{"iters=2"}, want: Captured, reports: 2, usable: true},
		{name: "gated repeat:2", options: gated("repeat:2"), prog: []string{"iters=3"}, want: Captured, reports: 2, usable: true},
		{name: "gated repeat:3, two ranges", options: gated("repeat:3"), prog: []string{"iters=2"}, change: func(_ *testing.T, c *Capture) { c.Expect.Reports = 3 }, want: WithWarnings, must: []string{"fewer-reports"}, reports: 2, usable: true},
		{name: "gated repeat-shutdown:2", options: gated("repeat-shutdown:2"), prog: []string{"iters=200", "ms=20"}, want: WithWarnings, must: []string{"ended-as-asked"}, reports: 2, usable: true},
		{name: "gate never opens", options: []string{"--capture-range=nvtx", "--nvtx-capture=nosuch"}, want: GateNeverOpened},
		{name: "gate of unregistered string", options: gated("stop"), change: func(_ *testing.T, c *Capture) { c.Command.Env = os.Environ() }, want: GateNeverOpened},
		{name: "delay longer than the program", options: []string{"--delay=20"}, want: NothingCollected},
		{name: "unknown option", options: []string{"--no-such-option=1"}, want: ToolUsage},
		{name: "ignored value", options: []string{"--delay=abc"}, want: ToolUsage, reports: 1, usable: true},
		{name: "exit code 3", prog: []string{"exit=3"}, want: WorkloadFailed, must: []string{"workload-cut"}, reports: 1, usable: true},
		{name: "segmentation fault", prog: []string{"signal=11"}, want: WorkloadCrashed, reports: 1, usable: true},
		{name: "forks", prog: []string{"fork=3"}, want: Captured, reports: 1, usable: true},
		{name: "daemon, waited for", prog: []string{"daemon=1500"}, want: WithWarnings, must: []string{"reparented"}, reports: 1, usable: true},
		{name: "daemon, not waited for", options: []string{"--wait=primary"}, prog: []string{"daemon=60000"}, want: WithWarnings, must: []string{"processes-left"}, reports: 1, usable: true},
		{name: "ignores SIGTERM", options: gated("stop-shutdown"), prog: []string{"iters=2", "sleep=60000", "ignterm"}, want: WithWarnings, must: []string{"processes-left"}, reports: 1, usable: true},
		{name: "interrupted once", prog: []string{"iters=3000", "ms=10"}, change: pressing("iteration 20", 1, 0), want: Interrupted, reports: 1, usable: true},
		{name: "interrupted twice", prog: []string{"iters=3000", "ms=10", "ignterm"}, change: pressing("iteration 20", 2, 0), want: Interrupted},
		{name: "interrupted during generation", prog: []string{"many=200000"}, change: pressing("Generating '", 1, 0), want: Interrupted, reports: 1, usable: true},
		{name: "workload named like nsys", prog: []string{"iters=3000", "ms=10"}, change: func(t *testing.T, c *Capture) {
			named := filepath.Join(c.Command.Dir, "nsysbench")
			data, err := os.ReadFile(c.Target[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(named, data, 0o755); err != nil {
				t.Fatal(err)
			}
			c.Command.Args[len(c.Command.Args)-len(c.Target)] = named
			c.Target = append([]string{named}, c.Target[1:]...)
			pressing("iteration 20", 1, 0)(t, c)
		}, want: Interrupted, reports: 1, usable: true},
		{name: "interrupted before the gate opens", options: []string{"--capture-range=nvtx", "--nvtx-capture=nosuch"}, prog: []string{"iters=3000"}, change: pressing("iteration 20", 1, 0), want: Interrupted},
		{name: "interrupted after a stopped range", options: gated("stop"), prog: []string{"iters=3000", "ms=20"}, change: pressing("100%]", 1, 0), want: Interrupted, reports: 1, usable: true},
		{name: "timed out, report kept", prog: []string{"sleep=60000"}, change: func(_ *testing.T, c *Capture) { c.Limits.Timeout = 3 * time.Second }, want: TimedOut, reports: 1, usable: true},
		{name: "stalled, report kept", prog: []string{"sleep=60000"}, change: func(_ *testing.T, c *Capture) { c.Limits.Stall = 3 * time.Second }, want: Stalled, reports: 1, usable: true},
		{name: "workload missing", change: func(_ *testing.T, c *Capture) {
			c.Command.Args[len(c.Command.Args)-1] = "/no/such/program"
			c.Target = nil // the engine would refuse it: let nsys say so
		}, want: WorkloadMissing},
		{name: "output exists", change: oldFiles, want: Captured, reports: 1, usable: true, check: oldFilesGone},
		{name: "output elsewhere", change: func(t *testing.T, c *Capture) {
			for i, a := range c.Command.Args {
				if strings.HasPrefix(a, "--output=") {
					c.Command.Args[i] = "--output=/no/such/folder/r"
				}
			}
		}, want: WithWarnings, must: []string{"report-moved", "cannot_create"}, reports: 1, usable: true},
		{name: "output disk full", change: smallOutput, want: DiskFull, check: streamKept},
		{name: "output disk filled by the workload's output", change: smallLogs, want: DiskFull, reports: -1},
		{name: "TMPDIR fills", prog: []string{"many=400000"}, change: smallTemp, want: DiskFull, reports: -1, usable: true},
		{name: "nsys killed by somebody", prog: []string{"iters=100", "ms=10"}, change: killNsys, want: WithWarnings, reports: 1, usable: true},
	}
}

func TestRealNsys(t *testing.T) {
	nsight(t)
	buildProg(t)
	for _, version := range nsightVersions {
		for _, rc := range realCases() {
			t.Run(version+"/"+rc.name, func(t *testing.T) {
				t.Parallel()
				if version == "bookworm" {
					oneAtATime.Lock()
					defer oneAtATime.Unlock()
				}
				slots <- struct{}{}
				defer func() { <-slots }()
				runReal(t, version, rc)
			})
		}
	}
}

// TestRealEngineDies: when this program is killed, nsys is asked once to finish:
// the report is written, nothing stays alive, and the next run removes what is
// left in TMPDIR.
func TestRealEngineDies(t *testing.T) {
	const helper = "DEEPPROF_TEST_DIES"
	if dir := os.Getenv(helper); dir != "" {
		args := strings.Split(os.Getenv(helper+"_ARGS"), "\n")
		Run(t.Context(), Capture{
			Tool: Nsys, Output: filepath.Join(dir, "r"), TempRoot: os.Getenv(helper + "_TEMP"),
			Command: tool.Command{Path: args[0], Args: args[1:], Dir: dir},
		})
		return
	}
	nsight(t)
	c := nsysCapture(t, "trixie", nil, []string{"iters=3000", "ms=10"})
	dir, root := c.Command.Dir, t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRealEngineDies$")
	cmd.Env = append(os.Environ(), helper+"="+dir, helper+"_TEMP="+root, helper+"_ARGS="+strings.Join(append([]string{c.Command.Path}, c.Command.Args...), "\n"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := func(what string, done func() bool) {
		t.Helper()
		for until := time.Now().Add(40 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(until) {
				_ = cmd.Process.Kill()
				t.Fatalf("%s: not within 40 s; alive: %v", what, processesIn(dir))
			}
		}
	}
	wait("start", func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "stdout.log"))
		return strings.Contains(string(data), "iteration 20")
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wait("end of nsys", func() bool { return len(processesIn(dir)) == 0 })
	if f := sniff(c.want(), time.Time{}); f.Format != NsysReport {
		t.Errorf("the report is %s", f.Format)
	}
	wait("removal of TMPDIR", func() bool {
		sweepTemp(root)
		left, err := os.ReadDir(root)
		return err == nil && len(left) == 0
	})
}

// toolTrouble is what a busy machine makes of a run that would have succeeded:
// the profiler hung, did not start, or armed its gate too late.
var toolTrouble = []Kind{TimedOut, StartFailed, TempUnusable, GateNeverOpened}

// importerFailed tells that the importer of nsys 2023.4 lost a sound capture, as it
// does now and then.
func importerFailed(o Outcome) bool {
	return slices.ContainsFunc(o.Warnings, func(w Warning) bool { return w.Code == "importer_failed" })
}

func runReal(t *testing.T, version string, rc realCase) {
	var c Capture
	var r Result
	for range 3 {
		c = nsysCapture(t, version, rc.options, rc.prog)
		if rc.change != nil {
			rc.change(t, &c)
		}
		r = Run(t.Context(), c)
		// On a busy machine nsys hangs at times (2022.4), and a short program is
		// over before a gate is armed.
		lost := rc.reports > len(r.Reports) && importerFailed(r.Outcome)
		if !lost && (r.Outcome.Kind == rc.want || !slices.Contains(toolTrouble, r.Outcome.Kind)) {
			break
		}
		t.Logf("%s, want %s; nsys is run again\n%s", r.Outcome.Kind, rc.want, r.Outcome.explain())
	}
	o := r.Outcome
	explain := func() string {
		text := o.explain()
		for _, log := range []string{"stdout.log", "stderr.log"} {
			text += "--- " + log + "\n" + tailOf(readLog(Nsys, filepath.Join(filepath.Dir(c.Output), log)), 1500) + "\n"
		}
		return text
	}
	if o.Kind != rc.want {
		t.Fatalf("%s, want %s\n%s", o.Kind, rc.want, explain())
	}
	if o.Usable != rc.usable && rc.reports >= 0 {
		t.Errorf("usable %v\n%s", o.Usable, explain())
	}
	if rc.reports >= 0 && len(r.Reports) != rc.reports {
		t.Errorf("reports %v, want %d\n%s", r.Reports, rc.reports, explain())
	}
	for _, id := range rc.must {
		if !slices.ContainsFunc(o.Warnings, func(w Warning) bool { return string(w.Code) == id }) {
			t.Errorf("no warning %s\n%s", id, explain())
		}
	}
	for _, path := range r.Reports {
		if f := sniff(path, time.Time{}); f.Format != NsysReport {
			t.Errorf("%s is %s", path, f.Format)
		}
	}
	checkOutcome(t, rc.name, o)
	if left := processesIn(c.Command.Dir); len(left) > 0 {
		t.Errorf("alive after the run: %v", left)
	}
	if rc.check != nil {
		rc.check(t, c, r)
	}
}

func tailOf(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// processesIn finds live processes by their working directory.
func processesIn(dir string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var found []string
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && cwd == dir {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(l), "comm"))
			found = append(found, filepath.Base(filepath.Dir(l))+" "+strings.TrimSpace(string(name)))
		}
	}
	return found
}

// TestRealDiagnostics reads the messages that both versions store in a report
// and that never reach the terminal.
func TestRealDiagnostics(t *testing.T) {
	nsight(t)
	for _, version := range nsightVersions {
		t.Run(version, func(t *testing.T) {
			oneAtATime.Lock()
			defer oneAtATime.Unlock()
			var o Outcome
			for range 3 { // see runReal
				c := nsysCapture(t, version, nil, nil)
				c.Command.Args = append(c.Command.Args[:len(c.Command.Args)-1], "/usr/bin/env", "-i", buildProg(t))
				c.Target = nil
				c.Diagnostics = textDiagnostics(c.Command.Path)
				if o = Run(t.Context(), c).Outcome; o.Kind == WithWarnings {
					break
				}
			}
			if o.Kind != WithWarnings || !slices.ContainsFunc(o.Warnings, func(w Warning) bool { return w.Code == "diag_no_events" }) {
				t.Error(o.explain())
			}
		})
	}
}

// TestRealRecording records a real run, plays it, and expects the same verdict.
func TestRealRecording(t *testing.T) {
	nsight(t)
	var made Recording
	var first Result
	for range 3 { // see runReal
		c := nsysCapture(t, "trixie", gated("stop-shutdown"), []string{"iters=100", "ms=20"})
		c.Record = func(r Recording) { made = r }
		if first = Run(t.Context(), c); first.Outcome.Kind == WithWarnings {
			break
		}
	}
	if first.Outcome.Kind != WithWarnings || len(made.Events) == 0 || len(made.Files) != 1 {
		t.Fatalf("%s\n%s", first.Outcome.explain(), made)
	}
	path := filepath.Join(t.TempDir(), "made.txt")
	if err := os.WriteFile(path, []byte(made.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p := played(t, Nsys)
	p.Command.Env = append(p.Command.Env, playVar+"="+path)
	p.Gated, p.EndsTarget = true, true
	again := Run(t.Context(), p)
	if again.Outcome.Kind != first.Outcome.Kind || !again.Outcome.Evidence.Equal(first.Outcome.Evidence) || len(again.Reports) != 1 {
		t.Errorf("recorded:\n%splayed:\n%s", first.Outcome.explain(), again.Outcome.explain())
	}
	if d := again.Attempts[0].Seconds; d < 0.5 {
		t.Errorf("played in %.2f s: the times were lost", d)
	}
}
