// Package timeline owns the model of what ran when: GPU work, the CUDA calls
// that launched it, the NVTX ranges around those calls, and the machine. It
// also owns every number that is computed from that: kernel summaries, regions,
// launches, gaps. It reads no file of a profiler; package nsys fills a Timeline.
//
// All times are nanoseconds on the clock of the capture.
//
// It is this large because kernels, regions, gaps and launches are computed in two ways, with
// the same result: from a timeline in memory, and from a flow of events that memory does not
// hold, as files of millions of launches need. Gaps, phases and steps take some 1,500 lines, the joining of calls, ranges
// and GPU work as many; the rest are summaries, queries and the model itself.
package timeline

import "github.com/deepprof/deepprof/internal/fact"

import "math"

// A Timeline holds the parts of a capture that its reader was asked for. Events
// refer to names, threads and queues by index into the tables beside them, so
// that millions of events stay small. Slices are in the order of the file.
// The reader owns it until it is complete. After that it is only read, by any goroutine, save by
// KeepLaunches, Calls.DropCorrelations and the functions that take a Flow.
type Timeline struct {
	Source Source

	Names     []string       // StringID indexes it; Names[0] is ""
	Functions []Function     // Kernel.Function
	Configs   []LaunchConfig // Kernel.Config
	Queues    []Queue        // Kernel.Queue, Copy.Queue, ...
	Processes []Process      // Queue.Process, Thread.Process, ...
	Threads   []Thread       // Call.Thread, Range.Thread
	Domains   []Domain       // Range.Domain; Domains[0] is the default domain of no process

	Kernels []Kernel
	// KernelsByStart says that the kernels are known to lie by start; false where
	// nobody has looked.
	KernelsByStart bool

	Copies []Copy
	Sets   []Set
	Graphs []GraphLaunch // only where kernels of CUDA graphs were not traced one by one
	Syncs  []Sync
	Calls  Calls
	Ranges []Range
	Marks  []Mark
	// PythonSamples are moments at which nsys looked what Python executed;
	// PythonStacks their innermost frames, innermost first.
	PythonSamples []PythonSample
	PythonStacks  [][]PythonFrame

	// DomainRows lists the creations of domains as recorded, for reports that
	// join on them.
	DomainRows []DomainRow
	Categories []Category
	Payloads   []Payload
	GraphNodes []GraphNode

	// LastNVTX is the latest timestamp of all NVTX rows and LastRange that of
	// the ranges among them; Valid tells whether a range has an end at all.
	LastNVTX, LastRange Time

	GPUs     []GPU
	System   []Property
	Capture  []Property
	Launcher []Property // variables by which a launcher told the program its rank
	Overhead []Overhead
	Samples  []Samples // by device
	// recalledFrom is the first start of the ranges that WithEarlier added, which
	// is negative; 0 where there are none.
	recalledFrom int64
	Diagnostics  []Diagnostic
	Tables       []TableCount
	Session      Session

	// Warnings are what was absent, damaged or doubtful.
	Warnings []fact.Fact
	// Damage are those of the warnings that tell of a part that is gone: what is
	// not there may have been there.
	Damage []Damage
}

// Damage is a part of the file that is gone: a table of it, or "" for its end.
type Damage struct {
	Table string
	What  fact.Fact // also among the warnings
}

// Time is a timestamp that may be absent.
type Time struct {
	NS    int64 // 0 where it is not Valid
	Valid bool
}

// StringID indexes Timeline.Names.
type StringID uint32

// None stands for an absent reference in the index fields of events.
const None = math.MaxUint32

// NoCorrelation is the correlation of an event whose row has none, or one
// that is no 32-bit number.
const NoCorrelation = math.MaxUint32

// Source tells where a timeline comes from.
type Source struct {
	Path    string `json:"path"`              // the file that was named
	SQLite  string `json:"sqlite,omitempty"`  // the export that was read, if another
	Tool    string `json:"tool,omitempty"`    // version of Nsight Systems that exported it
	Schema  string `json:"schema,omitempty"`  // version of the export's schema
	Bytes   int64  `json:"bytes"`             // size of the SQLite file
	Command string `json:"command,omitempty"` // the program that was profiled
}

// A Function is a kernel by its three names.
type Function struct{ Demangled, Short, Mangled StringID }

// A LaunchConfig is the shape of a launch and what it asks of an SM.
type LaunchConfig struct {
	Grid, Block                  [3]int32 // blocks; threads of a block
	Registers                    int32    // per thread
	StaticShared, DynamicShared  int32    // bytes
	SharedExecuted, LocalPerThrd int32    // bytes
}

