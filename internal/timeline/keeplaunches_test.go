package timeline

import "testing"

// TestKeepLaunches: what launched work, and the ranges around that, stay as they were.
func TestKeepLaunches(t *testing.T) {
	for seed := range uint64(20) {
		tl, other := busyProgram(seed), busyProgram(seed)
		a, want := tl.Attribute(), other.Attribute()
		also := a.Captured()
		a.KeepLaunches(also)
		if n, all := tl.Calls.Len(), other.Calls.Len(); n == 0 || n >= all {
			t.Fatalf("seed %d: %d of %d calls are kept", seed, n, all)
		}
		for i := range tl.Ops() {
			call, was := a.Launch(tl.Op(i)), want.Launch(other.Op(i))
			if call == None || was == None {
				if call != was {
					t.Fatalf("seed %d: work %d has call %d, and had %d", seed, i, call, was)
				}
				continue
			}
			if tl.Calls.At(call) != other.Calls.At(was) {
				t.Fatalf("seed %d: work %d has the call %+v, and had %+v", seed, i, tl.Calls.At(call), other.Calls.At(was))
			}
			for _, a := range []*Attribution{a, also} {
				since, ok := a.OpenSince(call)
				if before, had := want.OpenSince(was); since != before || ok != had {
					t.Fatalf("seed %d: the ranges around work %d opened at %d, and had at %d", seed, i, since, before)
				}
			}
		}
	}
}
