package analysis

import (
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
)

// tellModel takes over what a count of the model rests on and what it lacks.
func (a *analyzer) tellModel(r *flops.Report) {
	for _, f := range r.Assumptions {
		a.res.Method.Assumptions = append(a.res.Method.Assumptions, message.Text(f))
	}
	for _, f := range r.Warnings {
		a.warn("flops", message.Next(f), "FLOPs and bytes of the model: %s", message.Text(f))
	}
}
