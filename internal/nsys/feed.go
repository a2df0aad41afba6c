package nsys

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// idBits is a set of correlation ids: bitmaps of 65,536 of them, where there are any.
type idBits [][]uint64

func (s *idBits) add(id uint32) {
	at := int(id >> 16)
	for at >= len(*s) {
		*s = append(*s, nil)
	}
	if (*s)[at] == nil {
		(*s)[at] = make([]uint64, 1<<16/64)
	}
	(*s)[at][id>>6&1023] |= 1 << (id & 63)
}

func (s idBits) has(id uint32) bool {
	at := int(id >> 16)
	return at < len(s) && s[at] != nil && s[at][id>>6&1023]>>(id&63)&1 != 0
}

// len counts the ids; it visits every bitmap.
func (s idBits) len() (n int) {
	for _, part := range s {
		for _, word := range part {
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// join takes over the ids of another set.
// Bitmaps of the other set are taken over without a copy: do not use it afterward.
func (s *idBits) join(other idBits) {
	for at, part := range other {
		switch {
		case at >= len(*s):
			*s = append(*s, part)
		case (*s)[at] == nil:
			(*s)[at] = part
		default:
			for i, word := range part {
				(*s)[at][i] |= word
			}
		}
	}
}

// kernelsSeen is what one worker learns of kernels that it does not keep.
// kinds, queues and functions are numbers of the worker.
type kernelsSeen struct {
	work[struct{}]
	kinds  interner[launchedKind]
	counts []int64 // by kind
	ids    idBits
	ordered
	odd bool // one has no id
}

// launchedKind numbers are those of the worker until launchFeed.kernels joins them.
type launchedKind struct{ queue, function uint32 }

// ordered is how correlation ids follow each other.
// The zero value has seen none.
type ordered struct {
	any         bool
	least, last uint32
	high        uint32 // largest so far
	back        uint32 // most that one was smaller than one before it
	descended   bool   // one was not larger than the one before it
}

// add takes the ids in the order of the file.
func (o *ordered) add(id uint32) {
	if !o.any {
		*o = ordered{any: true, least: id, last: id, high: id}
		return
	}
	o.descended = o.descended || id <= o.last
	o.least, o.last = min(o.least, id), id
	if id < o.high {
		o.back = max(o.back, o.high-id)
	}
	o.high = max(o.high, id)
}

// join adds what the next worker saw.
func (o *ordered) join(next ordered) {
	switch {
	case !next.any:
		return
	case !o.any:
		*o = next
		return
	}
	o.descended = o.descended || next.descended || next.least <= o.last
	if next.least < o.high {
		o.back = max(o.back, o.high-next.least)
	}
	o.back = max(o.back, next.back)
	o.least, o.high, o.last = min(o.least, next.least), max(o.high, next.high), next.last
}

// add counts a kernel by queue and function; a kernel without an id makes the whole
// feed impossible, but counting goes on for the tables.
func (s *kernelsSeen) add(r *ints) bool {
	if !r.timed() {
		return false
	}
	s.span.add(r.Int[colStart], r.Int[colEnd])
	queue := s.queue(r)
	function, _ := s.shape(r)
	kind := s.kinds.cached(launchedKind{queue, function}, queue*31+function)
	if int(kind) == len(s.counts) {
		s.counts = append(s.counts, 0)
	}
	s.counts[kind]++
	id := r.correlation()
	if id == timeline.NoCorrelation {
		s.odd = true
		return true
	}
	s.ordered.add(id)
	s.ids.add(id)
	return true
}

// A launchFeed is what must be known before kernels are joined to their calls in one
// pass over both tables, with none of them in memory.
type launchFeed struct {
	b      *builder
	pid    int64 // globalPid of all kernels
	counts map[launchedKind]int64
	ids    idBits   // of kernels
	back   uint32   // how far behind the largest id so far a kernel's id may lie
	files  [3]*File // of kernels, calls and ranges; nobody closes them, for rows may be asked for at any time
}

// feedLaunches prepares a feed; nil where the tables are not in the order that it needs,
// or hold what it cannot tell.
func (f *File) feedLaunches(ctx context.Context) (*launchFeed, error) {
	l := &launchFeed{b: newBuilder(f), counts: map[launchedKind]int64{}}
	ok, err := l.kernels(ctx)
	if ok && err == nil {
		ok, err = l.calls(ctx)
	}
	if ok && err == nil {
		err = l.b.nvtxTables(ctx)
	}
	if ok && err == nil {
		err = l.b.finish(ctx)
	}
	f.tables = nil
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	if !ok || len(f.Lost()) > 0 {
		return nil, nil
	}
	for i := range l.files { // the caller may close f before rows are asked for
		if l.files[i], err = OpenSQLite(f.SQLite); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// kernels reports ok where all kernels are of one process, have an id and lie by start.
func (l *launchFeed) kernels(ctx context.Context) (ok bool, err error) {
	l.b.f.noteUnknown(kernelLayout)
	shares, err := scanInts(ctx, l.b.f, kernelLayout, fresh[kernelsSeen], (*kernelsSeen).add)
	var ids ordered
	var spans []*span
	for _, s := range shares {
		queues, functions := s.queues.into(&l.b.queues), s.functions.into(&l.b.functions)
		s.configs.into(&l.b.configs)
		for i, k := range s.kinds.list {
			l.counts[launchedKind{queues[k.queue], functions[k.function]}] += s.counts[i]
		}
		l.b.cover(s.span)
		spans = append(spans, &s.span)
		ids.join(s.ordered)
		l.ids.join(s.ids)
		if s.odd {
			return false, err
		}
	}
	l.back = ids.back
	for _, q := range l.b.queues.list {
		if l.pid = l.b.queues.list[0].globalPid; q.globalPid != l.pid {
			return false, err
		}
	}
	return ids.any && byStart(spans), err
}

// launches tells whether a call launched one of the kernels.
func (l *launchFeed) launches(globalTid int64, id uint32) bool {
	return l.ids.has(id) && timeline.ProcessOf(globalTid) == l.pid
}

// calls looks at the calls that launched kernels: each kernel must have one, and they
// must lie by start and by their ids.
func (l *launchFeed) calls(ctx context.Context) (ok bool, err error) {
	l.b.f.noteUnknown(callLayout)
	type share struct {
		span
		ordered
		sites interner[callSite]
		n     int
	}
	shares, err := scanInts(ctx, l.b.f, callLayout, fresh[share], func(s *share, r *ints) bool {
		if !r.timed() {
			return false
		}
		if id := r.id(3, timeline.NoCorrelation); l.launches(r.Int[2], id) {
			s.span.add(r.Int[colStart], r.Int[colEnd])
			s.ordered.add(id)
			site := callSite{r.Int[2], r.stringID(4)}
			s.sites.cached(site, site.hash())
			s.n++
		}
		return true
	})
	var ids ordered
	var spans []*span
	left := l.ids.len()
	for _, s := range shares {
		for _, site := range s.sites.list {
			l.b.string(site.name)
			l.b.thread(site.globalTid)
		}
		l.b.cover(s.span)
		spans = append(spans, &s.span)
		ids.join(s.ordered)
		left -= s.n
	}
	return left == 0 && !ids.descended && byStart(spans), err
}

// fed is what the timeline needs to make rows.
// ctx is that of the feeds that are opened later, so it must outlive the query.
func (l *launchFeed) fed(ctx context.Context) timeline.Fed {
	return timeline.Fed{
		Launches: func(queue, function uint32) int64 { return l.counts[launchedKind{queue, function}] },
		Back:     l.back,
		Table:    tableKernel,
		Open:     func() timeline.Feed { return l.open(ctx) },
	}
}

// open makes a feed whose goroutines end when it is closed or all is read. One feed at a
// time: the files of l are not safe for concurrent use.
func (l *launchFeed) open(ctx context.Context) timeline.Feed {
	ctx, stop := context.WithCancel(ctx)
	return &feed{rangeStream: rangeStream{b: l.b, f: l.files[2], ctx: ctx}, l: l, stop: stop}
}

// feed hands over what goroutines read.
type feed struct {
	rangeStream
	l       *launchFeed
	kernels *conveyor[timeline.Kernel, struct{}] // nil as long as nobody asked for kernels or calls
	calls   *conveyor[timeline.Call, struct{}]
	stop    func()
}

// start begins to read kernels and calls.
func (f *feed) start() {
	l, ctx := f.l, f.ctx
	f.kernels = newConveyor(ctx, func(c *conveyor[timeline.Kernel, struct{}]) error {
		e := Events{f: l.files[0], b: l.b}
		return e.EachKernel(ctx, func(_ int, k *timeline.Kernel) error { return c.put(*k) })
	})
	f.calls = newConveyor(ctx, func(c *conveyor[timeline.Call, struct{}]) error {
		threads := l.b.threads
		return l.files[1].eachRow(ctx, callLayout, func(r *ints) (bool, error) {
			if !r.timed() {
				return false, nil
			}
			id := r.id(3, timeline.NoCorrelation)
			if !l.launches(r.Int[2], id) {
				return true, nil
			}
			return true, c.put(timeline.Call{Start: r.Int[colStart], End: r.Int[colEnd], Correlation: id, Thread: threads.id(r.Int[2])})
		})
	})
}

// NextKernel and NextCall give nil after the last, also where ctx ended. The event is
// valid until the next call of the same method. What goes wrong with a table is noted in
// its file.
func (f *feed) NextKernel() *timeline.Kernel {
	if f.kernels == nil {
		f.start()
	}
	return f.kernels.row()
}

func (f *feed) NextCall() *timeline.Call { return f.calls.row() }

// Close returns when all goroutines have ended, so that their files can be read again.
func (f *feed) Close() {
	f.stop()
	f.rangeStream.close()
	if f.kernels != nil {
		f.kernels.drain()
		f.calls.drain()
	}
}

// streamFed lists launches without keeping them; false where that cannot be.
// Its rows do not end with ctx but with the stream, which outlives this call.
func (f *File) streamFed(ctx context.Context, q timeline.Query) (s timeline.Stream[timeline.LaunchRow], ok bool, err error) {
	if q.Region != nil {
		return s, false, nil
	}
	l, err := f.feedLaunches(ctx)
	if l == nil || err != nil {
		return s, false, err
	}
	if q.Detect && l.b.ranges == 0 { // what repeats is found among all launches
		ok = false
	} else {
		s, ok = l.b.t.FeedLaunches(q, l.fed(context.WithoutCancel(ctx)))
	}
	if !ok {
		for _, open := range l.files {
			open.Close()
		}
		return s, false, nil
	}
	f.noteAbsent(Kernels | LaunchCalls | NVTX)
	s.Warnings = slices.Concat(f.warnings, s.Warnings)
	return s, true, nil
}
