package pick

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Launches is the kernel launches of a timeline in the order in which they were
// made, sorted into groups of the same kernel, grid, block and
// model of GPU.
type Launches struct {
	t        *timeline.Timeline
	at       *timeline.Attribution
	names    []names          // by timeline function
	kernels  timeline.List    // of the timeline, by the launching call, over all processes
	groupsOf []uint32         // by launch
	lasted   timeline.Lengths // by launch, ns
	groups   []group
	byKey    map[groupKey]int
	models   bool // more than one model of GPU
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

// A launch is one of the launches, as they are asked for.
type launch struct {
	kernel   int // index into the timeline
	group    int
	function uint32 // index into the timeline's functions
	process  uint32
	shared   int32 // dynamic shared memory, which is part of ncu's launch configuration
	ns       int64
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
	l.sort()
	return l
}

// sort orders the launches by their calls, then as they began, and groups them.
func (l *Launches) sort() {
	t, model := l.t, l.gpuModels()
	type shape struct{ function, config, queue uint32 }
	var known timeline.Memo[shape, uint32]
	groups := make([]uint32, len(t.Kernels)) // by kernel
	for i := range t.Kernels {
		k := &t.Kernels[i]
		l.kernels.Add(uint32(i))
		groups[i] = known.At(k.Config, shape{k.Function, k.Config, k.Queue}, func() uint32 {
			c := &t.Configs[k.Config]
			return uint32(l.groupOf(groupKey{l.names[k.Function].ident, c.Grid, c.Block, model[t.Queues[k.Queue].Device]}, &l.names[k.Function]))
		})
	}
	if !t.KernelsByStart {
		l.kernels.SortByStart(func(i uint32) int64 { return t.Kernels[i].Start })
	}
	l.kernels.SortByStart(func(i uint32) int64 {
		if call := l.at.KernelLaunch(int(i)); call != timeline.None {
			return t.Calls.Start(call)
		}
		return t.Kernels[i].Start
	})
	l.groupsOf, l.lasted = make([]uint32, len(groups)), timeline.MakeLengths(len(groups))
	for at, i := range l.kernels.All() {
		l.groupsOf[at] = groups[i]
		l.lasted.Add(max(0, t.Kernels[i].Duration()))
	}
}

func (l *Launches) len() int { return l.kernels.Len() }

// launch is that at a place of the order.
func (l *Launches) launch(at int) launch {
	kernel := l.kernels.At(at)
	k := &l.t.Kernels[kernel]
	return launch{
		kernel: int(kernel), group: int(l.groupsOf[at]), function: k.Function, process: l.t.Queues[k.Queue].Process,
		shared: l.t.Configs[k.Config].DynamicShared, ns: l.lasted.At(at),
	}
}

// members lists the launches of each group, in order; those that in tells of, all
// where it is nil.
func (l *Launches) members(in []bool) [][]uint32 {
	counts := make([]int, len(l.groups))
	for i, g := range l.groupsOf {
		if in == nil || in[i] {
			counts[g]++
		}
	}
	out := make([][]uint32, len(l.groups))
	for g, n := range counts {
		out[g] = make([]uint32, 0, n)
	}
	for i, g := range l.groupsOf {
		if in == nil || in[i] {
			out[g] = append(out[g], uint32(i))
		}
	}
	return out
}

// ns is the duration of a launch.
func (l *Launches) ns(at int) int64 { return l.lasted.At(at) }

// group is that of a launch.
func (l *Launches) group(at int) int { return int(l.groupsOf[at]) }

// thread is the one that made a launch; timeline.None where the call is not known.
func (l *Launches) thread(at int) uint32 {
	if call := l.at.KernelLaunch(int(l.kernels.At(at))); call != timeline.None {
		return l.t.Calls.Thread(call)
	}
	return timeline.None
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
func (l *Launches) describe(e launch) Launch {
	k := &l.t.Kernels[e.kernel]
	q := &l.t.Queues[k.Queue]
	return Launch{
		ID: e.kernel + 1, DurationNS: e.ns, Region: l.at.Path(l.at.KernelNode(e.kernel)), Process: l.pid(e.process),
		Device: int(q.Device), Context: int(q.Context), Stream: int(q.Stream), Graph: k.GraphID(),
	}
}
