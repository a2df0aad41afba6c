package report

import (
	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// stripDrawn says how the strip of layers over steps is to be read. n: steps in a
// column, where several
const stripDrawn fact.Code = "page-strip"

// An outlierRow is a layer that took longer in a step than it usually does.
type outlierRow struct {
	// Step is the number of the first step of its column; Group is their kind.
	Step  int
	Group string
	name  string // of the layer
	*analysis.StripOutlier
}

// outlierView are the layers that stand out in a step.
var outlierView = View[outlierRow]{
	Name: "outliers", Order: Order{Key: "more_ns", Descending: true},
	Columns: []Column[outlierRow]{
		{Key: "layer", Format: ID, Value: func(r *outlierRow) any { return r.name }},
		{Key: "step", Unit: Count, Value: func(r *outlierRow) any { return r.Step }},
		{Key: "group", Title: "kind of step", Value: func(r *outlierRow) any { return r.Group }},
		{Key: "gpu_ns", Title: "GPU time", Unit: Nanoseconds, Group: "time", Value: func(r *outlierRow) any { return r.NS }},
		{Key: "median_ns", Title: "median of the layer", Unit: Nanoseconds, Group: "time", Value: func(r *outlierRow) any { return r.MedianNS }},
		{Key: "more_ns", Title: "more than that", Unit: Nanoseconds, Group: "time", Value: func(r *outlierRow) any { return r.Above() }},
	},
}

// outlierRows are in the order of the result; none without a strip of layers.
func outlierRows(r *analysis.Result) (rows []*outlierRow) {
	if r.Steps == nil || r.Steps.Strip == nil {
		return nil
	}
	s := r.Steps.Strip
	for _, o := range pointers(s.Outliers) {
		c := &s.Columns[o.Column]
		rows = append(rows, &outlierRow{Step: c.First, Group: c.Group, name: s.Layers[o.Layer], StripOutlier: o})
	}
	return rows
}

// stepGroups are the kinds of steps of a program; none where it has no steps.
func stepGroups(r *analysis.Result) (rows []*timeline.StepGroup) {
	if r.Steps != nil {
		for i := range r.Steps.Groups {
			rows = append(rows, &r.Steps.Groups[i].StepGroup)
		}
	}
	return rows
}

// stripLegend says how to read the strip of layers over steps; "" without one.
func stripLegend(r *analysis.Result) string {
	if r.Steps == nil || r.Steps.Strip == nil {
		return ""
	}
	var params []fact.Param
	if c := r.Steps.Strip.Columns[0]; c.Last > c.First {
		params = append(params, fact.Count("n", c.Last-c.First+1))
	}
	return message.Text(fact.New(stripDrawn, params...))
}
