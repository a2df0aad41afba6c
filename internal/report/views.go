package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// tableOf makes a table of an answer of the timeline.
func tableOf[T any](schema string, rows timeline.Rows[T], columns []Column[T]) *Table[T] {
	return &Table[T]{
		Schema: schema, Version: 1, Columns: columns, Rows: Slice(rows.Rows), Cut: rows.Cut,
		Notes: func() []string { return rows.Warnings },
	}
}

// streamOf makes a table of an answer that is made while it is written.
func streamOf[T any](schema string, s timeline.Stream[T], columns []Column[T]) *Table[T] {
	return &Table[T]{
		Schema: schema, Version: 1, Columns: columns, Rows: s.Rows, Cut: s.Cut,
		Notes: func() []string { return s.Warnings },
	}
}

// A LimitedKernelRow is a kernel of a timeline with what the analysis of its run
// says of it.
type LimitedKernelRow struct {
	timeline.KernelRow
	Limiter string `json:"limiter,omitempty"` // of its longest grid and block; absent where nothing tells
	brief   string // the same in few words, for a terminal
}

// Kernels shows one row a kernel, the first top of them (0: all); names tell apart
// what is shown and what is cut. The result of the analysis, where there is one,
// says what limits them.
func Kernels(rows timeline.Rows[timeline.KernelRow], result *analysis.Result, top int) Printable {
	type row = LimitedKernelRow
	distinct := distinguish(rows.Rows)
	if more := len(rows.Rows) - top; top > 0 && more > 0 {
		rows.Rows, rows.Cut = rows.Rows[:top], rows.Cut+more
	}
	limit := limitersOf(result)
	limited := timeline.Rows[row]{Cut: rows.Cut, Warnings: rows.Warnings}
	for _, k := range rows.Rows {
		full, brief := limit(&k)
		limited.Rows = append(limited.Rows, row{k, full, brief})
	}
	columns := []Column[row]{
		{Name: "time_pct", Title: "time %", Kind: Percent, Get: func(r *row) any { return r.TimePct }},
		{Name: "total_ns", Kind: Nanoseconds, Get: func(r *row) any { return r.TotalNS }},
		{Name: "calls", Kind: Count, Get: func(r *row) any { return r.Calls }},
		{Name: "mean_ns", Minor: 3, Kind: Nanoseconds, Group: "call", Get: func(r *row) any { return r.MeanNS }},
		{Name: "median_ns", Minor: 8, Kind: Nanoseconds, Group: "call", Get: func(r *row) any { return r.MedianNS }},
		{Name: "min_ns", Minor: 7, Kind: Nanoseconds, Group: "call", Get: func(r *row) any { return r.MinNS }},
		{Name: "max_ns", Minor: 6, Kind: Nanoseconds, Group: "call", Get: func(r *row) any { return r.MaxNS }},
		{Name: "stddev_ns", Minor: 9, Kind: Nanoseconds, Group: "call", Get: func(r *row) any { return r.StddevNS }},
		{Name: "device", Minor: 1, Kind: Count, Get: func(r *row) any { return r.Device }},
		{Name: "process", Minor: 2, Kind: Count, Get: func(r *row) any { return r.Process }},
		{Name: "region", Kind: Name, Get: func(r *row) any { return r.Region }},
		{Name: "grid", Minor: 4, Get: func(r *row) any { return r.Grid }},
		{Name: "block", Minor: 5, Get: func(r *row) any { return r.Block }},
		{Name: "registers", Kind: Count, Detail: true, Get: func(r *row) any { return r.Registers }},
		{Name: "static_shared_bytes", Kind: Bytes, Detail: true, Get: func(r *row) any { return r.StaticShared }},
		{Name: "dynamic_shared_bytes", Kind: Bytes, Detail: true, Get: func(r *row) any { return r.DynamicShared }},
		{Name: "short_name", Title: "kernel", Kind: Name, Get: func(r *row) any { return r.ShortName }, Show: func(r *row) any { return distinct[r.Name] }},
		{Name: "name", Detail: true, Get: func(r *row) any { return r.Name }},
	}
	if result != nil { // what limits a kernel says more than its mean, which total and calls give
		mean := slices.IndexFunc(columns, func(c Column[row]) bool { return c.Name == "mean_ns" })
		columns[mean].Minor = 6
		at := slices.IndexFunc(columns, func(c Column[row]) bool { return c.Name == "short_name" })
		columns = slices.Insert(columns, at, Column[row]{Name: "limiter", Title: "limited by", Minor: 3, Kind: Words,
			Get: func(r *row) any { return textOrNil(r.Limiter) }, Show: func(r *row) any { return textOrNil(r.brief) }})
	}
	return tableOf("kernels", limited, columns)
}

