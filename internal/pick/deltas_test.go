package pick

import (
	"math/rand/v2"
	"testing"
)

func TestDeltas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var d deltas
	var want []uint32
	last := uint32(0)
	for range 10_000 {
		last += 1 + uint32(random.IntN(3))*uint32(random.IntN(100_000))
		d.add(last)
		want = append(want, last)
	}
	for i, v := range want { // in turn
		if got := d.get(i); got != v {
			t.Fatalf("number %d is %d, want %d", i, got, v)
		}
	}
	for range 10_000 {
		i := random.IntN(len(want))
		if random.IntN(2) == 0 {
			if got := d.get(i); got != want[i] {
				t.Fatalf("number %d is %d, want %d", i, got, want[i])
			}
		} else if got := d.find(want[i]); got != i {
			t.Fatalf("%d is at %d, want %d", want[i], got, i)
		}
	}
}