// A Queue is a stream of one process on one device.
type Queue struct {
	Process uint32 // index into Processes
	Device  int32  // number under which the process knows the GPU
	Context int32
	Stream  int32 // id of the stream in its context
	Green   int32 // green context, 0 without
}

// A Kernel is one execution of a kernel on a GPU.
type Kernel struct {
	Start, End int64 // ns
	// GraphNode is the node of the CUDA graph that launched it, 0 without one;
	// its upper 32 bits are the graph.
	GraphNode   int64
	Correlation uint32 // the id it shares with the call that launched it, or NoCorrelation
	Function    uint32 // index into Functions
	Config      uint32 // index into Configs
	Queue       uint32 // index into Queues
}

// Duration may be negative in a damaged file.
func (k *Kernel) Duration() int64 { return Since(k.Start, k.End) }

// GraphID is the graph whose node launched the kernel, 0 without one.
func (k *Kernel) GraphID() int64 { return k.GraphNode >> 32 }

// A Copy is one memory copy on a GPU.
type Copy struct {
	Start, End  int64 // ns
	Bytes       int64
	GraphNode   int64  // as of a Kernel
	Correlation uint32 // the id it shares with the call that launched it, or NoCorrelation
	Queue       uint32 // index into Queues
	Kind        uint8  // 1 host to device, 2 device to host, 8 device to device, 10 peer to peer
	From, To    uint8  // memory kinds
}

// A Set is one memory set on a GPU.
type Set struct {
	Start, End  int64  // ns
	Bytes       int64  // that were set
	GraphNode   int64  // as of a Kernel
	Value       uint32 // that was written
	Correlation uint32 // the id it shares with the call that launched it, or NoCorrelation
	Queue       uint32 // index into Queues
}

// A GraphLaunch is one execution of a whole CUDA graph; the kernels in it are
// not known.
type GraphLaunch struct {
	Start, End  int64  // ns
	Graph, Exec int64  // id of the graph, and of the executable made of it
	Correlation uint32 // the id it shares with the call that launched it, or NoCorrelation
	Queue       uint32 // index into Queues
}

// A GraphNode is a node as it was created while a graph was captured or cloned.
type GraphNode struct {
	Time           int64  // ns, of the creation
	Node, Original int64  // Original is 0 where it is no clone
	Thread         uint32 // index into Threads
}

// A Sync is a wait of the host or of a stream.
type Sync struct {
	Start, End  int64  // ns
	Correlation uint32 // the id it shares with the call that waited, or NoCorrelation
	Queue       uint32 // index into Queues
	Kind        uint32 // 1 event, 2 stream waits for event, 3 stream, 4 context
}

// RangeKind is the way a range was opened and closed.
type RangeKind uint8

// The kinds of ranges.
const (
	PushPop RangeKind = iota
	StartEnd
)

func (k RangeKind) String() string {
	if k == StartEnd {
		return "StartEnd"
	}
	return "PushPop"
}

// A Range is one instance of an NVTX range.
type Range struct {
	Start int64 // ns
	// End is the latest NVTX timestamp of the file where the range was never
	// closed.
	End       int64
	Name      StringID
	Domain    uint32 // index into Domains
	Thread    uint32 // that opened it
	EndThread uint32 // that closed it, where it was another; else None
	Category  uint32 // 0 without one
	Color     uint32 // ARGB, 0 without one
	Payload   uint32 // index into Payloads, or None
	Kind      RangeKind
	Unclosed  bool // End is not its own
	Unnamed   bool // has no text at all, which is not the empty text
}

// A Mark is an NVTX event without duration.
type Mark struct {
	Time     int64 // ns
	Name     StringID
	Domain   uint32 // index into Domains
	Thread   uint32 // index into Threads
	Category uint32 // 0 without one
	Color    uint32 // ARGB, 0 without one
	Payload  uint32 // index into Payloads, or None
}

// A Domain is an NVTX domain of a process; the default one has ID 0 and no name.
type Domain struct {
	Process uint32 // None for Domains[0]
	ID      int64  // of the file, unique in its process
	Name    StringID
}

// A DomainRow records the creation of a domain by a thread.
type DomainRow struct {
	Time    int64  // ns
	ID      int64  // as of a Domain
	Thread  uint32 // index into Threads
	Name    StringID
	Unnamed bool
}

// A Category names a category number within a domain.
type Category struct {
	Domain uint32 // index into Domains
	ID     uint32 // the number that ranges and marks give
	Name   StringID
}

// A Payload is the value attached to a range or mark, as text.
type Payload struct {
	Type  string // uint64, int64, double, uint32, int32, float, json
	Value string
}