// limitersOf finds the limiter of a row: that of its grid and block, or of those
// that take most time where the row has several. It is mostly that where it holds
// for more than half of their time, and partly where it does not.
func limitersOf(r *analysis.Result) func(*timeline.KernelRow) (full, brief string) {
	if r == nil {
		return func(*timeline.KernelRow) (string, string) { return "", "" }
	}
	groups := map[string][]*analysis.Kernel{} // by name, those of most time first
	for i := range r.Kernels {
		k := &r.Kernels[i]
		groups[k.Name] = append(groups[k.Name], k)
	}
	return func(row *timeline.KernelRow) (full, brief string) {
		same := slices.DeleteFunc(slices.Clone(groups[row.Name]), func(k *analysis.Kernel) bool {
			return row.Grid != nil && widened(*row.Grid) != k.Grid || row.Block != nil && widened(*row.Block) != k.Block
		})
		if len(same) == 0 || limiter(&same[0].Limiter) == "" {
			return "", ""
		}
		full, brief = limiter(&same[0].Limiter), limiterBrief(same[0])
		var all, alike int64
		for _, k := range same {
			all += k.TotalNS
			if k.Limiter.Kind == same[0].Limiter.Kind && k.Limiter.Label == same[0].Limiter.Label {
				alike += k.TotalNS
			}
		}
		switch {
		case !slices.ContainsFunc(same, func(k *analysis.Kernel) bool { return limiter(&k.Limiter) != full }):
			return full, brief
		case 2*alike > all:
			return "mostly " + full, "mostly " + brief
		}
		return "partly " + full, "partly " + brief
	}
}

func widened(d [3]int32) [3]int64 { return [3]int64{int64(d[0]), int64(d[1]), int64(d[2])} }

// distinguish gives each kernel of a table a name that no other row has.
func distinguish(rows []timeline.KernelRow) map[string]string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	out := map[string]string{}
	for i, short := range cxx.Distinguish(names) {
		out[names[i]] = short
	}
	return out
}

// Regions shows one row a region path.
func Regions(rows timeline.Rows[timeline.RegionRow]) Printable {
	type row = timeline.RegionRow
	if slices.ContainsFunc(rows.Rows, func(r row) bool { return r.GraphLaunches > 0 }) {
		rows.Warnings = append(rows.Warnings, "projected time leaves out CUDA graphs that were traced as a whole, as nsys does; GPU busy counts them")
	}
	t := tableOf("regions", rows, []Column[row]{
		{Name: "path", Title: "region", Kind: Name, Get: func(r *row) any { return r.Path }},
		{Name: "name", Detail: true, Get: func(r *row) any { return r.Name }},
		{Name: "domain", Detail: true, Get: func(r *row) any { return r.Domain }},
		{Name: "style", Minor: 9, Get: func(r *row) any { return r.Style }},
		{Name: "process", Minor: 2, Kind: Count, Get: func(r *row) any { return r.Process }},
		{Name: "device", Minor: 1, Kind: Count, Get: func(r *row) any { return r.Device }},
		{Name: "instances", Minor: 5, Kind: Count, Get: func(r *row) any { return r.Instances }},
		{Name: "range_ns", Title: "wall", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.RangeNS }},
		{Name: "gpu_projected_ns", Minor: 8, Title: "projected", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.ProjectedNS }},
		{Name: "gpu_busy_ns", Minor: 3, Title: "GPU busy", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.BusyNS }},
		{Name: "gpu_idle_ns", Minor: 7, Title: "GPU idle", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.IdleNS }},
		{Name: "kernel_calls", Minor: 4, Title: "kernels", Kind: Count, Get: func(r *row) any { return r.KernelCalls }},
		{Name: "kernel_calls_exclusive", Kind: Count, Detail: true, Get: func(r *row) any { return r.ExclusiveCalls }},
		{Name: "kernel_ns_inclusive", Title: "kernel time", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.InclusiveNS }},
		{Name: "kernel_ns_exclusive", Minor: 6, Title: "own", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.ExclusiveNS }},
		{Name: "gpu_ops", Kind: Count, Detail: true, Get: func(r *row) any { return r.GPUOps }},
		{Name: "copy_ns", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.CopyNS }},
		{Name: "copy_bytes", Kind: Bytes, Detail: true, Get: func(r *row) any { return r.CopyBytes }},
		{Name: "graph_launches", Kind: Count, Detail: true, Get: func(r *row) any { return r.GraphLaunches }},
		{Name: "graph_ns", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.GraphNS }},
		{Name: "range_gpu_busy_ns", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.WallBusyNS }},
		{Name: "unclosed", Kind: Count, Detail: true, Get: func(r *row) any { return r.Unclosed }},
		{Name: "depth", Kind: Count, Detail: true, Get: func(r *row) any { return r.Depth }},
	})
	t.Legend = "projected is from first to last GPU work launched inside; GPU busy is the part of it with kernels or copies, GPU idle the rest"
	return t
}

