package analysis

import "testing"

// Modules are nested by their places, wider ones first; work outside modules counts in
// the stage alone. The times are synthetic.
func TestModuleTree(t *testing.T) {
	got := moduleTree([]LaunchPlace{
		{Stage: "decode", Module: "Llama.layers.*.mlp", NS: 50, Calls: 5},
		{Stage: "decode", Module: "Llama.layers.*.self_attn.q_proj", NS: 20, Calls: 2},
		{Stage: "decode", Module: "", NS: 10, Calls: 1},
		{Stage: "prefill", Module: "Llama.lm_head", NS: 20, Calls: 1},
		{Stage: "", NS: 1000},
	})
	want := []ModuleBox{
		{Name: "decode", Path: "decode", Share: 0.8, NS: 80, OwnNS: 10, Calls: 8},
		{Name: "Llama", Path: "decode/Llama", Depth: 1, Share: 0.7, NS: 70, Calls: 7},
		{Name: "layers.*", Path: "decode/Llama.layers.*", Depth: 2, Share: 0.7, NS: 70, Calls: 7},
		{Name: "mlp", Path: "decode/Llama.layers.*.mlp", Depth: 3, Share: 0.5, NS: 50, OwnNS: 50, Calls: 5},
		{Name: "self_attn", Path: "decode/Llama.layers.*.self_attn", Depth: 3, From: 0.5, Share: 0.2, NS: 20, Calls: 2},
		{Name: "q_proj", Path: "decode/Llama.layers.*.self_attn.q_proj", Depth: 4, From: 0.5, Share: 0.2, NS: 20, OwnNS: 20, Calls: 2},
		{Name: "prefill", Path: "prefill", From: 0.8, Share: 0.2, NS: 20, Calls: 1},
		{Name: "Llama", Path: "prefill/Llama", Depth: 1, From: 0.8, Share: 0.2, NS: 20, Calls: 1},
		{Name: "lm_head", Path: "prefill/Llama.lm_head", Depth: 2, From: 0.8, Share: 0.2, NS: 20, OwnNS: 20, Calls: 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%d boxes: %+v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %+v\nwant %+v", got[i], want[i])
		}
	}
	if moduleTree([]LaunchPlace{{Stage: "decode", NS: 5}}) != nil {
		t.Error("a tree without a module")
	}
}
