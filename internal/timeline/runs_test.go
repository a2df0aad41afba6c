package timeline

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, most := range []uint32{1, 2, 1000} {
		list := make([]uint32, 5000)
		for i := range list {
			if list[i] = random.Uint32N(most); i > 0 && random.IntN(4) > 0 {
				list[i] = list[i-1]
			}
		}
		r := runsOf(list)
		for i, want := range list {
			if got := r.at(uint32(i)); got != want {
				t.Fatalf("numbers below %d: item %d is %d, want %d", most, i, got, want)
			}
		}
	}
	r := runsOf([]uint32{None, 7, None, None, 8, None})
	for i, want := range map[uint32]uint32{1: 7, 4: 8} {
		if got := r.at(i); got != want {
			t.Errorf("beside items that may be anything, item %d is %d, want %d", i, got, want)
		}
	}
	if len(r.values) != 3 {
		t.Errorf("%d runs, want 3: items that may be anything begin none", len(r.values))
	}
}

func TestColumns(t *testing.T) {
	var starts Starts
	var numbers Numbers
	moments := []int64{5, 5, 3, math.MaxInt64, math.MinInt64, 1 << 40, 1<<40 + math.MaxUint32, 1<<40 + math.MaxUint32 - 1}
	for i := range int64(200) {
		moments = append(moments, i<<30)
	}
	for i, m := range moments {
		starts.Add(m)
		numbers.Add(uint32(i) * 400) // beyond 16 bits from the 164th on
	}
	more, others := starts.clone(1), numbers.clone(1)
	more.Add(7)
	others.Add(7)
	for i, want := range moments {
		if got, copied := starts.At(uint32(i)), more.At(uint32(i)); got != want || copied != want {
			t.Errorf("moment %d is %d and %d in a copy, want %d", i, got, copied, want)
		}
		if got, copied := numbers.At(uint32(i)), others.At(uint32(i)); got != uint32(i)*400 || copied != got {
			t.Errorf("number %d is %d and %d in a copy, want %d", i, got, copied, i*400)
		}
	}
	if last := uint32(len(moments)); more.At(last) != 7 || others.At(last) != 7 {
		t.Errorf("what was added to copies is %d and %d, want 7", more.At(last), others.At(last))
	}
}
