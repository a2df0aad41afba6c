package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/plan"
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
	if o := Checks(p, "runs/auto"); !o.Timeline || o.Counters || o.CUDA || o.Torch || o.RunDir != "runs" {
		t.Errorf("NVTX of a command: %+v", o)
	}
	p.Pipeline.Nsys.Trace = []string{"cuda", "nvtx"}
	p.Pipeline.Workload.Kind = plan.WorkloadLLM
	if o := Checks(p, "/x/y"); !o.CUDA || !o.Torch || o.RunDir != "/x/y" {
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
		{"Ctrl-C", tool.Ended{Stopped: tool.Interrupted, Exit: tool.Exit{Code: 130}}, nil, capture.Interrupted, false},
		{"too long", tool.Ended{Stopped: tool.TimedOut}, nil, capture.TimedOut, false},
		{"hung", tool.Ended{Stopped: tool.Stalled}, nil, capture.Stalled, false},
	} {
		got := judgeBaseline(c.ended, c.err, "stderr.log")
		if got.Kind != c.want || got.Usable != c.usable {
			t.Errorf("%s: %s, usable %v; want %s", c.name, got.Kind, got.Usable, c.want)
		}
	}
}

func TestWithoutEffect(t *testing.T) {
	p := &plan.Plan{}
	if got := withoutEffect(p); len(got) != 0 {
		t.Errorf("everything off: %q", got)
	}
	p.Pipeline.Nsys.Enable, p.Pipeline.Ncu.Enable, p.Pipeline.Ncu.Pick.Enable = true, true, true
	p.Pipeline.Ncu.CLI.ReplayMode = plan.ReplayAuto
	if got := withoutEffect(p); len(got) != 2 {
		t.Errorf("pick and auto: %q", got)
	}
}
