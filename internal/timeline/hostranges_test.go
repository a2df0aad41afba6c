package timeline

import (
	"maps"
	"testing"
)

// The time between two moments belongs to the innermost range of the thread, also
// where ranges close at the same moment, and to no range outside all.
func TestHostRanges(t *testing.T) {
	tl := &Timeline{
		Names: []string{"", "step", "model", "attn", "mlp"}, Domains: []Domain{{Process: None}},
		Processes: []Process{{Global: 1 << 24, PID: 1}}, Threads: []Thread{{Global: 1<<24 + 1, TID: 1}, {Global: 1<<24 + 2, TID: 2}},
	}
	for _, r := range []struct {
		start, end int64
		name       StringID
		thread     uint32
	}{{10, 100, 1, 0}, {20, 100, 2, 0}, {30, 50, 3, 0}, {50, 100, 4, 0}, {0, 200, 1, 1}} {
		tl.Ranges = append(tl.Ranges, Range{Start: r.start, End: r.end, Name: r.name, Thread: r.thread, EndThread: None, Payload: None, Kind: PushPop})
	}
	a := tl.Attribute()
	h := a.hostRanges()
	for _, c := range []struct {
		from, to int64
		want     map[string]int64
	}{
		{0, 40, map[string]int64{"": 10, "step": 10, "step/model": 10, "step/model/attn": 10}},
		{45, 110, map[string]int64{"step/model/attn": 5, "step/model/mlp": 50, "": 10}},
		{60, 70, map[string]int64{"step/model/mlp": 10}},
		{120, 150, map[string]int64{"": 30}},
		{50, 50, map[string]int64{}},
	} {
		got := map[uint32]int64{}
		h.add(0, c.from, c.to, got)
		named := map[string]int64{}
		for node, ns := range got {
			named[a.Path(node)] += ns
		}
		if !maps.Equal(named, c.want) {
			t.Errorf("from %d to %d: %v, want %v", c.from, c.to, named, c.want)
		}
	}
}
