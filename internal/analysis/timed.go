package analysis

import (
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// timed is the timeline with what is computed from it once. Its work, calls and ranges are on
// the tape.
type timed struct {
	rules
	t       *timeline.Timeline
	tape    *timeline.Tape
	scope   *scoped // the part that the analysis is about; nil for the whole
	noScope error   // why the scope that was asked for is not there; nil where none was
	at      *timeline.Attribution
	p       *palette
	rowOf   []uint32 // by kind of work: index into Result.Kernels, or noKernel
	// lo and hi are the first and the last event, by the clock of the capture.
	lo, hi    int64
	only      int                  // the one process that used a GPU; -1 where there are several
	strangers bool                 // ranges of other processes than that
	steps     *timeline.StepLayers // nil where there are none, and in a brief analysis
	engine    []timeline.StepRow   // steps of a serving engine
	// recalled has work of CUDA graphs where it was captured; at itself without graphs.
	recalled *timeline.Attribution

	whole    func() *painting      // of all work; it is made in the background
	launches func() *pick.Launches // grouped when they are asked for first
	// paintings are of a part of the work, made when they are asked for; whole is of
	// all.
	paintings map[workKey]*painting
	regions   []timeline.Region // by ID - 1
	// instances are the ranges region by region, by start; those of region 0 belong to none. Each
	// region has those from its first on; after the last region stands their number.
	instances     *columns.Table
	firstInstance []int
	// inRegion, ownIn and inScope sum launches by region and kernel. Without a scope,
	// inScope is inRegion itself.
	inRegion map[regionGroup]*callTime
	ownIn    map[regionGroup]*callTime // outside nested ranges
	inScope  map[regionGroup]*callTime // of the launches in the scope alone
	scopeNS  map[queueOf]int64         // kernel time in the scope
	// onDevice marks the ranges with work on a device; filled in by rangesOf.
	onDevice map[int]marks
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

// marks are some of many things that are known by their number.
type marks []uint64

func newMarks(n int) marks { return make(marks, (n+63)/64) }

func (m marks) set(i int) { m[i/64] |= 1 << (i % 64) }

func (m marks) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }

func (m marks) count() (n int) {
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// those are the numbers of the n things that are marked, or that are not.
func (m marks) those(n int, marked bool) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for at, word := range m {
			if !marked {
				word = ^word
			}
			for ; word != 0; word &= word - 1 {
				if i := 64*at + bits.TrailingZeros64(word); i >= n || !yield(uint32(i)) {
					return
				}
			}
		}
	}
}

// newTimed begins to paint the whole timeline in the background: nearly every step asks
// for it.
func (tr *timelineReader) newTimed(p *tapedTimeline) *timed {
	t, at, tape := p.t, p.at, p.tape
	tl := &timed{
		rules: tr.rules, t: t, tape: tape, at: at, recalled: p.recalled, regions: at.Regions(),
		paintings: map[workKey]*painting{}, inRegion: map[regionGroup]*callTime{}, ownIn: map[regionGroup]*callTime{}, inScope: map[regionGroup]*callTime{}, scopeNS: map[queueOf]int64{}, nodes: map[uint32]int64{},
		lo: t.Session.FirstNS, hi: t.Session.LastNS, only: -1,
	}
	tl.p = &palette{categories: len(tr.categories.List), label: tl.labels(), hosts: tl.hostCallsOf(), since: tl.since, tape: tape, store: tr.store}
	if p := tl.processes(); len(p) == 1 {
		tl.only = p[0]
	}
	tl.whole = sync.OnceValue(func() *painting {
		var counted *tally
		if tl.only >= 0 {
			counted = newTally(tl, tl.p.labels())
		}
		return tl.p.paint(tl.workOf(workKey{-1, -1}), tl.lo, tl.hi, counted)
	})
	tr.store.Go(func() { tl.whole() })
	tl.findInstances(tr.store)
	at.Places() // found before several goroutines ask for them
	tl.launches = sync.OnceValue(func() *pick.Launches { return pick.LoadTape(at, tape) })
	return tl
}

