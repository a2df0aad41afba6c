package nsys

import (
	"context"
	"math"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A builder fills one timeline from a file and is used once. Workers number what they meet on
// their own; the builder joins their numbers when a table is through.
// Its own methods run on one goroutine. first and last are in ns; first is above last as long as
// no row was seen.
type builder struct {
	f *File
	t *timeline.Timeline

	functions interner[function]
	configs   interner[timeline.LaunchConfig]
	queues    interner[queue]
	processes interner[int64] // globalPid
	threads   interner[int64] // globalTid
	domains   interner[domain]
	names     interner[name]

	// json are payloads whose text is found once StringIds has been read.
	json        []jsonRef
	callsBy     []int64             // by thread, where they were counted
	ranges      int                 // of NVTX
	payloadSeen bool                // one of those that are not kept has a payload
	renamed     []timeline.StringID // by number in names, once they are resolved: the number in the timeline
	first, last int64
	odd         odd
	again       bool // an earlier reading of the same rows has warned of odd times and missing names
}

// function and queue are the keys of a file before names and processes are
// numbered.
// The three names of a kernel, as ids of StringIds; noString for one that a row lacks.
type function struct{ demangled, short, mangled int64 }

// A queue is known by its numbers in the file; green is 0 outside green contexts.
type queue struct {
	globalPid              int64
	device, context, green int32
	stream                 int32
}

// domain is a domain of one process; the id alone is not unique in a file.
type domain struct {
	globalPid int64
	id        int64
}

// A name is a text or, if id is not negative, a reference to StringIds with
// a text that stands in if it leads nowhere.
type name struct {
	id    int64
	text  string
	valid bool // there is a text, if only an empty one
}

// noString stands for "no id"; ids of a file may be any other number, also negative.
const noString = math.MinInt64

// newBuilder numbers the empty name and the default domain first, so that both are 0.
func newBuilder(f *File) *builder {
	b := &builder{f: f, t: &timeline.Timeline{Source: f.source()}, first: math.MaxInt64, last: math.MinInt64}
	b.names.id(name{id: noString}) // StringID 0 is ""
	b.domains.id(domain{globalPid: -1})
	return b
}

// string numbers a reference to StringIds.
func (b *builder) string(id int64) timeline.StringID {
	if id == noString {
		return 0
	}
	return timeline.StringID(b.names.id(name{id: id}))
}

// text numbers a text that the row itself holds.
func (b *builder) text(s string) timeline.StringID {
	return timeline.StringID(b.names.id(name{id: noString, text: s, valid: true}))
}

// thread numbers a globalTid and the process it belongs to.
func (b *builder) thread(globalTid int64) uint32 {
	b.processes.id(timeline.ProcessOf(globalTid))
	return b.threads.id(globalTid)
}

// A span is the time that a worker's rows cover.
// Times are in ns. The zero value covers nothing.
type span struct {
	first, last int64
	odd         odd
	any         bool

	begun    int64 // start of the last row
	descends bool  // a row starts before the one before it
}

// add takes one row; rows of a worker come in the order of the file.
func (s *span) add(start, end int64) {
	if !s.any {
		s.any, s.first, s.last, s.begun = true, start, start, start
	}
	s.descends = s.descends || start < s.begun
	s.begun = start
	s.first = min(s.first, start)
	s.last = max(s.last, end)
	s.odd.add(start, end)
}

// byStart tells whether the rows of all workers lie by start.
// The spans come in the order of the rows. Without any row it is true.
func byStart(spans []*span) bool {
	var before *span
	for _, s := range spans {
		if !s.any {
			continue
		}
		if s.descends || before != nil && s.first < before.begun {
			return false
		}
		before = s
	}
	return true
}

// odd counts the events whose times cannot be.
type odd struct {
	negative int64 // end before they start
	endless  int64 // last longer than 64 bits can tell
}

func (o *odd) add(start, end int64) {
	if end < start {
		o.negative++
	}
	if timeline.Endless(start, end) {
		o.endless++
	}
}

func (o *odd) join(other odd) {
	o.negative += other.negative
	o.endless += other.endless
}

// noteOdd warns once per kind; what is an ID of the domain "event".
func (f *File) noteOdd(o odd, what string) {
	if o.negative > 0 {
		f.warn(timeline.CodeEndsEarly, fact.Count("n", o.negative), fact.ID("what", "event", what))
	}
	if o.endless > 0 {
		f.warn(timeline.CodeEndless, fact.Count("n", o.endless), fact.ID("what", "event", what))
	}
}

// cover widens the session by the rows of one worker.
func (b *builder) cover(s span) {
	if !s.any {
		return
	}
	b.first, b.last = min(b.first, s.first), max(b.last, s.last)
	b.odd.join(s.odd)
}

// finish resolves names and numbers what refers to processes.
// It comes last, when every table has been read: afterward no thread, queue or name
// may be numbered any more.
func (b *builder) finish(ctx context.Context) error {
	t := b.t
	if b.first <= b.last {
		t.Session.FirstNS, t.Session.LastNS = b.first, b.last
	}
	if !b.again {
		b.f.noteOdd(b.odd, "events")
	}
	for _, q := range b.queues.list {
		t.Queues = append(t.Queues, timeline.Queue{
			Process: b.processes.id(q.globalPid), Device: q.device, Context: q.context, Stream: q.stream, Green: q.green,
		})
	}
	for _, global := range b.threads.list {
		t.Threads = append(t.Threads, timeline.Thread{
			Global: global, TID: timeline.TIDOf(global), Process: b.processes.id(timeline.ProcessOf(global)),
		})
	}
	for i, n := range b.callsBy {
		t.Threads[i].Calls = n
	}
	if err := b.threadNames(ctx); err != nil {
		return err
	}
	if err := b.processNames(ctx); err != nil {
		return err
	}
	t.Configs = b.configs.list
	for _, f := range b.functions.list {
		t.Functions = append(t.Functions, timeline.Function{
			Demangled: b.string(f.demangled), Short: b.string(f.short), Mangled: b.string(f.mangled),
		})
	}
	if err := b.resolve(ctx); err != nil {
		return err
	}
	b.nameDomains()
	b.dropBareSamples()
	return nil
}

// nameDomains gives each domain the name of its earliest creation in the
// process.
// Names must be resolved before. A domain that no row creates has no name.
func (b *builder) nameDomains() {
	type key struct {
		pid int
		id  int64
	}
	best := map[key]timeline.DomainRow{}
	for _, r := range b.t.DomainRows {
		k := key{timeline.PIDOf(b.t.Threads[r.Thread].Global), r.ID}
		if old, ok := best[k]; !ok || r.Time < old.Time {
			best[k] = r
		}
	}
	b.t.Domains = make([]timeline.Domain, len(b.domains.list))
	for i, d := range b.domains.list {
		b.t.Domains[i] = timeline.Domain{Process: timeline.None, ID: d.id}
		if i == 0 {
			continue
		}
		b.t.Domains[i].Process = b.processes.id(d.globalPid)
		b.t.Domains[i].Name = best[key{timeline.PIDOf(d.globalPid), d.id}].Name
	}
}
