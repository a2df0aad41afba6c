package capture

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
