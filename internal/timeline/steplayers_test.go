package timeline

import "testing"

// TestDeepSteps: steps that lie deeper than regions are told apart are still steps, and have their
// work, whichever way the timeline comes to the tape.
func TestDeepSteps(t *testing.T) {
	tl := parse(t, `call 1.1 launch 1000000 1000001 1
		kernel 1 k 1000010 1000020 1`)
	tl.Names = append(tl.Names, "r", "step 3", "execute_context_0(0)_generation_8(8)", "step")
	name := StringID(len(tl.Names) - 4)
	const n = maxDepth + 10
	add := func(i int64, name StringID) {
		tl.Ranges = append(tl.Ranges, Range{Start: i, End: 3_000_000 - i, Name: name, Thread: 0, EndThread: None, Payload: None})
	}
	for i := range int64(n) {
		add(i, name)
	}
	add(n, name+2)
	add(n+1, name)
	add(n+2, name+3)
	made, flow := flowing(tl)
	a := tl.Attribute()
	b, passed, ok := made.FlowTape(flow, nil)
	if !ok {
		t.Fatal("the flow is not taken")
	}
	for way, tape := range map[string]*Tape{"memory": a.Tape(a, nil), "flow": passed} {
		at := map[string]*Attribution{"memory": a, "flow": b}[way]
		if len(tape.Steps) != 2 || tape.Steps[0].StartNS != n || tape.Steps[1].StartNS != n+2 || tape.Steps[1].Launches != 1 {
			t.Errorf("%s: steps %+v", way, tape.Steps)
		}
		w := tape.Work()
		if step := tape.StepOf(at); !w.Next() || step(w) != 1 {
			t.Errorf("%s: the kernel is not in the inner step", way)
		}
	}
}

// TestBackwardLayerWork: a kernel that ends before it starts does not lengthen its layer.
func TestBackwardLayerWork(t *testing.T) {
	tl := parse(t, `call 1.1 launch 10 20 1
		call 1.1 launch 30 40 2
		kernel 1 k 100 200 1
		kernel 1 k 300 150 2`)
	tl.Names = append(tl.Names, "decode", "step", "layers.0")
	for i := range StringID(3) {
		tl.Ranges = append(tl.Ranges, Range{Start: int64(i), End: 90 - int64(i), Name: StringID(len(tl.Names)) - 3 + i, Thread: 0, EndThread: None, Payload: None})
	}
	a := tl.Attribute()
	s := a.Tape(a, nil).StepLayers(a, a)
	if len(s.Queues) != 1 || s.Queues[0].Len() != 1 {
		t.Fatalf("pieces %+v", s)
	}
	if p := s.Queues[0].Reader()(0); p.Start != 100 || p.End != 200 || p.NS != 100 {
		t.Errorf("the layer is %+v", p)
	}
}
