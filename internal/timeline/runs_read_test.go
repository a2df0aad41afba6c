package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestListRead reads parts of lists of long and short runs, which must be what At says
// number by number, and the calls of such a list what Calls.At says.
func TestListRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, longest := range []int{1, 3, 70, 1000} {
		var numbers []uint32
		var calls Calls
		for n := uint32(0); len(numbers) < 2000; n += random.Uint32N(3) {
			for range 1 + random.IntN(longest) {
				numbers = append(numbers, n)
				n++
			}
		}
		for i := range numbers[len(numbers)-1] + 1 {
			start := int64(i) * 1000
			calls.Add(Call{Start: start, End: start + int64(random.IntN(900)) + int64(i%50/49)<<33})
		}
		list := ListOf(numbers)
		for range 200 {
			from, size := random.IntN(len(numbers)+1), random.IntN(300)
			want := numbers[from:min(len(numbers), from+size)]
			got, spans := make([]uint32, size), make([]Span, size)
			if n := list.Read(from, got); !slices.Equal(got[:n], want) {
				t.Fatalf("runs up to %d, from %d: %v, want %v", longest, from, got[:n], want)
			}
			n := calls.Spans(&list, from, spans)
			if n != len(want) {
				t.Fatalf("runs up to %d, from %d: %d spans, want %d", longest, from, n, len(want))
			}
			for i, s := range spans[:n] {
				if c := calls.At(want[i]); s != (Span{c.Start, c.End, want[i]}) {
					t.Fatalf("span %d is %v, want %v", want[i], s, c)
				}
			}
		}
	}
}
