package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// codeNoGraphs tells that projected times lack CUDA graphs.
const codeNoGraphs fact.Code = "view-projected-without-graphs"

// KernelView is one row a kernel, of a timeline or of counters. Its numbers are those of
// nsys stats --report cuda_gpu_kern_sum; a division (--by) fills device, process, region, or
// grid and block, which are absent otherwise.
var KernelView = View[KernelRow]{
	Name: "kernels", Order: Order{Key: "total_ns", Descending: true},
	Columns: []Column[KernelRow]{
		{Key: "time_pct", Title: "time", Help: "Share of the GPU time of all kernels that are asked for", Unit: Percent, Part: "total_ns", Value: func(r *KernelRow) any { return r.TimePct }},
		{Key: "total_ns", Unit: Nanoseconds, Value: func(r *KernelRow) any { return r.TotalNS }},
		{Key: "calls", Title: "launches", Unit: Count, Value: func(r *KernelRow) any { return r.Calls }},
		{Key: "mean_ns", Priority: 6, Unit: Nanoseconds, Group: "call", Value: func(r *KernelRow) any { return r.MeanNS }},
		{Key: "median_ns", Priority: 8, Unit: Nanoseconds, Group: "call", Value: func(r *KernelRow) any { return r.MedianNS }},
		{Key: "min_ns", Priority: 7, Unit: Nanoseconds, Group: "call", Value: func(r *KernelRow) any { return r.MinNS }},
		{Key: "max_ns", Priority: 6, Unit: Nanoseconds, Group: "call", Value: func(r *KernelRow) any { return r.MaxNS }},
		{Key: "stddev_ns", Priority: 9, Unit: Nanoseconds, Group: "call", Value: func(r *KernelRow) any { return r.StddevNS }},
		{Key: "device", Priority: 1, Unit: Count, Value: func(r *KernelRow) any { return r.Device }},
		{Key: "process", Priority: 2, Unit: Count, Value: func(r *KernelRow) any { return r.Process }},
		{Key: "region", Format: Name, Value: func(r *KernelRow) any { return r.Region }},
		{Key: "grid", Priority: 4, Value: func(r *KernelRow) any { return r.Grid }},
		{Key: "block", Priority: 5, Value: func(r *KernelRow) any { return r.Block }},
		{Key: "registers", Unit: Count, Detail: true, Value: func(r *KernelRow) any { return r.Registers }},
		{Key: "static_shared_bytes", Unit: Bytes, Detail: true, Value: func(r *KernelRow) any { return r.StaticShared }},
		{Key: "dynamic_shared_bytes", Unit: Bytes, Detail: true, Value: func(r *KernelRow) any { return r.DynamicShared }},
		{Key: "limiter", Priority: 3, Format: Words, Value: func(r *KernelRow) any { return orNil(r.Limiter) }, Show: func(r *KernelRow) any { return orNil(r.limiter) }},
		{Key: "cause", Priority: 3, Format: Words, Value: func(r *KernelRow) any { return orNil(r.Cause) }, Show: func(r *KernelRow) any { return orNil(r.cause) }},
		{Key: "short_name", Title: "kernel", Format: Name, Value: func(r *KernelRow) any { return r.ShortName }, Show: func(r *KernelRow) any { return r.label }},
		{Key: "name", Detail: true, Value: func(r *KernelRow) any { return r.Name }},
	},
}

// A KernelRow is a kernel of a timeline with what the analysis of its run says
// of it.
type KernelRow struct {
	timeline.KernelRow
	// The codes of its limiter and of the cause behind it, of the grid and block
	// that takes most time; absent where nothing tells.
	Limiter string `json:"limiter,omitempty"`
	Cause   string `json:"cause,omitempty"`

	limiter, cause string // the same in words, for a terminal
	label          string // a short name that no other row has
}

