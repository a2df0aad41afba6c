package pick

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Launches is the kernel launches of a timeline in the order in which they were
// made, those of a tape in the order of the file, sorted into groups of the same kernel, grid, block and
// model of GPU. Of each launch some nine bytes are kept, in a file where there are many; what
// launches share is in their kind. It does not need the kernels and calls of the timeline in
// memory.
type Launches struct {
	t      *timeline.Timeline
	at     *timeline.Attribution
	names  []names // by timeline function
	groups []group
	byKey  map[groupKey]int
	models bool   // more than one model of GPU
	kinds  []kind // by their first launch, where that is known
	launchRows
	// eachRange visits the ranges of the timeline, those of a flow without category,
	// color and payload. A range is valid until visit returns.
	eachRange func(visit func(*timeline.Range))
}

// A kind is the launches that differ in time alone.
type kind struct {
	launchShape
	group    int
	first    int   // launch; 0 for those of a tape
	launches int   // at least one
	ns       int64 // of them together
	min, max int64 // ns
}

// A launchShape is what the launches of a kind share; the numbers are those of the timeline.
type launchShape struct {
	function, config, queue uint32
	place, region           uint32 // see timeline.LaunchedFrom
	thread                  uint32 // that launched; timeline.None where the call is not known
	graph                   int64  // 0 outside CUDA graphs, or where a node does not tell its graph
	node                    bool   // of a CUDA graph
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

// A groupKey tells groups apart. gpu is "" unless the timeline has several models of GPU.
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

// A loader takes the kernels of a timeline in the order of the file.
type loader struct {
	known   timeline.Memo[launchShape, uint32]
	kinds   []kind
	rows    *columns.Table
	last    int64 // when the last was launched
	shuffle bool  // one was launched before the one before it
}

// add takes launches in the order of the file. One that ends before it starts lasts 0 ns.
func (l *loader) add(k *timeline.Kernel, from timeline.LaunchedFrom) {
	s := launchShape{k.Function, k.Config, k.Queue, from.Place, from.Region, from.Thread, k.GraphID(), k.GraphNode != 0}
	n, ns := l.rows.Len(), max(0, k.Duration())
	number := l.known.At(s.function+31*s.config+127*s.place, s, func() uint32 {
		l.kinds = append(l.kinds, kind{launchShape: s, first: n, min: ns, max: ns})
		return uint32(len(l.kinds) - 1)
	})
	known := &l.kinds[number]
	known.launches++
	known.ns += ns
	known.min, known.max = min(known.min, ns), max(known.max, ns)
	putLaunch(l.rows, number, ns, from.Start, n)
	l.shuffle = l.shuffle || n > 0 && from.Start < l.last
	l.last = from.Start
}

// take adds a kind of a tape, whose first launch is not known, and gives its number.
func (l *loader) take(k *timeline.WorkKind) uint32 {
	s := launchShape{k.Function, k.Config, k.Queue, k.Place, k.Region, k.Thread, k.Graph, k.Node}
	number := l.known.At(s.function+31*s.config+127*s.place, s, func() uint32 {
		l.kinds = append(l.kinds, kind{launchShape: s, min: k.Min, max: k.Max})
		return uint32(len(l.kinds) - 1)
	})
	known := &l.kinds[number]
	known.launches, known.ns = known.launches+int(k.Launches), known.ns+k.NS
	known.min, known.max = min(known.min, k.Min), max(known.max, k.Max)
	return number
}

// Load sorts the launches of a timeline that is in memory.
func Load(at *timeline.Attribution) *Launches {
	t := at.Timeline()
	all := loader{rows: columns.NewTable(nil, launchColumns)}
	at.EachLaunch(all.add)
	out := all.sorted(at)
	out.eachRange = func(visit func(*timeline.Range)) {
		for i := range t.Ranges {
			visit(&t.Ranges[i])
		}
	}
	return out
}

// LoadTape takes the launches of a tape, for what is asked of launches whatever their order is:
// they come by their place in the file.
func LoadTape(at *timeline.Attribution, tape *timeline.Tape) *Launches {
	var all loader
	ofTape := make([]uint32, len(tape.Kinds))
	for i := range tape.Kinds {
		if k := &tape.Kinds[i]; k.Kind == timeline.OpKernel {
			ofTape[i] = all.take(k) + 1
		}
	}
	out := all.grouped(at)
	out.tape, out.ofTape = tape, ofTape
	return out
}

// launchMemory is how many bytes of launches and ranges are kept in memory.
const launchMemory = 32 << 20

// ReadLaunches reads the launches of a timeline, without all of it in memory where its
// file allows that.
func ReadLaunches(ctx context.Context, f *nsys.File) (*Launches, error) {
	store := columns.NewStore(launchMemory) // which ends with the launches
	all, ranges := loader{rows: columns.NewTable(store, launchColumns)}, newPassedRanges(store)
	at, err := f.Launches(ctx, all.add, ranges.add)
	if err != nil {
		return nil, err
	}
	if at != nil {
		out := all.sorted(at)
		out.eachRange = ranges.each
		ranges.rows.Finish()
		return out, nil
	}
	t, err := f.Timeline(ctx, nsys.Regions|nsys.Machine)
	if err != nil {
		return nil, err
	}
	return Load(t.Attribute()), nil
}

// passedRanges keeps push/pop ranges that are not in memory any more.
type passedRanges struct{ rows *columns.Table }

// Columns of passed ranges.
const (
	rangeStart = iota
	rangeEnd
	rangeName
	rangeThread
	rangeDomain
	rangeUnclosed // 1 or 0
	rangeColumns
)

func newPassedRanges(store *columns.Store) *passedRanges {
	return &passedRanges{columns.NewTable(store, rangeColumns)}
}

func (p *passedRanges) add(r *timeline.Range) {
	unclosed := int64(0)
	if r.Unclosed {
		unclosed = 1
	}
	for column, v := range [rangeColumns]int64{r.Start, r.End, int64(r.Name), int64(r.Thread), int64(r.Domain), unclosed} {
		p.rows.Set(column, v)
	}
	p.rows.End()
}

// each visits the ranges.
func (p *passedRanges) each(visit func(*timeline.Range)) {
	in := p.rows.Reader()
	for i := range p.rows.Len() {
		in.Seek(i)
		visit(&timeline.Range{
			Start: in.Value(rangeStart, i), End: in.Value(rangeEnd, i), Name: timeline.StringID(in.Value(rangeName, i)),
			Thread: uint32(in.Value(rangeThread, i)), Domain: uint32(in.Value(rangeDomain, i)),
			EndThread: timeline.None, Payload: timeline.None, Unclosed: in.Value(rangeUnclosed, i) == 1,
		})
	}
}

// sorted puts the launches in their order, by their calls, then as they began, and groups
// them in the order of the file.
func (l *loader) sorted(at *timeline.Attribution) *Launches {
	t, out := at.Timeline(), l.grouped(at)
	l.rows.Finish()
	out.rows = l.rows
	if l.shuffle || !t.KernelsByStart {
		out.shuffle()
	}
	return out
}

// grouped groups the launches, which stay in the order of the file.
func (l *loader) grouped(at *timeline.Attribution) *Launches {
	t := at.Timeline()
	out := &Launches{t: t, at: at, byKey: map[groupKey]int{}, kinds: l.kinds}
	out.names = make([]names, len(t.Functions))
	for i, f := range t.Functions {
		out.names[i] = nameForms(t.Name(f.Mangled), t.Name(f.Demangled), t.Name(f.Short))
	}
	model := out.gpuModels()
	for i := range out.kinds {
		k := &out.kinds[i]
		c, n := &t.Configs[k.config], &out.names[k.function]
		k.group = out.groupOf(groupKey{n.ident, c.Grid, c.Block, model[t.Queues[k.queue].Device]}, n)
	}
	return out
}

// shuffle puts the launches, which are in the order of the file, into their own.
func (l *Launches) shuffle() {
	order, in := make([]uint32, l.len()), l.rows.Random()
	for i := range order {
		order[i] = uint32(i)
	}
	if !l.t.KernelsByStart {
		timeline.SortByStart(order, func(i uint32) int64 { return l.t.Kernels[i].Start })
	}
	timeline.SortByStart(order, func(i uint32) int64 { return in.Value(launchCalled, int(i)) })
	rows, numbers := columns.NewTable(l.rows.Store(), launchColumns), make([]uint32, len(l.kinds)) // from 1
	var kinds []kind
	for at, from := range order {
		was := in.Value(launchKind, int(from))
		number := &numbers[was]
		if *number == 0 {
			kinds = append(kinds, l.kinds[was])
			*number = uint32(len(kinds))
			kinds[*number-1].first = at
		}
		putLaunch(rows, *number-1, in.Value(launchNS, int(from)), in.Value(launchCalled, int(from)), int(from))
	}
	rows.Finish()
	l.kinds, l.rows = kinds, rows
}

// matches tells of each kind whether match holds of what was open around its launches.
func (l *Launches) matches(match func(nvtx.State) bool) []bool {
	at, out := l.at.PlaceMatcher(match), make([]bool, len(l.kinds))
	for i := range l.kinds {
		out[i] = at[l.kinds[i].place]
	}
	return out
}

// nameForms fills in a form that the file lacks from the others; mangled alone stays "".
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

// groupOf numbers groups from 0, in the order in which they are first met.
func (l *Launches) groupOf(key groupKey, n *names) int {
	if i, ok := l.byKey[key]; ok {
		return i
	}
	i := len(l.groups)
	l.byKey[key] = i
	l.groups = append(l.groups, group{key, n, key.id()})
	return i
}

// id has 12 hexadecimal digits. It depends on the key alone, so it is the same in every run of
// a program.
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

// Keeps reads kernel patterns, exclude first, and tells which functions of the timeline they
// keep, by their number.
func (l *Launches) Keeps(include, exclude []string) ([]bool, error) {
	kernels, err := newSelection("kernel_include", "kernel_exclude", "", include, exclude)
	if err != nil {
		return nil, err
	}
	kept := make([]bool, len(l.names))
	for i := range l.names {
		kept[i] = kernels.keep(&l.names[i]).IsZero()
	}
	return kept, nil
}

func (l *Launches) pid(process uint32) int {
	if int(process) < len(l.t.Processes) {
		return l.t.Processes[process].PID
	}
	return 0
}

// describe gives a launch for people; its numbers are left to the caller.
func (l *Launches) describe(at int) Launch {
	k := l.kind(at)
	q := &l.t.Queues[k.queue]
	return Launch{
		ID: l.kernel(at) + 1, DurationNS: l.ns(at), Region: l.at.Path(k.region), Process: l.pid(q.Process),
		Device: int(q.Device), Context: int(q.Context), Stream: int(q.Stream), Graph: k.graph,
	}
}
