package analysis

import (
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
		type piece struct {
			moment
			label uint8
			name  timeline.StringID
		}
		p := &painting{labels: labels, call: call}
		var pieces []piece
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
				p.addCall(at, name)
				pieces = append(pieces, piece{moment{at, at + length}, label, name})
			} else {
				p.add(at, label)
				pieces = append(pieces, piece{moment{at, at + length}, label, 0})
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

// The bound on boxes holds for every width: bins that it skips would have been few
// enough.
func TestMostBoxes(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 13))
		spans := make([]moment, rng.IntN(300))
		l := &lane{}
		at := int64(0)
		for i := range spans {
			at += rng.Int64N(1 << rng.IntN(12))
			spans[i] = moment{at, at + rng.Int64N(1<<rng.IntN(12))}
		}
		l.laneEvents = listed(len(spans), func(i int) moment { return spans[i] }, func(i int) uint32 { return uint32(i) }, nil)
		o := &Overview{EndNS: at + 1}
		cut := rng.IntN(len(spans) + 1)
		parts := []stretch{{0, cut}, {cut, len(spans)}}
		most := l.mostBoxes(parts)
		for width := o.EndNS; width > 0; width /= 2 {
			n := 0
			for _, p := range parts {
				try := []binner{{width: width, origin: o.StartNS}}
				l.fill(try, []stretch{p}, len(spans))
				boxes := try[0].boxes
				n += len(boxes)
			}
			if float64(n) > most(width) {
				t.Fatalf("seed %d: bins of %d make %d boxes, and %g at most were expected", seed, width, n, most(width))
			}
		}
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