// labels are the categories of kinds of work.
func (tl *timed) labels() []uint8 {
	names, byFunction := make([]string, len(tl.t.Functions)), make([]uint8, len(tl.t.Functions))
	for i, f := range tl.t.Functions {
		names[i] = fullName(tl.t, f)
	}
	tl.kinds.learn(names)
	for i, name := range names {
		byFunction[i] = uint8(tl.kinds.of(name).category)
	}
	labels := make([]uint8, len(tl.tape.Kinds))
	for i := range labels {
		switch k := &tl.tape.Kinds[i]; k.Kind {
		case timeline.OpKernel:
			labels[i] = byFunction[k.Function]
		case timeline.OpGraph:
			labels[i] = uint8(tl.categories.index[graphCategory])
		default:
			labels[i] = copyLabel
		}
	}
	return labels
}

// findInstances lists the ranges of each region: they are gone through region by region again and
// again, and would lie far from each other.
func (tl *timed) findInstances(store *columns.Store) {
	tl.firstInstance = make([]int, len(tl.regions)+2)
	ranges, n := tl.tape.Ranges(), uint32(tl.tape.RangeLen())
	for r := range n {
		tl.firstInstance[ranges.Region(r)+1]++
		tl.strangers = tl.strangers || !tl.tallies(tl.processOfThread(ranges.Thread(r)))
	}
	for id := range tl.regions {
		tl.firstInstance[id+1] += tl.firstInstance[id]
	}
	tl.firstInstance[len(tl.regions)+1] = int(n)
	order, next := make([]uint32, n), slices.Clone(tl.firstInstance)
	for r := range n {
		id := ranges.Region(r)
		order[next[id]] = r
		next[id]++
	}
	tl.instances = columns.NewTable(store, instanceColumns)
	for _, r := range order {
		start, end := ranges.Span(r)
		tl.instances.Set(instanceStart, start)
		tl.instances.Set(instanceLength, end-start)
		tl.instances.Set(instanceThread, int64(ranges.Thread(r)))
		tl.instances.Set(instanceNumber, int64(r))
		tl.instances.End()
	}
	tl.instances.Finish()
}

// Columns of instances.
const (
	instanceStart = iota
	instanceLength
	instanceThread
	instanceNumber // its place on the tape
	instanceColumns
)

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

// since tells of work when the earliest range around its launch began; the launch itself
// without one.
func (tl *timed) since() func(*timeline.WorkReader) int64 {
	around, ranges := tl.tape.AroundWork(func(uint32) bool { return true }), tl.tape.Ranges()
	return func(w *timeline.WorkReader) int64 {
		list := around(w)
		if len(list) == 0 {
			start, _ := w.Launch()
			return start
		}
		first, _ := ranges.Span(list[0])
		for _, r := range list[1:] {
			start, _ := ranges.Span(r)
			first = min(first, start)
		}
		return first
	}
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
	p := tl.p.paint(tl.workOf(key), tl.lo, tl.hi, nil)
	tl.paintings[key] = p
	return p
}

// workOf goes through the work of a process, a device, or all by start.
func (tl *timed) workOf(key workKey) iter.Seq[*timeline.WorkReader] {
	kinds := tl.chosenBy(key)
	return func(yield func(*timeline.WorkReader) bool) {
		for w := tl.tape.Work(); w.Next(); {
			if kinds[w.Kind()] && !yield(w) {
				return
			}
		}
	}
}

// chosenBy tells which kinds of work a key chooses.
func (tl *timed) chosenBy(key workKey) []bool {
	kinds := make([]bool, len(tl.tape.Kinds))
	for i := range kinds {
		kinds[i] = key.chooses(&tl.t.Queues[tl.tape.Kinds[i].Queue])
	}
	return kinds
}

// used lists the processes, or devices, with work.
func (tl *timed) used(of func(*timeline.Queue) int) []int {
	var list []int
	for i := range tl.tape.Kinds {
		if n := of(&tl.t.Queues[tl.tape.Kinds[i].Queue]); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

func (tl *timed) devices() []int {
	return tl.used(func(q *timeline.Queue) int { return int(q.Device) })
}

func (tl *timed) processes() []int {
	return tl.used(func(q *timeline.Queue) int { return int(q.Process) })
}
