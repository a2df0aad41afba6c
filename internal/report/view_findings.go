package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/experiment"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// A findingRow is a finding, or a change with what it can save, in words and as
// data.
type findingRow struct {
	Place int `json:"place"` // 1 matters most
	// ID is that of result.json: the same for the same thing in every analysis.
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // finding, saving
	Weight string `json:"weight"` // high, medium, low; "" for a saving
	// Code is stable; Text is made of it.
	Code string `json:"code"`
	// Text is a sentence made of Code and Params; nothing may depend on its words.
	Text  string `json:"text"`
	Stage string `json:"stage"` // "" for what is about the whole
	// SavesNS is the most that a change saves, or about that; absent for what saves nothing
	// by itself. Bound says which: "bound" is proven, "estimate" is not, "" is without it.
	SavesNS *int64   `json:"saves_ns"`
	Bound   string   `json:"bound"`
	Share   *float64 `json:"saves_share"` // SavesNS of the time that it is held against
	How     []string `json:"how"`         // what to do
	Assumes []string `json:"assumes"`     // what the bound rests on
	// Evidence are the values that it rests on; empty, not null, where none is stated.
	Evidence []Measured `json:"evidence"`
	// Params are the typed parameters of the code: the numbers in Text.
	Params fact.Params `json:"params,omitempty"`
}

// A Measured is a value that a statement rests on.
type Measured struct {
	What   string  `json:"what"`             // in words; Metric where it is a counter
	Metric string  `json:"metric,omitempty"` // name of a counter
	Value  float64 `json:"value"`            // in Unit
	// Unit is that of the counter, or a code of evidence (domain evidence-unit of
	// internal/message).
	Unit string `json:"unit,omitempty"`
	// Threshold is what the value was held against, in words; "" where it decides nothing.
	Threshold string `json:"threshold,omitempty"`
}

// FindingView is what matters in a result: findings by weight, then changes by what they can
// save. People read the text; programs take code and params, from which it is made.
var FindingView = View[findingRow]{
	Name: "findings", Order: Order{Words: "weight, then what can be saved"}, Everything: "--json",
	Columns: []Column[findingRow]{
		{Key: "place", Title: "#", Unit: Count, Value: func(r *findingRow) any { return r.Place }},
		{Key: "id", Detail: true, Format: ID, Value: func(r *findingRow) any { return r.ID }},
		{Key: "kind", Priority: 2, Value: func(r *findingRow) any { return r.Kind }},
		{Key: "weight", Priority: 1, Value: func(r *findingRow) any { return orNil(r.Weight) }},
		{Key: "code", Detail: true, Value: func(r *findingRow) any { return r.Code }},
		{Key: "stage", Priority: 3, Value: func(r *findingRow) any { return orNil(r.Stage) }},
		{Key: "bound", Priority: 1, Value: func(r *findingRow) any { return orNil(r.Bound) }, Show: func(r *findingRow) any { return orNil(message.Label("saving", r.Bound)) }},
		{Key: "saves_ns", Title: "saves", Priority: 1, Unit: Nanoseconds, Value: func(r *findingRow) any { return r.SavesNS }},
		{Key: "saves_share", Title: "of the time", Help: "Of the unprofiled time of the stages, or of the timeline", Priority: 4, Unit: Share, Value: func(r *findingRow) any { return r.Share }},
		{Key: "text", Format: Words, Value: func(r *findingRow) any { return r.Text }},
	},
}

// Findings shows what matters in a result, and as notes what could not be told.
func Findings(r *analysis.Result) Printable {
	var rows []findingRow
	for i := range r.Findings {
		f := &r.Findings[i]
		rows = append(rows, findingRow{
			ID: f.ID, Kind: "finding", Weight: f.Weight, Code: string(f.Code), Text: message.Text(f.Fact), Stage: f.Fact.Text("stage"), Params: f.Params,
			How: []string{}, Assumes: []string{}, Evidence: []Measured{},
		})
	}
	for i := range r.Opportunities {
		rows = append(rows, savingRow(&r.Opportunities[i]))
	}
	for i := range rows {
		rows[i].Place = i + 1
	}
	return FindingView.Table(rows, untold(r)...)
}

