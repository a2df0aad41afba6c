package capture

import (
	"path/filepath"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

const causeOfSession fact.Code = "cause-session" // kind, file, next

// ExplainSession puts what a session itself says of its end into the outcome.
func ExplainSession(o *Outcome, v workload.Verdict, dir string) {
	for _, f := range v.Warnings {
		o.Warn(Warning{Fact: f})
	}
	if v.OK || v.Kind == "" && o.Kind == WorkloadCrashed { // a signal says more than an exit code
		return
	}
	o.Kind, o.What, o.Usable = WorkloadFailed, v.What, false
	if !v.Evidence.IsZero() || v.Kind != "" {
		o.Evidence = v.Evidence
	}
	o.Cause = causeOf(v, dir)
}

// causeOf is why a session failed, by its own words.
func causeOf(v workload.Verdict, dir string) fact.Fact {
	var params []fact.Param
	if v.Kind != "" {
		params = append(params, fact.Name("kind", v.Kind))
	}
	if v.Partial {
		params = append(params, fact.File("file", filepath.Join(dir, workload.MetricsName)))
	}
	if !v.Next.IsZero() {
		params = append(params, fact.Because("next", v.Next))
	}
	return fact.New(causeOfSession, params...)
}

// ExplainFailure tells a session that failed under a profiler from a profiler
// that failed. A capture of a session that failed stays readable.
func ExplainFailure(o *Outcome, dir string) {
	failure, err := workload.ReadFailure(dir)
	if err != nil || failure == nil || o.Kind == Interrupted {
		return
	}
	usable, reports := o.Usable, o.Reports
	ExplainSession(o, workload.Judge(tool.Exit{Code: 1}, dir, workload.ModeProfile), dir)
	o.Usable, o.Reports = usable, reports
}