// Ranges shows every instance of every range.
func Ranges(rows timeline.Rows[timeline.RangeRow]) Printable {
	type row = timeline.RangeRow
	return tableOf("ranges", rows, []Column[row]{
		{Name: "id", Kind: Count, Get: func(r *row) any { return r.ID }},
		{Name: "path", Title: "range", Kind: Name, Get: func(r *row) any { return r.Path }},
		{Name: "name", Detail: true, Get: func(r *row) any { return r.Name }},
		{Name: "domain", Detail: true, Get: func(r *row) any { return r.Domain }},
		{Name: "style", Minor: 9, Get: func(r *row) any { return r.Style }},
		{Name: "process", Minor: 7, Kind: Count, Get: func(r *row) any { return r.Process }},
		{Name: "thread", Minor: 8, Kind: Count, Get: func(r *row) any { return r.Thread }},
		{Name: "depth", Kind: Count, Detail: true, Get: func(r *row) any { return r.Depth }},
		{Name: "start_ns", Minor: 2, Kind: Moment, Get: func(r *row) any { return r.StartNS }},
		{Name: "end_ns", Kind: Moment, Detail: true, Get: func(r *row) any { return r.EndNS }},
		{Name: "range_ns", Title: "wall", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.RangeNS }},
		{Name: "gpu_projected_start_ns", Kind: Moment, Detail: true, Get: func(r *row) any { return r.ProjectedStart }},
		{Name: "gpu_projected_ns", Minor: 6, Title: "projected", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.ProjectedNS }},
		{Name: "gpu_busy_ns", Minor: 3, Title: "GPU busy", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.BusyNS }},
		{Name: "gpu_idle_ns", Minor: 5, Title: "GPU idle", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.IdleNS }},
		{Name: "kernel_calls", Minor: 4, Title: "kernels", Kind: Count, Get: func(r *row) any { return r.KernelCalls }},
		{Name: "kernel_ns_inclusive", Minor: 1, Title: "kernel time", Kind: Nanoseconds, Group: "time", Get: func(r *row) any { return r.InclusiveNS }},
		{Name: "kernel_ns_exclusive", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.ExclusiveNS }},
		{Name: "gpu_ops", Kind: Count, Detail: true, Get: func(r *row) any { return r.GPUOps }},
		{Name: "graph_launches", Kind: Count, Detail: true, Get: func(r *row) any { return r.GraphLaunches }},
		{Name: "unclosed", Detail: true, Get: func(r *row) any { return r.Unclosed }},
		{Name: "category", Detail: true, Get: func(r *row) any { return r.Category }},
		{Name: "color", Detail: true, Get: func(r *row) any { return r.Color }},
		{Name: "payload_type", Detail: true, Get: func(r *row) any { return r.PayloadType }},
		{Name: "payload", Detail: true, Get: func(r *row) any { return r.Payload }},
	})
}

