package report

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A part is what kernels, findings and opportunities are about: the scope of a
// result, or its whole timeline.
type part struct {
	name                    string // within a sentence
	wall, busy, kernel      int64
	launches, kernelNames   int64
	split                   *analysis.Split
	outsideNS, outsideCalls int64
}

func analysed(r *analysis.Result) part {
	if s := r.Scope; s != nil {
		return part{message.Text(s.Name), s.WallNS, s.BusyNS, s.KernelNS, s.Launches, int64(s.KernelNames), s.Split, s.OutsideKernelNS, s.OutsideLaunches}
	}
	t := &r.Totals
	return part{name: "the whole timeline", wall: t.WallNS, busy: t.BusyNS, kernel: t.KernelNS, launches: t.Launches, kernelNames: int64(t.KernelNames), split: t.Split}
}

// busyShare is the part of the wall time in which a GPU ran kernels or copies,
// on average over the GPUs.
func (p part) busyShare(r *analysis.Result) float64 {
	return float64(p.busy) / (float64(p.wall) * float64(max(1, len(r.Totals.Devices), min(1, len(r.Environment.GPUs)))))
}

// busySpread tells how busy single GPUs were where there are several.
func busySpread(r *analysis.Result) string {
	list := r.Totals.Devices
	if len(list) < 2 || r.Totals.WallNS <= 0 {
		return ""
	}
	least, most := list[0].BusyNS, list[0].BusyNS
	for _, d := range list {
		least, most = min(least, d.BusyNS), max(most, d.BusyNS)
	}
	share := func(ns int64) string { return percent(float64(ns) / float64(r.Totals.WallNS)) }
	return fmt.Sprintf(" (mean of %d GPUs, %s to %s)", len(list), share(least), share(most))
}

// scope says what the numbers of a page are about, where that is not everything.
func (d *doc) scope(r *analysis.Result) {
	if r.Scope != nil {
		d.line("**Scope:** %s", prose(message.Text(r.Scope.Text)))
	}
}

// inScope is the kernel time of a region that lies in the scope, and whether it
// has any part in it: a range of another domain can do so with some of its calls.
func inScope(r *analysis.Result, g *analysis.Region) (ns int64, in bool) {
	switch {
	case r.Scope == nil:
		return g.KernelNS, true
	case g.ScopeNS != nil && g.KernelNS > 0:
		return *g.ScopeNS, *g.ScopeNS > 0
	}
	for _, path := range r.Scope.Regions {
		if g.Path == path || strings.HasPrefix(g.Path, path+"/") {
			return g.KernelNS, true
		}
	}
	return 0, false
}
