package nvtx

import (
	"fmt"
	"testing"
)

func TestWithoutIDs(t *testing.T) {
	for name, want := range map[string]string{
		"aten::linear, op_id = 314279":         "aten::linear",
		"aten::to, seq = 12, op_id = 7":        "aten::to",
		"AddmmBackward0, seq = 5, op_id = 900": "AddmmBackward0",
		"request 0x7f3a12345678 done":          "request 0x# done",
		"layers.3":                             "layers.3",
		"step12":                               "step12",
		"0x1":                                  "0x1",
	} {
		if got := WithoutIDs(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"aten::linear": true, "c10d::allreduce_": true, "AddmmBackward0, seq = 5, op_id = 9": true, "decode": false, "my::range": false} {
		if IsOperator(name) != want {
			t.Errorf("IsOperator(%q) is not %v", name, want)
		}
	}
}

func TestGroups(t *testing.T) {
	var g Grouper
	names := []string{"fp8", "fp16", "fp32", "layers.0", "layers.1", "layers.2", "conv1d", "conv2d", "conv3d", "a1", "a2", "batch 1 of 9", "batch 2 of 9", "batch 3 of 9"}
	for i := range 32 {
		names = append(names, fmt.Sprintf("step%d", i), fmt.Sprintf("[Executor] _forward_step %d: 1 ctx", i))
	}
	for _, n := range names {
		g.Add("decode", n)
	}
	for name, want := range map[string]string{
		"step0": "step#", "step31": "step#", "fp8": "fp8", "layers.1": "layers.1", "conv2d": "conv2d", "a1": "a1", "aten::mm, op_id = 3": "aten::mm",
	} {
		if got := g.Group("decode", name); got != want {
			t.Errorf("%q is of group %q, want %q", name, got, want)
		}
	}
	if got := g.Group("prefill", "step0"); got != "step0" {
		t.Errorf("under another parent: %q", got)
	}
}
