package timeline

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestByStart: merging the kinds gives what sorting all work would, whether the
// file holds them in order or not.
func TestByStart(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		tl := &Timeline{Kernels: make([]Kernel, random.IntN(40)), Copies: make([]Copy, random.IntN(20)), Sets: make([]Set, random.IntN(5)), Graphs: make([]GraphLaunch, random.IntN(5))}
		last := int64(0)
		start := func() int64 { // many start at once
			if round%2 == 0 {
				return random.Int64N(10)
			}
			last += random.Int64N(3)
			return last
		}
		for i := range tl.Kernels {
			tl.Kernels[i].Start = start()
		}
		last = 0
		for i := range tl.Copies {
			tl.Copies[i].Start = start()
		}
		for i := range tl.Sets {
			tl.Sets[i].Start = start()
		}
		for i := range tl.Graphs {
			tl.Graphs[i].Start = start()
		}
		var want, got []Op
		tl.EachOp(func(op Op) {
			if at := tl.Op(len(want)); at != op {
				t.Fatalf("piece %d is %+v, want %+v", len(want), at, op)
			}
			want = append(want, op)
		})
		slices.SortStableFunc(want, func(x, y Op) int { return cmp.Compare(x.Start, y.Start) })
		tl.ByStart(func(op *Op) { got = append(got, *op) })
		if len(got) != tl.Ops() || !slices.Equal(got, want) {
			t.Fatalf("round %d: %+v, want %+v", round, got, want)
		}
	}
}
