package pick

import (
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A Counted is one result of ncu, as far as it is needed to find its place in
// the timeline.
type Counted struct {
	Report string // file that it comes from, for messages
	ID     int    // number in that file
	// Whole is set for a range or graph that was measured as one, Graph for a
	// graph.
	Whole, Graph bool

	Mangled, Function, Demangled string
	Grid, Block                  [3]int32
	Device                       int // CUDA ordinal; -1 where the report does not say
	// HasState tells that the report knows which ranges were open.
	HasState bool
	State    nvtx.State

	DurationNS int64   // gpu__time_duration; 0 where it was not collected
	ClockHz    float64 // of the SMs while it ran; 0 where it was not collected

	// in the order of the report, each name once, and only finite numbers
	Metrics []MetricValue
}

// A MetricValue is one number of a result.
type MetricValue struct {
	Name  string
	Unit  string
	Value float64
}

// FromResult takes what is needed from a result of a report.
// Report is left to the caller.
func FromResult(r *ncurep.Result) Counted {
	c := Counted{
		ID: r.ID, Whole: r.Kind != ncurep.Kernel, Graph: r.Kind == ncurep.Graph, Mangled: r.MangledName, Function: r.FunctionName, Demangled: r.DemangledName,
		Grid: dim(r.Grid), Block: dim(r.Block), Device: r.Device, HasState: r.NVTX.Recorded,
	}
	for _, s := range r.NVTX.Stacks {
		if r.ThreadID != 0 && s.Thread != 0 && s.Thread != r.ThreadID {
			continue // of a thread that did not launch it
		}
		var stack []nvtx.Range
		for _, g := range s.Ranges {
			stack = append(stack, nvtx.Range{Name: g.Name, Domain: plainDomain(s.Domain)})
		}
		if len(stack) > 0 {
			c.State.Stacks = append(c.State.Stacks, stack)
		}
	}
	for _, o := range r.NVTX.Open {
		c.State.Open = append(c.State.Open, nvtx.Range{Name: o.Name, Domain: plainDomain(o.Domain)})
	}
	seen := map[string]bool{}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		v, ok := m.Value.Float64()
		if !ok || seen[m.Name] || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		seen[m.Name] = true
		c.Metrics = append(c.Metrics, MetricValue{m.Name, m.Unit(), v})
		switch m.Name {
		case "gpu__time_duration.sum":
			c.DurationNS = int64(v)
		case "smsp__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second":
			c.ClockHz = v
		}
	}
	return c
}

// plainDomain is "" for the default domain, as expressions of NVTX have it.
func plainDomain(name string) string {
	if name == nvtx.DefaultDomain {
		return ""
	}
	return name
}

// dim narrows a grid or block; CUDA bounds each dimension to 31 bits.
func dim(d ncurep.Dim3) [3]int32 { return [3]int32{int32(d.X), int32(d.Y), int32(d.Z)} }

// Paths names the regions that were open around the launch: one for each
// stack, then the start/end ranges.
func (c *Counted) Paths() []string {
	var out []string
	for _, s := range c.State.Stacks {
		out = append(out, nvtx.Path(s))
	}
	for _, r := range c.State.Open {
		if p := nvtx.Path([]nvtx.Range{r}); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
