package report

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/metric"
)

// A MetricRow is one counter of one launch, in the base unit of the counter.
type MetricRow struct {
	// Report is the file that the launch is of; "" where there is only one.
	Report string `json:"report,omitempty"`
	// Launch is its number in its report, as ncu counts: from 0.
	Launch int    `json:"launch"`
	Kernel string `json:"kernel"` // whole name
	Short  string `json:"-"`      // of the kernel, for people; made once a launch, not once a row
	// Name is NVIDIA's, Value in Unit.
	Name  string  `json:"name"`
	Value Reading `json:"value"`
	Unit  string  `json:"unit"` // "" for a plain count
	// Instances are the values that the counter is made of, where asked for.
	Instances []MetricInstance `json:"instances,omitempty"`
}

// A MetricInstance is one value out of which a counter is made.
type MetricInstance struct {
	// ID tells instances apart: a number, or an address in the program.
	ID    Reading `json:"id"`
	Value Reading `json:"value"`
}

// A Reading is a number, a text, or in JSON null for what was not measured. Numbers that
// JSON cannot hold become the texts "nan", "inf" and "-inf".
type Reading struct{ metric.Value }

// MarshalJSON implements json.Marshaler. It writes numbers itself: a report holds hundreds of
// thousands, in the form that encoding/json gives them.
func (r Reading) MarshalJSON() ([]byte, error) {
	f, ok := r.Float64()
	u, whole := r.Uint64()
	switch {
	case r.IsZero():
		return []byte("null"), nil
	case whole:
		return strconv.AppendUint(nil, u, 10), nil
	case !ok:
		return json.Marshal(r.Text())
	case math.IsNaN(f) || math.IsInf(f, 0):
		return json.Marshal(strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'f', -1, 64)), "+"))
	}
	return json.Marshal(f)
}

// plainValue is the value for CSV and for people; nil where nothing was
// measured.
func plainValue(v metric.Value) any {
	if v.IsZero() {
		return nil
	}
	if u, ok := v.Uint64(); ok {
		return u
	}
	if f, ok := v.Float64(); ok {
		return f
	}
	return v.Text()
}

// MetricView is one row a counter and launch, in base units (byte, ns, hz). It streams: a
// report has hundreds of thousands of them.
var MetricView = View[MetricRow]{
	Name: "metrics", Order: Order{Words: "the report"}, Groups: Groups{By: []string{"kernel", "name", "unit"}, Coarse: []string{"name", "unit"}, Of: "value"},
	Columns: []Column[MetricRow]{
		{Key: "report", Value: func(r *MetricRow) any { return r.Report }},
		{Key: "launch", Unit: Count, Value: func(r *MetricRow) any { return r.Launch }},
		{Key: "kernel", Format: Name, Value: func(r *MetricRow) any { return r.Kernel }, Show: func(r *MetricRow) any { return r.Short }},
		{Key: "name", Title: "metric", Value: func(r *MetricRow) any { return r.Name }},
		{Key: "value", Unit: Count, Value: func(r *MetricRow) any { return plainValue(r.Value.Value) }},
		{Key: "unit", Value: func(r *MetricRow) any { return r.Unit }},
	},
}

// Metrics shows one row a counter and launch, of one report or of several.
func Metrics(rows iter.Seq[*MetricRow], several bool, notes func() []string) Printable {
	v := MetricView
	if !several {
		v = v.without("report")
	}
	return v.table(rows, notes)
}

// A CountedLaunchRow is one launch or range that counters were taken of.
type CountedLaunchRow struct {
	ID int `json:"id"` // as ncu numbers it
	// Kernel is the whole name; ShortName tells ranges apart by the NVTX ranges around them.
	Kernel    string `json:"kernel"`
	ShortName string `json:"short_name"`
	Kind      string `json:"kind"` // kernel, range, cmdlist or graph
	// Grid is in blocks and Block in threads; zeros for a range.
	Grid    [3]uint64 `json:"grid"`
	Block   [3]uint64 `json:"block"`
	Context uint32    `json:"context"`
	Stream  *uint32   `json:"stream"` // null for a range, which has none
	Device  *int      `json:"device"` // null where the report does not say
	// NVTX are the paths that were open, with "; " between them.
	NVTX    string `json:"nvtx"`
	Process uint32 `json:"process"`
	// DurationNS was measured under the profiler; null where it was not collected.
	DurationNS *float64 `json:"duration_ns"`
	// Metrics counts the counters that the report has of it.
	Metrics int `json:"metrics"`
}

// CountedLaunchView is the launches and ranges that counters were taken of, as ncu numbers
// them. Durations are under the profiler.
var CountedLaunchView = View[CountedLaunchRow]{
	Name: "launches", Order: Order{Key: "id"}, Groups: Groups{By: []string{"short_name"}, Of: "duration_ns", Sum: true},
	Columns: []Column[CountedLaunchRow]{
		{Key: "id", Unit: Count, Value: func(r *CountedLaunchRow) any { return r.ID }},
		{Key: "kind", Detail: true, Value: func(r *CountedLaunchRow) any { return r.Kind }},
		{Key: "duration_ns", Unit: Nanoseconds, Value: func(r *CountedLaunchRow) any { return r.DurationNS }},
		{Key: "grid", Priority: 5, Value: func(r *CountedLaunchRow) any { return r.Grid }},
		{Key: "block", Priority: 6, Value: func(r *CountedLaunchRow) any { return r.Block }},
		{Key: "process", Priority: 8, Unit: Count, Value: func(r *CountedLaunchRow) any { return r.Process }},
		{Key: "device", Priority: 4, Unit: Count, Value: func(r *CountedLaunchRow) any { return r.Device }},
		{Key: "context", Priority: 9, Unit: Count, Value: func(r *CountedLaunchRow) any { return r.Context }},
		{Key: "stream", Priority: 3, Unit: Count, Value: func(r *CountedLaunchRow) any { return r.Stream }},
		{Key: "metrics", Priority: 7, Unit: Count, Value: func(r *CountedLaunchRow) any { return r.Metrics }},
		{Key: "short_name", Title: "kernel", Format: Name, Value: func(r *CountedLaunchRow) any { return r.ShortName }},
		{Key: "nvtx", Priority: 2, Format: Name, Value: func(r *CountedLaunchRow) any { return r.NVTX }},
		{Key: "kernel", Detail: true, Value: func(r *CountedLaunchRow) any { return r.Kernel }},
	},
}

// A Fact is one thing known about a report.
type Fact struct {
	// Section and Name are the same in every version: scripts read them.
	Section string `json:"section"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

// FactView is what made a report.
var FactView = View[Fact]{
	Name: "info", Order: Order{Words: "its parts: the file, what wrote it, the machine"},
	Columns: []Column[Fact]{
		{Key: "section", Value: func(r *Fact) any { return r.Section }},
		{Key: "name", Value: func(r *Fact) any { return r.Name }},
		{Key: "value", Format: Name, Value: func(r *Fact) any { return r.Value }},
	},
}