// Launches shows every execution of a kernel on a timeline.
func Launches(rows timeline.Stream[timeline.LaunchRow]) Printable {
	type row = timeline.LaunchRow
	return streamOf("launches", rows, []Column[row]{
		{Name: "id", Kind: Count, Get: func(r *row) any { return r.ID }},
		{Name: "start_ns", Minor: 2, Kind: Moment, Get: func(r *row) any { return r.StartNS }},
		{Name: "duration_ns", Kind: Nanoseconds, Get: func(r *row) any { return r.DurationNS }},
		{Name: "grid", Minor: 6, Get: func(r *row) any { return r.Grid }},
		{Name: "block", Minor: 7, Get: func(r *row) any { return r.Block }},
		{Name: "process", Minor: 8, Kind: Count, Get: func(r *row) any { return r.Process }},
		{Name: "thread", Kind: Count, Detail: true, Get: func(r *row) any { return r.Thread }},
		{Name: "device", Minor: 5, Kind: Count, Get: func(r *row) any { return r.Device }},
		{Name: "context", Minor: 9, Kind: Count, Get: func(r *row) any { return r.Context }},
		{Name: "stream", Minor: 4, Kind: Count, Get: func(r *row) any { return r.Stream }},
		{Name: "short_name", Title: "kernel", Kind: Name, Get: func(r *row) any { return r.Short }},
		{Name: "nvtx", Minor: 3, Kind: Name, Get: func(r *row) any { return r.NVTX }},
		{Name: "nvtx_all", Detail: true, Get: func(r *row) any { return r.NVTXAll }},
		{Name: "launch_ns", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.LaunchNS }},
		{Name: "queue_ns", Kind: Nanoseconds, Detail: true, Get: func(r *row) any { return r.QueueNS }},
		{Name: "registers", Kind: Count, Detail: true, Get: func(r *row) any { return r.Registers }},
		{Name: "static_shared_bytes", Kind: Bytes, Detail: true, Get: func(r *row) any { return r.StaticShared }},
		{Name: "dynamic_shared_bytes", Kind: Bytes, Detail: true, Get: func(r *row) any { return r.DynamicShared }},
		{Name: "correlation", Kind: Count, Detail: true, Get: func(r *row) any { return r.Correlation }},
		{Name: "graph_node", Kind: Count, Detail: true, Get: func(r *row) any { return r.GraphNode }},
		{Name: "graph", Kind: Count, Detail: true, Get: func(r *row) any { return r.Graph }},
		{Name: "kernel", Detail: true, Get: func(r *row) any { return r.Kernel }},
	})
}

// Gaps shows the times in which a device or a stream ran nothing.
func Gaps(rows timeline.Stream[timeline.GapRow]) Printable {
	type row = timeline.GapRow
	return streamOf("gaps", rows, []Column[row]{
		{Name: "device", Minor: 5, Kind: Count, Get: func(r *row) any { return r.Device }},
		{Name: "process", Minor: 9, Kind: Count, Get: func(r *row) any { return r.Process }},
		{Name: "context", Kind: Count, Detail: true, Get: func(r *row) any { return r.Context }},
		{Name: "stream", Minor: 6, Kind: Count, Get: func(r *row) any { return r.Stream }},
		{Name: "start_ns", Kind: Moment, Get: func(r *row) any { return r.StartNS }},
		{Name: "end_ns", Kind: Moment, Detail: true, Get: func(r *row) any { return r.EndNS }},
		{Name: "duration_ns", Title: "gap", Kind: Nanoseconds, Group: "gap", Get: func(r *row) any { return r.DurationNS }},
		{Name: "host_ns", Minor: 3, Title: "outside CUDA", Kind: Nanoseconds, Group: "gap", Get: func(r *row) any { return r.HostNS }},
		{Name: "calls", Minor: 2, Title: "CUDA calls in it", Kind: Name, Get: func(r *row) any { return gapCalls(r.Calls) }},
		{Name: "nvtx", Minor: 4, Kind: Name, Get: func(r *row) any { return r.NVTX }},
		{Name: "before", Minor: 7, Kind: Name, Get: func(r *row) any { return r.Before }},
		{Name: "after", Minor: 8, Kind: Name, Get: func(r *row) any { return r.After }},
	})
}

func gapCalls(calls []timeline.GapCall) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = fmt.Sprintf("%s %s", c.Name, fourDigits(time.Duration(c.NS)))
		if c.Calls > 1 {
			parts[i] = fmt.Sprintf("%d %s", c.Calls, parts[i])
		}
	}
	return strings.Join(parts, ", ")
}

// fourDigits rounds a duration to what a reader takes in.
func fourDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10000 {
		unit *= 10
	}
	return d.Round(unit)
}
