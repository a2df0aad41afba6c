package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

// All timelines share one sequence of packets; a region drops marks, samples and the
// conditions of the GPU, which belong to no region.
func writePerfetto(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	out := newPerfettoWriter(w)
	clock, said, err := s.clocks(ctx)
	if err != nil {
		return nil, err
	}
	at := 0
	var dropped int64
	var spans []span
	notes, err := s.eachTimeline(ctx, func(name string, f *nsys.File) error {
		p := &perfetto{out: out, number: at, launched: idSet{}}
		if len(s.Timelines) > 1 {
			p.prefix = clock.nameOf(name) + ": "
		}
		at++
		err := p.write(ctx, s, f, func(session *timeline.Session) int64 { return clock.shiftOf(name, session) })
		dropped += p.dropped
		if err == nil && p.region == nil {
			if at, ok := spanOf(&p.e.Session, p.shift); ok {
				spans = append(spans, at)
			}
		}
		return cmp.Or(err, out.err)
	})
	if err == nil {
		err = s.writeConditions(out, spans)
	}
	if dropped > 0 {
		notes = append(notes, message.Phrase("perfetto-dropped", dropped))
	}
	return append(said, notes...), err
}

// A slice is something that takes time on a track: a kernel, a copy, a call or a range. Times
// are ns by the clock of the file.
type slice struct {
	// start, end are ns by the clock of the file; end is not before start.
	start, end int64
	on         *lanes
	name       string
	// flow joins a call with the work that it launched; 0 is none.
	flow   flow
	ends   bool   // the flow ends here
	launch uint64 // place of a kernel in the file, from 1; 0 for others
	// kernel is nil for what is no kernel; config is its grid and block.
	kernel *kernelWords
	config string
	bytes  int64        // of a copy; -1 for others
	step   *engine.Step // of a serving engine; nil for others
}

// perfetto writes one timeline.
type perfetto struct {
	out    *perfettoWriter
	number int    // of the timeline
	prefix string // of the names of processes and GPUs, where there are several timelines
	e      *nsys.Events
	region *regionIDs // nil without a region

	shift int64 // added to all times; the sums are not negative
	// Tracks by the place of the process or thread in e.
	processes []uint64
	threads   []uint64
	// Tracks by CUDA device, made when the first work comes.
	gpus     map[int32]uint64
	lanes    map[laneKey]*lanes
	kernels  []kernelWords // by function
	configs  []string      // by config
	launched idSet         // calls that launched work
	dropped  int64         // events without a place; told in a note
}

// kernelWords are the name that a slice shows and the whole name.
type kernelWords struct{ name, full string }

// A laneKey is a stream, a thread or a stack of ranges.
type laneKey struct {
	kind string
	// a is a queue or a thread, b a domain of NVTX; 0 where a kind has none.
	a, b uint32
}

// write takes the times of the timeline onto the axis of the export.
func (p *perfetto) write(ctx context.Context, s *Source, f *nsys.File, shift func(*timeline.Session) int64) (err error) {
	if p.region, err = regionOf(ctx, s, f); err != nil {
		return err
	}
	if p.e, err = f.Events(ctx); err != nil {
		return err
	}
	p.shift = shift(&p.e.Session)
	p.gpus, p.lanes = map[int32]uint64{}, map[laneKey]*lanes{}
	p.describe()
	for _, write := range []func(context.Context) error{p.ranges, p.memory, p.kernelEvents, p.calls, func(ctx context.Context) error { return p.samples(ctx, f) }} {
		if err := cmp.Or(write(ctx), p.out.err); err != nil {
			return err
		}
	}
	return nil
}

