package nsys

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// KernelRows summarizes kernels. It reads nothing but kernels and their names
// unless the query asks for regions.
// Times are ns of GPU time under the profiler.
func (f *File) KernelRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.KernelRow], error) {
	q.Exact = f.exact()
	if !q.NeedsRegions() {
		return f.kernelStream(ctx, q)
	}
	t, err := f.attributable(ctx, Kernels|LaunchCalls|NVTX, q)
	if err != nil {
		return timeline.Rows[timeline.KernelRow]{}, err
	}
	return withWarnings(t.KernelRows(q), t), nil
}

// exact tells how the nsys that exported the file rounds. 2022.4 and 2023.4 go
// by the shortest decimal, 2025.3 by the exact value; of those between, nothing
// is known.
func (f *File) exact() bool {
	year, _, _ := strings.Cut(f.tool, ".")
	n, err := strconv.Atoi(year)
	return err == nil && n >= 2025
}

// attributable reads what a query by regions needs. Where it asks for the
// ranges of capture, a warning tells how much replayed work has none.
// Captured has no effect if the file has no ranges and no earlier window is named.
func (f *File) attributable(ctx context.Context, parts Part, q timeline.Query) (*timeline.Timeline, error) {
	if q.Captured {
		t, err := f.Timeline(ctx, parts|Graphs)
		if err != nil {
			return nil, err
		}
		if len(t.Ranges) > 0 || f.Earlier != "" { // else none was open during any capture
			return f.captured(ctx, launchedIn(t, q), q)
		}
	}
	t, err := f.TimelineFor(ctx, parts, q)
	if err != nil {
		return nil, err
	}
	return launchedIn(t, q), nil
}

// launchedIn keeps the kernels that a query asks for by their launch.
func launchedIn(t *timeline.Timeline, q timeline.Query) *timeline.Timeline {
	if q.LaunchedIn == nil {
		return t
	}
	return t.LaunchedIn(q.LaunchedIn)
}

// captured counts the work of CUDA graphs to the ranges of capture.
// Neither t nor its warnings are changed.
func (f *File) captured(ctx context.Context, t *timeline.Timeline, q timeline.Query) (*timeline.Timeline, error) {
	recalled, err := f.withEarlier(ctx, t)
	if err != nil {
		return nil, err
	}
	c := recalled.Captured()
	if q.OrLaunched {
		c = recalled.CapturedOrLaunched()
	}
	made := *c.Timeline
	told := capturedWarnings(c.CaptureCoverage)
	if c.Replayed.Count == 0 && c.Whole.Count == 0 {
		told = []fact.Fact{fact.New(timeline.CodeCaptureNone)}
	}
	made.Warnings = append(slices.Clone(t.Warnings), told...)
	return &made, nil
}

// withEarlier adds the ranges of the earlier window in which graphs were
// captured.
// The earlier file is open only while its ranges are read.
func (f *File) withEarlier(ctx context.Context, t *timeline.Timeline) (*timeline.Timeline, error) {
	if f.Earlier == "" {
		return t, nil
	}
	e, err := OpenSQLite(f.Earlier)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	earlier, err := e.Timeline(ctx, NVTX|Graphs)
	if err != nil {
		return nil, err
	}
	return t.WithEarlier(earlier), nil
}

// TimelineFor reads the chosen parts. Where the query asks for what repeats and the file
// has no ranges, the names of kernels are read too, and the timeline has ranges of
// what repeats.
func (f *File) TimelineFor(ctx context.Context, parts Part, q timeline.Query) (*timeline.Timeline, error) {
	t, err := f.Timeline(ctx, parts)
	if err == nil && q.Detect && len(t.Ranges) == 0 && parts&Kernels == 0 {
		t, err = f.Timeline(ctx, parts|Kernels)
	}
	if err != nil {
		return nil, err
	}
	return f.detected(t, q), nil
}

// detected is the timeline with ranges of what repeats if the query asks for
// them and there are no others. A damaged file may have lost its own.
func (f *File) detected(t *timeline.Timeline, q timeline.Query) *timeline.Timeline {
	if !q.Detect || len(t.Ranges) > 0 || len(f.Lost()) > 0 {
		return t
	}
	made, p := t.WithPhases()
	if p.Period > 0 {
		made.Warnings = append(slices.Clone(t.Warnings), p.Fact())
	}
	return made
}

// capturedWarnings say how much GPU time of CUDA graphs has no range of capture,
// and what to change; none if there is nothing to change.
func capturedWarnings(c timeline.CaptureCoverage) []fact.Fact {
	of := []fact.Param{fact.Count("of", c.Replayed.Count), fact.NS("of_time", c.Replayed.NS)}
	var told []fact.Fact
	tell := func(code fact.Code, params ...fact.Param) {
		told = append(told, fact.New(code, append(params, of...)...))
	}
	if c.Whole.Count > 0 {
		told = append(told, fact.New(timeline.CodeCaptureWhole, fact.Count("n", c.Whole.Count), fact.NS("time", c.Whole.NS)))
	}
	lost := fact.Count("n", c.Replayed.Count-c.Found.Count)
	switch {
	case c.Replayed.Count == c.Found.Count:
	case c.NodeRows == 0:
		tell(timeline.CodeCaptureNoNodes, lost)
	default:
		tell(timeline.CodeCaptureLost, lost, fact.NS("time", c.Replayed.NS-c.Found.NS))
	}
	if c.Early.Count > 0 {
		tell(timeline.CodeCaptureEarly, fact.Count("n", c.Early.Count), fact.NS("time", c.Early.NS))
	}
	return told
}

