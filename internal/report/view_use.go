package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A useLine is one way in which the use of the GPU by a stage was found.
type useLine struct {
	// measure is MFU, HFU or MBU; "" in the row of a stage of which nothing is known.
	stage, measure string
	*analysis.Utilization
	why string // there is none, or what to know of it
}

// useView is how much of the GPU's peaks the stages reach: MFU, HFU and MBU, one row for each
// method that found a value or says why not. A value that cannot be is no value: it reads as
// a contradiction.
var useView = View[useLine]{
	Name: "use", Order: Order{Words: "the program"},
	Columns: []Column[useLine]{
		{Key: "stage", Format: Name, Value: func(u *useLine) any { return u.stage }},
		{Key: "measure", Value: func(u *useLine) any { return orNil(u.measure) }},
		{Key: "from", Value: func(u *useLine) any { return orNil(methodLabel(u.Method)) }},
		{Key: "value", Title: "of peak", Unit: Share, Value: func(u *useLine) any { return u.Utilization.Value }, Show: func(u *useLine) any {
			if u.Contradiction && u.Raw != nil {
				return message.Phrase("contradiction", percent(*u.Raw))
			}
			return scaled(u.Utilization.Value, 100)
		}, Note: func(u *useLine) string { return u.why }},
		{Key: "achieved", Format: Number, Value: func(u *useLine) any {
			return orNil(positive(u.Achieved, func(x float64) string { return rate(x, u.Peak.Unit) }))
		}},
		{Key: "peak", Format: Number, Value: func(u *useLine) any {
			return orNil(positive(u.Peak.Value, func(x float64) string { return rate(x, u.Peak.Unit) }))
		}},
		{Key: "peak_of", Title: "peak of", Format: Words, Value: func(u *useLine) any { return orNil(message.Label("peak", u.Peak.ID)) }, Note: func(u *useLine) string { return peakNote(&u.Peak) }},
		{Key: "clock", Title: "at clock", Format: Number, Value: func(u *useLine) any { return orNil(positive(u.Peak.ClockHz, clock)) }},
		{Key: "of_roof", Title: "of the roof at its clock", Unit: Share, Value: func(u *useLine) any { return u.OfRoof }, Note: func(u *useLine) string {
			if u.OfRoof == nil {
				return ""
			}
			return message.Phrase("peak-at-clock", clock(u.Roof.ClockHz))
		}},
		{Key: "seconds", Title: "over", Help: "The time that the work is divided by", Unit: Seconds, Value: func(u *useLine) any { return orNil(u.Seconds) }},
		{Key: "coverage", Title: "counted, of GPU time", Unit: Share, Value: func(u *useLine) any { return u.Coverage }},
	},
}

// useLines has a line with the reason for a stage of which nothing is known.
func useLines(r *analysis.Result) []*useLine {
	var rows []*useLine
	for i := range r.Stages {
		s := &r.Stages[i]
		before := len(rows)
		for _, of := range []struct {
			measure string
			list    []analysis.Utilization
		}{{"MFU", s.MFU}, {"HFU", s.HFU}, {"MBU", s.MBU}} {
			for j := range of.list {
				u := &of.list[j]
				why := message.Join(u.Why)
				if u.Value == nil && why == "" {
					why = message.Phrase("no-reason-given")
				}
				rows = append(rows, &useLine{s.Name, of.measure, u, why})
			}
		}
		if len(rows) == before {
			rows = append(rows, &useLine{stage: s.Name, Utilization: &analysis.Utilization{}, why: whyUnused(r)})
		}
	}
	return rows
}

// peakNote tells where a peak is from that was not measured.
func peakNote(p *analysis.Peak) string {
	basis := message.Text(p.Basis)
	switch {
	case p.ID == "" || p.Measured && !p.Published:
		return ""
	case p.Published:
		return message.Phrase("mfu-dense-peak", basis)
	}
	return message.Phrase("peak-published", cmp.Or(basis, message.Phrase("table-of-published-values")))
}

