package analysis

import "github.com/deepprof/deepprof/internal/flops"

// tellModel takes over what a count of the model rests on and what it lacks.
func (a *analyzer) tellModel(r *flops.Report) {
	for _, f := range r.Assumptions {
		a.res.Method.Assumptions = append(a.res.Method.Assumptions, Note{Fact: f})
	}
	for _, f := range r.Warnings {
		a.res.Warnings = append(a.res.Warnings, Note{Fact: f, File: a.in.rel(a.in.Flops)})
	}
}
