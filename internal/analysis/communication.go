package analysis

import "github.com/deepprof/deepprof/internal/timeline"

// communicationCategory is the ID of collectives and other exchanges between
// GPUs in conf/categories.rules.
const communicationCategory = "communication"

// Communication is the time in which kernels that exchange data between GPUs ran,
// summed over devices. Times are unions of intervals, never sums of durations.
type Communication struct {
	Launches     int64 `json:"launches"`
	NS           int64 `json:"ns"`            // at least one of them ran
	ExposedNS    int64 `json:"exposed_ns"`    // and no other kernel did
	OverlappedNS int64 `json:"overlapped_ns"` // and another kernel did
}

// communication measures it over the whole timeline; nil where there is none.
func (a *analyzer) communication() *Communication {
	t := a.tl.t
	comm := make([]bool, len(t.Functions))
	for i, f := range t.Functions {
		comm[i] = a.categories.List[a.kinds.of(t.Name(f.Demangled)).category].ID == communicationCategory
	}
	c := &Communication{}
	byDevice := map[int32]*exchange{}
	t.ByStart(func(op timeline.Op) {
		if op.Kind != timeline.OpKernel {
			return
		}
		device := t.Queues[op.Queue].Device
		x := byDevice[device]
		if x == nil {
			x = &exchange{}
			byDevice[device] = x
		}
		if comm[t.Kernels[op.Index].Function] {
			c.Launches++
			x.add(&x.comm, &x.other, op.Start, op.End)
		} else {
			x.add(&x.other, &x.comm, op.Start, op.End)
		}
	})
	if c.Launches == 0 {
		return nil
	}
	for _, x := range byDevice {
		c.NS += x.comm.ns
		c.OverlappedNS += x.both
	}
	c.ExposedNS = c.NS - c.OverlappedNS
	return c
}

// exchange follows two unions of intervals, both filled in the order of starts,
// and the time that they have in common.
type exchange struct {
	comm, other running
	both        int64
}

// running is a union up to its latest end.
type running struct{ end, ns int64 }

// add takes an interval of one kind. What is new of it overlaps with the other
// kind up to the end of that, because no interval of the other kind that came
// before begins later.
func (x *exchange) add(own, other *running, start, end int64) {
	from := max(start, own.end)
	if end <= from {
		return
	}
	own.ns += end - from
	x.both += max(0, min(end, other.end)-from)
	own.end = end
}