// describe writes the processes and threads, and the words of kernels.
func (p *perfetto) describe() {
	e := p.e
	p.processes = make([]uint64, len(e.Processes))
	for i, process := range e.Processes {
		p.processes[i] = p.out.track(0, "", processFields(p.pid(process.PID), p.prefix+clean(e.Name(process.Name))))
	}
	p.threads = make([]uint64, len(e.Threads))
	for i, thread := range e.Threads {
		p.threads[i] = p.out.track(0, "", threadFields(p.pid(timeline.PIDOf(thread.Global)), thread.TID, clean(e.Name(thread.Name))))
	}
	p.kernels = make([]kernelWords, len(e.Functions))
	for i, f := range e.Functions {
		full := cmp.Or(e.Name(f.Demangled), e.Name(f.Short))
		p.kernels[i] = kernelWords{clean(cxx.Short(full)), clean(full)}
	}
	p.configs = make([]string, len(e.Configs))
	for i, c := range e.Configs {
		dims := func(d [3]int32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }
		p.configs[i] = message.Phrase("grid-block", dims(c.Grid), dims(c.Block))
	}
}

// pid keeps the processes of several timelines apart, whose numbers may be the
// same on different machines: ids of Nsight Systems have 24 bits.
func (p *perfetto) pid(pid int) int { return pid | p.number<<24&0x7F000000 }

// lane finds the tracks of a key.
func (p *perfetto) lane(key laneKey, parent uint64, name string) *lanes {
	l := p.lanes[key]
	if l == nil {
		l = &lanes{add: func(lane int) uint64 {
			if lane > 0 {
				name = fmt.Sprintf("%s (%d)", strings.TrimSuffix(name, fmt.Sprintf(" (%d)", lane)), lane+1)
			}
			return p.out.track(parent, name, nil)
		}}
		p.lanes[key] = l
	}
	return l
}

// stream is the track of a kind of work on a stream.
func (p *perfetto) stream(kind string, at uint32) *lanes {
	if l := p.lanes[laneKey{kind, at, 0}]; l != nil {
		return l
	}
	q := &p.e.Queues[at]
	process, context, other := "", "", ""
	if len(p.e.Processes) > 1 && int(q.Process) < len(p.e.Processes) {
		process = strconv.Itoa(p.e.Processes[q.Process].PID)
	}
	if q.Context > 1 {
		context = fmt.Sprint(q.Context)
	}
	if kind != "kernels" {
		other = kind
	}
	name := message.Phrase("stream-track", process, fmt.Sprint(q.Stream), context, other)
	return p.lane(laneKey{kind, at, 0}, p.gpu(q.Device), name)
}

// gpu is the track of a GPU, made when its first work comes.
func (p *perfetto) gpu(device int32) uint64 {
	if id, ok := p.gpus[device]; ok {
		return id
	}
	name := p.prefix + message.Phrase("gpu", device)
	for _, g := range p.e.GPUs {
		if g.CUDADevice == int(device) {
			name += " " + clean(g.Name)
		}
	}
	p.gpus[device] = p.out.track(0, name, nil)
	return p.gpus[device]
}

// emit writes a slice, its begin and its end. One that would lie before 0 on the axis is
// dropped and counted: Perfetto has no negative times. One that ends before it begins, in a
// damaged file, has no length.
func (p *perfetto) emit(s *slice) {
	start, end := s.start+p.shift, max(s.start, s.end)+p.shift
	track := s.on.place(start, end)
	if track == 0 || start < 0 {
		p.dropped++
		return
	}
	out := p.out
	out.begin(sliceBegin, track)
	out.name(s.name)
	out.flow(s.flow, s.ends)
	if s.launch > 0 {
		out.annotateUint("launch", s.launch)
		out.annotate("kernel", s.kernel.full)
		out.annotate("config", s.config)
	}
	if s.bytes >= 0 {
		out.annotateUint("bytes", uint64(s.bytes))
	}
	if s.step != nil {
		for _, n := range []struct {
			name  string
			value int
		}{{"prompts", s.step.Context}, {"prompt_tokens", s.step.ContextTokens}, {"sequences", s.step.Generation}, {"decode_tokens", s.step.GenerationTokens}} {
			if n.value >= 0 { // the name of the step tells it
				out.annotateUint(n.name, uint64(n.value))
			}
		}
	}
	out.emit(start)
	out.end(track, end)
}

// flowOf joins a call and what it launched; 0 without a correlation. Correlations are unique
// in a process, so timeline and process are part of it.
func (p *perfetto) flowOf(process, correlation uint32) flow {
	if correlation == timeline.NoCorrelation {
		return 0
	}
	return flow(uint64(p.number+1)<<56 | uint64(process&0xFFFFFF)<<32 | uint64(correlation))
}

