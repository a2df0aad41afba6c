package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// launches makes a timeline of one process whose kernels are the symbols, in
// order, each launched by a call of its own. It is synthetic.
func launches(symbols []uint32) *Timeline {
	t := &Timeline{
		Names:     []string{""},
		Domains:   []Domain{{Process: None}},
		Processes: []Process{{}}, Threads: []Thread{{}}, Queues: []Queue{{}},
	}
	for range slices.Max(symbols) + 1 {
		t.Functions = append(t.Functions, Function{})
	}
	t.Configs = []LaunchConfig{{Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}}}
	for i, s := range symbols {
		at := int64(i) * 100
		t.Calls.Add(Call{Start: at, End: at + 10, Correlation: uint32(i)})
		t.Kernels = append(t.Kernels, Kernel{Start: at + 20, End: at + 80, Correlation: uint32(i), Function: s})
	}
	return t
}

// A sequence of a decode step: few kernels around layers that repeat.
func step(layers int) []uint32 {
	s := []uint32{50, 51}
	for range layers {
		s = append(s, 1, 2, 3, 4, 5, 6, 2, 7)
	}
	return append(s, 52, 53)
}

func program(setUp []uint32, times int, step func(i int) []uint32, rest []uint32) []uint32 {
	all := slices.Clone(setUp)
	for i := range times {
		all = append(all, step(i)...)
	}
	return append(all, rest...)
}

func TestDetectPhases(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n, kinds int) []uint32 {
		s := make([]uint32, n)
		for i := range s {
			s[i] = 60 + uint32(random.IntN(kinds))
		}
		return s
	}
	noisy := func(int) []uint32 { // now and then a kernel more, or one less
		s := step(8)
		switch random.IntN(4) {
		case 0:
			s = slices.Insert(s, random.IntN(len(s)-1)+1, 59)
		case 1:
			at := random.IntN(len(s)-4) + 2
			s = slices.Delete(s, at, at+1)
		}
		return s
	}
	deep := len(step(32))
	for _, c := range []struct {
		name             string
		symbols          []uint32
		period, times    int
		before, after    int
		inner, innerSize int
	}{
		{"steps after a set-up", program(noise(100, 30), 31, func(int) []uint32 { return step(8) }, nil), len(step(8)), 31, 100, 0, 8, 8},
		{"deep model", program(noise(50, 30), 40, func(int) []uint32 { return step(32) }, noise(20, 30)), deep, 40, 50, 20, 32, 8},
		{"one kernel", slices.Repeat([]uint32{7}, 100), 1, 100, 0, 0, 0, 0},
		{"noise in the sequence", program(noise(30, 30), 200, noisy, nil), len(step(8)), 190, 30, 0, -1, 0},
		{"loops in a loop", slices.Repeat(slices.Concat(slices.Repeat([]uint32{0, 1}, 100), slices.Repeat([]uint32{2, 3}, 100)), 7), 400, 7, 0, 0, 100, 2},
		{"loops in a loop, one longer", slices.Repeat(slices.Concat(slices.Repeat([]uint32{0, 1}, 100), slices.Repeat([]uint32{2, 3}, 120)), 7), 440, 7, 0, 0, 120, 2},
		{"random", noise(5000, 30), 0, 0, 0, 0, 0, 0},
		{"random of two", noise(5000, 2), 0, 0, 0, 0, 0, 0},
		{"too few times", program(noise(100, 30), 2, func(int) []uint32 { return step(1) }, nil), 0, 0, 0, 0, 0, 0},
		{"little of a long program", program(noise(5000, 30), 4, func(int) []uint32 { return step(2) }, nil), 0, 0, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := launches(c.symbols).detectPhases()
			if p.Period != c.period {
				t.Fatalf("period %d, want %d (%d repetitions)", p.Period, c.period, len(p.Repetitions))
			}
			if c.period == 0 {
				return
			}
			if n := len(p.Repetitions); n < c.times || c.inner >= 0 && n != c.times {
				t.Errorf("%d repetitions, want %d", n, c.times)
			}
			if c.inner < 0 {
				return
			}
			if p.Before != c.before || p.After != c.after || p.Between != 0 {
				t.Errorf("before %d, between %d, after %d; want %d, 0, %d", p.Before, p.Between, p.After, c.before, c.after)
			}
			if n, size := p.Repetitions[0].Inner(); n != c.inner || n > 0 && size != c.innerSize {
				t.Errorf("inside %d of %d kernels, want %d of %d", n, size, c.inner, c.innerSize)
			}
		})
	}
}

// Each repetition and what lies around it becomes a region with exactly its
// kernels.
func TestWithPhases(t *testing.T) {
	made, p := launches(program(slices.Repeat([]uint32{60, 61, 62, 63, 64}, 1), 31, func(int) []uint32 { return step(8) }, []uint32{70})).WithPhases()
	if p.Period != len(step(8)) {
		t.Fatalf("period %d", p.Period)
	}
	got := map[string]int64{}
	for _, r := range made.RegionRows(Query{}).Rows {
		got[r.Path] = r.KernelCalls
	}
	for path, want := range map[string]int64{
		DetectedDomain + "@" + DetectedSetUp:                        5,
		DetectedDomain + "@" + DetectedRepeat:                       31 * int64(len(step(8))),
		DetectedDomain + "@" + DetectedRepeat + "/" + DetectedInner: 31 * 64,
		DetectedDomain + "@" + DetectedRest:                         1,
	} {
		if got[path] != want {
			t.Errorf("%s has %d kernels, want %d (%v)", path, got[path], want, got)
		}
	}
}

// Random sequences of any length and number of kinds repeat nothing, but for the shortest
// ones by chance.
func TestNothingRepeatsInNoise(t *testing.T) {
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 7))
		kinds, n := 2+random.IntN(40), 200+random.IntN(3000)
		symbols := make([]uint32, n)
		for i := range symbols {
			symbols[i] = uint32(random.IntN(kinds))
		}
		if p := launches(symbols).detectPhases(); p.Period != 0 {
			t.Errorf("seed %d: %d repetitions of %d kernels in %d launches of %d kinds", seed, len(p.Repetitions), p.Period, n, kinds)
		}
	}
}
