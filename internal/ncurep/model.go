package ncurep

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/metric"
)

// Report is everything that was read of one file.
type Report struct {
	Info     Info      // of a CSV page mostly empty
	Results  []*Result // in the order of the file
	Warnings []Warning // what was lost or doubtful; a Report is never an error for that

	names []string // of all metrics that the raw page prints, also of those not selected
}

// Info is what a report says about its own making.
type Info struct {
	Version   uint32 // of the container; 7 in all releases from 2022.3 to 2025.3
	Size      int64  // of the file, in bytes
	Results   int    // results announced by complete blocks, of every kind
	NumSource int    // cubins and sources announced, whether listed or not
	// Session and Processes are those of all blocks whose header could be read.
	Session   Session
	Processes []Process // in order of appearance
}

// Session describes the machine, the program and the profiler's command line.
// A field that the file does not carry is empty.
type Session struct {
	CreationTime uint64 // seconds since 1970
	Host, Target System
	Devices      []Device
	// Properties are settings of the session by the vendor's names; Versions come by
	// the provider.
	Properties     []Property
	Versions       []Property // provider and version: CUDA driver, profiler, ...
	Comments       string
	CommandLine    string // of ncu
	Executable     string
	WorkDirectory  string
	Arguments      string // of the executable
	HasEnvironment bool   // the file carries the program's environment; its text is not kept
}

// System is a machine as the profiler saw it.
type System struct {
	OS, Build, Processor, Architecture, Name string // Name is the host name
}

// Property is a name with its text, both as the vendor's tool wrote them.
type Property struct{ Name, Value string }

// Device is a GPU of the machine.
type Device struct {
	// ID is the number that the session gives it.
	ID         uint32
	Name       string
	Attributes int // how many the driver gave
}

// Process is the program that produced a block of results.
// The zero Process stands for a block that does not say.
type Process struct {
	ID         uint32
	Host, Name string // Name is the path of the executable
}

// ResultKind tells what was measured as one unit.
type ResultKind uint8

// The kinds of result, in the order in which a block stores them.
const (
	Kernel ResultKind = iota
	Range
	CommandList
	Graph
)

// String returns the name that ncu prints for results without a name of their own.
func (k ResultKind) String() string { return [...]string{"kernel", "range", "cmdlist", "graph"}[k] }

// Dim3 is a CUDA extent, in blocks of a grid or threads of a block. The zero value was not
// stored: a real extent has at least 1 in each direction.
type Dim3 struct{ X, Y, Z uint64 }

// String prints the extent as ncu does.
func (d Dim3) String() string { return fmt.Sprintf("(%d, %d, %d)", d.X, d.Y, d.Z) }

// IsZero reports an extent that was not stored.
func (d Dim3) IsZero() bool { return d == Dim3{} }

// Result is one profiled launch, range, command list or graph.
// It is complete but for what Options leave out and LostFields count.
type Result struct {
	ID      int // what ncu prints in its ID column: position from 0, results of one process together
	Kind    ResultKind
	Process Process

	ThreadID     uint32 // that launched it
	CreationTime uint64 // seconds since 1970; 0 when not stored

	// Names of a kernel; empty for other kinds, except DisplayName of a command list.
	MangledName   string
	FunctionName  string // without arguments and template parameters
	DemangledName string
	DisplayName   string

	Grid, Block Dim3 // in blocks and in threads; zero for ranges and graphs

	ContextID, StreamID     uint32
	HasStream               bool // ranges have none
	ContextName, StreamName string
	Device                  int // CUDA ordinal; -1 when the file does not say, or metrics were not read

	Comments    string
	ClockLocked *bool // nil when not stored

	// NVTX has the ranges of all threads; those of ThreadID are around the launch.
	NVTX     NVTX
	CPUStack []Frame // empty if ncu recorded none

	// Metrics in file order; the same name can occur several times (see Metric).
	Metrics  []Metric
	Sections []Section    // Options.Sections
	Rules    []RuleResult // Options.Rules

	// LostFields counts parts of this result that could not be decoded.
	LostFields int
}

// Name returns what ncu prints in its Kernel Name column: the demangled name
// of a kernel, or the kind of result.
func (r *Result) Name() string {
	switch {
	case r.Kind == CommandList && r.DisplayName != "":
		return r.DisplayName
	case r.Kind != Kernel:
		return r.Kind.String()
	case r.DemangledName != "":
		return r.DemangledName
	case r.FunctionName != "":
		return r.FunctionName
	}
	return r.MangledName
}

// Metric is one counter of one result.
type Metric struct {
	Name      string
	Value     metric.Value // in the unit of Unit; IsZero if ncu has none
	Instances []Instance   // Options.Instances
	// NumInstances is known even when the instances were not asked for.
	NumInstances int
	Section      string // of a details page: the section that shows it, and Name is its label

	// unit is only meant if hasUnit is set: "" is a unit, too.
	unit    string
	hasUnit bool
}

// Unit returns the base unit of the value, empty for a plain count. It is what
// a CSV page says, or what ncu prints for the name in this report.
func (m *Metric) Unit() string {
	if m.hasUnit {
		return m.unit
	}
	return metric.Unit(m.Name)
}

