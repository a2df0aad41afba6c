package analysis

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// maxSpan is the longest time that a capture can last: a year.
const maxSpan = 365 * 24 * 3600 * 1e9

// timed is the timeline with what is computed from it once.
type timed struct {
	rules
	t       *timeline.Timeline
	scope   *scoped // the part that the analysis is about; nil for the whole
	noScope error   // why the scope that was asked for is not there; nil where none was
	at      *timeline.Attribution
	// around gives the regions around the launch of a kernel: its own one, and all.
	around func(kernel int) (own, all []uint32)
	p      *palette
	work   stints
	works  []bool   // queues with any
	kernel []uint32 // group of each kernel: index into Result.Kernels after sorting, or noKernel
	// lo and hi are the first and the last event, by the clock of the capture.
	lo, hi    int64
	only      int                  // the one process that used a GPU; -1 where there are several
	strangers bool                 // ranges of other processes than that
	steps     *timeline.StepLayers // nil where there are none, and in a brief analysis
	engine    []timeline.StepRow   // steps of a serving engine
	// recalled has work of CUDA graphs where it was captured; nil without graphs.
	recalled *timeline.Attribution

	ofLanes  *callIndex            // for the overview, until that is drawn
	calls    *callIndex            // for paintings of a part of the work; nil before the first
	whole    func() *painting      // of all work; it is made in the background
	launches func() *pick.Launches // sorted when they are asked for first
	// paintings are of a part of the work, made when they are asked for; whole is of
	// all.
	paintings map[workKey]*painting
	regions   []timeline.Region // by ID - 1
	// instances of region 0 are the ranges that belong to no region.
	instances map[uint32][]uint32 // ranges of each region, by start
	// inRegion, ownIn and inScope sum launches by region and kernel. Without a scope,
	// inScope is inRegion itself.
	inRegion map[regionGroup]*callTime
	ownIn    map[regionGroup]*callTime // outside nested ranges
	inScope  map[regionGroup]*callTime // of the launches in the scope alone
	scopeNS  map[queueOf]int64         // kernel time in the scope
	// onDevice marks the ranges with work on a device; filled in by rangesOf.
	onDevice map[int][]bool
	own      ownWork
	ahead    *lookAhead       // nil where nothing was found before it is asked for
	nodes    map[uint32]int64 // kernels in each region that nodes of CUDA graphs launched
}

// workKey chooses work: of one process, one device, or all.
type workKey struct {
	process int // index, or -1
	device  int // or -1
}

type regionGroup struct{ region, kernel uint32 }

type queueOf struct{ region, queue uint32 }

type callTime struct{ calls, ns int64 }

// A timelineReader reads a timeline: totals, kernels, regions, stages, scope and
// overview. It makes rows, and the timeline with what later steps ask it; it changes
// neither afterwards.
type timelineReader struct {
	rules
	in  *Input
	run *runRecord
	// self is what the workload measured, for the times of stages beside those of nsys.
	self       selfTimes
	made       *timelineRows
	notes      *notes
	brief      bool                   // a further timeline, of which no overview is drawn
	tl         *timed                 // nil before it was read, and without one
	isInjected func(path string) bool // of regions, as far as asked for
}

// readTimeline returns nil where there is no timeline, or none that can be read.
func (tr *timelineReader) readTimeline(ctx context.Context) (*timed, error) {
	if len(tr.in.Timelines) == 0 {
		unknown := []string{"times", "regions", "stages", "gaps"}
		if len(tr.in.Metrics) > 0 {
			unknown = []string{"kernel-times", "region-times", "gaps"}
		}
		tr.notes.lack(NoTimeline, fact.IDs("unknown", "quantity", unknown))
		tr.timedStages()
		return nil, nil
	}
	t, lost, err := tr.openTimeline(ctx)
	if err != nil && len(tr.in.Timelines) > 1 && ctx.Err() == nil {
		return nil, &lostError{err}
	}
	if err != nil {
		if len(tr.in.Counters)+len(tr.in.Metrics) == 0 && tr.in.Operators == "" || ctx.Err() != nil {
			return nil, err
		}
		tr.notes.lack(TimelineUnreadable, fact.Error("error", err))
		tr.notes.lose(tr.in.timeline(), inputUnreadable, fact.Error("error", err))
		tr.timedStages()
		return nil, nil
	}
	tr.notes.use(tr.in.timeline(), "timeline")
	if len(lost) > 0 {
		tr.notes.lose(tr.in.timeline(), inputLost, fact.Because("lost", lost[0].What))
	}
	idle := len(t.Kernels)+len(t.Graphs) == 0
	for _, w := range t.Warnings {
		if idle && w.Is(timeline.CodeNoKernels, timeline.CodeNoCalls) {
			continue // NoKernels says what it means
		}
		tr.notes.add(Note{Fact: asMessage(w), File: tr.in.rel(tr.in.timeline())})
	}
	if idle {
		tr.notes.lack(NoKernels)
	}
	if err := tr.takeTimeline(ctx, t); err != nil {
		return nil, err
	}
	return tr.tl, nil
}

