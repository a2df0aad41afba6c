package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A painting of many blocks, some of them cut short by pieces that lie far apart,
// splits as its pieces added one by one do, and knows its calls.
func TestPaintingSplits(t *testing.T) {
	const labels, call = 5, 3
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 11))
		type painted struct {
			moment
			label uint8
			name  timeline.StringID
		}
		p := &painting{labels: labels, call: call}
		var pieces []painted
		at := rng.Int64N(1000) - 500
		for range 1 + rng.IntN(3000) {
			length := rng.Int64N(50)
			if rng.IntN(100) == 0 {
				length = rng.Int64N(1 << 34)
			}
			label := uint8(rng.IntN(labels))
			if label == call {
				length++                                                 // a call is never empty
				name := timeline.StringID(rng.IntN(1 + 300*int(seed%2))) // or more than there are codes
				p.take([]piece{{at, label, name}})
				pieces = append(pieces, painted{moment{at, at + length}, label, name})
			} else {
				p.take([]piece{{at, label, 0}})
				pieces = append(pieces, painted{moment{at, at + length}, label, 0})
			}
			at += length
		}
		p.end = at
		p.finish()
		first := pieces[0].start
		for range 50 {
			m := moment{first + rng.Int64N(at-first+1), 0}
			m.end = m.start + rng.Int64N(at-m.start+1)
			want, got := make([]int64, labels), make([]int64, labels)
			calls, found := make([][2]int64, 400), make([][2]int64, 400)
			for _, q := range pieces {
				if part := min(q.end, m.end) - max(q.start, m.start); part > 0 {
					want[q.label] += part
					if q.label == call {
						long := 0
						if q.end-q.start >= longAttribute {
							long = 1
						}
						calls[q.name][long] += part
					}
				}
			}
			p.split(m.start, m.end, got)
			p.callsWithin(m, found)
			for l := range want {
				if got[l] != want[l] {
					t.Fatalf("seed %d: %+v has %v, want %v", seed, m, got, want)
				}
			}
			if !slices.Equal(found, calls) {
				t.Fatalf("seed %d: %+v has the calls %v, want %v", seed, m, found, calls)
			}
		}
	}
}

// TestNarrowest: boxes that are joined while events come are those of the narrowest bins that
// are few enough, whether events overlap or not.
func TestNarrowest(t *testing.T) {
	joined := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 13))
		spans := make([]moment, rng.IntN(300))
		at := int64(0)
		for i := range spans {
			length := rng.Int64N(1 << rng.IntN(12))
			at += rng.Int64N(1 << rng.IntN(12))
			spans[i] = moment{at, at + length}
			if seed%2 == 0 {
				at += length
			}
		}
		l := &lane{laneEvents: listed(len(spans), func(i int) moment { return spans[i] }, func(i int) uint32 { return uint32(i) }, nil)}
		o := &Overview{EndNS: at + 1}
		cut, limit := rng.IntN(len(spans)+1), 2+rng.IntN(100)
		parts := []stretch{{0, cut}, {cut, len(spans)}}
		got, width := l.narrowest(o, limit, parts...)
		want := binner{limit: math.MaxInt}
		for l.fill(&want, parts); len(want.boxes) > limit; l.fill(&want, parts) {
			want = binner{limit: math.MaxInt, bits: want.bits + 1}
			joined++
		}
		if width != want.width() || !slices.Equal(got, want.boxes) {
			t.Fatalf("seed %d: bins of %d ns, want %d\n%v\n%v", seed, width, want.width(), got, want.boxes)
		}
	}
	if joined == 0 {
		t.Error("no boxes were joined")
	}
}

// Lanes name a process by its program, not by its path.
func TestProcessesOfLanes(t *testing.T) {
	tl := &timeline.Timeline{Names: []string{"", "python3", "/usr/bin/python3.12", "/redacted/xxxxxx"}}
	for i := range tl.Names {
		tl.Processes = append(tl.Processes, timeline.Process{PID: 10 + i, Name: timeline.StringID(i)})
	}
	groups, _ := (&timed{t: tl}).groups()
	var got []string
	for _, g := range groups {
		got = append(got, message.Text(g.Fact))
	}
	if want := []string{"process (10)", "python3 (11)", "python3.12 (12)", "process (13)", "process not known"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
