package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// communicationCategory is the ID of collectives and other exchanges between
// GPUs in conf/categories.rules.
const communicationCategory = "communication"

// waitsForRanks tells whether a category, by its index, is that of such kernels.
func (tl *timed) waitsForRanks(label uint8) bool {
	return tl.categories != nil && int(label) < len(tl.categories.List) && tl.categories.List[label].ID == communicationCategory
}

// Communication is the time in which kernels that exchange data between GPUs ran,
// summed over devices. Times are unions of intervals, never sums of durations.
type Communication struct {
	// Launches count each; times are nanoseconds.
	Launches     int64 `json:"launches"`
	NS           int64 `json:"ns"`            // at least one of them ran
	ExposedNS    int64 `json:"exposed_ns"`    // and no other kernel did
	OverlappedNS int64 `json:"overlapped_ns"` // and another kernel did
}

// communication measures it over the whole timeline; nil where there is none.
func (tl *timed) communication() *Communication {
	comm := tl.communicationKinds()
	if !slices.Contains(comm, true) {
		return nil
	}
	c, _ := tl.communicationOf(comm, func(*timeline.WorkReader) bool { return true })
	return &c
}

// communicationKinds are the kinds of work that exchange data between GPUs, by number.
func (tl *timed) communicationKinds() []bool {
	comm := make([]bool, len(tl.tape.Kinds))
	for i := range comm {
		comm[i] = tl.tape.Kinds[i].Kind == timeline.OpKernel && tl.waitsForRanks(tl.p.label[i])
	}
	return comm
}

// communicationOf measures the communication among some work, and on how many
// GPUs it ran. Every other kernel covers it, of whatever part of the program. It asks
// for each kernel that communicates once, in the order of their starts.
func (tl *timed) communicationOf(comm []bool, among func(*timeline.WorkReader) bool) (c Communication, devices int) {
	byDevice := map[int32]*exchange{}
	for w := tl.tape.Work(); w.Next(); {
		k := w.Of()
		if k.Kind != timeline.OpKernel {
			continue
		}
		x := entry(byDevice, tl.t.Queues[k.Queue].Device)
		start, end := w.Span()
		switch {
		case !comm[w.Kind()]:
			x.add(&x.other, &x.comm, start, end)
		case among(w):
			c.Launches++
			x.add(&x.comm, &x.other, start, end)
		}
	}
	for _, x := range byDevice {
		c.NS += x.comm.ns
		c.OverlappedNS += x.both
		if x.comm.ns > 0 {
			devices++
		}
	}
	c.ExposedNS = c.NS - c.OverlappedNS
	return c, devices
}

// exposedShare is the part of a stage from which exposed communication is told.
const exposedShare = 0.05

// findExposed tells of stages in which GPUs only exchange data: times are the
// mean of the GPUs that do.
func (cn *conclusion) findExposed() {
	if cn.tl == nil || cn.tl.t == nil || cn.res.Totals.Communication == nil {
		return
	}
	comm := cn.tl.communicationKinds()
	for _, s := range cn.stages.stagesInScope() {
		in := cn.stages.launchedIn(s)
		c, devices := cn.tl.communicationOf(comm, func(w *timeline.WorkReader) bool { return in[w.Kind()] })
		if devices == 0 || s.Split.WallNS == 0 {
			continue
		}
		exposed := c.ExposedNS / int64(devices)
		if share := ratio(exposed, s.Split.WallNS); share >= exposedShare {
			cn.find("communication-"+s.Name, weightMedium, codeExposed, s.param(), fact.NS("exposed", exposed), fact.Share("share", share), fact.NS("of", s.Split.WallNS),
				fact.NS("all", c.NS/int64(devices)), fact.Share("overlapped", ratio(c.OverlappedNS, c.NS)), fact.Count("n", c.Launches), fact.Count("gpus", devices))
		}
	}
}

// exchange follows two unions of intervals, both filled in the order of starts,
// and the time that they have in common.
type exchange struct {
	comm, other running
	both        int64
}

// running is a union up to its latest end, in nanoseconds of the capture's clock.
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