// CaptureCoverage tells how much work of CUDA graphs has a place of capture, and what
// to change if some has none.
func (f *File) CaptureCoverage(ctx context.Context) (timeline.CaptureCoverage, []fact.Fact, error) {
	t, err := f.Timeline(ctx, KernelTimes|Graphs)
	if err != nil {
		return timeline.CaptureCoverage{}, nil, err
	}
	c := t.Captured().CaptureCoverage
	return c, capturedWarnings(c), nil
}

// regionsFor is what a query about ranges needs: names of kernels only if it
// goes by them.
func regionsFor(q timeline.Query) Part {
	if q.Kernel != nil {
		return Regions
	}
	return Regions&^Kernels | KernelTimes
}

// RegionRows sums NVTX ranges by path.
// GPU time counts for the ranges that were open when the work was launched, on the
// thread that launched it, not for those open while it ran.
func (f *File) RegionRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.RegionRow], error) {
	if rows, ok, err := f.flowRegions(ctx, q); ok || err != nil {
		return rows, err
	}
	t, err := f.attributable(ctx, regionsFor(q), q)
	if err != nil {
		return timeline.Rows[timeline.RegionRow]{}, err
	}
	return withWarnings(t.RegionRows(q), t), nil
}

// Replays is Timeline.Replays, with the ranges of an earlier window; nil if the query
// does not count work where it was captured.
// Keys are region paths as in RegionRow.Path.
func (f *File) Replays(ctx context.Context, q timeline.Query) (map[string][]float64, error) {
	if !q.Captured {
		return nil, nil
	}
	t, err := f.attributable(ctx, regionsFor(q), q)
	if err != nil {
		return nil, err
	}
	return t.Replays(q), nil
}

// RangeRows lists the instances of NVTX ranges.
// Unclosed ranges are listed with the last time of the file as their end.
func (f *File) RangeRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.RangeRow], error) {
	t, err := f.TimelineFor(ctx, regionsFor(q), q)
	if err != nil {
		return timeline.Rows[timeline.RangeRow]{}, err
	}
	return withWarnings(t.RangeRows(q), t), nil
}

// StreamLaunches lists kernel launches one by one.
// Where the tables are in the usual order, no launch is kept in memory, and rows may
// be read after f was closed.
func (f *File) StreamLaunches(ctx context.Context, q timeline.Query) (timeline.Stream[timeline.LaunchRow], error) {
	fed, ok, err := f.streamFed(ctx, q)
	if ok || err != nil {
		return fed, err
	}
	t, err := f.TimelineFor(ctx, Kernels|LaunchCalls|NVTX, q)
	if err != nil {
		return timeline.Stream[timeline.LaunchRow]{}, err
	}
	s := t.StreamLaunches(q)
	s.Warnings = slices.Concat(t.Warnings, s.Warnings)
	return s, nil
}

// GapGroups sums the times in which a GPU or a stream ran nothing by cause and
// region.
// It needs all CUDA calls: in memory, or in a flow if the query is about whole devices.
func (f *File) GapGroups(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.GapGroupRow], error) {
	if rows, ok, err := f.flowGapGroups(ctx, q); ok || err != nil {
		return rows, err
	}
	parts := regionsFor(q)&^LaunchCalls | Calls
	t, err := f.TimelineFor(ctx, parts, q)
	if err != nil {
		return timeline.Rows[timeline.GapGroupRow]{}, err
	}
	return withWarnings(t.GapGroups(q), t), nil
}

// StreamGaps lists the times in which a GPU or a stream ran nothing, one by one:
// there can be more gaps than kernels.
// Rows may be read after f was closed. The longest come first.
func (f *File) StreamGaps(ctx context.Context, q timeline.Query) (timeline.Stream[timeline.GapRow], error) {
	if s, ok, err := f.flowGaps(ctx, q); ok || err != nil {
		return s, err
	}
	t, err := f.TimelineFor(ctx, Regions&^LaunchCalls|Calls, q)
	if err != nil {
		return timeline.Stream[timeline.GapRow]{}, err
	}
	s := t.EveryGap(q)
	s.Warnings = slices.Concat(t.Warnings, s.Warnings)
	return s, nil
}

// withWarnings puts what the file lacks before what the rows lack.
func withWarnings[T any](rows timeline.Rows[T], t *timeline.Timeline) timeline.Rows[T] {
	rows.Warnings = slices.Concat(t.Warnings, rows.Warnings)
	return rows
}

// Info sums up what the file holds.
// It keeps everything in memory but the CUDA calls, which are only counted.
func (f *File) Info(ctx context.Context) (timeline.Info, error) {
	t, err := f.Timeline(ctx, Everything&^Calls|CallCounts)
	if err != nil {
		return timeline.Info{}, err
	}
	return t.Info(), nil
}
