package show

import (
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// kernelsOfAnalysis shows the kernels of a folder, or a result.json, that holds an
// analysis of files and not the files; false where path is something else. It has
// sums alone, so that a question about regions, devices or processes is not for it.
// Durations under ncu stand in where there is no timeline, and a note says so.
// Rows are sorted by GPU time, the largest first. An analysis that cannot be read counts as
// none.
func kernelsOfAnalysis(path string, q timeline.Query, more *Request) (report.Printable, bool) {
	if filepath.Base(path) != runs.ResultName {
		path = filepath.Join(path, runs.ResultName)
	}
	r, err := folder.Read(path)
	asks := more.Region != "" || more.By != "" || len(q.Devices)+len(q.Processes) > 0
	if err != nil || r.Source.Run != "" || asks {
		return nil, false
	}
	rows, untimed := timeline.Rows[timeline.KernelRow]{}, true
	for i := range r.Kernels {
		untimed = untimed && r.Kernels[i].Calls == 0
		if k := &r.Kernels[i]; q.Kernel == nil || q.Kernel.MatchString(k.Name) || q.Kernel.MatchString(k.Short) {
			rows.Rows = append(rows.Rows, kernelRow(k))
		}
	}
	if all := total(rows.Rows); untimed && all > 0 {
		for i := range rows.Rows {
			rows.Rows[i].TimePct = 100 * float64(rows.Rows[i].TotalNS) / float64(all)
		}
	}
	slices.SortStableFunc(rows.Rows, func(x, y timeline.KernelRow) int { return int(y.TotalNS - x.TotalNS) })
	t := report.Kernels(rows, r, q.Top)
	if untimed {
		t.Note(message.Phrase("ncu-times-note"))
	}
	return t, true
}

// kernelRow is a kernel of an analysis. Without a timeline it has the launch that
// was counted, with its duration under ncu.
// Times are in ns, TimePct is in percent of the GPU time.
func kernelRow(k *analysis.Kernel) timeline.KernelRow {
	grid, block := narrowed(k.Grid), narrowed(k.Block)
	row := timeline.KernelRow{Name: k.Name, ShortName: k.Short, TotalNS: k.TotalNS, Calls: k.Calls, MeanNS: k.MeanNS, MedianNS: k.MedianNS,
		MinNS: k.MinNS, MaxNS: k.MaxNS, StddevNS: k.StddevNS, TimePct: 100 * k.Share, Grid: &grid, Block: &block}
	if k.Registers > 0 { // a timeline told
		row.Registers, row.StaticShared, row.DynamicShared = &k.Registers, &k.StaticShared, &k.DynamicShared
	}
	if k.Calls == 0 && k.Counted != nil {
		ns := int64(k.Counted.DurationNS)
		row.Calls, row.TotalNS, row.MeanNS, row.MedianNS, row.MinNS, row.MaxNS = 1, ns, k.Counted.DurationNS, k.Counted.DurationNS, ns, ns
	}
	return row
}

// total is the GPU time of all rows, in ns.
func total(rows []timeline.KernelRow) (ns int64) {
	for i := range rows {
		ns += rows[i].TotalNS
	}
	return ns
}

// narrowed: extents of CUDA fit 31 bits.
func narrowed(d [3]int64) [3]int32 { return [3]int32{int32(d[0]), int32(d[1]), int32(d[2])} }
