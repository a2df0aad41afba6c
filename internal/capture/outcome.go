package capture

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// An Outcome is the verdict on one run. Facts are zero where there is nothing to
// say.
type Outcome struct {
	Kind     Kind
	What     fact.Fact // what happened
	Evidence fact.Fact // the line or the observation that decided
	Cause    fact.Fact // the likely one; its code also names the next step
	Pattern  string    // ID of the message that decided

	// Retryable: the failure passes by itself, and running again does no harm.
	Retryable bool
	// Usable: Reports can be analyzed.
	Usable bool

	Warnings []Warning
	Reports  []string // good ones
	Streams  []string // .qdstrm that can be imported
	Stale    []string // files of an earlier run at the path asked for

	lacks bool // the report lacks something that was asked for, whatever the verdict

	// unfollowed: what is missing was probably done by forked children, which
	// the profiler was not told to follow.
	unfollowed bool
}

// A Warning rides on an outcome: what is doubtful. Its code names the next step.
type Warning struct {
	fact.Fact
	Scope string // what it is about: a kind of data, a metric; "" is the whole capture
}

// warningOf states a doubt about the whole capture.
func warningOf(code fact.Code, params ...fact.Param) Warning {
	return Warning{Fact: fact.New(code, params...)}
}

// OK reports whether the run did what was asked: a good report, complete.
func (o Outcome) OK() bool { return o.Kind == Captured || o.Kind == WithWarnings }

// CutShort reports whether the workload did not run to its end, so that what it
// would have done is missing, however good the report is.
func (o Outcome) CutShort() bool { return CutShort(o.Kind) }

// CutShort is Outcome.CutShort for a kind that was stored.
func CutShort(k Kind) bool { return k == WorkloadFailed || k == WorkloadCrashed || k == DiskFull }

// Warn adds doubts, which make a plain success one with warnings.
func (o *Outcome) Warn(list ...Warning) {
	o.Warnings = append(o.Warnings, list...)
	if o.Kind == Captured && len(list) > 0 {
		o.Kind, o.Evidence = WithWarnings, list[0].Fact
	}
}

// WarnFirst is Warn for doubts that stand before the others: those that the user
// can do something about.
func (o *Outcome) WarnFirst(list ...Warning) {
	rest := o.Warnings
	o.Warnings = nil
	o.Warn(list...)
	o.Warnings = append(o.Warnings, rest...)
}

// verdict fills an outcome from a kind and the finding that led to it, if any.
func (o *Outcome) verdict(k Kind, f *Finding) {
	o.Kind, o.Cause = k, k.Cause()
	if f == nil {
		return
	}
	o.Pattern, o.Evidence, o.Retryable = f.ID, linePrinted(f.Line), f.Retry
	if f.Explains {
		o.Cause = fact.New(fact.Code(f.ID), f.params()...)
	}
}

// evidenceOr keeps the evidence that a message gave, or takes another.
func (o *Outcome) evidenceOr(f fact.Fact) {
	if o.Evidence.IsZero() {
		o.Evidence = f
	}
}

// Verdict is an outcome of a kind, with the cause of the kind.
func Verdict(k Kind, what fact.Fact) Outcome { return Outcome{Kind: k, What: what, Cause: k.Cause()} }
