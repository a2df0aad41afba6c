package capture

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// A Kind is the verdict on one run of a tool. The strings are stable: they
// are stored in manifests and printed by --json.
type Kind string

// KindDomain is the domain of verdicts as IDs of facts.
const KindDomain = "verdict"

// Verdicts that leave a report to work with.
const (
	Captured     Kind = "captured"
	WithWarnings Kind = "captured with warnings"
	// Partial: the report opens, but part of what ran is missing from it.
	Partial Kind = "captured in part"
	// MissingData: the report opens and lacks what was asked for.
	MissingData Kind = "asked-for data missing"
	// OutputElsewhere: the report lies at another path than the one asked for.
	OutputElsewhere Kind = "output elsewhere"
)

// Verdicts on what was asked for.
const (
	NothingMatched    Kind = "nothing matched"
	GateNeverOpened   Kind = "gate never opened"
	NothingCollected  Kind = "nothing collected"
	UnsupportedAPI    Kind = "unsupported api in range"
	ToolUsage         Kind = "tool usage error"
	OutputExists      Kind = "output exists"
	OutputUnwritable  Kind = "output not writable"
	StaleOutput       Kind = "stale output"
	BadInput          Kind = "input damaged"
	NewerInput        Kind = "input from a newer version"
	NoRows            Kind = "no rows of this kind"
	NotDeterministic  Kind = "workload not deterministic"
	ProfilerConflict  Kind = "another profiler in the way"
	SessionConflict   Kind = "profiling session conflict"
	GraphNotSupported Kind = "launches ignored"
)

// Verdicts on the workload.
const (
	WorkloadFailed  Kind = "workload failed"
	WorkloadCrashed Kind = "workload crashed"
	WorkloadMissing Kind = "workload missing"
	// Of a server and its load.
	NotReady    Kind = "server not ready"
	PortTaken   Kind = "port taken"
	LoadFailed  Kind = "load failed"
	SessionLost Kind = "session lost"
)

// Verdicts on the machine and the installation.
const (
	Permission        Kind = "permission"
	CountersHeld      Kind = "counters held"
	LockHeld          Kind = "profiler lock held"
	NoDriver          Kind = "no driver"
	DriverMismatch    Kind = "driver does not match"
	DriverError       Kind = "driver error"
	UnsupportedDevice Kind = "device not supported"
	DeviceMemory      Kind = "device memory exhausted"
	DiskFull          Kind = "disk full"
	TempUnusable      Kind = "temporary directory unusable"
	BrokenInstall     Kind = "tool installation broken"
	ImporterBroken    Kind = "importer broken"
	ImportFailed      Kind = "import failed"
	ReportLost        Kind = "report lost"
	ReportUnreadable  Kind = "report does not open"
)

// Verdicts on the run itself.
const (
	ToolCrashed    Kind = "tool crashed"
	AgentLost      Kind = "agent lost"
	StartFailed    Kind = "tool did not start"
	TimedOut       Kind = "timed out"
	Stalled        Kind = "stalled"
	HungCollective Kind = "hung collective"
	Interrupted    Kind = "interrupted"
	RunRemoved     Kind = "run removed"
	Unknown        Kind = "unknown failure"
)

// usable are the verdicts that leave something to analyze.
var usable = map[Kind]bool{
	Captured: true, WithWarnings: true, Partial: true, MissingData: true, OutputElsewhere: true, NoRows: true,
}

// An Outcome is the verdict on one run. Facts are zero where there is nothing to
// say.
type Outcome struct {
	Kind     Kind
	What     fact.Fact // what happened
	Evidence fact.Fact // the line or the observation that decided
	Cause    fact.Fact // the likely one; its code also names the next step

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
	o.Evidence, o.Retryable = linePrinted(f.Line), f.Retry
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
