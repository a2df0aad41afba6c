package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Lead is time in which no kernel ran between the opening of an instance of a
// region and the first work that it launched. It belongs to regions that are not
// synchronous, whose Split begins with that work, and is no part of the Split.
type Lead struct {
	NS   int64      `json:"ns"`   // all instances
	Idle []TimePart `json:"idle"` // by cause, as in a Split
}

// leadOf is nil where there is none: the GPU still works off what was launched
// before.
func (tl *timed) leadOf(ids []uint32, only workKey) *Lead {
	windows, paintings := map[int][]moment{}, map[int]*painting{}
	span, whole := tl.spansOn(only.device, ids), tl.single() && only.device < 0 // all work is that of the process
	for _, id := range ids {
		tl.eachOf(id, only, func(r *instance) {
			opened, first, process := r.start, span(r.number), r.process
			if first == (moment{}) || opened >= first.start {
				return
			}
			if paintings[process] == nil {
				paintings[process] = tl.painting(workKey{process, tl.oneDevice(ids, workKey{process, only.device})})
			}
			since := max(opened, tl.own.idle[r.number])
			if !whole {
				since = paintings[process].idleSince(first.start, opened, tl.p.categories)
			}
			if since < first.start {
				windows[process] = append(windows[process], moment{since, first.start})
			}
		})
	}
	ns := make([]int64, tl.p.categories+int(causes))
	for process, list := range windows {
		for _, m := range disjoint(list) {
			paintings[process].split(m.start, m.end, ns)
		}
	}
	lead := &Lead{Idle: []TimePart{}}
	for c, id := range causeIDs {
		if n := ns[tl.p.categories+c]; n > 0 {
			lead.NS += n
			lead.Idle = append(lead.Idle, TimePart{ID: id, NS: n})
		}
	}
	slices.SortStableFunc(lead.Idle, func(x, y TimePart) int { return cmp.Compare(y.NS, x.NS) })
	if lead.NS == 0 {
		return nil
	}
	return lead
}

// idleSince is since when, but no earlier than from, no kernel has run at a moment;
// labels from busy on are those of idle time.
func (p *painting) idleSince(at, from int64, busy int) int64 {
	since := min(at, p.end)
	for i := p.find(since - 1); i >= 0 && since > from; i-- {
		idle, ran := p.blocks[i].start, false // the idle time that lasts until since
		for r := p.read(i, &p.scan); r.next() && r.start < since; {
			if int(r.label) < busy {
				idle, ran = r.end, true
			}
		}
		if since = min(since, idle); ran {
			break
		}
	}
	return max(since, from)
}

// waits is the part of a lead, in nanoseconds, in which the GPU waited for the host.
func (l *Lead) waits() (ns int64) {
	for _, p := range l.Idle {
		if p.ID == "launch" || p.ID == "python" || p.ID == "host" {
			ns += p.NS
		}
	}
	return ns
}

// waitsBefore tells of a stage that closes early and before whose work the GPU waits
// for the host longer than it then works.
func (cn *conclusion) waitsBefore(s *Stage) bool {
	return s.Lead != nil && s.Lead.waits() > s.Split.BusyNS && float64(s.Lead.waits()) >= launchBoundShare*float64(s.Split.WallNS+s.Lead.NS)
}

// findWaitsBefore tells of stages whose launch gaps lie before their work.
func (cn *conclusion) findWaitsBefore() {
	for _, s := range cn.stages.stagesInScope() {
		if s.Split.LaunchBound || !cn.waitsBefore(s) {
			continue
		}
		all := s.Split.WallNS + s.Lead.NS
		params := []fact.Param{s.param(), fact.NS("busy", s.Split.BusyNS), fact.NS("of", all), fact.NS("waits", s.Lead.waits()), fact.Share("share", ratio(s.Lead.waits(), all)),
			fact.ID("cause", "idle", s.Lead.Idle[0].ID)}
		params = append(params, s.passesParam()...)
		cn.find("waits-before-"+s.Name, weightHigh, codeWaitsBefore, params...)
	}
}