// Kernels shows one row a kernel, the first top of them (0: all); names tell apart
// what is shown and what is cut. The result of the analysis, where there is one,
// says what limits them.
func Kernels(rows timeline.Rows[timeline.KernelRow], result *analysis.Result, top int) Printable {
	distinct := distinguish(rows.Rows)
	if more := len(rows.Rows) - top; top > 0 && more > 0 {
		rows.Rows, rows.Cut = rows.Rows[:top], rows.Cut+more
	}
	limit := limitersOf(result)
	limited := timeline.Rows[KernelRow]{Cut: rows.Cut, Warnings: rows.Warnings}
	for _, k := range rows.Rows {
		row := KernelRow{KernelRow: k, label: distinct[k.Name]}
		limit(&row)
		limited.Rows = append(limited.Rows, row)
	}
	v := KernelView
	if result == nil {
		v = v.without("limiter", "cause")
	}
	return tableOf(v, limited)
}

// tableOf makes a table of an answer of the timeline.
func tableOf[T any](v View[T], rows timeline.Rows[T]) *Table[T] {
	t := v.table(Slice(rows.Rows), func() []string { return message.Texts(rows.Warnings) })
	t.Cut = rows.Cut
	return t
}

// streamOf makes a table of an answer that is made while it is written.
func streamOf[T any](v View[T], s timeline.Stream[T]) *Table[T] {
	t := v.table(s.Rows, func() []string { return message.Texts(s.Notes()) })
	t.Cut = s.Cut
	return t
}

// limitersOf tells the limiter and the cause of a row: those of its grid and block,
// or of those that take most time where the row has several. In words it is mostly
// that where it holds for more than half of their time, and partly where it does not.
func limitersOf(r *analysis.Result) func(*KernelRow) {
	if r == nil {
		return func(*KernelRow) {}
	}
	groups := map[string][]*analysis.Kernel{} // by name, those of most time first
	for i := range r.Kernels {
		k := &r.Kernels[i]
		groups[k.Name] = append(groups[k.Name], k)
	}
	return func(row *KernelRow) {
		same := slices.DeleteFunc(slices.Clone(groups[row.Name]), func(k *analysis.Kernel) bool {
			return row.Grid != nil && widened(*row.Grid) != k.Grid || row.Block != nil && widened(*row.Block) != k.Block
		})
		k, holds := analysis.LimiterOf(same)
		if k == nil {
			return
		}
		row.Limiter, row.limiter = k.Limiter.Kind, message.Phrase("limiter-holds", message.Label("holds", holds), limiterBrief(k))
		if c := k.Limiter.Cause; c != nil {
			row.Cause, row.cause = string(c.Code), message.Short(c.Fact)
		}
	}
}

// widened is an extent in the type that results have.
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