// asMessage is a warning of a timeline, of which a message of the profiler is told by
// what it means.
func asMessage(w fact.Fact) fact.Fact {
	if w.Is(timeline.CodeProfilerSays) {
		return capture.MessageOf(w.Text("text"))
	}
	return w
}

// manyEvents is from how many pieces of work on the memory of a timeline matters. Tests
// lower it.
var manyEvents = 1 << 20

// openTimeline reads the timeline, and tells what is lost of it.
func (tr *timelineReader) openTimeline(ctx context.Context) (*timeline.Timeline, []timeline.Damage, error) {
	f, err := nsys.Open(ctx, tr.in.timeline(), tr.in.Nsys)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Workers = tr.in.Workers
	t, err := f.Timeline(ctx, nsys.Everything)
	return t, f.Lost(), err
}

// takeTimeline does what a timeline allows.
func (tr *timelineReader) takeTimeline(ctx context.Context, t *timeline.Timeline) error {
	t = tr.detectPhases(t)
	tr.tl = tr.newTimed(t)
	if timeline.Since(tr.tl.lo, tr.tl.hi) > maxSpan {
		tr.notes.warn(ClockDamaged)
	}
	for _, w := range tr.tl.at.Warnings {
		tr.notes.add(Note{Fact: w, File: tr.in.rel(tr.in.timeline())})
	}
	tr.tl.engine = engineSteps(t, tr.in.Identity(tr.in.timeline()).Window)
	if tr.made.Sampling = samplingOf(t); tr.made.Sampling != nil && !tr.brief {
		tr.made.Sampled = sampleRegions(t)
	}
	tr.environmentOf(t)
	tr.run.checkCaptureTime(t.Session.StartUTC, tr.notes)
	tr.findScope()
	overview := func() {}
	if !tr.brief {
		var err error
		if tr.made.Steps, err = tr.findSteps(ctx); err != nil {
			return err
		}
		overview = tr.drawOverview() // beside the other steps
		tr.tl.dropCorrelations()
	}
	for _, step := range []func(){tr.groupKernels, tr.findLaunchPlaces, tr.tl.countInRegions, tr.sumTotals, tr.sumRegions, tr.pickStages, tr.findTypical, tr.sumScope, overview} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	if len(t.Kernels)+len(t.Graphs)+len(t.Copies)+len(t.Sets) == 0 {
		tr.withoutSplits()
	}
	if !tr.brief {
		tr.tl.dropCalls()
		tr.lookAhead()
	}
	return nil
}

// withoutSplits takes back how time is divided: where no GPU work was recorded,
// it is not known whether there was any.
func (tr *timelineReader) withoutSplits() {
	none := Split{Busy: []TimePart{}, Idle: []TimePart{}}
	tr.made.Totals.Split = nil
	if tr.made.Scope != nil {
		tr.made.Scope.Split = nil
	}
	if len(tr.made.Stages) == 1 && tr.made.Stages[0].Region == "" { // the whole, of which nothing is known
		tr.made.Stages = []Stage{}
	}
	for i := range tr.made.Stages {
		tr.made.Stages[i].Split = none
	}
	for i := range tr.made.Regions {
		tr.made.Regions[i].Split = none
	}
}