// A Process is one process of the machine. Most of those recorded never
// touched the GPU.
type Process struct {
	Global int64 // globalPid of the file
	PID    int   // as the system counts
	Name   StringID
}

// A Thread is one thread that made events.
type Thread struct {
	Global  int64    // globalTid of the file
	Process uint32   // index into Processes
	TID     int      // as the system counts
	Name    StringID // "" where the program gave none
	Calls   int64    // CUDA calls it made; 0 where only launching calls were read
}

// A GPU is a device of the machine as recorded at capture.
type GPU struct {
	ID              int    `json:"id"`
	Name            string `json:"name"`
	Chip            string `json:"chip,omitempty"`
	UUID            string `json:"uuid,omitempty"`
	Bus             string `json:"bus,omitempty"`
	SMs             int    `json:"sms,omitempty"` // 0, as in the fields below: the file does not tell
	MemoryBytes     int64  `json:"memory_bytes,omitempty"`
	MemoryBandwidth int64  `json:"memory_bandwidth,omitempty"` // bytes per second
	ClockHz         int64  `json:"clock_hz,omitempty"`
	L2Bytes         int64  `json:"l2_bytes,omitempty"`
	ComputeMajor    int    `json:"compute_major,omitempty"`
	ComputeMinor    int    `json:"compute_minor,omitempty"`
	CUDADevice      int    `json:"cuda_device"` // number under which events name it
}

// A Property is a named fact about the machine or the capture.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Overhead is time that the profiler itself took on a thread.
type Overhead struct {
	Start, End int64    // ns
	Thread     uint32   // index into Threads
	Name       StringID // what the profiler did
}

// A Diagnostic is a message of the profiler about the capture.
type Diagnostic struct {
	Time     int64  `json:"time_ns"`  // on the clock of the capture
	Severity int    `json:"severity"` // 1 information, 2 warning, 3 error
	Source   int    `json:"source"`
	Text     string `json:"text"`
}

// TableCount says how many rows of a table were read.
type TableCount struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"` // without those skipped
	// Skipped rows were damaged or made no sense.
	Skipped int64 `json:"skipped,omitempty"`
}

// Session is the time of the capture.
type Session struct {
	StartUTC string `json:"start_utc,omitempty"`
	// EpochNS is the time in UTC, in nanoseconds since 1970, at which the clock of
	// the capture stood at ClockNS; 0 where the file does not tell.
	EpochNS    int64 `json:"-"`
	ClockNS    int64 `json:"-"`
	DurationNS int64 `json:"duration_ns,omitempty"`
	FirstNS    int64 `json:"first_ns"` // earliest and latest event that was read
	LastNS     int64 `json:"last_ns"`
}

// Name resolves a string reference; one that leads nowhere is "".
func (t *Timeline) Name(id StringID) string {
	if int(id) < len(t.Names) {
		return t.Names[id]
	}
	return ""
}

// KernelName is the demangled name of a kernel.
func (t *Timeline) KernelName(k *Kernel) string {
	return t.Name(t.Functions[k.Function].Demangled)
}

// DomainName is "" for the default domain.
func (t *Timeline) DomainName(domain uint32) string {
	if int(domain) < len(t.Domains) {
		return t.Name(t.Domains[domain].Name)
	}
	return ""
}

// ThreadProcess is the process of a thread, None where the thread is unknown.
func (t *Timeline) ThreadProcess(thread uint32) uint32 {
	if int(thread) < len(t.Threads) {
		return t.Threads[thread].Process
	}
	return None
}

// ThreadGlobal is the globalTid of a thread; 0 where the thread is unknown.
func (t *Timeline) ThreadGlobal(thread uint32) int64 {
	if int(thread) < len(t.Threads) {
		return t.Threads[thread].Global
	}
	return 0
}

// DomainID is the number that its process gave a domain; 0 where it is unknown.
func (t *Timeline) DomainID(domain uint32) int64 {
	if int(domain) < len(t.Domains) {
		return t.Domains[domain].ID
	}
	return 0
}

// PIDOf and TIDOf take the numbers out of the 64-bit ids of a file.
// Each has 24 bits, so that larger numbers lose their upper part.
func PIDOf(global int64) int { return int(global >> 24 & 0xFFFFFF) }

// TIDOf is the thread number in a globalTid.
func TIDOf(global int64) int { return int(global & 0xFFFFFF) }

// ProcessOf is the globalPid that a globalTid belongs to.
func ProcessOf(globalTid int64) int64 { return globalTid &^ 0xFFFFFF }
