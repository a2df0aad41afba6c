package report

import (
	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A sampleRow has the sampled counters of a region, or of the steps of a kind.
type sampleRow struct {
	Of   string // region, or steps
	Name string
	// Instances of the region, or steps of the kind.
	Instances int
	// SpanNS is the time of all of them; 0 where it is not known.
	SpanNS int64
	// Metrics are those that were sampled; a row has at least one.
	Metrics []analysis.Sampled
}

// SampleView are the sampled counters: a share of what a unit can do, with its error beside
// it. They are means over readings of the whole GPU, so that work of others is in them.
var SampleView = View[sampleRow]{
	Name: "samples", Order: Order{Key: "span_ns", Descending: true},
	Legend: "sampled by nsys while the program ran, not counted by ncu: means over readings that lie wholly inside, as shares of what the unit can do; ± is the standard error plus what rounding of the readings to whole percents can hide. Regions shorter than 1 ms are left out",
	Columns: append([]Column[sampleRow]{
		{Key: "of", Detail: true, Value: func(r *sampleRow) any { return r.Of }},
		{Key: "name", Title: "region or steps", Format: ID, Value: func(r *sampleRow) any { return r.Name }},
		{Key: "instances", Priority: 3, Unit: Count, Value: func(r *sampleRow) any { return r.Instances }},
		{Key: "span_ns", Title: "time", Priority: 2, Unit: Nanoseconds, Value: func(r *sampleRow) any { return orNil(r.SpanNS) }},
		{Key: "samples", Title: "readings", Priority: 1, Unit: Count, Value: func(r *sampleRow) any { return r.samples() }},
	}, sampleColumns("gpu_active", 3, "sm_active", 0, "sm_issue", 4, "tensor_active", 0, "dram_read", 0, "dram_write", 0)...),
}

// sampleColumns are the mean and the error of each counter: ID, priority.
func sampleColumns(of ...any) (out []Column[sampleRow]) {
	for i := 0; i+1 < len(of); i += 2 {
		id := of[i].(string)
		out = append(out,
			Column[sampleRow]{Key: id, Title: message.Label("sampled", id), Priority: of[i+1].(int), Unit: Share, Value: func(r *sampleRow) any { m, ok := r.metric(id); return when(ok, m.Mean) }},
			Column[sampleRow]{Key: id + "_error", Title: "±", Priority: 6, Unit: Share, Value: func(r *sampleRow) any { m, ok := r.metric(id); return when(ok, m.Error) }})
	}
	return out
}

// metric is a sampled counter of the row, by its ID.
func (r *sampleRow) metric(id string) (m analysis.Sampled, ok bool) {
	for _, m := range r.Metrics {
		if m.Metric == id {
			return m, true
		}
	}
	return m, false
}

// samples is the number of readings; counters of one row have about the same.
func (r *sampleRow) samples() int {
	n := 0
	for _, m := range r.Metrics {
		n = max(n, m.Samples)
	}
	return n
}

// sampleRows are the kinds of steps of a server, then the regions.
func sampleRows(r *analysis.Result) (rows []sampleRow) {
	if r.Serving != nil {
		for i := range r.Serving.Steps {
			if c := &r.Serving.Steps[i]; len(c.Sampled) > 0 {
				rows = append(rows, sampleRow{Of: "steps", Name: stepClassName(c), Instances: c.Steps, SpanNS: c.SpanNS(), Metrics: c.Sampled})
			}
		}
	}
	for _, s := range r.Sampled {
		rows = append(rows, sampleRow{Of: "region", Name: s.Path, Instances: s.Instances, SpanNS: s.SpanNS, Metrics: s.Metrics})
	}
	return rows
}

// stepClassName is the kind and batch size of steps.
func stepClassName(c *analysis.StepClass) string {
	return message.Phrase("step-kind", c.Kind, batchName(c))
}

// Samples shows the sampled counters.
func Samples(r *analysis.Result) Printable {
	note := message.Phrase("samples-absent")
	if s := r.Sampling; s != nil {
		note = message.Phrase("samples-count", s.Readings, s.GPUs, clock(s.RateHz))
	}
	return SampleView.Table(sampleRows(r), note)
}

// samples writes the sampled counters of the regions with most time. It writes
// nothing where nothing was sampled.
func (d *doc) samples(r *analysis.Result) {
	rows := sampleRows(r)
	if len(rows) == 0 {
		return
	}
	d.heading(2, "samples")
	d.line("%s.", upperFirst(SampleView.Legend))
	writeView(d, SampleView.without("gpu_active_error", "sm_active_error", "sm_issue_error"), pointers(rows[:min(len(rows), maxSampleRows)]))
}

// maxSampleRows is how many rows of sampled counters the Markdown report has.
const maxSampleRows = 20
