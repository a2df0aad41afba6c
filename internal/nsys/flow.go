package nsys

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A flow gives the kernels, the CUDA calls and the ranges of a file while three goroutines
// read them; everything else is in its timeline. It is for files without anything odd:
// whether one was met is known when all has been read.
// One goroutine asks for them; with the tables of its timeline it does what comes with them,
// so no lock is needed. close ends the readers.
type flow struct {
	rangeStream
	parts   Part
	files   []*File // that are read; the first has what the timeline holds
	opened  []int   // by file: warnings that it had when it was opened
	kernels *conveyor[timeline.Kernel, queue]
	calls   *conveyor[timeline.FlowCall, callSite]
	names   map[int64]timeline.StringID // of calls and kernels, by their numbers in the file
	texts   map[string]timeline.StringID
	// nameless says that a name leads nowhere.
	nameless bool
	stop     func() // of kernels and calls
}

// kernelNames, beside KernelTimes, asks a flow for the names of kernels without their
// launch configurations.
const kernelNames Part = 1 << 15

// openFlow reads all but kernels, calls and ranges; nil where a flow cannot tell what is asked.
// Of kernels, parts has Kernels for names and launch configurations, or KernelTimes; of
// calls, Calls for their names or LaunchCalls; and Machine where that is wanted.
// The caller closes the flow. f itself is not read: four files of its own are.
func (f *File) openFlow(ctx context.Context, parts Part) (*flow, error) {
	l := &flow{parts: parts, names: map[int64]timeline.StringID{}, stop: func() {}}
	for range 4 {
		g, err := OpenSQLite(f.SQLite)
		if err != nil {
			l.close()
			return nil, err
		}
		g.Path, g.Workers = f.Path, f.Workers
		l.files, l.opened = append(l.files, g), append(l.opened, len(g.warnings))
	}
	b := newBuilder(l.files[0])
	l.rangeStream = rangeStream{b: b, f: l.files[3], ctx: ctx}
	b.f.noteUnknown(kernelLayout)
	for _, read := range []func(context.Context) error{
		b.copies, b.sets, b.graphs,
		func(ctx context.Context) error {
			if parts&Syncs == 0 {
				return nil
			}
			return b.syncSpan(ctx)
		},
		func(context.Context) error { b.f.noteUnknown(callLayout); return nil },
		b.nvtxTables,
		func(ctx context.Context) error {
			if parts&Overhead == 0 {
				return nil
			}
			return b.overhead(ctx)
		},
		func(ctx context.Context) error {
			if parts&Samples == 0 {
				return nil
			}
			return b.samples(ctx)
		},
		func(ctx context.Context) error {
			if parts&Machine == 0 {
				return nil
			}
			return b.machine(ctx)
		},
		b.finish,
	} {
		if err := read(ctx); err != nil {
			l.close()
			return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
		}
	}
	if l.odd() {
		l.close()
		return nil, nil
	}
	l.start(ctx)
	return l, nil
}

// benign are warnings that are the same however a file is read.
var benign = []fact.Code{timeline.CodeColumnsUnknown, timeline.CodeUnclosed, timeline.CodeProfilerSays, timeline.CodeGPUImpossible, timeline.CodePythonBare}

// odd tells whether anything came up that calls for the way through memory.
// It looks at what the readers note, so it is asked before they start or after they ended.
func (l *flow) odd() bool {
	for i, f := range l.files {
		if len(f.Lost()) > 0 {
			return true
		}
		for _, w := range f.warnings[l.opened[i]:] {
			if !slices.Contains(benign, w.Code) {
				return true
			}
		}
	}
	return false
}

// start begins to read kernels and calls.
func (l *flow) start(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	l.stop = stop
	l.kernels = newConveyor(ctx, func(c *conveyor[timeline.Kernel, queue]) error {
		s := work[struct{}]{queues: l.b.queues.clone()}
		c.keys = &s.queues.list
		defer func() { c.functions, c.configs = s.functions.list, s.configs.list }()
		layout, node := plainKernelLayout, colOwn
		switch {
		case l.parts&Kernels != 0:
			layout, node = kernelLayout, colOwn+14
		case l.parts&kernelNames != 0:
			layout, node = namedKernelLayout, colOwn+3
		}
		return l.files[1].eachRow(ctx, layout, func(r *ints) (bool, error) {
			if !r.timed() {
				return false, nil
			}
			k := timeline.Kernel{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.correlation(), Queue: s.queue(r), GraphNode: r.Int[node]}
			switch {
			case l.parts&Kernels != 0:
				k.Function, k.Config = s.shape(r)
			case l.parts&kernelNames != 0:
				f := r.function()
				k.Function = s.functions.cached(f, uint32(f.demangled))
			}
			return true, c.put(k)
		})
	})
	l.calls = newConveyor(ctx, func(c *conveyor[timeline.FlowCall, callSite]) error {
		var sites siteCache
		c.keys = &sites.list
		layout := callLayout
		if l.parts&Calls == 0 {
			layout.want = layout.want[:2]
		}
		return l.files[2].eachRow(ctx, layout, func(r *ints) (bool, error) {
			if !r.timed() {
				return false, nil
			}
			site := callSite{globalTid: r.Int[2], name: noString}
			if l.parts&Calls != 0 {
				site.name = r.stringID(4)
			}
			call := timeline.FlowCall{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: r.id(3, timeline.NoCorrelation), Site: sites.number(site)}
			return true, c.put(call)
		})
	})
}