// RegionView is one row a region path.
var RegionView = View[timeline.RegionRow]{
	Name: "regions", Order: Order{Key: "gpu_busy_ns", Descending: true},
	Legend: "projected is from first to last GPU work launched inside; GPU busy is the part of it with kernels or copies, GPU idle the rest",
	Columns: []Column[timeline.RegionRow]{
		{Key: "path", Title: "region", Format: Name, Value: func(r *timeline.RegionRow) any { return r.Path }},
		{Key: "name", Detail: true, Value: func(r *timeline.RegionRow) any { return r.Name }},
		{Key: "domain", Detail: true, Value: func(r *timeline.RegionRow) any { return r.Domain }},
		{Key: "style", Priority: 9, Value: func(r *timeline.RegionRow) any { return r.Style }},
		{Key: "process", Priority: 2, Unit: Count, Value: func(r *timeline.RegionRow) any { return r.Process }},
		{Key: "device", Priority: 1, Unit: Count, Value: func(r *timeline.RegionRow) any { return r.Device }},
		{Key: "instances", Priority: 5, Unit: Count, Value: func(r *timeline.RegionRow) any { return r.Instances }},
		{Key: "range_ns", Title: "wall", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.RangeNS }},
		{Key: "gpu_projected_ns", Priority: 8, Title: "projected", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.ProjectedNS }},
		{Key: "gpu_busy_ns", Priority: 3, Title: "GPU busy", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.BusyNS }},
		{Key: "gpu_idle_ns", Priority: 7, Title: "GPU idle", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.IdleNS }},
		{Key: "kernel_calls", Priority: 4, Title: "kernels", Unit: Count, Value: func(r *timeline.RegionRow) any { return r.KernelCalls }},
		{Key: "kernel_calls_exclusive", Unit: Count, Detail: true, Value: func(r *timeline.RegionRow) any { return r.ExclusiveCalls }},
		{Key: "kernel_ns_inclusive", Title: "GPU time", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.InclusiveNS }},
		{Key: "kernel_ns_exclusive", Priority: 6, Title: "own", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.ExclusiveNS }},
		{Key: "gpu_ops", Unit: Count, Detail: true, Value: func(r *timeline.RegionRow) any { return r.GPUOps }},
		{Key: "copy_ns", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.RegionRow) any { return r.CopyNS }},
		{Key: "copy_bytes", Unit: Bytes, Detail: true, Value: func(r *timeline.RegionRow) any { return r.CopyBytes }},
		{Key: "graph_launches", Unit: Count, Detail: true, Value: func(r *timeline.RegionRow) any { return r.GraphLaunches }},
		{Key: "graph_ns", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.RegionRow) any { return r.GraphNS }},
		{Key: "range_gpu_busy_ns", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.RegionRow) any { return r.WallBusyNS }},
		{Key: "unclosed", Unit: Count, Detail: true, Value: func(r *timeline.RegionRow) any { return r.Unclosed }},
		{Key: "depth", Unit: Count, Detail: true, Value: func(r *timeline.RegionRow) any { return r.Depth }},
		{Key: "group", Detail: true, Value: func(r *timeline.RegionRow) any { return r.Group }},
		{Key: "range_median_ns", Title: "median", Priority: 10, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.MedianNS }},
		{Key: "range_min_ns", Title: "min", Priority: 12, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.MinNS }},
		{Key: "range_max_ns", Title: "max", Priority: 11, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RegionRow) any { return r.MaxNS }},
		{Key: "async_instances", Title: "async", Priority: 14, Unit: Count, Value: func(r *timeline.RegionRow) any { return r.Async }},
		{Key: "outliers", Priority: 13, Unit: Count, Value: func(r *timeline.RegionRow) any { return r.Outliers }},
	},
}

// Regions shows one row a region path.
func Regions(rows timeline.Rows[timeline.RegionRow]) Printable {
	if slices.ContainsFunc(rows.Rows, func(r timeline.RegionRow) bool { return r.GraphLaunches > 0 }) {
		rows.Warnings = append(rows.Warnings, fact.New(codeNoGraphs))
	}
	return tableOf(RegionView, rows)
}

