package timeline

import "testing"

func region(path string, instances, calls, inclusive, ownCalls, own int64) RegionRow {
	return RegionRow{Path: path, Instances: instances, KernelCalls: calls, InclusiveNS: inclusive, ExclusiveCalls: ownCalls, ExclusiveNS: own}
}

// The rows of a stage add up to its GPU time, with what is in no module.
func TestLayersAddUp(t *testing.T) {
	rows := []RegionRow{
		region("decode", 2, 14, 1400, 0, 0),
		region("decode/step", 4, 14, 1400, 2, 100),
		region("decode/step/Llama", 4, 12, 1300, 0, 0),
		region("decode/step/Llama/model", 4, 12, 1300, 2, 300),
		region("decode/step/Llama/model/layers.0", 4, 5, 500, 1, 200),
		region("decode/step/Llama/model/layers.0/mlp", 4, 4, 300, 4, 300),
		region("decode/step/Llama/model/layers.1", 4, 5, 500, 1, 150),
		region("decode/step/Llama/model/layers.1/mlp", 4, 4, 350, 4, 350),
		region("prefill", 2, 3, 90, 3, 90),
		region(`read\/parse`, 1, 2, 70, 0, 0), // one range whose name has a slash
		region(`read\/parse/Llama`, 1, 2, 70, 2, 70),
		region("idle", 1, 0, 0, 0, 0),
	}
	for _, each := range []bool{false, true} {
		sums, launches := map[string]int64{}, map[string]int64{}
		byLayer := map[string]LayerRow{}
		for _, r := range Layers(rows, each) {
			sums[r.Stage] += r.NS
			launches[r.Stage] += r.Launches
			byLayer[r.Stage+" "+r.Layer] = r
		}
		if sums["decode"] != 1400 || sums["prefill"] != 90 || launches["decode"] != 14 {
			t.Errorf("each %v: sums %v, launches %v", each, sums, launches)
		}
		if r := byLayer["decode "]; r.NS != 100 || r.Steps != 4 || r.PerStepNS != 25 {
			t.Errorf("in no module: %+v", r)
		}
		if r := byLayer[`read\/parse Llama`]; r.NS != 70 || sums[`read\/parse`] != 70 {
			t.Errorf("a name with a slash: %+v, sums %v", r, sums)
		}
		if _, merged := byLayer["decode Llama.model.layers.*.mlp"]; merged == each {
			t.Errorf("each %v: %v", each, byLayer)
		}
	}
	merged := Layers(rows, false)
	if in := InLayers(merged, []KernelRow{{TotalNS: 1000}, {TotalNS: 600}}, 400); in.Params["time"].Number != 1370 || in.Params["share"].Number != 1370.0/2000 {
		t.Errorf("in layers: %+v", in)
	}
	for _, r := range merged {
		if r.Layer == "Llama.model.layers.*.mlp" && (r.NS != 650 || r.Modules != 2 || r.Share != 650.0/1400) {
			t.Errorf("%+v", r)
		}
	}
}

// TestLayersWithoutIDs: the ids of autograd change with each call of an operator,
// and make no stages and modules of their own.
func TestLayersWithoutIDs(t *testing.T) {
	got := Layers([]RegionRow{
		region("Flash, seq = 1, op_id = 10", 1, 2, 50, 0, 0),
		region("Flash, seq = 1, op_id = 10/aten::attn, op_id = 11", 1, 2, 50, 2, 50),
		region("Flash, seq = 2, op_id = 20", 1, 1, 30, 0, 0),
		region("Flash, seq = 2, op_id = 20/aten::attn, op_id = 21", 1, 1, 30, 1, 30),
	}, false)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if r := got[0]; r.Stage != "Flash" || r.Layer != "aten::attn" || r.Modules != 1 || r.Calls != 2 || r.Launches != 3 || r.NS != 80 || r.Share != 1 || r.Passes != 2 || r.PerStepNS != 40 || len(r.Paths()) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestSteps(t *testing.T) {
	var rows []RangeRow
	for i := range 5 {
		start := int64(i) * 100
		length := int64(60)
		if i == 3 {
			length = 90
		}
		rows = append(rows, RangeRow{Path: "decode/step", Name: "step", Depth: 1, StartNS: start, EndNS: start + length, RangeNS: length, InclusiveNS: 10, KernelCalls: 7})
	}
	rows = append(rows, RangeRow{Path: "step", Name: "step", StartNS: 900, EndNS: 950, RangeNS: 50}) // no stage around it, as in a training loop
	steps := Steps(rows)
	if len(steps) != 6 || steps[5].Stage != "step" || steps[5].Group() != "step" || steps[4].Group() != "decode" || steps[0].GapNS != nil || *steps[1].GapNS != 40 || *steps[4].GapNS != 10 {
		t.Fatalf("%+v", steps)
	}
	groups := GroupSteps(steps)
	if len(groups) != 2 || groups[1].Steps != 1 || groups[0].Steps != 5 || groups[0].MedianNS != 60 || groups[0].MaxNS != 90 || groups[0].Slowest[0] != 3 || *groups[0].GapMedianNS != 40 || groups[0].Launches != 7 {
		t.Errorf("%+v", groups)
	}
}
