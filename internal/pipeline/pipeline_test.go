package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestVisibleDevice(t *testing.T) {
	for _, c := range []struct{ visible, index, want string }{
		{"", "0", "0"},
		{"", "3", "3"},
		{"2,5", "1", "5"},
		{"GPU-abc, GPU-def", "1", "GPU-def"},
		{"2,5", "2", ""},
	} {
		got, err := visibleDevice(c.visible, c.index)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("visibleDevice(%q, %q) = %q, %v; want %q", c.visible, c.index, got, err, c.want)
		}
	}
}

func TestWorkloadEnv(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,6")
	for device, want := range map[string]string{
		"all": "CUDA_VISIBLE_DEVICES=4,6", "cuda:1": "CUDA_VISIBLE_DEVICES=6", "cpu": "CUDA_VISIBLE_DEVICES=", "GPU-1": "CUDA_VISIBLE_DEVICES=GPU-1",
	} {
		p := &plan.Plan{Device: device}
		p.Pipeline.Workload.Env = map[string]string{"A": "b c"}
		env, err := workloadEnv(p)
		if err != nil || !slices.Contains(env, want) || !slices.Contains(env, "A=b c") {
			t.Errorf("device %s: %v, want %s in %q", device, err, want, env)
		}
	}
	if _, err := workloadEnv(&plan.Plan{Device: "cuda:2"}); err == nil || !strings.Contains(err.Error(), "shows 2 devices") {
		t.Errorf("a device that is not visible: %v", err)
	}
}

func TestChecks(t *testing.T) {
	p := &plan.Plan{}
	p.Pipeline.Nsys = plan.Nsys{Enable: true, Trace: []string{"nvtx"}}
	p.Pipeline.Workload.Kind = plan.WorkloadCommand
	if o := checks(p, "runs/auto"); !o.Timeline || o.Counters || o.CUDA || o.Torch || o.RunDir != "runs" {
		t.Errorf("NVTX of a command: %+v", o)
	}
	p.Pipeline.Nsys.Trace = []string{"cuda", "nvtx"}
	p.Pipeline.Workload.Kind = plan.WorkloadLLM
	if o := checks(p, "/x/y"); !o.CUDA || !o.Torch || o.RunDir != "/x/y" {
		t.Errorf("CUDA of a model: %+v", o)
	}
}

func TestJudgeBaseline(t *testing.T) {
	for _, c := range []struct {
		name   string
		ended  tool.Ended
		err    error
		want   capture.Kind
		usable bool
	}{
		{"good", tool.Ended{}, nil, capture.Captured, true},
		{"exit 3", tool.Ended{Exit: tool.Exit{Code: 3}}, nil, capture.WorkloadFailed, false},
		{"not there", tool.Ended{}, errors.New("no such file"), capture.WorkloadMissing, false},
		{"Ctrl-C before the start", tool.Ended{}, fmt.Errorf("run prog: %w", context.Canceled), capture.Interrupted, false},
		{"no room for its log", tool.Ended{}, fmt.Errorf("create log: %w", syscall.ENOSPC), capture.DiskFull, false},
		{"segfault", tool.Ended{Exit: tool.Exit{Code: -1, Signal: syscall.SIGSEGV}}, nil, capture.WorkloadCrashed, false},
		{"segfault under a shell", tool.Ended{Exit: tool.Exit{Code: 139}}, nil, capture.WorkloadCrashed, false},
		{"exit 255", tool.Ended{Exit: tool.Exit{Code: 255}}, nil, capture.WorkloadFailed, false},
		{"daemon", tool.Ended{Left: []tool.Process{{PID: 7, Name: "d"}}}, nil, capture.WithWarnings, true},
		{"Ctrl-C", tool.Ended{Stopped: tool.Interrupted, Exit: tool.Exit{Code: 130}}, nil, capture.Interrupted, false},
		{"too long", tool.Ended{Stopped: tool.TimedOut}, nil, capture.TimedOut, false},
		{"hung", tool.Ended{Stopped: tool.Stalled}, nil, capture.Stalled, false},
	} {
		got := judgeBaseline(c.ended, c.err, "stdout.log", "stderr.log")
		if got.Kind != c.want || got.Usable != c.usable {
			t.Errorf("%s: %s, usable %v; want %s", c.name, got.Kind, got.Usable, c.want)
		}
	}
}

