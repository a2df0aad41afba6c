package timeline

import "testing"

// A window that opens within a step has the modules of that step without it: they
// are no regions that the program is about.
func TestMainRegionsOfCutStep(t *testing.T) {
	tl := parse(t, `
		push 1.1 layers.31 0 10
		call 1.1 launch 1 2 1
		kernel 1 k 3 5 1
		push 1.1 execute_context_0(0)_generation_8(8) 20 120
		push 1.1 layers.0 21 100
		call 1.1 launch 22 23 2
		kernel 1 k 30 90 2`)
	a := tl.Attribute()
	var got []string
	for _, id := range a.MainRegions() {
		got = append(got, a.Path(id))
	}
	if len(got) != 1 || got[0] != "execute_context_0(0)_generation_8(8)" {
		t.Errorf("main regions %v", got)
	}
}
