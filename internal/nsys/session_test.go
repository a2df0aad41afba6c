package nsys

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

func TestSession(t *testing.T) {
	s := Session{Name: "dp-1", Version: tool.V(2025, 3, 0), Options: CaptureOptions{
		Command: []string{"./server", "--port=1"}, Trace: []string{"cuda", "nvtx"}, ExtraArgs: []string{"--cuda-memory-usage=true", "--gpu-metrics-devices=0"},
	}}
	launch, env, err := s.Launch()
	want := []string{"launch", "--session-new=dp-1", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--wait=primary", "--cuda-memory-usage=true", "./server", "--port=1"}
	if err != nil || !slices.Equal(launch, want) || len(env) != 1 {
		t.Errorf("got %q, %v, %v", launch, env, err)
	}
	start, err := s.Start("/run/nsys/window-1")
	want = []string{"start", "--session=dp-1", "--sample=none", "--cpuctxsw=none", "--output=/run/nsys/window-1", "--force-overwrite=true", "--gpu-metrics-devices=0"}
	if err != nil || !slices.Equal(start, want) {
		t.Errorf("got %q, %v", start, err)
	}
	s.Options.SampleHz, s.Options.ExtraArgs = 5000, nil
	for version, option := range map[tool.Version]string{tool.V(2025, 3, 0): "--gpu-metrics-devices=all", tool.V(2023, 4, 0): "--gpu-metrics-device=all"} {
		s.Version = version
		if start, err = s.Start("/run/nsys/window-1"); err != nil || !slices.Contains(start, option) || !slices.Contains(start, "--gpu-metrics-frequency=5000") {
			t.Errorf("got %q, %v", start, err)
		}
	}
	if _, err := s.Start("/a%b/x"); err == nil {
		t.Error("a name that nsys expands is taken")
	}
}

// TestSessionState reads what 2023.4 printed.
func TestSessionState(t *testing.T) {
	const listed = `              ID         TIME                       STATE LAUNCH NAME
         1015841        00:07                    Launched      1 dp1
         1015842        00:09                  Collection      1 dp2
`
	for name, want := range map[string]string{"dp1": SessionLaunched, "dp2": SessionCollecting, "dp": "", "NAME": "STATE"} {
		if got := (Session{Name: name}).State(listed); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