// roofView is the limits that kernels and stages are held against.
var roofView = View[analysis.Peak]{
	Name: "roofs",
	Columns: []Column[analysis.Peak]{
		{Key: "id", Title: "limit", Value: func(p *analysis.Peak) any { return message.Label("peak", p.ID) }},
		{Key: "value", Title: "peak", Format: Number, Value: func(p *analysis.Peak) any { return rate(p.Value, p.Unit) }},
		{Key: "clock_hz", Title: "at clock", Format: Number, Value: func(p *analysis.Peak) any { return orNil(positive(p.ClockHz, clock)) }},
		{Key: "measured", Value: func(p *analysis.Peak) any { return yesNo(&p.Measured) }},
		{Key: "basis", Format: Words, Value: func(p *analysis.Peak) any { return orNil(message.Text(p.Basis)) }},
	},
}

// aggregateView is the measures of the unprofiled run.
var aggregateView = View[analysis.Aggregate]{
	Name: "aggregates",
	Columns: []Column[analysis.Aggregate]{
		{Key: "name", Title: "unprofiled run", Value: func(a *analysis.Aggregate) any { return aggregateLabel(a) }},
		{Key: "unit", Value: func(a *analysis.Aggregate) any { unit, _ := aggregateValues(a); return unit }},
		{Key: "n", Title: "values", Format: Number, Value: func(a *analysis.Aggregate) any { return aggregateCount(a) }, Note: func(a *analysis.Aggregate) string {
			if a.Few {
				return message.Phrase("few-values")
			}
			return ""
		}},
		aggregate("mean", func(a *analysis.Aggregate) float64 { return a.Mean }), aggregate("std", func(a *analysis.Aggregate) float64 { return a.Std }),
		aggregate("min", func(a *analysis.Aggregate) float64 { return a.Min }), aggregate("p50", func(a *analysis.Aggregate) float64 { return a.P50 }),
		aggregate("p90", func(a *analysis.Aggregate) float64 { return a.P90 }), aggregate("p99", func(a *analysis.Aggregate) float64 { return a.P99 }),
		aggregate("max", func(a *analysis.Aggregate) float64 { return a.Max }),
	},
}

// aggregate is a column in the unit of its row; a spread of 0 is none.
func aggregate(key string, get func(*analysis.Aggregate) float64) Column[analysis.Aggregate] {
	return Column[analysis.Aggregate]{Key: key, Format: Number, Value: func(a *analysis.Aggregate) any {
		x := get(a)
		if key == "std" && x == 0 {
			return nil
		}
		_, values := aggregateValues(a, x)
		return significant(values[0])
	}}
}

// An opportunityLine is a change with its place.
type opportunityLine struct {
	*analysis.Opportunity
	// place is from 1; the first saves most.
	place int
}

// opportunityView is the changes by what they can save.
var opportunityView = View[opportunityLine]{
	Name: "opportunities", Order: Order{Key: "seconds", Descending: true},
	Columns: []Column[opportunityLine]{
		{Key: "place", Title: "#", Unit: Count, Value: func(o *opportunityLine) any { return o.place }},
		{Key: "title", Title: "change", Format: Words, Value: func(o *opportunityLine) any { return message.Text(o.Title) }},
		{Key: "stage", Value: func(o *opportunityLine) any { return orNil(o.Stage) }},
		{Key: "bound", Value: func(o *opportunityLine) any { return message.Label("saving", boundOf(o.Estimated)) }},
		{Key: "seconds", Title: "saves", Unit: Seconds, Value: func(o *opportunityLine) any { return o.Seconds }},
		{Key: "share", Title: "of the time it is held against", Help: "Of the unprofiled time of the stages, or of the timeline", Unit: Share, Part: "seconds", Within: "times", Value: func(o *opportunityLine) any { return o.Share }},
		{Key: "stage_gain", Title: "of the stage", Unit: Share, Value: func(o *opportunityLine) any { return o.StageGain }},
		{Key: "times", Detail: true, Value: func(o *opportunityLine) any { return fmt.Sprint(o.Times, o.OfNS) }},
	},
}