// keep tells whether what a call launched belongs to the export: everything does without a
// region.
func (p *perfetto) keep(process, correlation uint32) bool {
	return p.region == nil || int(process) < len(p.e.Processes) && p.region.calls.has(p.region.key(p.e.Processes[process].Global, correlation))
}

// Kernels of a graph keep the flow open, because one call launches many of them.
func (p *perfetto) kernelEvents(ctx context.Context) error {
	w := window{emit: p.emit}
	err := p.e.EachKernel(ctx, func(n int, k *timeline.Kernel) error {
		process := p.e.Queues[k.Queue].Process
		if !p.keep(process, k.Correlation) {
			return nil
		}
		words, f := &p.kernels[k.Function], p.flowOf(process, k.Correlation)
		p.launched.add(uint64(f))
		w.put(slice{
			start: k.Start, end: k.End, on: p.stream("kernels", k.Queue), name: words.name, kernel: words, config: p.configs[k.Config],
			flow: f, ends: k.GraphNode == 0, launch: uint64(n + 1), bytes: -1,
		})
		return p.out.err
	})
	w.close()
	return err
}

// copyName names a copy by CUPTI's number of its kind.
// CUPTI has more kinds than are named; a new one shows its number.
func copyName(kind uint8) string {
	id := strconv.Itoa(int(kind))
	if name := message.Label("copy", id); name != id {
		return name
	}
	return message.Phrase("copy-of-kind", id)
}

// memory writes copies, sets and graphs that were traced as a whole.
func (p *perfetto) memory(context.Context) error {
	w, setMemory := window{emit: p.emit}, message.Phrase("set-memory")
	put := func(kind, name string, op timeline.Op, bytes int64) {
		process := p.e.Queues[op.Queue].Process
		if !p.keep(process, op.Correlation) {
			return
		}
		f := p.flowOf(process, op.Correlation)
		p.launched.add(uint64(f))
		w.put(slice{start: op.Start, end: op.End, on: p.stream(kind, op.Queue), name: name, flow: f, ends: true, bytes: bytes})
	}
	p.e.EachOp(func(op timeline.Op) {
		switch op.Kind {
		case timeline.OpCopy:
			c := &p.e.Copies[op.Index]
			put("copies", copyName(c.Kind), op, c.Bytes)
		case timeline.OpSet:
			put("copies", setMemory, op, p.e.Sets[op.Index].Bytes)
		case timeline.OpGraph:
			put("graphs", message.Phrase("cuda-graph", fmt.Sprint(p.e.Graphs[op.Index].Graph)), op, -1)
		}
	})
	w.close()
	return nil
}

// It comes after kernels and copies, which tell which calls need an arrow.
func (p *perfetto) calls(ctx context.Context) error {
	w := window{emit: p.emit}
	err := p.e.EachCall(ctx, func(c *timeline.Call) error {
		process := p.e.ThreadProcess(c.Thread)
		if !p.keep(process, c.Correlation) {
			return nil
		}
		s := slice{start: c.Start, end: c.End, on: p.thread(c.Thread), name: clean(p.e.Name(c.Name)), bytes: -1}
		if f := p.flowOf(process, c.Correlation); p.launched.has(uint64(f)) {
			s.flow = f
		}
		w.put(s)
		return p.out.err
	})
	w.close()
	return err
}

// thread is the track of the CUDA calls of a thread: that of the thread itself.
func (p *perfetto) thread(at uint32) *lanes {
	key := laneKey{"calls", at, 0}
	l := p.lanes[key]
	if l == nil {
		own := p.threads[at]
		l = p.lane(key, own, message.Phrase("cuda-calls"))
		more := l.add
		l.add = func(lane int) uint64 {
			if lane == 0 {
				return own
			}
			return more(lane)
		}
	}
	return l
}

