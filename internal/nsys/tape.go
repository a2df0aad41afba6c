package nsys

import (
	"context"
	"slices"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Tape writes the timeline of a file to tape while it is read; nil where all of it must be in
// memory: where anything is odd, several processes or devices did the work, or more is recorded
// than a tape can tell, and where what repeats is to be found (detect) in a file without ranges,
// for which all launches are looked at. The timeline has neither kernels nor calls nor ranges.
func (f *File) Tape(ctx context.Context, store *columns.Store, detect bool) (at *timeline.Attribution, tape *timeline.Tape, err error) {
	ok, err := f.withFlow(ctx, Kernels|Calls|Machine|Syncs|Overhead|Samples, timeline.Query{Detect: detect}, func(t *timeline.Timeline, l *flow) (ok bool) {
		if l.b.payloadSeen || len(t.Payloads)+len(t.PythonSamples) > 0 {
			return false
		}
		if at, tape, ok = t.FlowTape(l, store); !ok {
			return false
		}
		t.Configs = l.kernels.configs
		l.b.cover(span{first: tape.FirstNS, last: tape.LastNS, any: tape.FirstNS <= tape.LastNS})
		if l.b.first <= l.b.last {
			t.Session.FirstNS, t.Session.LastNS = l.b.first, l.b.last
		}
		// Some processes may have come up with the calls and kernels.
		return l.nameFunctions(ctx) == nil && l.b.nameProcesses(ctx, l.text) == nil
	})
	if err != nil || !ok {
		return nil, nil, err
	}
	t := at.Timeline()
	t.Warnings, t.Damage = slices.Clone(f.warnings), slices.Clone(f.damage)
	return at, tape, nil
}
