package export

import (
	"context"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

// An idSet holds numbers that lie close together, a bit for each.
// A page of it covers 65,536 numbers in 8 KiB.
type idSet map[uint64]*[1 << 10]uint64

// add takes any number; one that was added before changes nothing.
func (s idSet) add(id uint64) {
	page := s[id>>16]
	if page == nil {
		page = new([1 << 10]uint64)
		s[id>>16] = page
	}
	page[id>>6&(1<<10-1)] |= 1 << (id & 63)
}

// has tells whether a number was added.
func (s idSet) has(id uint64) bool {
	page := s[id>>16]
	return page != nil && page[id>>6&(1<<10-1)]>>(id&63)&1 != 0
}

// regionIDs is what belongs to a region: by number, since millions of events are held against
// it while they are streamed.
type regionIDs struct {
	calls     idSet            // that launched its work
	processes map[int64]uint64 // number of each globalPid
	ranges    map[int]bool     // places in the file, from 1
}

// key numbers processes from 1 as they come, so that ids of two processes differ.
func (r *regionIDs) key(globalPid int64, correlation uint32) uint64 {
	n, ok := r.processes[globalPid]
	if !ok {
		n = uint64(len(r.processes) + 1)
		r.processes[globalPid] = n
	}
	return n<<32 | uint64(correlation)
}

// regionOf finds what belongs to the region of a source; nil without one. It holds
// the timeline in memory.
func regionOf(ctx context.Context, s *Source, f *nsys.File) (*regionIDs, error) {
	if s.Region == "" {
		return nil, nil
	}
	t, err := f.Timeline(ctx, nsys.Regions)
	if err != nil {
		return nil, err
	}
	at := t.Attribute()
	match, err := s.regionMatch(at)
	if err != nil {
		return nil, err
	}
	r := &regionIDs{calls: idSet{}, processes: map[int64]uint64{}, ranges: map[int]bool{}}
	in := at.OpMatcher(match)
	t.EachOp(func(op timeline.Op) {
		if process := t.Queues[op.Queue].Process; op.Correlation != timeline.NoCorrelation && in(op) {
			r.calls.add(r.key(t.Processes[process].Global, op.Correlation))
		}
	})
	for _, row := range t.RangeRows(timeline.Query{Region: match}).Rows {
		r.ranges[row.ID] = true
	}
	return r, nil
}