// ranges writes NVTX ranges, marks and the overhead of the profiler.
func (p *perfetto) ranges(context.Context) error {
	w := window{emit: p.emit}
	for i := range p.e.Ranges {
		r := &p.e.Ranges[i]
		if p.region != nil && !p.region.ranges[i+1] {
			continue
		}
		if int(r.Thread) >= len(p.threads) {
			p.dropped++
			continue
		}
		name := p.e.Name(r.Name)
		w.put(slice{start: r.Start, end: r.End, on: p.nvtx(r.Kind.String(), r.Thread, r.Domain), name: clean(name), bytes: -1})
		if step, ok := engine.ParseStep(name); ok {
			w.put(slice{start: r.Start, end: r.End, on: p.lane(laneKey{"steps", r.Thread, 0}, p.threads[r.Thread], "steps"), name: stepName(step), step: &step, bytes: -1})
		}
	}
	w.close()
	if p.region != nil {
		return nil
	}
	for i := range p.e.Marks {
		m := &p.e.Marks[i]
		if int(m.Thread) < len(p.threads) && m.Time+p.shift >= 0 {
			p.out.begin(instant, p.nvtx("marks", m.Thread, m.Domain).place(m.Time+p.shift, m.Time+p.shift))
			p.out.name(clean(p.e.Name(m.Name)))
			p.out.emit(m.Time + p.shift)
		}
	}
	for i := range p.e.Overhead {
		o := &p.e.Overhead[i]
		if int(o.Thread) < len(p.threads) {
			w.put(slice{start: o.Start, end: o.End, on: p.lane(laneKey{"overhead", o.Thread, 0}, p.threads[o.Thread], message.Phrase("profiler-overhead")), name: clean(p.e.Name(o.Name)), bytes: -1})
		}
	}
	w.close()
	return nil
}

// stepName is what a step of a serving engine computes, and for how many sequences.
// A batch below 0 is not known.
func stepName(s engine.Step) string {
	batch := ""
	if n := s.Batch(); n >= 0 {
		batch = strconv.Itoa(n)
	}
	return message.Phrase("step-kind", s.Kind, batch)
}

// nvtx is the track of ranges or marks of a domain on a thread.
func (p *perfetto) nvtx(kind string, thread, domain uint32) *lanes {
	key := laneKey{kind, thread, domain}
	if l := p.lanes[key]; l != nil {
		return l
	}
	id := "nvtx-track"
	switch kind {
	case timeline.StartEnd.String():
		id = "nvtx-track-start-end"
	case "marks":
		id = "nvtx-track-marks"
	}
	return p.lane(key, p.threads[thread], message.Phrase(id, clean(p.e.DomainName(domain))))
}

// samples writes a counter track for each metric that was sampled.
// Values keep the unit of the metric; each source, a GPU, has a group of its own.
func (p *perfetto) samples(ctx context.Context, f *nsys.File) error {
	if p.region != nil {
		return nil
	}
	type key struct {
		source int64
		metric string
	}
	parents, tracks := map[int64]uint64{}, map[key]uint64{}
	return f.EachSample(ctx, func(s *timeline.MetricSample) error {
		k := key{s.Source, s.Metric}
		track, ok := tracks[k]
		if !ok {
			parent, ok := parents[s.Source]
			if !ok {
				parent = p.out.track(0, p.prefix+message.Phrase("sampled-track", len(parents)), nil)
				parents[s.Source] = parent
			}
			name, unit := sampleUnit(s.Metric)
			track = p.out.track(parent, clean(name), counterFields(clean(unit)))
			tracks[k] = track
		}
		if s.Time+p.shift < 0 {
			p.dropped++
			return nil
		}
		p.out.begin(counterValue, track)
		p.out.value(s.Value)
		p.out.emit(s.Time + p.shift)
		return p.out.err
	})
}

// sampleUnit takes the unit out of the name of a sampled metric, "GPC Clock Frequency [MHz]".
// Frequencies are recorded in Hz, though their names say MHz.
// A metric without a unit in its name has "".
func sampleUnit(metric string) (name, unit string) {
	name, rest, ok := strings.Cut(metric, " [")
	if !ok {
		return metric, ""
	}
	unit = strings.TrimSuffix(rest, "]")
	if unit == "MHz" {
		unit = "Hz"
	}
	return name, unit
}