// NextKernels implements timeline.Flow.
// Queues that came up since the parcel before are added to the timeline first.
func (l *flow) NextKernels() []timeline.Kernel {
	c := l.kernels
	if !c.next() {
		return nil
	}
	t := l.b.t
	for _, q := range c.now.keys[len(t.Queues):] {
		t.Queues = append(t.Queues, timeline.Queue{Process: l.process(q.globalPid), Device: q.device, Context: q.context, Stream: q.stream, Green: q.green})
	}
	return c.now.rows
}

// NextCalls implements timeline.Flow.
// Sites that came up since the parcel before are added first. New names among them cost a pass
// over the table of texts.
func (l *flow) NextCalls() []timeline.FlowCall {
	c := l.calls
	if !c.next() {
		return nil
	}
	l.addSites(c.now.keys[len(l.b.t.Calls.Sites()):])
	return c.now.rows
}

// A text that cannot be read makes the flow nameless, and the answer goes through memory.
func (l *flow) addSites(sites []callSite) {
	var ids []int64
	for _, s := range sites {
		ids = append(ids, s.name)
	}
	l.nameless = l.readNames(l.ctx, ids) != nil || l.nameless
	for _, s := range sites {
		l.b.t.Calls.AddSite(timeline.CallSite{Name: l.names[s.name], Thread: l.thread(s.globalTid)})
	}
}

// process numbers a process that nothing else may have named.
func (l *flow) process(globalPid int64) uint32 {
	id := l.b.processes.id(globalPid)
	if t := l.b.t; int(id) == len(t.Processes) {
		t.Processes = append(t.Processes, timeline.Process{Global: globalPid, PID: timeline.PIDOf(globalPid)})
	}
	return id
}

func (l *flow) thread(globalTid int64) uint32 {
	process, id := l.process(timeline.ProcessOf(globalTid)), l.b.threads.id(globalTid)
	if t := l.b.t; int(id) == len(t.Threads) {
		t.Threads = append(t.Threads, timeline.Thread{Global: globalTid, TID: timeline.TIDOf(globalTid), Process: process})
	}
	return id
}

// done tells whether all has been read and nothing was odd. The file that was asked has
// the warnings then.
func (l *flow) done(f *File) bool {
	if !l.kernels.ended() || !l.calls.ended() || l.nameless || l.rangeStream.lost || l.odd() {
		return false
	}
	g := l.files[0]
	g.noteAbsent(l.parts | NVTX)
	f.warnings, f.damage = g.warnings, g.damage
	return true
}

// close ends the reading.
// It returns when its goroutines have ended, and then closes their files.
func (l *flow) close() {
	l.stop()
	l.rangeStream.close()
	if l.kernels != nil {
		l.kernels.drain()
		l.calls.drain()
	}
	for _, f := range l.files {
		f.Close()
	}
}

// clone copies an interner, which goes on apart from the other.
func (in *interner[K]) clone() interner[K] {
	return interner[K]{ids: maps.Clone(in.ids), list: slices.Clone(in.list)}
}

// A siteCache numbers the sites of calls, of which there are few: interner.cached without
// the costs of any type.
type siteCache struct {
	interner[callSite]
	sites [1 << siteBits]callSite
	ids   [1 << siteBits]uint32 // + 1
}

const siteBits = 8

// number counts from 0 in the order of first appearance, as id does.
func (c *siteCache) number(site callSite) uint32 {
	at := (site.hash() * 0x9E3779B1) >> (32 - siteBits)
	if known := &c.sites[at]; c.ids[at] != 0 && known.globalTid == site.globalTid && known.name == site.name {
		return c.ids[at] - 1
	}
	id := c.id(site)
	c.sites[at], c.ids[at] = site, id+1
	return id
}

// flowRegions is RegionRows without kernels and calls in memory; false where that cannot
// be.
func (f *File) flowRegions(ctx context.Context, q timeline.Query) (rows timeline.Rows[timeline.RegionRow], ok bool, err error) {
	if q.Captured || q.LaunchedIn != nil || q.Kernel != nil || len(q.Devices)+len(q.Processes) > 0 || q.By&timeline.ByDevice != 0 {
		return rows, false, nil
	}
	ok, err = f.withFlow(ctx, KernelTimes|LaunchCalls, q, func(t *timeline.Timeline, l *flow) (ok bool) {
		rows, ok = t.FlowRegions(q, l)
		return ok
	})
	rows.Warnings = slices.Concat(f.warnings, rows.Warnings)
	return rows, ok, err
}

