package analysis

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// timed is the timeline with what is computed from it once.
type timed struct {
	rules
	t       *timeline.Timeline
	scope   *scoped // the part that the analysis is about; nil for the whole
	noScope error   // why the scope that was asked for is not there; nil where none was
	at      *timeline.Attribution
	p       *palette
	work    stints
	group   timeline.Numbers // of each kernel: kernels of one row have one
	rows    []uint32         // by group: index into Result.Kernels after sorting, or noKernel
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

// newTimed begins to paint the whole timeline in the background: nearly every step asks
// for it.
func (tr *timelineReader) newTimed(t *timeline.Timeline) *timed {
	var beside sync.WaitGroup
	var calls *callIndex
	var work stints
	beside.Go(func() {
		calls = indexCalls(t, tr.th.HostGap.Nanoseconds())
		byFunction := make([]uint8, len(t.Functions))
		for i, f := range t.Functions {
			byFunction[i] = uint8(tr.kinds.of(fullName(t, f)).category)
		}
		work = newStints(t, byFunction, uint8(tr.categories.index[graphCategory]))
	})
	at := t.Attribute()
	beside.Wait()
	work.at = at
	tl := &timed{
		rules: tr.rules, t: t, at: at, regions: at.Regions(), work: work,
		paintings: map[workKey]*painting{}, instances: map[uint32][]uint32{}, inRegion: map[regionGroup]*callTime{}, ownIn: map[regionGroup]*callTime{}, inScope: map[regionGroup]*callTime{}, scopeNS: map[queueOf]int64{}, nodes: map[uint32]int64{},
		lo: t.Session.FirstNS, hi: t.Session.LastNS,
	}
	tl.p = &palette{categories: len(tr.categories.List), since: tl.since}
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
	at.Places() // found before several goroutines ask for them
	tl.launches = sync.OnceValue(func() *pick.Launches { return pick.Load(at) })
	return tl
}

// row of a kernel: index into Result.Kernels, or noKernel.
func (tl *timed) row(kernel int) uint32 { return tl.rows[tl.group.At(uint32(kernel))] }

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
		work := tl.work.reader()
		for i := range work.len() {
			if w := work.get(i); key.chooses(&tl.t.Queues[w.queue]) && !yield(w) {
				return
			}
		}
	}
}

// used lists the processes, or devices, with work.
func (tl *timed) used(of func(*timeline.Queue) int) []int {
	var list []int
	for q, works := range tl.work.works {
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
