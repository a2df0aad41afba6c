package compare

import (
	"testing"

	"github.com/deepprof/deepprof/recordings"
)

func TestAlign(t *testing.T) {
	recorded, err := DecodeBaseline(recordings.Eager)
	if err != nil {
		t.Fatal(err)
	}
	r := recorded.Runs[0].Result
	panels := Align(r, r)
	if len(panels) < 2 {
		t.Fatalf("%d panels", len(panels))
	}
	for _, p := range panels {
		kernels, busy := 0, int64(0)
		for _, lane := range p.Base {
			for _, b := range lane.Boxes {
				if b.Start < 0 || b.Start+b.Len > p.BaseNS {
					t.Errorf("%s: a box from %d, %d long, in a region of %d", p.Region, b.Start, b.Len, p.BaseNS)
				}
				if lane.Kind == "kernel" {
					kernels++
					busy += b.Busy
				}
				if b.Busy <= 0 || b.Busy > b.Len {
					t.Errorf("%s: a box that is %d long is busy for %d", p.Region, b.Len, b.Busy)
				}
			}
		}
		if p.BaseNS != p.NewNS || kernels == 0 {
			t.Errorf("%s: %d against %d, %d boxes of kernels", p.Region, p.BaseNS, p.NewNS, kernels)
		}
		if p.Region == "decode" && (busy < p.BaseNS/20 || busy > p.BaseNS/4) { // launch-bound: kernels run for an eighth of it
			t.Errorf("kernels are drawn as %d busy ns of %d", busy, p.BaseNS)
		}
	}
	if Align(nil, r) != nil {
		t.Error("panels without a timeline")
	}
}

// The bundled recordings say what CUDA graphs change: decode is faster, its GPU time
// is not.
func TestRecordings(t *testing.T) {
	var sides [2][]Run
	for i, data := range [][]byte{recordings.Eager, recordings.Graphs} {
		b, err := DecodeBaseline(data)
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = b.Runs
	}
	c := mustCompare(t, sides[0], sides[1])
	for key, want := range map[Key]Verdict{{Stage, "decode", Time}: Faster, {Total, "", Time}: Faster, {Stage, "decode", GPUTime}: Slower, {Total, "", Launches}: More} {
		if r := c.find(key); r == nil || r.Verdict != want {
			t.Errorf("%v: %+v", key, r)
		}
	}
	same := mustCompare(t, sides[0][:3], sides[0][3:])
	for i := range same.Rows {
		if r := &same.Rows[i]; r.Verdict == Faster || r.Verdict == Slower {
			t.Errorf("%v of equal sides: %s, %.3f to %.3f", r.Key, r.Verdict, *r.Low, *r.High)
		}
	}
}