// opportunityLines are in the order of the result: what saves most first.
func opportunityLines(r *analysis.Result) []*opportunityLine {
	place := 0
	return each(r.Opportunities, func(o *analysis.Opportunity) *opportunityLine { place++; return &opportunityLine{o, place} })
}

// A laneLine is a lane of the timeline in words.
type laneLine struct {
	*analysis.Lane
	// top are the names with most time in the lane, each with its time; "" for an empty one.
	top string
}

// laneView is the lanes of the timeline, for readers who do not see them drawn.
var laneView = View[laneLine]{
	Name: "lanes",
	Columns: []Column[laneLine]{
		{Key: "label", Title: "lane", Value: func(l *laneLine) any { return message.Text(l.Label.Fact) }},
		{Key: "group", Title: "of", Help: "The process or device that it belongs to", Value: func(l *laneLine) any { return orNil(message.Text(l.Group.Fact)) }},
		{Key: "kind", Value: func(l *laneLine) any { return l.Kind }},
		{Key: "events", Unit: Count, Value: func(l *laneLine) any { return l.Events }},
		{Key: "busy_ns", Title: "busy", Unit: Nanoseconds, Value: func(l *laneLine) any { return l.BusyNS }},
		{Key: "share", Title: "of the timeline", Unit: Share, Part: "busy_ns", Value: func(l *laneLine) any { return l.Share }},
		{Key: "top", Title: "most time in", Format: Words, Value: func(l *laneLine) any { return orNil(l.top) }},
	},
}

// laneLines are in the order of the timeline, each with the names that take most time in it.
func laneLines(r *analysis.Result, n *names) []*laneLine {
	rows := make([]*laneLine, len(r.Overview.Lanes))
	for i := range rows {
		l := &r.Overview.Lanes[i]
		rows[i] = &laneLine{Lane: l}
		var parts []string
		for _, t := range l.Top {
			name := message.Label("gpu-work", r.Overview.Names[t.Name])
			if at := n.find(name); at >= 0 && l.Kind == "kernel" {
				name = r.Kernels[at].Short
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", name, elapsed(float64(t.NS))))
		}
		rows[i].top = strings.Join(parts, ", ")
	}
	return rows
}

// speedup writes how much faster something would be: 4.500.
func speedup(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// deviationView is the settings that profiling required to be different.
var deviationView = View[analysis.Deviation]{
	Name: "deviations",
	Columns: []Column[analysis.Deviation]{
		{Key: "key", Title: "setting", Format: Name, Value: func(x *analysis.Deviation) any { return x.Key }},
		{Key: "stage", Title: "steps", Value: func(x *analysis.Deviation) any { return orNil(x.Stage) }},
		{Key: "configured", Format: Name, Value: func(x *analysis.Deviation) any { return x.Configured }},
		{Key: "used", Format: Name, Value: func(x *analysis.Deviation) any { return x.Used }},
		{Key: "why", Format: Words, Value: func(x *analysis.Deviation) any { return message.Join(x.Why) }},
	},
}

// fileView is the inputs of the analysis.
var fileView = View[analysis.File]{
	Name: "files",
	Columns: []Column[analysis.File]{
		{Key: "path", Title: "file", Format: Name, Value: func(f *analysis.File) any { return f.Path }},
		{Key: "kind", Value: func(f *analysis.File) any { return f.Kind }, Show: func(f *analysis.File) any { return message.Label("file", f.Kind) }},
		{Key: "bytes", Title: "size", Unit: Bytes, Value: func(f *analysis.File) any { return f.Bytes }},
		{Key: "sha256", Title: "SHA-256", Format: Name, Value: func(f *analysis.File) any { return orNil(f.SHA256) }},
	},
}
