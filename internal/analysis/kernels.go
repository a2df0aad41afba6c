package analysis

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/timeline"
)

const (
	maxKernels    = 1500 // rows of Result.Kernels; what is cut is summed in Rest
	maxHistograms = 400  // rows that have one
	maxMangled    = 300  // letters of a mangled name that is worth keeping
)

// A kernelKey is what rows of kernels are told apart by, in every file of a run.
type kernelKey struct {
	name        string
	grid, block [3]int64
}

// KernelID is Kernel.ID: the same for a kernel, grid and block in every run.
func KernelID(name string, grid, block [3]int32) string {
	return kernelKey{name, wide(grid), wide(block)}.id()
}

func (k *Kernel) key() kernelKey { return kernelKey{k.Name, k.Grid, k.Block} }

// id is short enough for a link; 48 bits do not collide within a run. Links into stored
// reports rest on it: it must not change.
func (k kernelKey) id() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v\x00%v", k.name, k.grid, k.block))
	return "k" + hex.EncodeToString(h[:6])
}

// fullName of a function; damaged files lack the demangled one.
func fullName(t *timeline.Timeline, f timeline.Function) string {
	if name := t.Name(f.Demangled); name != "" {
		return name
	}
	return t.Name(f.Short)
}

func wide(d [3]int32) [3]int64 { return [3]int64{int64(d[0]), int64(d[1]), int64(d[2])} }

// groupKernels makes a row for each kernel, grid and block with a launch in the
// scope.
func (tr *timelineReader) groupKernels() {
	tl := tr.tl
	groups := map[kernelKey]uint32{}
	var rows []Kernel
	counted := tl.counted()
	tl.rowOf = slices.Repeat([]uint32{noKernel}, len(tl.tape.Kinds))
	var total int64
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		if k.Kind != timeline.OpKernel {
			continue
		}
		tl.rowOf[i] = tr.kernelRow(k, groups, &rows)
		if counted[i] {
			total += k.NS
		}
	}
	times := make([]timeline.Sample, len(rows))
	for i := range tl.tape.Kinds {
		if counted[i] && tl.rowOf[i] != noKernel {
			times[tl.rowOf[i]].Join(&tl.tape.Kinds[i].Durations)
		}
	}
	for i := range rows {
		if times[i].Len() > 0 {
			rows[i].measure(&times[i], total)
		}
	}
	tr.sortKernels(rows)
}

// kernelRow is the number of the row of a kind of kernels in rows, which it appends to where the
// row is new.
func (tr *timelineReader) kernelRow(k *timeline.WorkKind, groups map[kernelKey]uint32, rows *[]Kernel) uint32 {
	t := tr.tl.t
	f, config := t.Functions[k.Function], &t.Configs[k.Config]
	key := kernelKey{fullName(t, f), wide(config.Grid), wide(config.Block)}
	if n, ok := groups[key]; ok {
		return n
	}
	row := tr.newKernel(key)
	row.Mangled = t.Name(f.Mangled)
	if row.Mangled == row.Name || len(row.Mangled) > 4096 {
		row.Mangled = ""
	}
	row.Registers, row.StaticShared, row.DynamicShared = config.Registers, config.StaticShared, config.DynamicShared
	n := uint32(len(*rows))
	groups[key] = n
	*rows = append(*rows, row)
	return n
}

// newKernel is a row without times.
func (by *rules) newKernel(key kernelKey) Kernel {
	kind := by.kinds.of(key.name)
	return Kernel{
		ID: key.id(), Name: key.name, Short: kind.short, Grid: key.grid, Block: key.block,
		Category: by.categories.List[kind.category].ID, Rule: kind.rule,
	}
}

// measure fills in the statistics of durations.
func (k *Kernel) measure(ns *timeline.Sample, total int64) {
	k.Calls, k.TotalNS, k.MinNS, k.MaxNS = int64(ns.Len()), ns.Sum(), ns.Min(), ns.Max()
	k.MeanNS, k.MedianNS, k.StddevNS = float64(k.TotalNS)/float64(k.Calls), ns.Median(), ns.Stddev()
	if total > 0 {
		k.Share = float64(k.TotalNS) / float64(total)
	}
	k.Histogram = histogram(ns)
}

