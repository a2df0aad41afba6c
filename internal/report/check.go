package report

import "fmt"

// A Check is one comparison with the vendor's tool.
type Check struct {
	What        string   `json:"what"`     // report of nsys, or page of ncu
	Compared    int      `json:"compared"` // rows or cells of the vendor's
	Skipped     string   `json:"skipped,omitempty"`
	Differences int      `json:"differences"`
	Details     []string `json:"details,omitempty"`
	// NotCompared says what the comparison leaves out, and why.
	NotCompared []string `json:"not_compared,omitempty"`
}

// Checks shows comparisons; each difference is a footnote.
func Checks(rows []Check) Printable {
	return &Table[Check]{
		Schema: "selfcheck", Version: 1, Everything: "--json", Rows: Slice(rows),
		Columns: []Column[Check]{
			{Name: "what", Get: func(r *Check) any { return r.What }},
			{Name: "compared", Kind: Count, Get: func(r *Check) any { return r.Compared }},
			{Name: "differences", Kind: Count, Get: func(r *Check) any { return r.Differences }},
			{Name: "skipped", Get: func(r *Check) any {
				if r.Skipped == "" {
					return nil
				}
				return r.Skipped
			}},
		},
		Notes: func() []string {
			var notes []string
			for _, r := range rows {
				for _, d := range r.Details {
					notes = append(notes, fmt.Sprintf("%s: %s", r.What, d))
				}
				for _, n := range r.NotCompared {
					notes = append(notes, fmt.Sprintf("%s, not compared: %s", r.What, n))
				}
			}
			return notes
		},
	}
}
