package report

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A kernelLine is a kernel of a result in a table, or the sum of those that the
// table leaves out.
type kernelLine struct {
	*analysis.Kernel
	// In words; limiter is "" where there is no verdict, which why explains.
	name, category, limiter string
	why                     string // there is no limiter
	untold                  string // why it has no times
	// rest is set in the last row alone, which sums the kernels that are not listed.
	rest *analysis.Rest
}

// resultKernelView is the kernels of a result, told apart by name, grid and block. The
// summary, the Markdown pages and the page walk it; its keys are those of result.json. Times
// are of the timeline; a kernel that only ncu saw has its time under ncu in a column of its
// own, so that nobody adds the two up.
var resultKernelView = View[kernelLine]{
	Name: "result_kernels", Order: Order{Key: "total_ns", Descending: true},
	Columns: []Column[kernelLine]{
		{Key: "short", Title: "kernel", Format: Name, Value: func(k *kernelLine) any { return k.name }},
		{Key: "category", Priority: 4, Value: func(k *kernelLine) any { return orNil(k.category) }},
		{Key: "grid", Priority: 6, Value: func(k *kernelLine) any { return k.one(dims(k.Grid)) }},
		{Key: "block", Priority: 7, Value: func(k *kernelLine) any { return k.one(dims(k.Block)) }},
		{Key: "share", Title: "of GPU time", Help: "Share of the GPU time of all kernels in the scope", Unit: Share, Part: "total_ns", Value: func(k *kernelLine) any { return k.timed(k.Share) }},
		{Key: "total_ns", Title: "GPU time", Unit: Nanoseconds, Value: func(k *kernelLine) any { return k.timed(k.TotalNS) }},
		{Key: "calls", Title: "launches", Unit: Count, Priority: 3, Value: func(k *kernelLine) any { return k.timed(k.Calls) }, Note: func(k *kernelLine) string { return k.untold }},
		{Key: "mean_ns", Title: "mean launch", Unit: Nanoseconds, Priority: 5, Value: func(k *kernelLine) any { return k.one(k.timed(k.MeanNS)) }},
		{Key: "ncu_ns", Title: "one launch under ncu", Help: "One launch alone, as ncu replays it: not the time it takes in the program", Unit: Nanoseconds, Value: ncuTime},
		{Key: "limiter", Format: Words, Priority: 1, Value: func(k *kernelLine) any { return orNil(k.limiter) }, Note: func(k *kernelLine) string { return k.why }},
		{Key: "level", Title: "of limit", Help: "How much of its limit is in use; for too little work, of one wave of blocks", Detail: true, Unit: Share, Priority: 2, Value: func(k *kernelLine) any { return k.Limiter.Level }},
	},
}

// one hides what a sum does not have.
func (k *kernelLine) one(x any) any { return when(k.rest == nil, x) }

// timed is a value of the timeline; nil where it holds no launch of the kernel.
func (k *kernelLine) timed(x any) any { return when(!k.NoLaunch(), x) }

// ncuTime is the time of one launch under ncu, where there is no other.
func ncuTime(k *kernelLine) any {
	if !k.NoLaunch() || k.Counted == nil || k.Counted.DurationNS <= 0 {
		return nil
	}
	return k.Counted.DurationNS
}

// manyReasons is how many different ones a table gives for kernels without a
// limiter.
const manyReasons = 6

// kernelLines are the first kernels of a result, and the sum of the others where
// it is asked for.
// Rows are those of the result, in its order; pointers are into it.
func kernelLines(r *analysis.Result, n *names, most int, withRest bool) []*kernelLine {
	var rows []*kernelLine
	reasons := map[string]bool{}
	timed := r.HasTimes()
	for i := range r.Kernels[:min(most, len(r.Kernels))] {
		k := &r.Kernels[i]
		line := &kernelLine{Kernel: k, name: n.of(i), category: category(r, k.Category), limiter: limiter(&k.Limiter)}
		if line.limiter == "" {
			line.why = noVerdict(k)
			if reasons[line.why] = true; len(reasons) > manyReasons {
				delete(reasons, line.why)
				line.why = message.Phrase("reason-in-kernels-md")
			}
		}
		if timed && k.NoLaunch() {
			line.untold = underNcu(r, k)
		}
		rows = append(rows, line)
	}
	rest := r.KernelsAfter(len(rows))
	if !withRest || rest == nil {
		return rows
	}
	sum := &analysis.Kernel{Calls: rest.Calls, TotalNS: rest.NS, Untimed: !timed}
	if rest.Share != nil {
		sum.Share = *rest.Share
	}
	return append(rows, &kernelLine{Kernel: sum, name: message.Phrase("more", rest.Kernels), rest: rest})
}

