package nsys

import (
	"context"
	"slices"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TapeOptions are what else is asked of a timeline, which takes all launches of some files.
type TapeOptions struct {
	Detect   bool // what repeats, where there are no ranges
	Recalled bool // where CUDA graphs were captured in an earlier window
}

// Tape writes the timeline of a file to tape while it is read; nil where all of it must be in
// memory: where anything is odd, several processes or devices did the work, or more is recorded
// than a tape can tell. The timeline has neither kernels nor calls nor ranges.
func (f *File) Tape(ctx context.Context, store *columns.Store, o TapeOptions) (at *timeline.Attribution, tape *timeline.Tape, err error) {
	ok, err := f.withFlow(ctx, Kernels|Calls|Machine|Syncs|Overhead|Samples, timeline.Query{Detect: o.Detect}, func(t *timeline.Timeline, l *flow) (ok bool) {
		if len(t.Payloads)+len(t.PythonSamples) > 0 || o.Recalled && len(t.GraphNodes) > 0 {
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
		return l.nameFunctions(ctx) == nil
	})
	if err != nil || !ok {
		return nil, nil, err
	}
	t := at.Timeline()
	t.Warnings, t.Damage = slices.Clone(f.warnings), slices.Clone(f.damage)
	return at, tape, nil
}