// newTimed begins to paint the whole timeline in the background: nearly every step asks
// for it.
func (tr *timelineReader) newTimed(t *timeline.Timeline) *timed {
	var beside sync.WaitGroup
	var calls *callIndex
	beside.Go(func() { calls = indexCalls(t, tr.th.HostGap.Nanoseconds()) })
	at := t.Attribute()
	tl := &timed{
		rules: tr.rules, t: t, at: at, around: at.Around(), regions: at.Regions(),
		paintings: map[workKey]*painting{}, instances: map[uint32][]uint32{}, inRegion: map[regionGroup]*callTime{}, ownIn: map[regionGroup]*callTime{}, inScope: map[regionGroup]*callTime{}, scopeNS: map[queueOf]int64{}, nodes: map[uint32]int64{},
		lo: t.Session.FirstNS, hi: t.Session.LastNS,
	}
	tl.p = &palette{categories: len(tr.categories.List), since: tl.since}
	byFunction := make([]uint8, len(t.Functions))
	for i, f := range t.Functions {
		byFunction[i] = uint8(tr.kinds.of(fullName(t, f)).category)
	}
	tl.work = newStints(at, byFunction, uint8(tr.categories.index[graphCategory]))
	tl.works = make([]bool, len(t.Queues))
	t.EachOp(func(op timeline.Op) { tl.works[op.Queue] = true })
	tl.only = -1
	if p := tl.processes(); len(p) == 1 {
		tl.only = p[0]
	}
	bounds := make([]uint32, 2*len(t.Ranges))
	for i := range t.Ranges {
		id := at.RangeNode(i)
		tl.instances[id] = append(tl.instances[id], uint32(i))
		bounds[2*i], bounds[2*i+1] = uint32(2*i), uint32(2*i+1)
		tl.strangers = tl.strangers || !tl.tallies(tl.processOf(uint32(i)))
	}
	timeline.SortByStart(bounds, func(e uint32) int64 { return rangeBound(t.Ranges, e) })
	tl.p.cuts = make([]int64, len(bounds))
	for i, e := range bounds {
		tl.p.cuts[i] = rangeBound(t.Ranges, e)
	}
	for _, list := range tl.instances {
		slices.SortStableFunc(list, func(x, y uint32) int { return cmp.Compare(t.Ranges[x].Start, t.Ranges[y].Start) })
	}
	beside.Wait()
	if !tr.brief {
		tl.ofLanes = calls
	}
	tl.whole = sync.OnceValue(func() *painting {
		defer func() { calls = nil }() // they take much memory, and often nobody else asks for them
		var counted *tally
		if tl.only >= 0 {
			counted = newTally(tl, bounds, tl.p.labels())
		}
		bounds = nil
		return tl.p.paint(calls, tl.workOf(workKey{-1, -1}), tl.lo, tl.hi, counted)
	})
	go tl.whole()
	tl.launches = sync.OnceValue(func() *pick.Launches { return pick.Load(at) })
	return tl
}

// aside is the same timeline for another goroutine, as long as one process on one device
// did all work: paintings are for one goroutine each.
func (tl *timed) aside() *timed {
	mine := *tl
	mine.paintings = map[workKey]*painting{}
	mine.whole = sync.OnceValue(func() *painting {
		p := tl.whole() // whose cursors the other goroutine moves
		return &painting{labels: p.labels, call: p.call, blocks: p.blocks, space: p.space, names: p.names, end: p.end, sums: p.sums, tally: p.tally}
	})
	return &mine
}

// single tells whether one process on one device did all work.
func (tl *timed) single() bool { return tl.only >= 0 && len(tl.devices()) == 1 }

// since is the start of the earliest range around a call; that of the call itself
// without one.
func (tl *timed) since(call uint32) int64 {
	if start, ok := tl.at.OpenSince(call); ok {
		return start
	}
	return tl.t.Calls.Start(call)
}

// painting labels time by the work of a process, a device, or all.
func (tl *timed) painting(key workKey) *painting {
	if key.process == tl.only {
		key.process = -1 // it is all there is
	}
	if key.process < 0 && key.device < 0 {
		return tl.whole()
	}
	if p := tl.paintings[key]; p != nil {
		return p
	}
	if tl.calls == nil {
		tl.calls = indexCalls(tl.t, tl.th.HostGap.Nanoseconds())
	}
	p := tl.p.paint(tl.calls, tl.workOf(key), tl.lo, tl.hi, nil)
	tl.paintings[key] = p
	return p
}

// workOf goes through the work of a process, a device, or all by start.
func (tl *timed) workOf(key workKey) iter.Seq[stint] {
	return func(yield func(stint) bool) {
		for i := range tl.work.len() {
			if w := tl.work.get(i); key.chooses(&tl.t.Queues[w.queue]) && !yield(w) {
				return
			}
		}
	}
}

