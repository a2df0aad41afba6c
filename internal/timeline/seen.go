package timeline

import "github.com/deepprof/deepprof/internal/nvtx"

// Seen lists the regions of the timeline once each, for filter expressions to
// be resolved against.
func (a *Attribution) Seen() []nvtx.Seen {
	var out []nvtx.Seen
	for id := 1; id < len(a.nodes); id++ {
		s := nvtx.Seen{Style: nvtx.PushPop, Stack: a.stack(uint32(id))}
		if a.nodes[id].key.kind == StartEnd {
			s.Style = nvtx.StartEnd
		}
		out = append(out, s)
	}
	return out
}
