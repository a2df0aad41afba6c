package report

import (
	"io"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
)

// FLOPsView is the work of a model by stage and component.
var FLOPsView = View[flops.Row]{
	Name: "flops", Order: Order{Words: "the model"},
	Columns: []Column[flops.Row]{
		{Key: "stage", Value: func(r *flops.Row) any { return r.Stage }},
		{Key: "component", Value: func(r *flops.Row) any { return r.Component }},
		{Key: "flops", Title: "work", Unit: FLOP, Group: "work", Value: func(r *flops.Row) any { return ofWork(r, r.FLOPs) }},
		{Key: "share", Title: "of stage", Unit: Share, Part: "flops", Within: "stage", Value: func(r *flops.Row) any { return ofWork(r, r.Share) }},
		{Key: "flops_torch", Title: "as torch counts", Unit: FLOP, Group: "work", Priority: 1, Value: func(r *flops.Row) any { return ofWork(r, r.Torch) }},
		{Key: "weights_bytes", Priority: 3, Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Weights) }},
		{Key: "cache_bytes", Priority: 4, Title: "KV cache", Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Cache) }},
		{Key: "activation_bytes", Priority: 5, Title: "activations", Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Activations) }},
		{Key: "flops_per_byte", Priority: 2, Title: "FLOP/B", Unit: Count, Value: func(r *flops.Row) any { return orNil(r.PerByte) }},
		{Key: "note", Format: Words, Detail: true, Value: func(r *flops.Row) any { return orNil(r.Note) }},
	},
}

// FLOPs shows the work of a model by stage and component, with what it rests on
// and what it lacks in every format.
func FLOPs(r *flops.Report) Printable {
	return &flopsTable{FLOPsView.table(Slice(r.Rows()), func() []string { return noteTexts(r.Warnings) }), r}
}

// A flopsTable is FLOPsView with the assumptions of the count, which every format has in a
// place of its own.
type flopsTable struct {
	*Table[flops.Row]
	report *flops.Report
}

// A modelNote is an assumption or a warning of a count.
type modelNote struct {
	Kind string `json:"kind"` // assumption or warning
	fact.Fact
	// Text is the fact in words; nothing may depend on it.
	Text string `json:"text"`
}

// modelNotes are the warnings, then the assumptions.
func (t *flopsTable) modelNotes() []modelNote {
	var out []modelNote
	for _, k := range []struct {
		kind  string
		facts []fact.Fact
	}{{"warning", t.report.Warnings}, {"assumption", t.report.Assumptions}} {
		for _, f := range k.facts {
			out = append(out, modelNote{k.kind, f, message.Text(f)})
		}
	}
	return out
}

// noteTexts leave out what to do: nothing can be done about an assumption.
func noteTexts(facts []fact.Fact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, message.Text(f))
	}
	return out
}

// WriteJSON has warnings and assumptions beside the rows, as "notes".
func (t *flopsTable) WriteJSON(w io.Writer) error {
	t.Extra = map[string]any{"notes": t.modelNotes()}
	return t.Table.WriteJSON(w)
}

// WriteCSV has a row for each of them, with its kind as the stage and its code as
// the component.
func (t *flopsTable) WriteCSV(w io.Writer) error {
	rows := t.report.Rows()
	for _, n := range t.modelNotes() {
		rows = append(rows, flops.Row{Stage: n.Kind, Component: string(n.Code), Note: n.Text})
	}
	t.Rows = Slice(rows)
	return t.Table.WriteCSV(w)
}

// WriteMarkdown lists the assumptions below the warnings.
func (t *flopsTable) WriteMarkdown(w io.Writer) error {
	own := t.Notes
	t.Notes = func() []string { return append(own(), noteTexts(t.report.Assumptions)...) }
	defer func() { t.Notes = own }()
	return t.Table.WriteMarkdown(w)
}

// Footnotes implements Printable.
func (t *flopsTable) Footnotes() []string {
	return append(t.Table.Footnotes(), noteTexts(t.report.Assumptions)...)
}

// ofWork is nil for a row that is a note.
func ofWork(r *flops.Row, v any) any { return when(r.Note == "", v) }