// noVerdict is why a kernel has no limiter.
func noVerdict(k *analysis.Kernel) string {
	why := abstained(&k.Limiter)
	switch {
	case why != "":
	case k.Counted == nil:
		why = message.Phrase("kernel-has-no-counted-launch")
	default:
		why = message.Phrase("no-reason-given")
	}
	return message.Phrase("no-verdict-on-limiter", why)
}

// categoryView is the GPU time by category.
var categoryView = View[analysis.CategoryTime]{
	Name: "categories", Order: Order{Key: "ns", Descending: true},
	Columns: []Column[analysis.CategoryTime]{
		{Key: "label", Title: "category", Value: func(c *analysis.CategoryTime) any { return categoryLabel(c.Label, c.ID) }},
		{Key: "calls", Title: "launches", Unit: Count, Value: func(c *analysis.CategoryTime) any { return c.Calls }},
		{Key: "ns", Title: "GPU time", Unit: Nanoseconds, Value: func(c *analysis.CategoryTime) any { return c.NS }},
		{Key: "share", Title: "of GPU time", Unit: Share, Part: "ns", Value: func(c *analysis.CategoryTime) any { return c.Share }},
	},
}

// A regionKernel is a kernel of a region.
type regionKernel struct {
	*kernelLine
	in    *analysis.RegionKernel
	share *float64 // of the GPU time of the region
	why   string   // what to know of the limiter there
}

// regionKernelView is the kernels of one region.
var regionKernelView = View[regionKernel]{
	Name: "region_kernels", Order: Order{Key: "ns", Descending: true},
	Columns: []Column[regionKernel]{
		{Key: "kernel", Format: Name, Value: func(k *regionKernel) any { return k.name }},
		{Key: "grid", Value: func(k *regionKernel) any { return dims(k.Grid) }},
		{Key: "calls", Title: "launches", Unit: Count, Value: func(k *regionKernel) any { return k.in.Calls }},
		{Key: "ns", Title: "GPU time", Unit: Nanoseconds, Value: func(k *regionKernel) any { return k.in.NS }},
		{Key: "mean_ns", Title: "mean launch", Unit: Nanoseconds, Value: func(k *regionKernel) any { return k.in.MeanNS }},
		{Key: "share", Title: "of the region's GPU time", Unit: Share, Part: "ns", Value: func(k *regionKernel) any { return k.share }},
		{Key: "limiter", Format: Words, Value: func(k *regionKernel) any { return orNil(k.limiter) }, Note: func(k *regionKernel) string { return k.why }},
	},
}

// regionKernels leaves out what the list of kernels of the result does not have.
func regionKernels(r *analysis.Result, n *names, g *analysis.Region) []*regionKernel {
	var rows []*regionKernel
	for i := range g.Top {
		k := &g.Top[i]
		if k.Kernel < 0 || k.Kernel >= len(r.Kernels) {
			continue
		}
		of := &r.Kernels[k.Kernel]
		row := &regionKernel{kernelLine: &kernelLine{Kernel: of, name: n.of(k.Kernel), limiter: limiter(&of.Limiter)}, in: k, share: k.Share}
		switch {
		case row.limiter == "":
			row.why = noVerdict(of)
		case k.BasisNS > 0:
			row.why = message.Phrase("verdict-of-other-launches", elapsed(k.BasisNS), elapsed(k.MeanNS))
		}
		rows = append(rows, row)
	}
	return rows
}

// regionLimiter names what holds a region back.
func regionLimiter(g *analysis.Region) string {
	l := g.Limiter
	switch {
	case l == nil || l.Kind == "":
		return ""
	case l.Share > 0:
		return message.Phrase("limiter-of-gpu-time", message.Limiter(l.Kind, l.Units), fmt.Sprintf("%.0f %%", l.Share*100))
	}
	return message.Limiter(l.Kind, l.Units)
}
