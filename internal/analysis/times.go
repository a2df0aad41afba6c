package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// maxSpan is the longest time that a capture can last: a year.
const maxSpan = 365 * 24 * 3600 * 1e9

// A timelineReader reads a timeline: totals, kernels, regions, stages, scope and
// overview. It makes rows, and the timeline with what later steps ask it; it changes
// neither afterwards.
type timelineReader struct {
	rules
	in  *Input
	run *runRecord
	// self is what the workload measured, for the times of stages beside those of nsys.
	self       selfTimes
	made       *Result
	notes      *notes
	store      *columns.Store         // that the tape and what is made of it lie in; nil before there is one
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
	taped, lost, err := tr.openTimeline(ctx)
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
	idle := taped.tape.Kernels+taped.tape.Graphs == 0
	for _, w := range taped.t.Warnings {
		if idle && w.Is(timeline.CodeNoKernels, timeline.CodeNoCalls) {
			continue // NoKernels says what it means
		}
		tr.notes.add(Note{Fact: asMessage(w), File: tr.in.rel(tr.in.timeline())})
	}
	if idle {
		tr.notes.lack(NoKernels)
	}
	if err := tr.takeTimeline(ctx, taped); err != nil {
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

// A tapedTimeline is a timeline on tape.
type tapedTimeline struct {
	t        *timeline.Timeline
	at       *timeline.Attribution
	recalled *timeline.Attribution // has work of CUDA graphs where it was captured; at itself without graphs
	tape     *timeline.Tape
	phases   timeline.Phases // what was found to repeat in a timeline without ranges
}

// tapeMemory is how many bytes of a tape, and of what is made of it, are kept in memory: all of
// 3 million launches.
const tapeMemory = 256 << 20

// noFlow is set by tests of timelines in memory.
var noFlow bool

// openTimeline reads the timeline, and tells what is lost of it.
func (tr *timelineReader) openTimeline(ctx context.Context) (*tapedTimeline, []timeline.Damage, error) {
	f, err := nsys.Open(ctx, tr.in.timeline(), nsys.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Workers = tr.in.Workers
	if earlier := !tr.brief && len(startups(tr.in.Run)) > 0; !earlier && !noFlow { // else CUDA graphs were captured in another window
		tr.store = columns.NewStore(tapeMemory)
		at, tape, err := f.Tape(ctx, tr.store, tr.in.DefaultScope && len(tr.in.Include) == 0)
		if err != nil {
			return nil, nil, err
		}
		if tape != nil {
			return &tapedTimeline{t: at.Timeline(), at: at, recalled: at, tape: tape}, f.Lost(), nil
		}
		tr.close() // with what there was of the tape
	}
	t, err := f.Timeline(ctx, nsys.Everything)
	if err != nil {
		return nil, nil, err
	}
	taped, err := tr.putOnTape(ctx, t)
	return taped, f.Lost(), err
}

// close lets go of the tape, of which nothing that was made is a part. What still reads it in the
// background ends first.
func (tr *timelineReader) close() {
	if tr.store != nil {
		tr.store.Close()
	}
}

// putOnTape writes a timeline that is in memory to tape.
func (tr *timelineReader) putOnTape(ctx context.Context, t *timeline.Timeline) (*tapedTimeline, error) {
	p := &tapedTimeline{}
	p.t, p.phases = tr.detectPhases(t)
	p.at = p.t.Attribute()
	p.recalled = p.at
	if !tr.brief {
		p.recalled = tr.recall(ctx, p.at)
	}
	tr.store = columns.NewStore(tapeMemory)
	p.tape = p.at.Tape(p.recalled, tr.store)
	return p, ctx.Err()
}

// takeTimeline does what a timeline allows.
func (tr *timelineReader) takeTimeline(ctx context.Context, p *tapedTimeline) error {
	t := p.t
	if p.phases.Period > 0 {
		tr.notes.add(Note{Fact: p.phases.Fact()})
	}
	tr.tl = tr.newTimed(p)
	if timeline.Since(tr.tl.lo, tr.tl.hi) > maxSpan {
		tr.notes.warn(ClockDamaged)
	}
	for _, w := range tr.tl.at.Warnings {
		tr.notes.add(Note{Fact: w, File: tr.in.rel(tr.in.timeline())})
	}
	tr.tl.engine = tr.tl.engineSteps(tr.in.Identity(tr.in.timeline()).Window)
	if tr.made.Sampling = samplingOf(t); tr.made.Sampling != nil && !tr.brief {
		tr.made.Sampled = tr.tl.sampleRegions()
	}
	tr.environmentOf(t)
	tr.run.checkCaptureTime(t.Session.StartUTC, tr.notes)
	tr.findScope()
	drawn := func() {}
	if !tr.brief {
		tr.made.Steps = tr.findSteps()
		drawn = tr.drawOverview() // beside the other steps
	}
	for _, step := range []func(){tr.groupKernels, tr.findLaunchPlaces, tr.tl.countInRegions, tr.sumTotals, tr.sumRegions, tr.splitTotals, drawn, tr.pickStages, tr.lookForChains, tr.findTypical, tr.sumScope, tr.lookAtStages} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	if tr.tl.tape.WorkLen() == 0 {
		tr.withoutSplits()
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
	var first, last int64
	for i, d := range tl.tape.Devices {
		tot.BusyNS += d.BusyNS
		tot.Devices = append(tot.Devices, DeviceBusy{Device: d.Device, BusyNS: d.BusyNS, KernelNS: d.KernelNS, Launches: int64(d.Kernels)})
		if i == 0 {
			first, last = d.FirstNS, d.LastNS
		}
		first, last = min(first, d.FirstNS), max(last, d.LastNS)
	}
	tot.GPUSpanNS = max(0, timeline.Since(first, last))
	tot.Launches, tot.KernelNames = int64(tl.tape.Kernels), t.KernelNames()
	for i := range tl.tape.Kinds {
		switch k := &tl.tape.Kinds[i]; k.Kind {
		case timeline.OpKernel:
			tot.KernelNS += k.NS
		case timeline.OpCopy:
			tot.CopyNS, tot.CopyBytes = tot.CopyNS+k.NS, tot.CopyBytes+k.Bytes
		case timeline.OpSet:
			tot.SetNS, tot.SetBytes = tot.SetNS+k.NS, tot.SetBytes+k.Bytes
		}
	}
	tot.Communication = tr.tl.communication()
	tot.Copies, tot.Sets = int64(tl.tape.Copies), int64(tl.tape.Sets)
}

// splitTotals divides the time of the whole timeline.
func (tr *timelineReader) splitTotals() {
	tl := tr.tl
	ns := make([]int64, tl.p.labels())
	tl.painting(workKey{-1, -1}).split(tl.lo, tl.hi, ns)
	tr.made.Totals.Split = new(tl.split(ns))
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
	if len(tr.made.Workload.Command) == 0 && t.Source.Command != "" {
		tr.made.Workload.Command = strings.Fields(t.Source.Command)
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