// savingRow is an opportunity. Lists are never nil, so that JSON has lists.
func savingRow(o *analysis.Opportunity) findingRow {
	ns := int64(o.Seconds * 1e9)
	row := findingRow{
		ID: o.ID, Kind: "saving", Code: string(o.Title.Code), Text: message.Text(o.Title), Stage: o.Stage, SavesNS: &ns, Bound: boundOf(o.Estimated), Share: o.Share, Params: o.Title.Params,
		How: append([]string{}, message.Texts(o.How)...), Assumes: append([]string{}, message.Texts(o.Assumes)...), Evidence: []Measured{},
	}
	for _, e := range o.Evidence {
		m := Measured{What: e.Metric, Metric: e.Metric, Value: e.Value, Unit: e.Unit}
		if !e.Of.IsZero() {
			m.What = message.Text(e.Of)
		}
		if !e.Threshold.IsZero() {
			m.Threshold = message.Text(e.Threshold)
		}
		row.Evidence = append(row.Evidence, m)
	}
	return row
}

// untold are the warnings of a result, and what it could not tell with what
// would tell it.
func untold(r *analysis.Result) []string {
	return noteLines(slices.Concat(r.Warnings, r.Missing))
}

// An experimentRow is a run that is worth making.
type experimentRow struct {
	Place int    `json:"place"` // 1 is the most promising
	Code  string `json:"code"`
	Why   string `json:"why"` // a sentence made of Code
	// From is the ID of the finding, or the code of what is missing; "" for none.
	From    string `json:"from"`
	SavesNS *int64 `json:"saves_ns"` // absent for a measurement
	Bound   string `json:"bound"`    // of SavesNS: bound or estimate; "" without it
	// Overrides are what the run changes, as arguments of deepprof run; empty for a change
	// of the program itself.
	Overrides []string `json:"overrides"`
	// Run is a command line, quoted for a shell; absent where it is not known, which NoRun
	// explains.
	Run   *string `json:"run"`
	NoRun string  `json:"no_run,omitempty"`
}

// ExperimentView is what to run next. run is a command line that can be pasted into a shell;
// where it is absent, no_run says why.
var ExperimentView = View[experimentRow]{
	Name: "next", Order: Order{Words: "promise: changes by what they can save, then measurements"}, Everything: "--json",
	Columns: []Column[experimentRow]{
		{Key: "place", Title: "#", Unit: Count, Value: func(r *experimentRow) any { return r.Place }},
		{Key: "code", Detail: true, Value: func(r *experimentRow) any { return r.Code }},
		{Key: "from", Detail: true, Format: ID, Value: func(r *experimentRow) any { return orNil(r.From) }},
		{Key: "bound", Value: func(r *experimentRow) any { return orNil(r.Bound) }, Show: func(r *experimentRow) any { return orNil(message.Label("saving", r.Bound)) }},
		{Key: "saves_ns", Title: "saves", Unit: Nanoseconds, Value: func(r *experimentRow) any { return r.SavesNS }},
		{Key: "why", Format: Words, Value: func(r *experimentRow) any { return r.Why }},
		{Key: "run", Format: ID, Value: func(r *experimentRow) any { return r.Run }},
		{Key: "no_run", Detail: true, Format: Words, Value: func(r *experimentRow) any { return orNil(r.NoRun) }},
	},
}

// Experiments shows what to run next.
func Experiments(list []experiment.Experiment) Printable {
	rows := make([]experimentRow, len(list))
	var notes []string
	for i := range list {
		x := &list[i]
		rows[i] = experimentRow{Place: i + 1, Code: string(x.Why.Code), Why: message.Text(x.Why), From: x.From, SavesNS: x.SavesNS, Overrides: append([]string{}, x.Overrides...)}
		if x.SavesNS != nil {
			rows[i].Bound = boundOf(x.Estimated)
		}
		if x.Line != "" {
			rows[i].Run = &x.Line
			continue
		}
		rows[i].NoRun = message.Text(x.NoLine)
		if len(notes) == 0 {
			notes = append(notes, message.Phrase("without-command-line", rows[i].NoRun))
		}
	}
	return ExperimentView.Table(rows, notes...)
}
