package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
)

// compareUnits are the units of values that are compared.
var compareUnits = map[string]Unit{"ns": Nanoseconds, "count": Count, "byte": Bytes, "share": Share, "flop": FLOP, "1/s": Count, "": Count}

// diffView is one table of a comparison: things of one kind, with values of one unit, which
// decides how base and new are scaled. Low and high become one column for people; JSON and
// CSV have CompareRowView.
func diffView(kind compare.Kind, unit Unit) View[compare.Line] {
	return View[compare.Line]{
		Name: "compare_" + string(kind), Everything: "--csv",
		Columns: []Column[compare.Line]{
			{Key: "name", Title: string(kind), Format: Name, Value: func(r *compare.Line) any { return lineName(r) }},
			{Key: "base", Unit: unit, Group: "value", Value: func(r *compare.Line) any { return r.Base }},
			{Key: "new", Unit: unit, Group: "value", Value: func(r *compare.Line) any { return r.New }},
			{Key: "change", Unit: Share, Value: func(r *compare.Line) any { return r.Change }},
			{Key: "interval", Priority: 2, Title: "between, %", Value: func(r *compare.Line) any { return interval(r.Low, r.High) }},
			{Key: "verdict", Format: Words, Value: func(r *compare.Line) any { return message.Short(r.AsFact()) }},
			{Key: "launches_base", Priority: 4, Title: "launches", Unit: Count, Value: func(r *compare.Line) any { base, _ := launches(r); return base }},
			{Key: "launches_new", Priority: 4, Title: "then", Unit: Count, Value: func(r *compare.Line) any { _, fresh := launches(r); return fresh }},
			{Key: "status", Priority: 3, Value: func(r *compare.Line) any { return orNil(message.Label("compare.status", string(r.Status))) }},
			{Key: "was", Priority: 5, Format: Name, Value: func(r *compare.Line) any { return orNil(r.Was) }},
			{Key: "clock", Priority: 6, Title: "time is", Value: func(r *compare.Line) any { return orNil(message.Label("compare.clock", string(r.Clock))) }},
		},
	}
}

// lineName names a thing, and the value where that is not its time.
func lineName(r *compare.Line) string {
	return message.Phrase("compare-line", cmp.Or(r.Name, message.Label("compare.kind", string(r.Kind))), message.Label("compare.metric", string(r.Metric)))
}

// launches are those of the base and of the new side; both nil where nobody counts them.
func launches(r *compare.Line) (base, fresh any) {
	if r.Launches == nil {
		return nil, nil
	}
	return r.Launches.Base, r.Launches.New
}

// interval writes relative bounds in percent.
func interval(low, high *float64) any {
	if low == nil || high == nil {
		return nil
	}
	return message.Phrase("from-to", signed(*low), signed(*high))
}

// signed writes a share as percent with its sign, with more digits the smaller it is.
func signed(x float64) string {
	digits := 1
	if math.Abs(x) >= 0.1 {
		digits = 0
	} else if math.Abs(x) < 0.01 {
		digits = 2
	}
	return fmt.Sprintf("%+.*f", digits, 100*x)
}

// CompareRowView is every value of a comparison, for CSV and JSON, and for a page in readable
// units. base and new are medians over the processes of a side, in the unit of the row;
// change, low, high and noise are shares of the base.
var CompareRowView = View[compare.Row]{
	Name: "compare", Everything: "--csv",
	Columns: []Column[compare.Row]{
		{Key: "kind", Value: func(r *compare.Row) any { return string(r.Kind) }},
		{Key: "name", Format: Name, Value: func(r *compare.Row) any { return r.Name }},
		{Key: "metric", Value: func(r *compare.Row) any { return string(r.Metric) }, Show: func(r *compare.Row) any { return strings.ReplaceAll(string(r.Metric), "_", " ") }},
		{Key: "unit", Detail: true, Value: func(r *compare.Row) any { return r.Unit }},
		{Key: "clock", Value: func(r *compare.Row) any { return string(r.Clock) }},
		{Key: "status", Value: func(r *compare.Row) any { return string(r.Status) }, Show: func(r *compare.Row) any { return when(r.Status != compare.Common, string(r.Status)) }}, // most are common: that says nothing
		{Key: "was", Value: func(r *compare.Row) any { return r.Was }},
		{Key: "base", Unit: Count, Value: func(r *compare.Row) any { return r.Base }, Show: func(r *compare.Row) any { return amount(compareUnits[r.Unit], r.Base) }},
		{Key: "new", Unit: Count, Value: func(r *compare.Row) any { return r.New }, Show: func(r *compare.Row) any { return amount(compareUnits[r.Unit], r.New) }},
		{Key: "change", Unit: Share, Value: func(r *compare.Row) any { return r.Change }},
		{Key: "low", Unit: Share, Value: func(r *compare.Row) any { return r.Low }},
		{Key: "high", Unit: Share, Value: func(r *compare.Row) any { return r.High }},
		{Key: "noise", Unit: Share, Value: func(r *compare.Row) any { return r.Noise }},
		{Key: "p", Unit: Count, Value: func(r *compare.Row) any { return r.P }},
		{Key: "verdict", Value: func(r *compare.Row) any { return string(r.Verdict) }},
		{Key: "need", Unit: Count, Value: func(r *compare.Row) any { return r.Need }},
		{Key: "base_n", Unit: Count, Value: func(r *compare.Row) any { return len(r.BaseSamples) }},
		{Key: "new_n", Unit: Count, Value: func(r *compare.Row) any { return len(r.NewSamples) }},
	},
}

