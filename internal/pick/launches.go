package pick

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Launches is the kernel launches of a timeline in the order in which they were
// made, sorted into groups of the same kernel, grid, block and
// model of GPU.
type Launches struct {
	t        *timeline.Timeline
	at       *timeline.Attribution
	names    []names  // by timeline function
	launches []launch // by the launching call, over all processes
	groups   []group
	byKey    map[groupKey]int
	models   bool // more than one model of GPU

	regionsOf func(kernel int) (own, all []uint32)
}

// names are the forms of a kernel's name. Nsight Systems and Nsight Compute
// demangle differently and agree on the mangled name and on the function name.
type names struct {
	ident     string // mangled where the file has it, else demangled, else function
	mangled   string
	demangled string
	function  string
	short     string // for people
}

type launch struct {
	kernel   int // index into the timeline
	group    int
	function int32 // index into the timeline's functions
	process  uint32
	thread   uint32 // that launched it; timeline.None where the call is not known
	shared   int32  // dynamic shared memory, which is part of ncu's launch configuration
	ns       int64
	called   int64
}

type groupKey struct {
	ident       string
	grid, block [3]int32
	gpu         string
}

type group struct {
	key   groupKey
	names *names
	id    string
}

// Load sorts the launches of a timeline.
func Load(at *timeline.Attribution) *Launches {
	t := at.Timeline()
	l := &Launches{t: t, at: at, byKey: map[groupKey]int{}}
	l.names = make([]names, len(t.Functions))
	for i, f := range t.Functions {
		l.names[i] = nameForms(t.Name(f.Mangled), t.Name(f.Demangled), t.Name(f.Short))
	}
	model := l.gpuModels()
	l.launches = make([]launch, len(t.Kernels))
	for i := range t.Kernels {
		k := &t.Kernels[i]
		q, c := &t.Queues[k.Queue], &t.Configs[k.Config]
		e := launch{kernel: i, function: int32(k.Function), process: q.Process, thread: timeline.None, shared: c.DynamicShared, ns: max(0, k.Duration()), called: k.Start}
		if call, ok := at.KernelCall(i); ok {
			e.called, e.thread = call.Start, call.Thread
		}
		e.group = l.groupOf(groupKey{l.names[k.Function].ident, c.Grid, c.Block, model[q.Device]}, &l.names[k.Function])
		l.launches[i] = e
	}
	slices.SortStableFunc(l.launches, func(x, y launch) int {
		return cmp.Or(
			cmp.Compare(x.called, y.called),
			cmp.Compare(t.Kernels[x.kernel].Start, t.Kernels[y.kernel].Start),
			cmp.Compare(x.kernel, y.kernel))
	})
	return l
}

func nameForms(mangled, demangled, short string) names {
	n := names{mangled: mangled, demangled: cmp.Or(demangled, mangled, short), function: short}
	n.ident = cmp.Or(mangled, demangled, short)
	n.short = cxx.Short(n.demangled)
	if n.function == "" {
		n.function = n.short
	}
	return n
}

// gpuModels names the model of each device, where there are several: counters
// of one say nothing about the other.
func (l *Launches) gpuModels() map[int32]string {
	byDevice, seen := map[int32]string{}, map[string]bool{}
	for _, g := range l.t.GPUs {
		byDevice[int32(g.CUDADevice)] = g.Name
	}
	for _, q := range l.t.Queues {
		seen[byDevice[q.Device]] = true
	}
	if l.models = len(seen) > 1; !l.models {
		return nil
	}
	return byDevice
}

func (l *Launches) groupOf(key groupKey, n *names) int {
	if i, ok := l.byKey[key]; ok {
		return i
	}
	i := len(l.groups)
	l.byKey[key] = i
	l.groups = append(l.groups, group{key, n, key.id()})
	return i
}

func (k *groupKey) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v\x00%v\x00%s", k.ident, k.grid, k.block, k.gpu))
	return hex.EncodeToString(sum[:6])
}

// in gives the name in a form that --kernel-name-base knows.
func (n *names) in(base string) string {
	if base == baseMangled {
		return n.mangled
	}
	return n.function
}

// Keeps reads kernel patterns, exclude first, and tells which kernels of the
// timeline they keep.
func (l *Launches) Keeps(include, exclude []string) (func(kernel int) bool, error) {
	kernels, err := newSelection("kernel_include", "kernel_exclude", "", include, exclude)
	if err != nil {
		return nil, err
	}
	kept := make([]bool, len(l.names))
	for i := range l.names {
		kept[i] = kernels.keep(&l.names[i]).IsZero()
	}
	return func(kernel int) bool { return kept[l.t.Kernels[kernel].Function] }, nil
}

func (l *Launches) pid(process uint32) int {
	if int(process) < len(l.t.Processes) {
		return l.t.Processes[process].PID
	}
	return 0
}

// describe gives a launch for people; its numbers are left to the caller.
func (l *Launches) describe(e *launch) Launch {
	k := &l.t.Kernels[e.kernel]
	q := &l.t.Queues[k.Queue]
	return Launch{
		ID: e.kernel + 1, DurationNS: e.ns, Region: l.at.Path(l.at.KernelNode(e.kernel)), Process: l.pid(e.process),
		Device: int(q.Device), Context: int(q.Context), Stream: int(q.Stream), Graph: k.GraphID(),
	}
}

// around gives the regions around the launch of a kernel; see
// timeline.Attribution.Around.
func (l *Launches) around() func(kernel int) (own, all []uint32) {
	if l.regionsOf == nil {
		l.regionsOf = l.at.Around()
	}
	return l.regionsOf
}