// flowGapGroups is GapGroups without kernels and calls in memory; false where that cannot
// be.
func (f *File) flowGapGroups(ctx context.Context, q timeline.Query) (rows timeline.Rows[timeline.GapGroupRow], ok bool, err error) {
	if q.Kernel != nil || !q.WholeDevices {
		return rows, false, nil
	}
	ok, err = f.withFlow(ctx, KernelTimes|Calls, q, func(t *timeline.Timeline, l *flow) (ok bool) {
		rows, ok = t.FlowGapGroups(q, l)
		return ok
	})
	rows.Warnings = slices.Concat(f.warnings, rows.Warnings)
	return rows, ok, err
}

// flowGaps is StreamGaps without kernels and calls in memory; false where that cannot be.
func (f *File) flowGaps(ctx context.Context, q timeline.Query) (s timeline.Stream[timeline.GapRow], ok bool, err error) {
	if q.Kernel != nil || !q.WholeDevices {
		return s, false, nil
	}
	ok, err = f.withFlow(ctx, KernelTimes|kernelNames|Calls, q, func(t *timeline.Timeline, l *flow) (ok bool) {
		s, ok = t.FlowGaps(q, l)
		return ok && l.nameFunctions(ctx) == nil
	})
	s.Warnings = slices.Concat(f.warnings, s.Warnings)
	return s, ok, err
}

// Launches is the attribution of Timeline(ctx, Regions|Machine) without kernels, calls and
// ranges in memory, of which each is told as FlowLaunches does; nil where that cannot be,
// when some may have been told.
func (f *File) Launches(ctx context.Context, each func(*timeline.Kernel, timeline.LaunchedFrom), opened func(*timeline.Range)) (a *timeline.Attribution, err error) {
	ok, err := f.withFlow(ctx, Kernels|LaunchCalls|Machine, timeline.Query{}, func(t *timeline.Timeline, l *flow) (ok bool) {
		if t.Session.DurationNS <= 0 { // the first and the last event stand in for it, which only all of them tell
			return false
		}
		if a, ok = t.FlowLaunches(l, each, opened); !ok {
			return false
		}
		t.Configs = l.kernels.configs
		return l.nameFunctions(ctx) == nil
	})
	if !ok || err != nil {
		return nil, err
	}
	return a, nil
}

// withFlow answers a question with a flow; false where all must be in memory.
// What ask made counts only where the result is true. The flow is closed when it returns.
func (f *File) withFlow(ctx context.Context, parts Part, q timeline.Query, ask func(*timeline.Timeline, *flow) bool) (bool, error) {
	l, err := f.openFlow(ctx, parts)
	if l == nil || err != nil {
		return false, err
	}
	defer l.close()
	if q.Detect && l.b.ranges == 0 { // what repeats is found among all launches
		return false, nil
	}
	ok := ask(l.b.t, l)
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	return ok && l.done(f), nil
}

// nameFunctions gives the timeline the names of kernels, all of which were read.
// It comes after the last kernel: the reader hands its functions over when it ends.
func (l *flow) nameFunctions(ctx context.Context) error {
	var ids []int64
	for _, f := range l.kernels.functions {
		ids = append(ids, f.demangled, f.short, f.mangled)
	}
	if err := l.readNames(ctx, ids); err != nil {
		return err
	}
	for _, f := range l.kernels.functions {
		l.b.t.Functions = append(l.b.t.Functions, timeline.Function{Demangled: l.names[f.demangled], Short: l.names[f.short], Mangled: l.names[f.mangled]})
	}
	return nil
}

// readNames reads those of the texts with these numbers in the file that are not known
// yet.
func (l *flow) readNames(ctx context.Context, ids []int64) error {
	wanted := map[int64]bool{}
	for _, id := range ids {
		if _, ok := l.names[id]; !ok && id != noString {
			wanted[id] = true
		}
	}
	texts, err := l.files[0].strings(ctx, wanted)
	for id := range wanted {
		text, ok := texts[id]
		l.nameless = l.nameless || !ok
		l.names[id] = l.text(text)
	}
	return err
}

// text numbers a text; equal ones have one number.
func (l *flow) text(text string) timeline.StringID {
	t := l.b.t
	if l.texts == nil {
		l.texts = map[string]timeline.StringID{}
		for i, known := range t.Names {
			l.texts[known] = timeline.StringID(i)
		}
	}
	id, ok := l.texts[text]
	if !ok {
		id = timeline.StringID(len(t.Names))
		t.Names, l.texts[text] = append(t.Names, text), id
	}
	return id
}