// fallView is where the change of a total comes from: rows add up to the last one, which is
// the total. Times are of one pass or of the whole, as the title of the table says.
var fallView = View[compare.FallPart]{
	Name: "compare_waterfall", Everything: "--json",
	Columns: []Column[compare.FallPart]{
		{Key: "part", Format: Name, Value: func(r *compare.FallPart) any { return fallPartName(r) }},
		{Key: "base_ns", Unit: Nanoseconds, Group: "time", Value: func(r *compare.FallPart) any { return r.BaseNS }},
		{Key: "new_ns", Unit: Nanoseconds, Group: "time", Value: func(r *compare.FallPart) any { return r.NewNS }},
		{Key: "delta_ns", Title: "change", Unit: Nanoseconds, Group: "time", Value: func(r *compare.FallPart) any { return r.DeltaNS }},
		{Key: "launches_ns", Priority: 2, Title: "by launches", Unit: Nanoseconds, Group: "time", Value: func(r *compare.FallPart) any { return r.LaunchesNS }},
		{Key: "duration_ns", Priority: 2, Title: "by duration", Unit: Nanoseconds, Group: "time", Value: func(r *compare.FallPart) any { return r.DurationNS }},
		{Key: "was", Priority: 3, Format: Name, Value: func(r *compare.FallPart) any { return orNil(r.Was) }},
	},
}

// fallPartName is the name of a part: in words for what a comparison states as a code, as it
// is for kernels, operators and regions.
func fallPartName(p *compare.FallPart) string {
	kind := message.Label("compare.part", p.Kind)
	switch p.Kind {
	case "busy":
		return message.Phrase("compare-part", kind, message.Label("category", p.Name))
	case "idle":
		return message.Phrase("compare-part", kind, message.Label("idle", p.Name))
	case "rest", "outside", "others", "sum", "unprofiled", "median":
		return kind
	}
	return p.Name
}

// gateView is what came of the rules, failures first. A rule that cannot be evaluated is
// neither a pass nor a failure.
var gateView = View[GateLine]{
	Name: "compare_gate", Order: Order{Words: "outcomes, failures first"}, Everything: "--json",
	Columns: []Column[GateLine]{
		{Key: "outcome", Value: func(r *GateLine) any { return message.Label("compare.outcome", string(r.Outcome)) }},
		{Key: "rule", Format: Name, Value: func(r *GateLine) any { return r.Rule }},
		{Key: "about", Format: Name, Value: func(r *GateLine) any { return r.Name }},
		{Key: "change", Value: func(r *GateLine) any { return orNil(r.Change) }},
		{Key: "between", Priority: 1, Value: func(r *GateLine) any { return orNil(r.Between) }},
		{Key: "why", Priority: 2, Format: Words, Value: func(r *GateLine) any { return orNil(r.Why) }},
	},
}

// A GateLine is one check of a rule.
type GateLine struct {
	// Outcome is that of the check, which is also that of its rule.
	Outcome compare.Outcome
	// Rule is as it was written, with the name that the file of rules gives it; Name is
	// what it was held against.
	Rule, Name string
	// Change and Between are texts with their units; "" where nothing could be measured.
	Change, Between string
	Why             string // it cannot be told; "" where it can
}