func TestBaselineNext(t *testing.T) {
	dir := t.TempDir()
	out, errs := filepath.Join(dir, "out"), filepath.Join(dir, "err")
	failed := tool.Ended{Exit: tool.Exit{Code: 1}}
	for _, c := range []struct{ out, err, next, evidence string }{
		{"", "", "it printed nothing; run it by hand", ""},
		{"why\n", "", "read " + out, "why"},
		{"why\n", "because\n\n", "read " + errs, "because"},
		{"", "\x1b[31m" + strings.Repeat("x", 1<<20), "read " + errs, "xxx"},
	} {
		for path, text := range map[string]string{out: c.out, errs: c.err} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := judgeBaseline(failed, nil, out, errs)
		if o.Next != c.next || !strings.Contains(o.Evidence, c.evidence) || len(o.Evidence) > 400 || strings.Contains(o.Evidence, "\x1b") {
			t.Errorf("stdout %.20q, stderr %.20q: next %q, evidence %.80q (%d bytes)", c.out, c.err, o.Next, o.Evidence, len(o.Evidence))
		}
	}
}

func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		kind   capture.Kind
		usable bool
		want   runs.State
	}{
		{capture.Captured, true, runs.StateDone},
		{capture.MissingData, true, runs.StateDone},
		{capture.MissingData, false, runs.StateFailed},
		{capture.TimedOut, true, runs.StateFailed},
		{capture.Stalled, true, runs.StateFailed},
		{capture.HungCollective, true, runs.StateFailed},
		{capture.Interrupted, true, runs.StateInterrupted},
		{capture.Permission, false, runs.StateFailed},
	} {
		if got := stateOf(capture.Outcome{Kind: c.kind, Usable: c.usable}); got != c.want {
			t.Errorf("%s, usable %v: %s, want %s", c.kind, c.usable, got, c.want)
		}
	}
}

func TestExpectTimeline(t *testing.T) {
	for _, c := range []struct {
		name   string
		nsys   plan.Nsys
		n      int
		tables []string
	}{
		{"nvtx alone", plan.Nsys{Trace: []string{"nvtx"}, CaptureRange: plan.CaptureNone}, 0, []string{dataRanges}},
		{"both", plan.Nsys{Trace: []string{"cuda", "nvtx"}, CaptureRange: plan.CaptureNone}, 0, []string{dataKernels}},
		{"a domain", plan.Nsys{Trace: []string{"cuda", "nvtx"}, NVTXDomainInclude: []string{"x"}, CaptureRange: plan.CaptureNone}, 0, []string{dataKernels, dataRanges}},
		{"repeat", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNVTX, CaptureRangeEnd: "repeat:5"}, 5, nil},
		{"repeat and end", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNVTX, CaptureRangeEnd: "repeat-shutdown:2"}, 2, nil},
		{"no gate", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNone, CaptureRangeEnd: "repeat:5"}, 0, nil},
	} {
		if got := expectTimeline(c.nsys); got.Reports != c.n || !slices.Equal(got.Tables, c.tables) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := askedTables(plan.Nsys{Trace: []string{"nvtx", "osrt"}}); got != nil {
		t.Errorf("what is not counted: %q", got)
	}
}