// RangeView is every instance of every range, by start. id is the place of the range in the
// file, from 1, and joins exports; GPU times are those of work that was launched inside.
var RangeView = View[timeline.RangeRow]{
	Name: "ranges", Order: Order{Key: "start_ns"}, Groups: Groups{By: []string{"path"}, Of: "range_ns", Sum: true},
	Columns: []Column[timeline.RangeRow]{
		{Key: "id", Unit: Count, Value: func(r *timeline.RangeRow) any { return r.ID }},
		{Key: "path", Title: "range", Format: Name, Value: func(r *timeline.RangeRow) any { return r.Path }},
		{Key: "name", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Name }},
		{Key: "domain", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Domain }},
		{Key: "style", Priority: 9, Value: func(r *timeline.RangeRow) any { return r.Style }},
		{Key: "process", Priority: 7, Unit: Count, Value: func(r *timeline.RangeRow) any { return r.Process }},
		{Key: "thread", Priority: 8, Unit: Count, Value: func(r *timeline.RangeRow) any { return r.Thread }},
		{Key: "depth", Unit: Count, Detail: true, Value: func(r *timeline.RangeRow) any { return r.Depth }},
		{Key: "start_ns", Priority: 2, Unit: Nanoseconds, Format: Moment, Value: func(r *timeline.RangeRow) any { return r.StartNS }},
		{Key: "end_ns", Unit: Nanoseconds, Format: Moment, Detail: true, Value: func(r *timeline.RangeRow) any { return r.EndNS }},
		{Key: "range_ns", Title: "wall", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RangeRow) any { return r.RangeNS }},
		{Key: "gpu_projected_start_ns", Unit: Nanoseconds, Format: Moment, Detail: true, Value: func(r *timeline.RangeRow) any { return r.ProjectedStart }},
		{Key: "gpu_projected_ns", Priority: 6, Title: "projected", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RangeRow) any { return r.ProjectedNS }},
		{Key: "gpu_busy_ns", Priority: 3, Title: "GPU busy", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RangeRow) any { return r.BusyNS }},
		{Key: "gpu_idle_ns", Priority: 5, Title: "GPU idle", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RangeRow) any { return r.IdleNS }},
		{Key: "kernel_calls", Priority: 4, Title: "kernels", Unit: Count, Value: func(r *timeline.RangeRow) any { return r.KernelCalls }},
		{Key: "kernel_ns_inclusive", Priority: 1, Title: "GPU time", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.RangeRow) any { return r.InclusiveNS }},
		{Key: "kernel_ns_exclusive", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.RangeRow) any { return r.ExclusiveNS }},
		{Key: "gpu_ops", Unit: Count, Detail: true, Value: func(r *timeline.RangeRow) any { return r.GPUOps }},
		{Key: "graph_launches", Unit: Count, Detail: true, Value: func(r *timeline.RangeRow) any { return r.GraphLaunches }},
		{Key: "unclosed", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Unclosed }},
		{Key: "category", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Category }},
		{Key: "color", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Color }},
		{Key: "payload_type", Detail: true, Value: func(r *timeline.RangeRow) any { return r.PayloadType }},
		{Key: "payload", Detail: true, Value: func(r *timeline.RangeRow) any { return r.Payload }},
	},
}

// Ranges shows every instance of every range.
func Ranges(rows timeline.Rows[timeline.RangeRow]) Printable { return tableOf(RangeView, rows) }

// LaunchView is every execution of a kernel on a timeline, by start. It streams: rows are not
// held. Moments are nanoseconds since the capture began.
var LaunchView = View[timeline.LaunchRow]{
	Name: "launches", Order: Order{Key: "start_ns"}, Groups: Groups{By: []string{"short_name", "nvtx"}, Coarse: []string{"short_name"}, Of: "duration_ns", Sum: true},
	Columns: []Column[timeline.LaunchRow]{
		{Key: "id", Unit: Count, Value: func(r *timeline.LaunchRow) any { return r.ID }},
		{Key: "start_ns", Priority: 2, Unit: Nanoseconds, Format: Moment, Value: func(r *timeline.LaunchRow) any { return r.StartNS }},
		{Key: "duration_ns", Unit: Nanoseconds, Value: func(r *timeline.LaunchRow) any { return r.DurationNS }},
		{Key: "grid", Priority: 6, Value: func(r *timeline.LaunchRow) any { return r.Grid }},
		{Key: "block", Priority: 7, Value: func(r *timeline.LaunchRow) any { return r.Block }},
		{Key: "process", Priority: 8, Unit: Count, Value: func(r *timeline.LaunchRow) any { return r.Process }},
		{Key: "thread", Unit: Count, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.Thread }},
		{Key: "device", Priority: 5, Unit: Count, Value: func(r *timeline.LaunchRow) any { return r.Device }},
		{Key: "context", Priority: 9, Unit: Count, Value: func(r *timeline.LaunchRow) any { return r.Context }},
		{Key: "stream", Priority: 4, Unit: Count, Value: func(r *timeline.LaunchRow) any { return r.Stream }},
		{Key: "short_name", Title: "kernel", Format: Name, Value: func(r *timeline.LaunchRow) any { return r.Short }},
		{Key: "nvtx", Priority: 3, Format: Name, Value: func(r *timeline.LaunchRow) any { return r.NVTX }},
		{Key: "nvtx_all", Detail: true, Value: func(r *timeline.LaunchRow) any { return r.NVTXAll }},
		{Key: "launch_ns", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.LaunchNS }},
		{Key: "queue_ns", Unit: Nanoseconds, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.QueueNS }},
		{Key: "registers", Unit: Count, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.Registers }},
		{Key: "static_shared_bytes", Unit: Bytes, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.StaticShared }},
		{Key: "dynamic_shared_bytes", Unit: Bytes, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.DynamicShared }},
		{Key: "correlation", Unit: Count, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.Correlation }},
		{Key: "graph_node", Unit: Count, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.GraphNode }},
		{Key: "graph", Unit: Count, Detail: true, Value: func(r *timeline.LaunchRow) any { return r.Graph }},
		{Key: "kernel", Detail: true, Value: func(r *timeline.LaunchRow) any { return r.Kernel }},
	},
}