// gateLines are the checks of all rules, those that fail first; of a rule about many
// things those that did not pass, and otherwise the first.
func gateLines(g *compare.Gate) []GateLine {
	var lines []GateLine
	for i := range g.Rules {
		r := &g.Rules[i]
		for j := range r.Checks {
			if c := &r.Checks[j]; c.Outcome == r.Outcome && (c.Outcome != compare.Pass || j == 0) {
				lines = append(lines, gateLine(r, c))
			}
		}
	}
	order := []compare.Outcome{compare.Fail, compare.Unknown, compare.Pass}
	slices.SortStableFunc(lines, func(x, y GateLine) int {
		return slices.Index(order, x.Outcome) - slices.Index(order, y.Outcome)
	})
	return lines
}

// gateLine words one check. A rule about many values that all pass is one line that counts
// them. Low and High are there wherever Change is.
func gateLine(r *compare.RuleResult, c *compare.Check) GateLine {
	l := GateLine{Outcome: c.Outcome, Rule: ruleName(r), Name: c.Name, Why: message.Text(c.Why)}
	if len(r.Checks) > 1 && c.Outcome == compare.Pass {
		l.Name = message.Phrase("gate-values", len(r.Checks))
		return l
	}
	write := func(x float64) string { return signed(x) + " %" }
	if !r.Relative {
		write = func(x float64) string { return fmt.Sprintf("%+g %s", x, c.Unit) }
	}
	if c.Change != nil {
		l.Change = write(*c.Change)
		if *c.Low != *c.High { // a count has no interval
			l.Between = message.Phrase("from-to", write(*c.Low), write(*c.High))
		}
	}
	return l
}

// ruleName is a rule as it was written, after the name that the file of rules gives it.
func ruleName(r *compare.RuleResult) string {
	if r.Name == "" {
		return r.Rule
	}
	return message.Phrase("compare-part", r.Name, r.Rule)
}

// noiseView is how much runs of one program differ, and which rule that noise would keep.
var noiseView = View[compare.Noise]{
	Name: "compare_noise", Order: Order{Words: "the program"}, Everything: "--json",
	Columns: []Column[compare.Noise]{
		{Key: "kind", Value: func(r *compare.Noise) any { return string(r.Kind) }},
		{Key: "name", Format: Name, Value: func(r *compare.Noise) any { return r.Name }},
		{Key: "metric", Priority: 2, Value: func(r *compare.Noise) any { return string(r.Metric) }},
		{Key: "spread", Unit: Share, Value: func(r *compare.Noise) any { return r.Spread }},
		{Key: "halves", Priority: 3, Unit: Share, Value: func(r *compare.Noise) any { return r.Halves }},
		{Key: "rule", Title: "rule that such noise keeps", Format: ID, Value: func(r *compare.Noise) any { return orNil(r.Rule) }},
	},
}

// CompareNoise shows the noise of runs of one program.
func CompareNoise(n *compare.SelfNoise) Printable {
	notes := []string{message.Phrase("noise-lead", len(n.Runs.Runs))}
	if slices.ContainsFunc(n.Rows, func(r compare.Noise) bool { return r.Rule == "" }) {
		notes = append(notes, message.Phrase("noise-without-rule"))
	}
	return noiseView.Table(n.Rows, notes...)
}

// A BaselineLine is a baseline.
type BaselineLine struct {
	Name string `json:"name"`
	Runs int    `json:"processes"` // a repeat of a run is one
	// Created is when the name was set, not when the runs were made.
	Created time.Time `json:"set"`
	// Of is its first run, and how many more there are; "" for an empty one.
	Of string `json:"of"`
}

// NewBaselineLine describes a baseline.
func NewBaselineLine(name string, b *compare.Baseline) BaselineLine {
	l := BaselineLine{Name: name, Runs: len(b.Runs), Created: b.Created}
	if l.Runs > 0 {
		l.Of = message.Phrase("some-names", b.Runs[0].Name, l.Runs-1)
	}
	return l
}

// BaselineView is the baselines of a store.
var BaselineView = View[BaselineLine]{
	Name: "baselines", Order: Order{Key: "name"}, Everything: "--json",
	Columns: []Column[BaselineLine]{
		{Key: "name", Format: ID, Value: func(r *BaselineLine) any { return r.Name }},
		{Key: "processes", Unit: Count, Value: func(r *BaselineLine) any { return r.Runs }},
		{Key: "set", Value: func(r *BaselineLine) any { return r.Created.Format("2006-01-02 15:04") }},
		{Key: "of", Format: Name, Value: func(r *BaselineLine) any { return r.Of }},
	},
}
