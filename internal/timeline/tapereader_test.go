package timeline

import (
	"math"
	"testing"

	"github.com/deepprof/deepprof/internal/columns"
)

// TestBoundsAfter: a reader of bounds finds the first one after any moment, also one that lies in
// the block before.
func TestBoundsAfter(t *testing.T) {
	tl := parse(t, "")
	tl.Names, tl.Threads = append(tl.Names, "r"), []Thread{{}}
	const n = 2*columns.BlockRows + 3
	for i := range int64(n) { // bounds at 0, 1, 10, 11, 20, ...
		tl.Ranges = append(tl.Ranges, Range{Start: 10 * i, End: 10*i + 1, Name: 1, EndThread: None, Payload: None})
	}
	a := tl.Attribute()
	tape := a.Tape(a, nil)
	after := func(moment int64) int64 {
		switch {
		case moment < 0:
			return 0
		case moment%10 == 0:
			return moment + 1
		}
		return moment - moment%10 + 10
	}
	last := int64(10*(n-1) + 1)
	for _, order := range [][]int64{
		{-5, 3, 4, 5, last - 1, 3, last, -5, last + 7, 0},
		{10 * columns.BlockRows / 2, 10*columns.BlockRows/2 - 1, 10*columns.BlockRows/2 - 5, 10*columns.BlockRows/2 - 9, 10*columns.BlockRows/2 - 10},
		{10*columns.BlockRows/2 + 3, 10*columns.BlockRows/2 - 8, 10*columns.BlockRows/2 - 8},
	} {
		b := tape.Bounds()
		for _, moment := range order {
			if moment >= last {
				if b.After(moment) {
					t.Errorf("a bound after %d, the last is at %d", moment, last)
				}
				continue
			}
			if !b.After(moment) {
				t.Fatalf("%v: no bound after %d", order, moment)
			}
			if got, want := b.Time(), after(moment); got != want {
				t.Errorf("%v: the bound after %d is at %d, want %d", order, moment, got, want)
			}
		}
	}
}

// TestEndlessWork: work whose length does not fit in 64 bits lasts as long as can be told, and
// none where it ends before it starts.
func TestEndlessWork(t *testing.T) {
	const far = 9_000_000_000_000_000_000
	tl := parse(t, "")
	tl.Queues, tl.Functions, tl.Configs = []Queue{{}}, []Function{{}}, []LaunchConfig{{}}
	tl.Kernels = []Kernel{{Start: -far, End: far}, {Start: 5, End: 12}, {Start: 7, End: 6}, {Start: far, End: -far}}
	a := tl.Attribute()
	w := a.Tape(a, nil).Work()
	for i, want := range []int64{math.MaxInt64, 7, 0, 0} {
		if !w.Next() || w.NS() != want {
			t.Errorf("kernel %d lasts %d ns, want %d", i, w.NS(), want)
		}
	}
}