// Launches shows every execution of a kernel on a timeline.
func Launches(rows timeline.Stream[timeline.LaunchRow]) Printable { return streamOf(LaunchView, rows) }

// Help of columns that both views of gaps have.
const (
	hostHelp   = "innermost range of the launching thread for most of the gap, until the next work was launched: the module that ran on the host"
	pythonHelp = "code that the launching thread was seen in during the gap, until the next work was launched, by samples of nsys (pipeline.nsys.python_sampling)"
)

// GapGroupView is the times in which a device or a stream ran nothing, by cause and
// region.
var GapGroupView = View[timeline.GapGroupRow]{
	Name: "gaps", Order: Order{Key: "total_ns", Descending: true}, Everything: "--all",
	Columns: []Column[timeline.GapGroupRow]{
		{Key: "cause", Help: "what the thread that launched the next work did for most of each gap", Value: func(r *timeline.GapGroupRow) any { return r.Cause }},
		{Key: "nvtx", Title: "region", Priority: 1, Format: Name, Value: func(r *timeline.GapGroupRow) any { return r.NVTX }},
		{Key: "device", Priority: 6, Unit: Count, Value: func(r *timeline.GapGroupRow) any { return r.Device }},
		{Key: "stream", Priority: 5, Unit: Count, Value: func(r *timeline.GapGroupRow) any { return r.Stream }},
		{Key: "gaps", Unit: Count, Value: func(r *timeline.GapGroupRow) any { return r.Gaps }},
		{Key: "total_ns", Title: "total", Unit: Nanoseconds, Value: func(r *timeline.GapGroupRow) any { return r.TotalNS }},
		{Key: "share", Title: "of all gaps", Priority: 2, Unit: Share, Part: "total_ns", Value: func(r *timeline.GapGroupRow) any { return r.Share }},
		{Key: "cause_ns", Priority: 4, Title: "of the cause", Unit: Nanoseconds, Value: func(r *timeline.GapGroupRow) any { return r.CauseNS }},
		{Key: "mean_ns", Priority: 3, Title: "mean", Unit: Nanoseconds, Group: "gap", Value: func(r *timeline.GapGroupRow) any { return r.MeanNS }},
		{Key: "max_ns", Priority: 3, Title: "max", Unit: Nanoseconds, Group: "gap", Value: func(r *timeline.GapGroupRow) any { return r.MaxNS }},
		{Key: "host_nvtx", Title: "on the host", Help: hostHelp, Priority: 7, Format: Name, Value: func(r *timeline.GapGroupRow) any { return r.Host }},
		{Key: "python", Title: "in Python", Help: pythonHelp, Priority: 8, Format: Name, Value: func(r *timeline.GapGroupRow) any { return hostFrames(r.Python) }},
	},
}