// used lists the processes, or devices, with work.
func (tl *timed) used(of func(*timeline.Queue) int) []int {
	var list []int
	for q, works := range tl.works {
		if works {
			list = append(list, of(&tl.t.Queues[q]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (tl *timed) devices() []int {
	return tl.used(func(q *timeline.Queue) int { return int(q.Device) })
}

func (tl *timed) processes() []int {
	return tl.used(func(q *timeline.Queue) int { return int(q.Process) })
}

// split makes a Split of the time of each label.
func (tl *timed) split(ns []int64) Split {
	s := Split{Busy: []TimePart{}, Idle: []TimePart{}}
	categories := len(tl.categories.List)
	for i, c := range tl.categories.List {
		if ns[i] != 0 {
			s.Busy = append(s.Busy, TimePart{ID: c.ID, Label: c.Label, NS: ns[i]})
			s.BusyNS += ns[i]
		}
	}
	for i, id := range causeIDs {
		if n := ns[categories+i]; n != 0 {
			s.Idle = append(s.Idle, TimePart{ID: id, NS: n})
			s.IdleNS += n
		}
	}
	byTime := func(x, y TimePart) int { return cmp.Compare(y.NS, x.NS) }
	slices.SortStableFunc(s.Busy, byTime)
	slices.SortStableFunc(s.Idle, byTime)
	s.WallNS = s.BusyNS + s.IdleNS
	launching := ns[categories+int(causeLaunch)] + ns[categories+int(causePython)]
	// A long stretch of host code keeps the GPU waiting as well, but no graph
	// and no fusion shortens it.
	waiting := launching + ns[categories+int(causeHost)]
	if waiting > s.BusyNS && float64(waiting) >= launchBoundShare*float64(s.WallNS) && s.BusyNS > 0 {
		s.LaunchBound, s.LaunchNS = true, launching
	}
	return s
}

// sumTotals adds up the whole timeline, whatever the scope is. Aggregates stay as the
// workload told them.
func (tr *timelineReader) sumTotals() {
	tl := tr.tl
	t, tot := tl.t, &tr.made.Totals
	tot.WallNS = max(0, timeline.Since(tl.lo, tl.hi))
	info := t.Info()
	var first, last int64
	for i, d := range info.Devices {
		tot.BusyNS += d.BusyNS
		tot.Devices = append(tot.Devices, DeviceBusy{Device: d.Device, BusyNS: d.BusyNS, KernelNS: d.KernelNS, Launches: int64(d.Kernels)})
		if i == 0 {
			first, last = d.FirstNS, d.LastNS
		}
		first, last = min(first, d.FirstNS), max(last, d.LastNS)
	}
	tot.GPUSpanNS = max(0, timeline.Since(first, last))
	tot.Launches, tot.KernelNames = int64(info.Counts.Kernels), info.Counts.KernelNames
	for i := range t.Kernels {
		tot.KernelNS += max(0, t.Kernels[i].Duration())
	}
	for i := range t.Copies {
		tot.CopyNS += max(0, timeline.Since(t.Copies[i].Start, t.Copies[i].End))
		tot.CopyBytes += t.Copies[i].Bytes
	}
	for i := range t.Sets {
		tot.SetNS += max(0, timeline.Since(t.Sets[i].Start, t.Sets[i].End))
		tot.SetBytes += t.Sets[i].Bytes
	}
	tot.Communication = tr.tl.communication()
	tot.Copies, tot.Sets = int64(len(t.Copies)), int64(len(t.Sets))
	ns := make([]int64, tl.p.categories+int(causes))
	tl.painting(workKey{-1, -1}).split(tl.lo, tl.hi, ns)
	tot.Split = new(tr.tl.split(ns))
}

// environmentOf lists the GPUs that did any work, or all where none did, and fills in
// what the run did not record.
func (tr *timelineReader) environmentOf(t *timeline.Timeline) {
	env := &tr.made.Environment
	used := tr.tl.devices()
	for _, g := range t.GPUs {
		if len(used) > 0 && !slices.Contains(used, g.CUDADevice) {
			continue
		}
		gpu := GPU{Device: g.CUDADevice, Name: g.Name, Chip: g.Chip, SMs: g.SMs, MemoryBytes: g.MemoryBytes, Peaks: []Peak{}}
		if g.ComputeMajor > 0 {
			gpu.Compute = fmt.Sprintf("%d.%d", g.ComputeMajor, g.ComputeMinor)
		}
		env.GPUs = append(env.GPUs, gpu)
	}
	setText(&env.Nsys, t.Source.Tool) // the exporter's; a run knows the tool that it found
	for _, p := range t.System {
		switch p.Name {
		case "Hostname":
			if !redact.Removed(p.Value) {
				setText(&env.Host, p.Value)
			}
		case "CpuDescription":
			setText(&env.CPU, p.Value)
		case "OsDescription":
			setText(&env.OS, p.Value)
		case "NvDriverVersion":
			setText(&env.Driver, version(p.Value))
		case "CudaDriverVersion":
			setText(&env.CUDA, version(cudaVersion(p.Value)))
		}
	}
	if len(tr.made.Command) == 0 && t.Source.Command != "" {
		tr.made.Command = strings.Fields(t.Source.Command)
	}
}

// setText keeps what a better source said.
func setText(at *string, value string) {
	if *at == "" {
		*at = value
	}
}

// version is "" where nsys writes zeros for a driver that is not there.
func version(s string) string {
	if strings.Trim(s, "0.") == "" {
		return ""
	}
	return s
}

// cudaVersion writes 13000 as 13.0.
func cudaVersion(s string) string {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1000 {
		return s
	}
	return fmt.Sprintf("%d.%d", n/1000, n%1000/10)
}
