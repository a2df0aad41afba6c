package ncurep

import "github.com/deepprof/deepprof/internal/nvtx"

// State gives the ranges that were open at a launch in the form that filter
// expressions are matched against.
// The default domain, which ncu calls by a name, is "" there.
func (n NVTX) State() nvtx.State {
	domain := func(name string) string {
		if name == nvtx.DefaultDomain {
			return ""
		}
		return name
	}
	var s nvtx.State
	for _, stack := range n.Stacks {
		ranges := make([]nvtx.Range, len(stack.Ranges))
		for i, r := range stack.Ranges {
			ranges[i] = nvtx.Range{Name: r.Name, Domain: domain(stack.Domain)}
		}
		s.Stacks = append(s.Stacks, ranges)
	}
	for _, o := range n.Open {
		s.Open = append(s.Open, nvtx.Range{Name: o.Name, Domain: domain(o.Domain)})
	}
	return s
}
