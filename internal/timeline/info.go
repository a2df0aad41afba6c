package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// Info is what a file is and holds.
// Lists that are those of the timeline are shared with it.
type Info struct {
	Source      Source        `json:"source"`
	Session     Session       `json:"session"`
	GPUs        []GPU         `json:"gpus"`
	System      []Property    `json:"system"`
	Capture     []Property    `json:"capture,omitempty"`
	Processes   []ProcessInfo `json:"processes"` // those that made events
	Devices     []DeviceInfo  `json:"devices"`
	Domains     []string      `json:"domains,omitempty"`
	Counts      Counts        `json:"counts"`
	Tables      []TableCount  `json:"tables"`
	OverheadNS  int64         `json:"profiler_overhead_ns"` // sum over threads
	Diagnostics []Diagnostic  `json:"diagnostics,omitempty"`
	Warnings    []fact.Fact   `json:"warnings,omitempty"`
}

// Counts are the numbers of events that were read.
// Calls is the sum over threads, and 0 where only launching calls were read.
type Counts struct {
	Kernels       int `json:"kernels"` // launches, not names
	KernelNames   int `json:"kernel_names"`
	GraphKernels  int `json:"graph_kernels"`  // kernels launched by nodes of CUDA graphs
	GraphLaunches int `json:"graph_launches"` // of whole graphs, and those whose work was traced node by node
	Copies        int `json:"copies"`
	Sets          int `json:"sets"`
	Syncs         int `json:"syncs"`
	Calls         int `json:"calls"`
	Ranges        int `json:"ranges"`
	Unclosed      int `json:"unclosed_ranges"` // of Ranges
	Marks         int `json:"marks"`
}

// ProcessInfo sums up one process.
// Those with most kernels come first.
type ProcessInfo struct {
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Threads int    `json:"threads"`
	Kernels int    `json:"kernels"`
	Calls   int    `json:"calls"`
	Ranges  int    `json:"ranges"`
}

// DeviceInfo sums up one CUDA device.
// Device is the number under which the process knows the GPU: with several processes it may stand
// for several GPUs.
type DeviceInfo struct {
	Device  int `json:"device"`
	Streams int `json:"streams"` // that ran anything
	// KernelStreams is how many of them ran a kernel.
	KernelStreams int   `json:"kernel_streams"`
	Kernels       int   `json:"kernels"`
	KernelNS      int64 `json:"kernel_ns"` // GPU time: sum of kernel durations
	BusyNS        int64 `json:"busy_ns"`   // union of all work
	FirstNS       int64 `json:"first_ns"`
	LastNS        int64 `json:"last_ns"`
}

// Info sums up everything that was read.
func (t *Timeline) Info() Info {
	info := Info{
		Source: t.Source, Session: t.Session, GPUs: t.GPUs, System: t.System, Capture: t.Capture,
		Tables: t.Tables, Diagnostics: t.Diagnostics, Warnings: t.Warnings,
		Counts: Counts{
			Kernels: len(t.Kernels), Copies: len(t.Copies), Sets: len(t.Sets),
			Syncs: len(t.Syncs), Ranges: len(t.Ranges), Marks: len(t.Marks),
		},
	}
	for _, th := range t.Threads {
		info.Counts.Calls += int(th.Calls)
	}
	info.Counts.KernelNames = t.KernelNames()
	for i := range t.Kernels {
		if t.Kernels[i].GraphNode != 0 {
			info.Counts.GraphKernels++
		}
	}
	info.Counts.GraphLaunches = len(t.Graphs) + t.nodeLaunches()
	for i := range t.Ranges {
		if t.Ranges[i].Unclosed {
			info.Counts.Unclosed++
		}
	}
	var over bool
	for _, o := range t.Overhead {
		accrue(&info.OverheadNS, max(0, Since(o.Start, o.End)), &over)
	}
	for _, d := range t.Domains {
		if name := t.Name(d.Name); name != "" && !slices.Contains(info.Domains, name) {
			info.Domains = append(info.Domains, name)
		}
	}
	slices.Sort(info.Domains)
	info.Processes = t.processInfo()
	var devices bool
	if info.Devices, devices = t.DeviceInfo(); over || devices {
		info.Warnings = append(slices.Clone(info.Warnings), fact.New(CodeOverflow))
	}
	return info
}

// Span is the time from the first to the last thing on the timeline: work of a
// GPU, or a range of the program. 0 for an empty one.
// Ranges that were never closed do not count, since their end is not their own.
func (t *Timeline) Span() time.Duration {
	var first, last int64
	some := false
	cover := func(start, end int64) {
		if !some {
			first, last, some = start, end, true
		}
		first, last = min(first, start), max(last, end)
	}
	t.eachOp(func(o Op) { cover(o.Start, o.End) })
	for i := range t.Ranges {
		if !t.Ranges[i].Unclosed {
			cover(t.Ranges[i].Start, t.Ranges[i].End)
		}
	}
	return time.Duration(max(0, Since(first, last)))
}

