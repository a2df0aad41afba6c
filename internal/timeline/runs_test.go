package timeline

import (
	"math"
	"math/rand/v2"
	"slices"
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

// A list knows its numbers, those that it lacks, whether they go up, and where a number
// lies that counts up with another.
func TestListRuns(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var l List
		var numbers, lacks []uint32
		next, most := uint32(0), uint32(rng.IntN(400))
		for next < most {
			if rng.IntN(4) == 0 {
				lacks = append(lacks, next)
			} else {
				l.Add(next)
				numbers = append(numbers, next)
			}
			next++
		}
		if got := slices.Collect(l.Numbers()); !slices.Equal(got, numbers) {
			t.Fatalf("seed %d: numbers are %v, want %v", seed, got, numbers)
		}
		if got := slices.Collect(l.Missing(most)); !slices.Equal(got, lacks) {
			t.Fatalf("seed %d: missing are %v, want %v", seed, got, lacks)
		}
		if !l.ascends() {
			t.Fatalf("seed %d: %v does not ascend", seed, numbers)
		}
		for at, number := range numbers {
			near := rng.IntN(len(numbers))
			if got, ok := l.alongside(near, number); ok != (number-numbers[near] == uint32(at-near)) || ok && got != at {
				t.Fatalf("seed %d: %d beside place %d is at %d, %v, want %d", seed, number, near, got, ok, at)
			}
		}
		for _, number := range lacks {
			if at, ok := l.alongside(0, number); len(numbers) > 0 && ok {
				t.Fatalf("seed %d: %d is at %d of %v", seed, number, at, numbers)
			}
			if len(numbers) == 0 {
				break
			}
		}
		if len(numbers) > 0 {
			l.Add(numbers[rng.IntN(len(numbers))])
			if l.ascends() {
				t.Fatalf("seed %d: a number that comes again ascends", seed)
			}
		}
	}
	var high List
	high.Add(math.MaxUint32)
	if !high.ascends() {
		t.Error("the largest number alone does not ascend")
	}
	if high.Add(0); high.ascends() {
		t.Error("0 comes after the largest number")
	}
}