// Instance is one value out of which a metric is made. ID is a program
// counter, a time stamp, a text or absent, depending on the metric. The value is in the unit
// of the metric.
type Instance struct{ ID, Value metric.Value }

// NVTX is the state of the annotations at the launch.
type NVTX struct {
	Recorded bool        // the report was made with --nvtx
	Stacks   []NVTXStack // one for each thread and domain with an open range
	Open     []NVTXOpen  // start/end ranges
}

// IsZero reports that no range was open.
// It is also true if the report was made without --nvtx; Recorded tells the two apart.
func (n NVTX) IsZero() bool { return len(n.Stacks) == 0 && len(n.Open) == 0 }

// NVTXStack is the push/pop stack of one thread in one domain, outermost first.
type NVTXStack struct {
	// Thread is the number that the system gave.
	Thread uint32
	Domain string // "<default domain>" for the default
	Ranges []NVTXRange
}

// NVTXOpen is a start/end range that was open.
type NVTXOpen struct {
	Domain string
	ID     uint64
	NVTXRange
}

// NVTXRange is a range with its attributes, in the words of ncu: payload types
// Uint64, Int64, Double, ..., color type RGB, message types ASCII, UNICODE,
// REGISTERED. An attribute that the program did not give is empty.
type NVTXRange struct {
	Name        string
	Category    uint32 // 0 without one
	PayloadType string
	Payload     string
	ColorType   string
	Color       string
	MessageType string
	Message     string
}

// Frame is one CPU stack frame of the launching call. Names are empty if nothing tells
// them.
type Frame struct {
	Module, Function, File string
	PC                     uint64 // address in the process
	Line                   uint32 // 0 without debug information
}

// Section is the header of a section definition. The body is layout for the
// vendor's interface and is not kept.
type Section struct {
	Identifier  string
	DisplayName string
	Order       uint32          // position in the vendor's interface
	Header      []SectionMetric // the metrics of the header table
	Metrics     []string        // every metric that the definition mentions, in order, once
}

// SectionMetric is one row of a section's header table: the name of a metric, which the result
// need not have, and the words that ncu shows for it.
type SectionMetric struct{ Name, Label string }

// RuleResult is what one rule said about a result. The texts are NVIDIA's.
type RuleResult struct {
	// Identifier is the vendor's ID of the rule; DisplayName is for people.
	Identifier  string
	DisplayName string
	Section     string
	Messages    []RuleMessage
}

// MessageType is the weight of a rule's message.
type MessageType uint8

// The types of message.
const (
	MessageNone MessageType = iota
	MessageOK
	MessageWarning
	MessageError
	MessageOptimization
)

// String returns the name of the type, or its number if it has none.
func (t MessageType) String() string {
	return nameOf(t, "type", "none", "ok", "warning", "error", "optimization")
}

// nameOf prints a value of an enumeration of the file, where any number can come.
func nameOf[T ~uint8](t T, what string, names ...string) string {
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("%s(%d)", what, uint8(t))
}

// SpeedupType tells what an estimated speedup refers to.
type SpeedupType uint8

// The types of speedup: local is a gain in the efficiency of a part of the
// hardware, global is a reduction of the kernel's run time.
const (
	SpeedupUnknown SpeedupType = iota
	SpeedupLocal
	SpeedupGlobal
)

// String returns the name of the type, or its number if it has none.
func (t SpeedupType) String() string { return nameOf(t, "speedup", "unknown", "local", "global") }

// RuleMessage is one finding of a rule.
type RuleMessage struct {
	Type    MessageType
	Title   string
	Text    string        // with the vendor's markup, such as @section:...@
	Speedup *Speedup      // nil if the rule gives none
	Focus   []FocusMetric // metrics that it is about
}

// Speedup is an estimate of the vendor's in percent, from 0 to 100; nobody has checked it.
type Speedup struct {
	Type  SpeedupType
	Value float64
}

// FocusMetric is a metric that made the rule speak.
type FocusMetric struct {
	// Name is that of a metric of the result, which may not be among those selected.
	Name     string
	Value    float64 // NaN if the file gives none
	Severity uint32  // 0 default, 1 low, 2 high
	Info     string
}

// Source is an embedded cubin or source, described by its sizes; the contents
// are never read.
type Source struct {
	Reference  uint64 // that results name it by
	Size       int64  // of the whole entry, in bytes
	BinarySize int64  // bytes, as those below
	CodeSize   int64
	FilesSize  int64  // source files stored with --import-source
	SMRevision uint32 // compute capability of the cubin, as the file has it
}

// Warning says what was wrong with a file or row and how much was lost.
type Warning struct {
	Offset int64     // in bytes, or -1 when it does not apply
	Line   int       // of a text input, 0 for a binary one
	Lost   int64     // bytes or rows that were not read
	What   fact.Fact // with the place among its parameters
}

// placed is a warning whose fact also tells its place, in the parameters line or offset.
func placed(w Warning) Warning {
	if w.Line > 0 {
		w.What = w.What.With(fact.Count("line", w.Line))
	}
	if w.Offset >= 0 {
		w.What = w.What.With(fact.Count("offset", w.Offset))
	}
	return w
}
