package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
)

func TestCoarserKeepsSums(t *testing.T) {
	o := Overview{Lanes: []Lane{{Exact: true, Events: 10}}}
	for i := range int64(10) {
		o.Lanes[0].Boxes = append(o.Lanes[0].Boxes, Box{Start: i * 100, Len: 10 + i, Name: int(i % 3)})
	}
	got := o.Coarser(4).Lanes[0]
	if len(got.Boxes) > 4 || got.Exact || len(o.Lanes[0].Boxes) != 10 || !o.Lanes[0].Exact {
		t.Fatalf("%d boxes, exact %v; before %d", len(got.Boxes), got.Exact, len(o.Lanes[0].Boxes))
	}
	var events, busy int64
	for _, b := range got.Boxes {
		events += b.Count
		busy += b.Busy
	}
	if events != 10 || busy != 145 {
		t.Errorf("%d events and %d ns, want 10 and 145", events, busy)
	}
	if last := got.Boxes[len(got.Boxes)-1]; last.Start+last.Len != 919 {
		t.Errorf("the last box ends at %d, want 919", last.Start+last.Len)
	}
}

// TestDensity: a box counts by how busy it is, and the busiest lane of GPU work counts.
func TestDensity(t *testing.T) {
	o := Overview{StartNS: 1000, EndNS: 1100, Lanes: []Lane{
		{Kind: "nvtx", Boxes: []Box{{Start: 0, Len: 100}}},
		{Kind: "kernel", Boxes: []Box{{Start: 10, Len: 30}, {Start: 50, Len: 50, Count: 2, Busy: 10}}},
		{Kind: "copy", Boxes: []Box{{Start: 0, Len: 25}}},
	}}
	got := o.Density(4)
	want := []float64{1, 0.6, 0.2, 0.2}
	for i := range want {
		if diff := got[i] - want[i]; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestLongestStages: the longest are chosen, and stay in the order of the program.
func TestLongestStages(t *testing.T) {
	r := &Result{}
	for _, ns := range []int64{5, 0, 1, 9, 7} {
		r.Stages = append(r.Stages, Stage{Split: Split{WallNS: ns}})
	}
	got := r.LongestStages(3)
	if len(got) != 3 || got[0] != 0 || got[1] != 3 || got[2] != 4 {
		t.Errorf("got %v", got)
	}
}

// TestStageSpots: a stage is found by the last part of its region, which may hold a slash; boxes
// of several ranges are none.
func TestStageSpots(t *testing.T) {
	slash := nvtx.Path([]nvtx.Range{{Name: "run"}, {Name: "a/b"}})
	r := &Result{
		Stages: []Stage{{Name: "ab", Region: slash}, {Name: "decode"}, {Name: "gone"}},
		Overview: Overview{Names: []string{"a/b", "decode", "b"}, Lanes: []Lane{
			{Kind: "kernel", Boxes: []Box{{Start: 1, Len: 1, Name: 0}}},
			{Kind: "nvtx", Boxes: []Box{{Start: 5, Len: 2, Name: 2}, {Start: 10, Len: 3, Name: 0}, {Start: 20, Len: 9, Name: 1, Count: 4}, {Start: 30, Len: 4, Name: 1}}},
		}},
	}
	got := r.StageSpots()
	if len(got) != 2 || got[0] != (StageSpot{"ab", 10, 3}) || got[1] != (StageSpot{"decode", 30, 4}) {
		t.Errorf("got %v for %s", got, slash)
	}
}
