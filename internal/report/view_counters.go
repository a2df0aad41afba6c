package report

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/metric"
)

// A MetricLaunch is what the counters of one launch share. Its JSON is written
// once, and so is its CSV: names of kernels are long, and each has thousands of
// counters.
type MetricLaunch struct {
	// Report is the file that the launch is of; "" where there is only one.
	Report string
	// ID is the number of the launch in its report, as ncu counts: from 0.
	ID     int
	Kernel string // whole name
	short  string
	// json and csv are the beginning of each row.
	json, csv []byte
}

// NewMetricLaunch prepares the rows of a launch.
func NewMetricLaunch(report string, id int, kernel string) *MetricLaunch {
	b, c := []byte(`{`), []byte(nil)
	if report != "" {
		b = append(appendString(append(b, `"report":`...), report), ',')
		c = append(appendCell(c, report), ',')
	}
	b = strconv.AppendInt(append(b, `"launch":`...), int64(id), 10)
	b = appendString(append(b, `,"kernel":`...), kernel)
	c = appendCell(append(strconv.AppendInt(c, int64(id), 10), ','), kernel)
	return &MetricLaunch{report, id, kernel, cxx.Short(kernel), append(b, `,"name":`...), append(c, ',')}
}

// A MetricRow is one counter of one launch, in the base unit of the counter.
type MetricRow struct {
	Launch *MetricLaunch
	Name   string
	Value  metric.Value
	Unit   string
	// Instances are the values that the counter is made of, where asked for.
	Instances []MetricInstance
}

// A MetricInstance is one value out of which a counter is made.
type MetricInstance struct{ ID, Value metric.Value }

// AppendJSON writes the row by hand: reports hold hundreds of thousands.
func (r *MetricRow) AppendJSON(b []byte) []byte {
	b = append(b, r.Launch.json...)
	b = appendString(b, r.Name)
	b = append(b, `,"value":`...)
	b = appendValue(b, r.Value)
	b = append(b, `,"unit":`...)
	b = appendString(b, r.Unit)
	if r.Instances != nil {
		b = append(b, `,"instances":[`...)
		for i, in := range r.Instances {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"id":`...)
			b = appendValue(b, in.ID)
			b = append(b, `,"value":`...)
			b = appendValue(b, in.Value)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// AppendCSV writes the row by hand.
func (r *MetricRow) AppendCSV(b []byte) []byte {
	b = append(b, r.Launch.csv...)
	b = append(appendCell(b, r.Name), ',')
	if u, ok := r.Value.Uint64(); ok {
		b = strconv.AppendUint(b, u, 10)
	} else if f, ok := r.Value.Float64(); ok {
		b = strconv.AppendFloat(b, f, 'f', -1, 64)
	} else {
		b = appendCell(b, r.Value.Text())
	}
	return appendField(append(b, ','), r.Unit)
}

// appendValue writes a number, a text, or null for what was not measured.
// Numbers that JSON cannot hold become the texts "nan", "inf" and "-inf".
func appendValue(b []byte, v metric.Value) []byte {
	if v.IsZero() {
		return append(b, "null"...)
	}
	if u, ok := v.Uint64(); ok {
		return strconv.AppendUint(b, u, 10)
	}
	f, ok := v.Float64()
	switch {
	case !ok:
		return appendString(b, v.Text())
	case math.IsNaN(f):
		return append(b, `"nan"`...)
	case math.IsInf(f, 1):
		return append(b, `"inf"`...)
	case math.IsInf(f, -1):
		return append(b, `"-inf"`...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

// appendString quotes a text; most need no escaping, and those are copied.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			text, err := json.Marshal(s)
			if err != nil { // a string always marshals
				return append(b, `""`...)
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
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
// report has hundreds of thousands of them, so rows write themselves.
var MetricView = View[MetricRow]{
	Name: "metrics", Order: Order{Words: "the report"}, Groups: Groups{By: []string{"kernel", "name", "unit"}, Coarse: []string{"name", "unit"}, Of: "value"},
	Columns: []Column[MetricRow]{
		{Key: "report", Value: func(r *MetricRow) any { return r.Launch.Report }},
		{Key: "launch", Unit: Count, Value: func(r *MetricRow) any { return r.Launch.ID }},
		{Key: "kernel", Format: Name, Value: func(r *MetricRow) any { return r.Launch.Kernel }, Show: func(r *MetricRow) any { return r.Launch.short }},
		{Key: "name", Title: "metric", Value: func(r *MetricRow) any { return r.Name }},
		{Key: "value", Unit: Count, Value: func(r *MetricRow) any { return plainValue(r.Value) }},
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
	ID        int       `json:"id"` // as ncu numbers it
	Kernel    string    `json:"kernel"`
	ShortName string    `json:"short_name"`
	Kind      string    `json:"kind"` // kernel, range, cmdlist or graph
	Grid      [3]uint64 `json:"grid"`
	Block     [3]uint64 `json:"block"`
	Context   uint32    `json:"context"`
	Stream    *uint32   `json:"stream"` // null for a range, which has none
	Device    *int      `json:"device"` // null where the report does not say
	NVTX      string    `json:"nvtx"`
	Process   uint32    `json:"process"`
	// DurationNS was measured under the profiler; null where it was not collected.
	DurationNS *float64 `json:"duration_ns"`
	Metrics    int      `json:"metrics"`
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
