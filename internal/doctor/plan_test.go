package doctor

import (
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

func TestOptionsOf(t *testing.T) {
	p := &plan.Plan{}
	p.Pipeline.Nsys = plan.Nsys{Enable: true, Trace: []string{"nvtx"}}
	p.Pipeline.Workload.Kind = plan.WorkloadCommand
	if o := OptionsOf(p, "runs/auto"); !o.Timeline || o.Counters || o.CUDA || o.Torch || o.RunDir != "runs" {
		t.Errorf("NVTX of a command: %+v", o)
	}
	p.Pipeline.Nsys.Trace = []string{"cuda", "nvtx"}
	p.Pipeline.Workload.Kind = plan.WorkloadLLM
	if o := OptionsOf(p, "/x/y"); !o.CUDA || !o.Torch || o.RunDir != "/x/y" {
		t.Errorf("CUDA of a model: %+v", o)
	}
}
