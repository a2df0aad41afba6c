package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Calls of several threads come in turns: each has the ranges of its own thread around it,
// whether the file holds the calls by start or not.
func TestRangesAroundCallsOfSeveralThreads(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tl := &Timeline{Names: []string{"", "outer", "inner"}, Processes: []Process{{}}, Threads: []Thread{{}, {}, {}}, Queues: []Queue{{}}}
	for thread := range uint32(2) { // the third has none
		for at := int64(thread) * 7; at < 10_000; at += 100 {
			tl.Ranges = append(tl.Ranges,
				Range{Start: at, End: at + 90, Name: 1, Thread: thread, EndThread: None, Payload: None},
				Range{Start: at + 20, End: at + 40, Name: 2, Thread: thread, EndThread: None, Payload: None})
		}
	}
	var calls []Call
	for at := int64(0); at < 10_000; at += 3 {
		calls = append(calls, Call{Start: at, End: at + 2, Correlation: uint32(len(calls) + 1), Thread: random.Uint32N(3)})
	}
	for _, byStart := range []bool{true, false} {
		if !byStart {
			random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		}
		made := *tl
		for i, c := range calls {
			made.Calls.Add(c)
			if i%3 > 0 { // the others launch nothing
				made.Kernels = append(made.Kernels, Kernel{Start: c.Start + 50, End: c.Start + 60, Correlation: c.Correlation})
			}
		}
		made.Calls.ByStart = byStart
		a := made.Attribute()
		for i := range made.Kernels {
			call := made.Calls.At(a.KernelLaunch(i))
			want := ""
			for _, r := range tl.Ranges {
				if r.Thread == call.Thread && r.Start <= call.Start && call.End <= r.End {
					want = map[StringID]string{1: "outer", 2: "outer/inner"}[r.Name]
				}
			}
			if got := a.Path(a.KernelNode(i)); got != want {
				t.Fatalf("calls by start %v: the call of thread %d at %d is in %q, want %q", byStart, call.Thread, call.Start, got, want)
			}
		}
	}
}

// A list that was joined of two is that of the numbers of both.
func TestJoinedList(t *testing.T) {
	numbers := []uint32{5, 6, 7, 7, 8, 0, 1, 2, 4_000_000_000}
	for i := range uint32(200) {
		numbers = append(numbers, 1000+i)
	}
	for cut := range numbers {
		list, rest := ListOf(numbers[:cut]), ListOf(numbers[cut:])
		list.Join(&rest)
		if got := slices.Collect(list.Numbers()); !slices.Equal(got, numbers) {
			t.Fatalf("cut at %d: %v, want %v", cut, got, numbers)
		}
	}
}
