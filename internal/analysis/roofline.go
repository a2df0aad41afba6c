package analysis

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/gpu"
)

// minorShare is the part of a kernel's FLOPs below which a type gets no point
// of its own.
const minorShare = 0.1

// place puts a kernel on the roofline: a point for each type that it computes
// in and each memory level that was counted.
func (a *analyzer) place(k *Kernel, l *launch) {
	d := l.counts()
	flops, bytes := l.limits()
	if d.seconds > 0 {
		if least, by := d.bound(flops, bytes); least > 0 {
			share := least / d.seconds
			k.Attained, k.AttainedOf = &share, by
		}
	}
	var total float64
	for _, n := range d.flops {
		total += n
	}
	for _, dtype := range gpu.DTypes {
		n := d.flops[dtype]
		roof, ok := flops[dtype]
		if !ok || n < minorShare*total || n == 0 {
			continue
		}
		for _, level := range levels {
			moved := d.bytes[level]
			bandwidth, ok := bytes[level]
			if !ok || moved <= 0 {
				continue
			}
			p := Point{Kernel: k.ID, DType: string(dtype), Memory: level, Intensity: n / moved, FLOPS: n / d.seconds, NS: k.TotalNS}
			p.Attained = p.FLOPS / min(roof.rate, p.Intensity*bandwidth.rate)
			k.Point = append(k.Point, p)
		}
	}
}

func (a *analyzer) gatherPoints() {
	r := &a.res.Roofline
	for i := range a.res.Kernels {
		r.Points = append(r.Points, a.res.Kernels[i].Point...)
	}
	slices.SortStableFunc(r.Points, func(x, y Point) int { return cmp.Compare(y.NS, x.NS) })
	switch {
	case len(r.Points) > 0:
	case len(a.counted) == 0 && len(a.ranges) > 0:
		r.Why = "ranges were counted as a whole, and no kernel"
	case len(a.counted) == 0:
		r.Why = "no counters were taken"
	case len(r.Roofs) == 0:
		r.Why = "the counters hold no peaks; ncu's sections SpeedOfLight_HierarchicalSingleRooflineChart and the like (--set roofline or full) have them"
	default:
		r.Why = "no counted kernel computed in a floating-point type, or its operations were not counted; --set roofline or full counts them"
	}
	for _, p := range r.Points {
		if p.Attained > 1.05 {
			a.warn("above-roof", "look at the raw counters of the kernel", "kernel %s lies %.0f %% above its roof in %s over %s: a counter or a peak is wrong", p.Kernel, (p.Attained-1)*100, p.DType, p.Memory)
		}
	}
}

// WriteRooflineCSV writes the points with their roofs, one a line.
func WriteRooflineCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	names := map[string]*Kernel{}
	for i := range r.Kernels {
		names[r.Kernels[i].ID] = &r.Kernels[i]
	}
	roof := map[string]Peak{}
	for _, p := range r.Roofline.Roofs {
		roof[p.ID] = p
	}
	head := []string{"kernel_id", "kernel", "grid", "block", "dtype", "memory", "intensity_flop_per_byte", "achieved_flop_per_s", "roof_flop_per_s", "roof_byte_per_s", "attained", "total_ns"}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, p := range r.Roofline.Points {
		row := []string{p.Kernel, "", "", "", p.DType, p.Memory, number(p.Intensity), number(p.FLOPS), number(roof[p.DType].Value), number(roof[p.Memory].Value), number(p.Attained), strconv.FormatInt(p.NS, 10)}
		if k := names[p.Kernel]; k != nil {
			row[1], row[2], row[3] = k.Name, extent(k.Grid), extent(k.Block)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

func extent(d [3]int64) string {
	return strconv.FormatInt(d[0], 10) + "x" + strconv.FormatInt(d[1], 10) + "x" + strconv.FormatInt(d[2], 10)
}
