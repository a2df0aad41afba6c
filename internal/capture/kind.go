package capture

// A Kind is the verdict on one run of a tool. The strings are stable: they
// are stored in manifests and printed by --json.
type Kind string

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

// advice is the cause and the next step of a verdict where the pattern that
// led to it gives none of its own. TestAdvice checks that every kind but
// Captured has a row.
var advice = map[Kind]struct{ cause, next string }{
	WithWarnings:      {"the run worked; what the profiler or the workload complained about is listed", "read the warnings"},
	Partial:           {"the workload did not run to its end under the profiler; its last events are lost", "mistrust the end of the timeline; fix the workload and run again for a whole one"},
	MissingData:       {"the workload did not do what was to be measured, or the profiler could not see it", "check that the workload uses the GPU and NVTX in a process that the profiler follows"},
	OutputElsewhere:   {"the profiler could not write where it was told to and wrote under TMPDIR", "take the report from the path named"},
	NothingMatched:    {"no launch passed the filters", "compare the filter with the kernels and ranges of the timeline"},
	GateNeverOpened:   {"the range that opens the gate was never entered in a process that nsys traces", "check name, domain and case of the range; unregistered strings need NSYS_NVTX_PROFILER_REGISTER_ONLY=0; forked children need --trace-fork-before-exec=true"},
	NothingCollected:  {"collection never began", "compare the delay with the run time of the workload; look at the workload's own output"},
	UnsupportedAPI:    {"the range contains a CUDA call that ncu cannot record", "use replay mode app-range or kernel"},
	ToolUsage:         {"the tool does not understand an option of the command line", "compare with --help of this version; check the extra arguments of the configuration"},
	OutputExists:      {"a file of an earlier run is in the way", "remove it or choose another output"},
	OutputUnwritable:  {"the output directory is missing or not writable", "create it, or choose another output"},
	StaleOutput:       {"a file of an earlier run was used or kept", "remove the old file and run again"},
	BadInput:          {"the input is damaged, truncated or of another kind", "capture again"},
	NewerInput:        {"the report was written by a newer version than the one that reads it", "read it with the version that wrote it or a newer one"},
	NoRows:            {"the report holds no data of this kind", "nothing, unless the data was expected"},
	NotDeterministic:  {"the passes of the workload launched different kernels", "fix seeds and shapes, or use kernel replay"},
	ProfilerConflict:  {"only one profiler can attach to CUDA at a time", "switch the other profiler off"},
	SessionConflict:   {"another nsys session is in the way", "end it with nsys shutdown, or run again with a private TMPDIR"},
	GraphNotSupported: {"ncu cannot profile these launches in this mode", "profile after the CUDA graph is captured, or use --graph-profiling graph"},
	WorkloadFailed:    {"the workload ended with an error of its own", "run it alone and read its output"},
	WorkloadCrashed:   {"a signal ended the workload", "run it alone; if it only crashes under the profiler, check the free space of TMPDIR and the profiler's version"},
	WorkloadMissing:   {"the program to profile does not exist or cannot be executed", "check path, permissions and the interpreter in its first line"},
	NotReady:          {"the server runs and does not serve requests yet, or the check asks the wrong place", "read its log; raise pipeline.server.ready_timeout_s, or name another check with pipeline.server.ready"},
	PortTaken:         {"another process listens on the port of the server, possibly one of an earlier run", "end that process, or choose another port"},
	LoadFailed:        {"the requests failed, or the load command ended before the last window", "read the evidence; try one request by hand; see pipeline.server.load"},
	SessionLost:       {"the background process of nsys is gone: it was killed, or another nsys ended its session", "run again; end no nsys process while windows are taken"},
	Permission:        {"the user may not read GPU performance counters", "run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
	CountersHeld:      {"DCGM or another profiler holds the counters", "dcgmi profile --pause, or end the other profiler"},
	LockHeld:          {"the lock file belongs to another user or process", "wait for the other run, or use a private TMPDIR if alone on the GPU"},
	NoDriver:          {"there is no usable NVIDIA driver here", "run where nvidia-smi works; check the container's GPU flags"},
	DriverMismatch:    {"driver and profiler do not fit together", "use a profiler release that supports this driver"},
	DriverError:       {"the driver reported an error", "try again; if it stays, match the versions of driver and profiler"},
	UnsupportedDevice: {"this GPU or its mode cannot be profiled", "ncu --list-chips shows what this version supports"},
	DeviceMemory:      {"no memory is left on the GPU for saving and restoring state", "use application or app-range replay, fewer metrics, --cache-control none"},
	DiskFull:          {"a file system filled up during the run", "free space; nsys needs about 30 times the report's size in TMPDIR"},
	TempUnusable:      {"the temporary directory is missing, full, or belongs to somebody else", "set TMPDIR to a private directory with room"},
	BrokenInstall:     {"the installation of the tool is incomplete", "repair or reinstall it"},
	ImporterBroken:    {"the importer of nsys is missing or lacks a library; the data is safe in the .qdstrm", "repair the installation, then import the .qdstrm with QdstrmImporter of the same version"},
	ImportFailed:      {"the importer could not process what was collected", "try QdstrmImporter by hand; otherwise another nsys version or fewer streams"},
	ReportLost:        {"the collection was cut before it was complete; the .qdstrm cannot be imported", "run again and let the profiler finish"},
	ReportUnreadable:  {"the report was written and cannot be read here: it is cut, or the tool that reads it fails", "read the evidence line; the report is kept and can be analysed once the reason is gone"},
	ToolCrashed:       {"the profiler itself failed", "try again; if it stays, another version of the tool"},
	AgentLost:         {"the background collector of nsys died, often killed for lack of memory", "look at dmesg for the OOM killer; collect less"},
	StartFailed:       {"the profiler failed before the workload was started", "run again"},
	TimedOut:          {"the time limit was reached", "raise the limit or shorten the workload"},
	Stalled:           {"nothing was printed and no CPU time was used for too long", "run the workload alone; it may wait for input, a lock or another process"},
	HungCollective:    {"a collective waits for ranks that ncu holds back", "exclude nccl kernels, use app-range replay, or profile one rank alone"},
	Interrupted:       {"the run was stopped by a signal", "run again for a whole capture"},
	RunRemoved:        {"somebody removed the folder of the run, or put another in its place, while the run went on", "run again; keep the workload and scripts that clean up out of the run store"},
	Unknown:           {"the output matches nothing known", "read the logs"},
}

// usable are the verdicts that leave something to analyse.
var usable = map[Kind]bool{
	Captured: true, WithWarnings: true, Partial: true, MissingData: true, OutputElsewhere: true, NoRows: true,
}
