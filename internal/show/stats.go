package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// kernelsOfCSV shows the kernel summary that 'nsys stats' printed, or sums the launches of
// ncu's CSV. Of two readers that both fail, the one that recognized the file has the word.
func kernelsOfCSV(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	tables, notStats := nsys.ReadStatsCSVFile(path)
	at := slices.IndexFunc(tables, func(t *nsys.StatsTable) bool { return t.Report == "cuda_gpu_kern_sum" })
	if at < 0 && notStats == nil {
		var held []string
		for _, t := range tables {
			held = append(held, cmp.Or(t.Report, "an unknown report"))
		}
		return nil, usagef("show kernels %s: the CSV holds %s of nsys stats; kernels are read from cuda_gpu_kern_sum", path, strings.Join(held, ", "))
	}
	if at < 0 {
		t, notCounters := kernelsOfCounters(ctx, path, q, more)
		var columns *nsys.UnknownColumnsError
		if notCounters != nil && (errors.As(notStats, &columns) || !errors.Is(notStats, nsys.ErrNoStats)) {
			return nil, notStats
		}
		return t, notCounters
	}
	if q.By != 0 || q.Region != nil || len(q.Devices) > 0 || len(q.Processes) > 0 {
		return nil, usagef("show kernels %s: a summary is neither split nor filtered by region, device or process; name the report that it was printed from", path)
	}
	return statsKernels(path, tables[at], q)
}

// extent reads the shape of a launch, such as "  64    1    1"; nil where there is none, as in
// summaries of most releases.
func extent(text string) *[3]int32 {
	var d [3]int32
	if n, err := fmt.Sscan(text, &d[0], &d[1], &d[2]); n != 3 || err != nil {
		return nil
	}
	return &d
}

// headers are the columns as they are printed, for a message.
func headers(t *nsys.StatsTable) []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Header)
	}
	return out
}

// statsKernels takes the rows of a kernel summary. A cell without a number counts as 0 in its
// row, with a warning that names the line.
// Rows are sorted by total time, the largest first. A column that is missing is an error.
func statsKernels(path string, t *nsys.StatsTable, q timeline.Query) (report.Printable, error) {
	var rows timeline.Rows[timeline.KernelRow]
	facts := slices.Clone(t.Warnings)
	for _, need := range []string{"name", "total_ns", "instances", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev_ns", "time_pct"} {
		if t.Column(need) < 0 {
			return nil, fmt.Errorf("read %s: the summary has no column for %s, which every release since 2021 prints; it has %s", path, need, strings.Join(headers(t), ", "))
		}
	}
	for i := range t.Rows {
		name := t.Text(i, "name")
		if q.Kernel != nil && !q.Kernel.MatchString(name) {
			continue
		}
		number := func(column string) float64 {
			x, ok := t.Number(i, column)
			if !ok {
				facts = append(facts, fact.New(nsys.StatsNoNumber, fact.Count("line", t.Rows[i].Line), fact.Name("column", column)))
			}
			return x
		}
		row := timeline.KernelRow{
			Name: name, ShortName: cxx.Short(name), TotalNS: int64(number("total_ns")), Calls: int64(number("instances")),
			MeanNS: number("mean_ns"), MedianNS: number("median_ns"), MinNS: int64(number("min_ns")), MaxNS: int64(number("max_ns")),
			StddevNS: number("stddev_ns"), TimePct: number("time_pct"),
			Grid: extent(t.Text(i, "grid")), Block: extent(t.Text(i, "block")), // 2022 prints a row for each shape
		}
		rows.Rows = append(rows.Rows, row)
	}
	slices.SortStableFunc(rows.Rows, func(a, b timeline.KernelRow) int { return cmp.Compare(b.TotalNS, a.TotalNS) })
	out := report.Kernels(rows, nil, q.Top)
	out.Note(message.Texts(facts)...)
	return out, nil
}