// nodeLaunches counts the launches of graphs that were traced node by node: all
// work of one launch carries the correlation of its call.
func (t *Timeline) nodeLaunches() int {
	type launch struct{ process, correlation uint32 }
	seen := map[launch]bool{}
	var last launch // kernels of one launch follow each other
	add := func(node int64, queue, correlation uint32) {
		if node == 0 || correlation == NoCorrelation {
			return
		}
		if l := (launch{t.Queues[queue].Process, correlation}); l != last || len(seen) == 0 {
			seen[l], last = true, l
		}
	}
	for i := range t.Kernels {
		add(t.Kernels[i].GraphNode, t.Kernels[i].Queue, t.Kernels[i].Correlation)
	}
	for i := range t.Copies {
		add(t.Copies[i].GraphNode, t.Copies[i].Queue, t.Copies[i].Correlation)
	}
	for i := range t.Sets {
		add(t.Sets[i].GraphNode, t.Sets[i].Queue, t.Sets[i].Correlation)
	}
	return len(seen)
}

func (t *Timeline) processInfo() []ProcessInfo {
	list := make([]ProcessInfo, len(t.Processes))
	for i, p := range t.Processes {
		list[i] = ProcessInfo{PID: p.PID, Name: t.Name(p.Name)}
	}
	count := func(process uint32, field func(*ProcessInfo) *int) {
		if int(process) < len(list) {
			*field(&list[process])++
		}
	}
	for _, th := range t.Threads {
		count(th.Process, func(p *ProcessInfo) *int { return &p.Threads })
		if int(th.Process) < len(list) {
			list[th.Process].Calls += int(th.Calls)
		}
	}
	for i := range t.Kernels {
		count(t.Queues[t.Kernels[i].Queue].Process, func(p *ProcessInfo) *int { return &p.Kernels })
	}
	for i := range t.Ranges {
		count(t.ThreadProcess(t.Ranges[i].Thread), func(p *ProcessInfo) *int { return &p.Ranges })
	}
	list = slices.DeleteFunc(list, func(p ProcessInfo) bool { return p.Threads+p.Kernels == 0 })
	slices.SortStableFunc(list, func(x, y ProcessInfo) int {
		return cmp.Or(cmp.Compare(y.Kernels, x.Kernels), cmp.Compare(x.PID, y.PID))
	})
	return list
}

// KernelNames counts the names of kernels.
func (t *Timeline) KernelNames() int {
	names := map[StringID]bool{}
	for _, f := range t.Functions {
		names[f.Demangled] = true
	}
	return len(names)
}

// DeviceInfo sums up the work of each GPU that did any, by number; over where a sum is too
// large for 64 bits.
func (t *Timeline) DeviceInfo() (list []DeviceInfo, over bool) {
	sums := newDeviceSums(t)
	t.ByStart(sums.add)
	return sums.list()
}

// deviceSums sums up work by GPU.
type deviceSums struct {
	t       *Timeline
	devices map[int32]*deviceSum
	byQueue []*deviceSum // nil before its first work
	kernels []bool       // by queue: it ran one
}

type deviceSum struct {
	DeviceInfo
	work    use
	streams map[uint32]bool
}

func newDeviceSums(t *Timeline) deviceSums { return deviceSums{t: t, devices: map[int32]*deviceSum{}} }

// add takes the next piece of work by start.
func (s *deviceSums) add(op *Op) {
	for int(op.Queue) >= len(s.byQueue) {
		s.byQueue, s.kernels = append(s.byQueue, nil), append(s.kernels, false)
	}
	d := s.byQueue[op.Queue]
	if d == nil {
		number := s.t.Queues[op.Queue].Device
		if d = s.devices[number]; d == nil {
			d = &deviceSum{DeviceInfo: DeviceInfo{Device: int(number), FirstNS: op.Start, LastNS: op.End}, streams: map[uint32]bool{}}
			s.devices[number] = d
		}
		d.streams[op.Queue] = true
		s.byQueue[op.Queue] = d
	}
	d.FirstNS, d.LastNS = min(d.FirstNS, op.Start), max(d.LastNS, op.End)
	s.kernels[op.Queue] = s.kernels[op.Queue] || op.Kind == OpKernel
	d.work.add(op, 0, false)
}

// list gives the sums by number; over where one is too large.
func (s *deviceSums) list() (list []DeviceInfo, over bool) {
	for _, d := range s.devices {
		over = over || d.work.over
		d.Kernels, d.KernelNS = int(d.work.kernels), d.work.kernelNS
		d.BusyNS, d.Streams = d.work.busy, len(d.streams)
		for queue := range d.streams {
			if s.kernels[queue] {
				d.KernelStreams++
			}
		}
		list = append(list, d.DeviceInfo)
	}
	slices.SortFunc(list, func(x, y DeviceInfo) int { return cmp.Compare(x.Device, y.Device) })
	return list, over
}