// GapGroups sums the times in which a device or a stream ran nothing.
func GapGroups(rows timeline.Rows[timeline.GapGroupRow]) Printable {
	return tableOf(GapGroupView, rows)
}

// GapView is the times in which a device or a stream ran nothing.
var GapView = View[timeline.GapRow]{
	Name: "gaps", Order: Order{Key: "duration_ns", Descending: true}, Groups: Groups{By: []string{"nvtx"}, Of: "duration_ns", Sum: true},
	Columns: []Column[timeline.GapRow]{
		{Key: "device", Priority: 5, Unit: Count, Value: func(r *timeline.GapRow) any { return r.Device }},
		{Key: "process", Priority: 9, Unit: Count, Value: func(r *timeline.GapRow) any { return r.Process }},
		{Key: "context", Unit: Count, Detail: true, Value: func(r *timeline.GapRow) any { return r.Context }},
		{Key: "stream", Priority: 6, Unit: Count, Value: func(r *timeline.GapRow) any { return r.Stream }},
		{Key: "start_ns", Unit: Nanoseconds, Format: Moment, Value: func(r *timeline.GapRow) any { return r.StartNS }},
		{Key: "end_ns", Unit: Nanoseconds, Format: Moment, Detail: true, Value: func(r *timeline.GapRow) any { return r.EndNS }},
		{Key: "duration_ns", Title: "gap", Unit: Nanoseconds, Group: "gap", Value: func(r *timeline.GapRow) any { return r.DurationNS }},
		{Key: "host_ns", Priority: 3, Title: "outside CUDA", Unit: Nanoseconds, Group: "gap", Value: func(r *timeline.GapRow) any { return r.HostNS }},
		{Key: "calls", Priority: 2, Title: "CUDA calls in it", Format: Name, Value: func(r *timeline.GapRow) any { return gapCalls(r.Calls) }},
		{Key: "nvtx", Priority: 4, Format: Name, Value: func(r *timeline.GapRow) any { return r.NVTX }},
		{Key: "before", Priority: 7, Format: Name, Value: func(r *timeline.GapRow) any { return r.Before }},
		{Key: "after", Priority: 8, Format: Name, Value: func(r *timeline.GapRow) any { return r.After }},
		{Key: "host_nvtx", Title: "on the host", Help: hostHelp, Priority: 6, Format: Name, Value: func(r *timeline.GapRow) any { return r.Host }},
		{Key: "python", Title: "in Python", Help: pythonHelp, Priority: 6, Format: Name, Value: func(r *timeline.GapRow) any { return hostFrames(r.Python) }},
	},
}

// Gaps shows the times in which a device or a stream ran nothing.
func Gaps(rows timeline.Stream[timeline.GapRow]) Printable { return streamOf(GapView, rows) }

// hostFrames names the code that most samples saw, with their share of all samples.
func hostFrames(frames []timeline.HostFrame) any {
	shares := timeline.SampleShares(frames)
	var names []string
	for i, f := range frames[:min(3, len(frames))] {
		names = append(names, fmt.Sprintf("%s %.0f %%", f.Name(), 100*shares[i]))
	}
	return orNil(strings.Join(names, ", "))
}

// gapCalls lists the CUDA calls in a gap with their times, as the row has them.
func gapCalls(calls []timeline.GapCall) string {
	return strings.Join(each(calls, func(c *timeline.GapCall) string {
		text := fmt.Sprintf("%s %s", c.Name, fourDigits(time.Duration(c.NS)))
		if c.Calls > 1 {
			text = fmt.Sprintf("%d %s", c.Calls, text)
		}
		return text
	}), ", ")
}

// fourDigits rounds a duration to what a reader takes in.
func fourDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10000 {
		unit *= 10
	}
	return d.Round(unit)
}
