package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

func TestVisibleDevice(t *testing.T) {
	for _, c := range []struct{ visible, index, want string }{
		{"", "0", "0"},
		{"", "3", "3"},
		{"2,5", "1", "5"},
		{"GPU-abc, GPU-def", "1", "GPU-def"},
		{"2,5", "2", ""},
	} {
		got, err := VisibleDevice(c.visible, c.index)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("VisibleDevice(%q, %q) = %q, %v; want %q", c.visible, c.index, got, err, c.want)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,6")
	for device, want := range map[string]string{
		"all": "CUDA_VISIBLE_DEVICES=4,6", "cuda:1": "CUDA_VISIBLE_DEVICES=6", "cpu": "CUDA_VISIBLE_DEVICES=", "GPU-1": "CUDA_VISIBLE_DEVICES=GPU-1",
	} {
		p := &plan.Plan{Device: device}
		p.Pipeline.Workload.Env = map[string]string{"A": "b c"}
		env, err := Environ(p)
		if err != nil || !slices.Contains(env, want) || !slices.Contains(env, "A=b c") {
			t.Errorf("device %s: %v, want %s in %q", device, err, want, env)
		}
	}
	if _, err := Environ(&plan.Plan{Device: "cuda:2"}); err == nil || !strings.Contains(err.Error(), "shows 2 devices") {
		t.Errorf("a device that is not visible: %v", err)
	}
}

// Python alone does not tell what ran.
func TestCommandLabel(t *testing.T) {
	for command, want := range map[string]string{
		"./prog -x 1":                        "prog",
		"/usr/bin/python3 -u a/infer.py --n": "python3 infer.py",
		"python3.12 -X dev -m pkg.mod --n 1": "python3.12 -m pkg.mod",
		"python -c pass":                     "python -c",
		"python3":                            "python3",
		"python3 -m":                         "python3",
	} {
		if got := commandLabel(strings.Fields(command)); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}
