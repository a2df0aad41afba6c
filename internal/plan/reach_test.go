package plan

import (
	"testing"
)

// hydra.job.chdir and hydra.job.env_set reach the workload.
func TestHydraJobReachesTheWorkload(t *testing.T) {
	p := mustDecode(t, "hydra.job.chdir=true", "+hydra.job.env_set.A=job", "+hydra.job.env_set.B=${infer.seed}", "+pipeline.workload.env.A=own")
	if !p.Pipeline.Workload.Chdir {
		t.Error("hydra.job.chdir=true does not reach the workload")
	}
	if env := p.Pipeline.Workload.Env; env["A"] != "own" || env["B"] != "0" {
		t.Errorf("environment %v, want A from pipeline.workload.env and B from hydra.job.env_set", env)
	}
	if mustDecode(t).Pipeline.Workload.Chdir {
		t.Error("the workload changes into the run by default")
	}
}

func TestEndOfTheGate(t *testing.T) {
	gate := []string{"pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=prefill"}
	for _, end := range []string{"null", "''"} {
		if p := mustDecode(t, append(gate, "pipeline.nsys.capture_range_end="+end)...); p.Pipeline.Nsys.CaptureRangeEnd != "" {
			t.Errorf("capture_range_end=%s gives %q, want it left to nsys", end, p.Pipeline.Nsys.CaptureRangeEnd)
		}
	}
	doubts := func(overrides ...string) Problems {
		root, err := compose(t, nil, overrides...).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		p, problems := Decode(root)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		return Doubts(root, p)
	}
	const key = "pipeline.nsys.capture_range_end"
	if found := doubts(key + "=repeat:2"); len(found) != 1 || found[0].Key != key {
		t.Errorf("an end without a gate: %v, want one warning about %s", found, key)
	}
	if found := doubts(append(gate, key+"=repeat:2")...); len(found) != 0 {
		t.Errorf("an end with its gate: %v", found)
	}
	if found := doubts(); len(found) != 0 {
		t.Errorf("the defaults: %v", found)
	}
}

// A gate may name what annotation opens, and ranges of libraries' domains.
func TestGatesThatMayOpen(t *testing.T) {
	for _, gate := range []string{"prefill", "step@*", "decode@default", "model.layers.0.self_attn", "ncclAllReduce@NCCL", `a\@b@NCCL`} {
		mustDecode(t, "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture='"+gate+"'")
	}
	mustDecode(t, "+model.stage_hooks.attention=model.layers.0.self_attn", "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=attention")
	mustDecode(t, "workload=command", "pipeline.workload.command=[./app]", "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=anything")
}