// histogram has up to 20 bins between the ends; nil for a handful of values.
func histogram(ns *timeline.Sample) *Histogram {
	low, high := ns.Min(), ns.Max()
	if ns.Len() < 5 || high <= low {
		return nil
	}
	bins := min(20, max(5, int(math.Sqrt(float64(ns.Len())))))
	span := timeline.Since(low, high) // one that 64 bits cannot tell is cut short
	bins = int(min(int64(bins), span))
	h := &Histogram{Counts: make([]int64, bins)}
	width := float64(span) / float64(bins)
	for i := range bins {
		h.Bounds = append(h.Bounds, math.Round(float64(low)+float64(i)*width))
	}
	h.Bounds = append(h.Bounds, float64(high))
	ns.Each(func(v, n int64) {
		at := sort.Search(bins-1, func(i int) bool { return float64(v) < h.Bounds[i+1] })
		h.Counts[at] += n
	})
	return h
}

// sortKernels orders rows by total time and sums up the categories.
func (tr *timelineReader) sortKernels(rows []Kernel) {
	var order []int
	for i := range rows {
		if rows[i].Calls > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		p, q := &rows[x], &rows[y]
		return cmp.Or(cmp.Compare(q.TotalNS, p.TotalNS), cmp.Compare(p.Calls, q.Calls), cmp.Compare(p.Name, q.Name),
			slices.Compare(p.Grid[:], q.Grid[:]), slices.Compare(p.Block[:], q.Block[:]))
	})
	place := slices.Repeat([]uint32{noKernel}, len(rows)) // of a row without a launch in the scope
	sorted := make([]Kernel, len(order))
	for to, from := range order {
		place[from], sorted[to] = uint32(to), rows[from]
	}
	for i, row := range tr.tl.rowOf {
		if row != noKernel {
			tr.tl.rowOf[i] = place[row]
		}
	}
	tr.sumCategories(sorted)
	tr.made.Kernels = sorted
}

// maxUnmatched bounds the names listed in category "other".
const maxUnmatched = 200

// sumCategories leaves out categories without a launch; those of equal time keep the
// order of the rules.
func (tr *timelineReader) sumCategories(kernels []Kernel) {
	sums := map[string]*CategoryTime{}
	for _, c := range tr.categories.List {
		sums[c.ID] = &CategoryTime{ID: c.ID, Label: c.Label}
	}
	listed := map[string]bool{}
	for i := range kernels {
		k := &kernels[i]
		s := sums[k.Category]
		s.NS += k.TotalNS
		s.Calls += k.Calls
		s.Share += k.Share
		if k.Rule == "" && !listed[k.Name] && len(s.Unnamed) < maxUnmatched {
			listed[k.Name] = true
			s.Unnamed = append(s.Unnamed, k.Name)
		}
	}
	tr.made.Categories = tr.made.Categories[:0]
	for _, c := range tr.categories.List {
		if s := sums[c.ID]; s.Calls > 0 {
			tr.made.Categories = append(tr.made.Categories, *s)
		}
	}
	slices.SortStableFunc(tr.made.Categories, func(x, y CategoryTime) int { return cmp.Compare(y.NS, x.NS) })
}

// trim cuts the kernels of the least time that nothing was counted of, and what
// would make the result large without being read.
func (r *Result) trim() {
	kernels := r.Kernels
	place := make([]int, len(kernels))
	kept := kernels[:0:0]
	cut := map[string]bool{}
	for i := range kernels {
		k := &kernels[i]
		place[i] = -1
		if len(kept) >= maxKernels && k.Counted == nil {
			if r.Rest == nil {
				r.Rest = &Rest{}
			}
			r.Rest.Kernels++
			r.Rest.Calls += k.Calls
			r.Rest.NS += k.TotalNS
			cut[k.ID] = true
			continue
		}
		if len(k.Mangled) > maxMangled {
			k.Mangled = ""
		}
		if len(kept) >= maxHistograms {
			k.Histogram = nil
		}
		place[i] = len(kept)
		kept = append(kept, *k)
	}
	r.Kernels = kept
	for i := range r.Regions {
		region := &r.Regions[i]
		region.Top = slices.DeleteFunc(region.Top, func(k RegionKernel) bool { return place[k.Kernel] < 0 })
		for j := range region.Top {
			region.Top[j].Kernel = place[region.Top[j].Kernel]
		}
	}
	for i := range r.Operators {
		for j := range r.Operators[i].Links {
			if l := &r.Operators[i].Links[j]; cut[l.Kernel] {
				l.Kernel = ""
			}
		}
	}
}
