package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestTally: what is summed while time is painted is what the painting says of the same
// stretches afterward, also of those that begin before it or end after it.
func TestTally(t *testing.T) {
	t.Parallel()
	const labels, call, regions = 6, 4, 5
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 12))
		t0 := &timeline.Timeline{Names: []string{"", "a", "b", "c", "d", "e"}, Domains: make([]timeline.Domain, 1)}
		for range 200 {
			start := rng.Int64N(12_000) - 1000
			t0.Ranges = append(t0.Ranges, timeline.Range{
				Start: start, End: start + rng.Int64N(3000), Name: timeline.StringID(1 + rng.IntN(regions)), Kind: timeline.StartEnd, EndThread: timeline.None, Payload: timeline.None,
			})
		}
		at := t0.Attribute()
		tl := &timed{t: t0, tape: at.Tape(at, nil), regions: at.Regions()}
		counted := newTally(tl, labels)
		var windows []moment
		for at := int64(-500); at < 12_000; at += rng.Int64N(400) {
			m := moment{at, at + rng.Int64N(300)}
			windows, at = append(windows, m), m.end
		}
		within := &windowSums{windows: windows, ns: make([]int64, labels)}
		whole := &painting{labels: labels, call: call, end: 10_000, tally: counted}
		summed := &painting{labels: labels, call: call, end: 10_000, within: within}
		pieces := 0
		for at := rng.Int64N(50); seed > 0 && at < 10_000; at += rng.Int64N(20) { // none at all for the first
			label := uint8(rng.IntN(labels))
			for _, p := range []*painting{whole, summed} {
				p.take([]piece{{at, label, 1}})
			}
			pieces++
		}
		whole.finish()
		summed.finish()
		want := make([]int64, (regions+1)*labels)
		ranges := tl.tape.Ranges()
		for r := range uint32(len(t0.Ranges)) {
			at := int(ranges.Region(r)) * labels
			start, end := ranges.Span(r)
			whole.split(start, end, want[at:at+labels])
		}
		if !slices.Equal(counted.sums, want) {
			t.Fatalf("seed %d, %d pieces: the tally is\n%v, want\n%v", seed, pieces, counted.sums, want)
		}
		if len(summed.blocks) > 0 {
			t.Errorf("seed %d: pieces were kept", seed)
		}
		sums := make([]int64, labels)
		whole.splitAll(windows, sums)
		if n := labels - 1; !areApart(windows) || !slices.Equal(within.ns[:n], sums[:n]) { // the last label is also what lies outside
			t.Fatalf("seed %d, %d pieces: within stretches it is\n%v, want\n%v", seed, pieces, within.ns, sums)
		}
	}
}
