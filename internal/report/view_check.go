package report

import "github.com/deepprof/deepprof/internal/message"

// A Check is one comparison with the vendor's tool.
type Check struct {
	// What is a report of nsys, or a page of ncu; of several files of a run with the file.
	What string `json:"what"`
	// Compared counts rows or cells of the vendor's; 0 with a reason in Skipped.
	Compared int `json:"compared"`
	// Skipped is why nothing was compared; "" where something was.
	Skipped string `json:"skipped,omitempty"`
	// Differences is how many there are, Details the sentences about them.
	Differences int      `json:"differences"`
	Details     []string `json:"details,omitempty"`
	// NotCompared says what the comparison leaves out, and why.
	NotCompared []string `json:"not_compared,omitempty"`
}

// checkView is comparisons with the vendor's tools.
var checkView = View[Check]{
	Name: "selfcheck", Order: Order{Words: "what was compared"}, Everything: "--json",
	Columns: []Column[Check]{
		{Key: "what", Value: func(r *Check) any { return r.What }},
		{Key: "compared", Unit: Count, Value: func(r *Check) any { return r.Compared }},
		{Key: "differences", Unit: Count, Value: func(r *Check) any { return r.Differences }},
		{Key: "skipped", Value: func(r *Check) any { return orNil(r.Skipped) }},
	},
}

// Checks shows comparisons; each difference is a footnote.
func Checks(rows []Check) Printable {
	var notes []string
	for _, r := range rows {
		for _, d := range r.Details {
			notes = append(notes, message.Phrase("title-of", r.What, d))
		}
		for _, n := range r.NotCompared {
			notes = append(notes, message.Phrase("not-compared", r.What, n))
		}
	}
	return checkView.Table(rows, notes...)
}