func TestJudgeMissing(t *testing.T) {
	result := func() *capture.Result {
		o := capture.Outcome{Kind: capture.MissingData, Usable: true}
		return &capture.Result{Outcome: o, Attempts: []capture.Attempt{{Outcome: o}}}
	}
	for _, c := range []struct {
		got    map[string]int64
		usable bool
	}{
		{map[string]int64{"a": 1}, true},
		{map[string]int64{"a": 0, "other": 9}, false},
		{nil, false},
	} {
		r := result()
		judgeMissing(r, []string{"a", "b"}, c.got)
		if r.Outcome.Usable != c.usable || r.Attempts[0].Outcome.Usable != c.usable {
			t.Errorf("%v: usable %v", c.got, r.Outcome.Usable)
		}
	}
	r := result()
	r.Outcome.Kind = capture.WithWarnings
	if judgeMissing(r, []string{"a"}, nil); !r.Outcome.Usable {
		t.Error("another verdict was changed")
	}
}

func TestCheckGate(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "a": true, "a@b": true, `a\@b@c`: true, "a@b@c": false} {
		if err := checkGate(plan.Nsys{NVTXCapture: name}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRedactRecords(t *testing.T) {
	secret := []string{"MY_PASSWORD"}
	got := redactArgs([]string{
		"deepprof", "run", "+pipeline.workload.env.MY_PASSWORD=a=b", "++pipeline.workload.env={MY_PASSWORD: x}",
		"+pipeline.workload.env.OTHER=y", "--", "prog", "MY_PASSWORD=kept as it was",
	}, secret)
	want := []string{
		"deepprof", "run", "+pipeline.workload.env.MY_PASSWORD=[redacted]", "++pipeline.workload.env=[redacted]",
		"+pipeline.workload.env.OTHER=y", "--", "prog", "MY_PASSWORD=kept as it was",
	}
	if !slices.Equal(got, want) {
		t.Errorf("arguments %q", got)
	}
	text := "a: 1e3\npipeline:\n  workload:\n    command:\n    - \"012\"\n    env:\n      OTHER: \"yes\"\n      MY_PASSWORD: sesame\n"
	clean, err := redactConfig([]byte(text), secret)
	if err != nil || strings.Contains(string(clean), "sesame") {
		t.Fatalf("configuration %s, %v", clean, err)
	}
	for _, kept := range []string{"a: 1e3\n", `- "012"`, `OTHER: "yes"`, `MY_PASSWORD: "[redacted]"`} {
		if !strings.Contains(string(clean), kept) {
			t.Errorf("%q is not in\n%s", kept, clean)
		}
	}
	if same, err := redactConfig([]byte(text), nil); err != nil || string(same) != text {
		t.Errorf("a configuration without secrets was changed: %s, %v", same, err)
	}
	if _, err := redactConfig([]byte("a: 1\n"), secret); err == nil {
		t.Error("a secret that was not found is no error")
	}
}

// TestUntilInterrupted: before the first stage one interrupt is enough, and
// none is lost.
func TestRedactValues(t *testing.T) {
	env := map[string]string{"MY_API_KEY": "zzz", "PLAIN": "yes"}
	got := redactValues([]string{"deepprof", "+pipeline.workload={env: {MY_API_KEY: zzz, PLAIN: yes}}"}, env, []string{"MY_API_KEY"})
	if got[1] != "+pipeline.workload={env: {MY_API_KEY: "+redact.Mark+", PLAIN: yes}}" {
		t.Errorf("%q", got)
	}
}

func TestUntilInterrupted(t *testing.T) {
	keys := make(chan os.Signal, 1)
	r := &run{Options: Options{Interrupts: keys}}
	if err := r.untilInterrupted(context.Background(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("undisturbed: %v", err)
	}
	err := r.untilInterrupted(context.Background(), func(ctx context.Context) error {
		keys <- os.Interrupt
		<-ctx.Done()
		return errors.New("something broke")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.untilInterrupted(gone, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
}

func TestLaunches(t *testing.T) {
	tl := &timeline.Timeline{
		Names:     []string{"", "k", "k<1>", "k<2>"},
		Functions: []timeline.Function{{Demangled: 2, Short: 1, Mangled: 2}, {Demangled: 3, Short: 1, Mangled: 3}},
		Configs:   []timeline.LaunchConfig{{Grid: [3]int32{1, 1, 1}}, {Grid: [3]int32{2, 1, 1}}},
		Queues:    []timeline.Queue{{}},
		Kernels:   []timeline.Kernel{{Config: 0}, {Config: 0, Function: 1}, {Config: 0}, {Config: 1}},
	}
	base := plan.NcuCLI{ReplayMode: plan.ReplayKernel, FilterMode: "global", TargetProcesses: "all", ProfileFromStart: true}
	for _, c := range []struct {
		name   string
		change func(*plan.Nsys, *plan.NcuCLI)
		want   int
	}{
		{"all", func(*plan.Nsys, *plan.NcuCLI) {}, 4},
		{"skip and count", func(_ *plan.Nsys, c *plan.NcuCLI) { c.LaunchSkip, c.LaunchCount = 1, 2 }, 2},
		{"one of each", func(_ *plan.Nsys, c *plan.NcuCLI) { c.FilterMode, c.LaunchCount = "per-launch-config", 1 }, 3},
		{"a rule of ncu's", func(_ *plan.Nsys, c *plan.NcuCLI) { c.KernelName = "k" }, 0},
		{"a part of the program", func(n *plan.Nsys, _ *plan.NcuCLI) { n.CaptureRange = plan.CaptureNVTX }, 0},
		{"ranges", func(_ *plan.Nsys, c *plan.NcuCLI) { c.ReplayMode = plan.ReplayRange }, 0},
	} {
		p := &plan.Plan{}
		p.Pipeline.Nsys.CaptureRange = plan.CaptureNone
		p.Pipeline.Ncu.CLI = base
		c.change(&p.Pipeline.Nsys, &p.Pipeline.Ncu.CLI)
		r := &run{Options: Options{Plan: p}}
		if got := r.launches(tl, []nvtx.Seen{}); got != c.want {
			t.Errorf("%s: %d launches, want %d", c.name, got, c.want)
		}
	}
}

func TestMatcher(t *testing.T) {
	seen := []nvtx.Seen{
		{Style: nvtx.PushPop, Stack: []nvtx.Range{{Name: "prefill"}}},
		{Style: nvtx.PushPop, Stack: []nvtx.Range{{Name: "prefill"}, {Name: "mlp"}}},
	}
	m, err := matcher([]string{"prefill"}, []string{"mlp"}, seen)
	if err != nil {
		t.Fatal(err)
	}
	in := nvtx.State{Stacks: [][]nvtx.Range{seen[0].Stack}}
	out := nvtx.State{Stacks: [][]nvtx.Range{seen[1].Stack}}
	if !m(in) || m(out) || m(nvtx.State{}) {
		t.Errorf("prefill without mlp: %v %v %v", m(in), m(out), m(nvtx.State{}))
	}
	if m, err := matcher(nil, nil, seen); m != nil || err != nil {
		t.Errorf("no filter: %v", err)
	}
}

// TestInterruptBetweenStages: the next stage does not start, and a resumed run
// does it.
func TestInterruptBetweenStages(t *testing.T) {
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []string{"unprofiled", "nsys"}})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(chan os.Signal, 1)
	keys <- os.Interrupt
	r := &run{Options: Options{Interrupts: keys, Say: func(string) {}}, store: store, summary: &Summary{}}
	for _, stage := range []string{"unprofiled", "nsys"} {
		err := r.stage(context.Background(), stage, stage == "nsys", func(context.Context) (capture.Outcome, error) {
			t.Error("the stage was started")
			return capture.Outcome{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	m := store.Manifest()
	if m.Status != runs.StatusInterrupted || r.summary.Status != runs.StatusInterrupted || m.Step("nsys").State != runs.StatePending {
		t.Errorf("run %s (%s), nsys %s", m.Status, r.summary.Status, m.Step("nsys").State)
	}
}
