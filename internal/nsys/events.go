package nsys

import (
	"context"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Kinds of rows in NVTX_EVENTS. The second of each pair is what an imported
// text file of NVTX events gives.
const (
	eventCategory  = 33
	eventMark      = 34
	eventPushPop   = 59
	eventStartEnd  = 60
	eventTMark     = 65
	eventTPushPop  = 70
	eventTStartEnd = 71
	eventDomain    = 75
)

// nvtxLayout: `text` or `textId` holds the name. A column that a release lacks reads
// as NULL.
var nvtxLayout = layout{
	table: tableNVTX,
	need:  []string{"start", "eventType"},
	want: []string{
		"end", "globalTid", "endGlobalTid", "text", "textId", "domainId", "category", "color",
		"uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonTextId", "jsonText",
	},
	known: []string{"rangeId", "binaryData"},
}

// Columns of nvtxLayout.
const (
	nvtxStart = iota
	nvtxType
	nvtxEnd
	nvtxThread
	nvtxEndThread
	nvtxText
	nvtxTextID
	nvtxDomain
	nvtxCategory
	nvtxColor
	nvtxPayload // six columns of numbers
	nvtxJSONID  = nvtxPayload + 6
	nvtxJSON    = nvtxPayload + 7
)

// nvtxShare is one worker's share of NVTX_EVENTS.
// Names, threads, domains and payloads in its events are numbers of the share until joinNVTX.
type nvtxShare struct {
	span
	ranges bag[timeline.Range]
	only   bool // what ranges refer to is kept, but not they
	// payloadSeen says that one of those has a payload.
	payloadSeen bool
	count       int   // of ranges
	unclosed    int64 // of them
	marks       []timeline.Mark
	domainRows  []timeline.DomainRow
	categories  []timeline.Category
	payloads    []payload
	python      pythonShare

	names    interner[name]
	texts    map[string]uint32 // names without id by their text
	threads  interner[int64]
	domains  interner[domain]
	lastAll  ends
	lastSpan ends
}

// ends finds the latest of starts and ends; without any end there is none.
type ends struct {
	start, end       int64
	anyStart, anyEnd bool
}

func (e *ends) add(r row) {
	if s := r.int(nvtxStart); !e.anyStart || s > e.start {
		e.anyStart, e.start = true, s
	}
	if r.null(nvtxEnd) {
		return
	}
	if end := r.int(nvtxEnd); !e.anyEnd || end > e.end {
		e.anyEnd, e.end = true, end
	}
}

func (e *ends) join(o ends) {
	if o.anyStart && (!e.anyStart || o.start > e.start) {
		e.anyStart, e.start = true, o.start
	}
	if o.anyEnd && (!e.anyEnd || o.end > e.end) {
		e.anyEnd, e.end = true, o.end
	}
}

// time is not valid if no row has an end: then nsys stats prints no duration.
func (e *ends) time() timeline.Time {
	if !e.anyEnd {
		return timeline.Time{NS: e.start}
	}
	return timeline.Time{NS: max(e.start, e.end), Valid: true}
}

// A payload waits for its text if it is a reference to StringIds.
// json is the id of the text, noString if Value has it already.
type payload struct {
	timeline.Payload
	json int64
}

// payloadTypes are in the order of the columns from nvtxPayload on.
var payloadTypes = [...]string{"uint64", "int64", "double", "uint32", "int32", "float"}

// add takes one row and reports false if it lacks a time or a type. Rows of other
// types than those above are passed over.
func (s *nvtxShare) add(r row) bool {
	if !r.whole(nvtxStart) || !r.whole(nvtxType) {
		return false
	}
	s.lastAll.add(r)
	switch r.int(nvtxType) {
	case eventPushPop, eventTPushPop:
		s.addRange(r, timeline.PushPop)
	case eventStartEnd, eventTStartEnd:
		s.addRange(r, timeline.StartEnd)
	case eventMark, eventTMark:
		if s.addPython(r) {
			return true
		}
		id, _ := s.name(r)
		s.marks = append(s.marks, timeline.Mark{
			Time: r.int(nvtxStart), Name: id, Domain: s.domain(r), Thread: s.threads.id(r.int(nvtxThread)),
			Category: r.id(nvtxCategory, 0), Color: uint32(r.int(nvtxColor)), Payload: s.payload(r),
		})
	case eventDomain:
		id, unnamed := s.name(r)
		s.domainRows = append(s.domainRows, timeline.DomainRow{
			Time: r.int(nvtxStart), ID: r.int(nvtxDomain), Thread: s.threads.id(r.int(nvtxThread)), Name: id,
			// The vendor's reports see only the text of the row itself.
			Unnamed: unnamed || r.null(nvtxText),
		})
	case eventCategory:
		id, _ := s.name(r)
		s.categories = append(s.categories, timeline.Category{Domain: s.domain(r), ID: r.id(nvtxCategory, 0), Name: id})
	}
	return true
}

// addRange leaves an unclosed range with the end 0; nvtx sets it when the last time of
// the file is known.
func (s *nvtxShare) addRange(r row, kind timeline.RangeKind) {
	s.lastSpan.add(r)
	id, unnamed := s.name(r)
	g := timeline.Range{
		Start: r.int(nvtxStart), End: r.int(nvtxEnd), Unclosed: r.null(nvtxEnd), Kind: kind,
		Name: id, Unnamed: unnamed, Domain: s.domain(r), Thread: s.threads.id(r.int(nvtxThread)), EndThread: timeline.None,
	}
	if !r.null(nvtxEndThread) {
		g.EndThread = s.threads.id(r.int(nvtxEndThread))
	}
	s.count++
	if !g.Unclosed {
		s.span.add(g.Start, g.End)
	} else {
		s.unclosed++
		s.span.add(g.Start, g.Start)
	}
	if s.only {
		s.payloadSeen = s.payloadSeen || r.hasPayload()
		return
	}
	g.Category, g.Color, g.Payload = r.id(nvtxCategory, 0), uint32(r.int(nvtxColor)), s.payload(r)
	s.ranges.add(g)
}

// name is that of the registered string if there is one, else the text of
// the row.
func (s *nvtxShare) name(r row) (id timeline.StringID, unnamed bool) {
	if r.whole(nvtxTextID) {
		return timeline.StringID(s.names.id(name{id: r.int(nvtxTextID), text: r.text(nvtxText), valid: !r.null(nvtxText)})), false
	}
	if r.null(nvtxText) {
		return timeline.StringID(s.names.id(name{id: noString})), true
	}
	text := r.bytes(nvtxText)
	if known, ok := s.texts[string(text)]; ok {
		return timeline.StringID(known), false
	}
	n := s.names.id(name{id: noString, text: r.text(nvtxText), valid: true})
	if s.texts == nil {
		s.texts = map[string]uint32{}
	}
	s.texts[string(text)] = n
	return timeline.StringID(n), false
}

// domain numbers the domain of a row within its process.
func (s *nvtxShare) domain(r row) uint32 {
	return s.domains.id(domain{timeline.ProcessOf(r.int(nvtxThread)), r.int(nvtxDomain)})
}

// hasPayload tells whether something is attached to a row.
func (r row) hasPayload() bool {
	for at := nvtxPayload; at <= nvtxJSON; at++ {
		if !r.null(at) {
			return true
		}
	}
	return false
}

// payload is the index of the row's payload among those of the share, or
// timeline.None. A row has one at most; the first column that is set counts.
func (s *nvtxShare) payload(r row) uint32 {
	for i, kind := range payloadTypes {
		at := nvtxPayload + i
		if r.null(at) {
			continue
		}
		p := payload{Payload: timeline.Payload{Type: kind}, json: noString}
		switch kind {
		case "double", "float":
			bits := 64
			if kind == "float" {
				bits = 32
			}
			p.Value = strconv.FormatFloat(r.float(at), 'g', -1, bits)
		case "uint64":
			p.Value = strconv.FormatUint(uint64(r.int(at)), 10)
		default:
			p.Value = strconv.FormatInt(r.int(at), 10)
		}
		return s.keep(p)
	}
	if !r.null(nvtxJSON) {
		return s.keep(payload{Payload: timeline.Payload{Type: "json", Value: r.text(nvtxJSON)}, json: noString})
	}
	if r.whole(nvtxJSONID) {
		return s.keep(payload{Payload: timeline.Payload{Type: "json"}, json: r.int(nvtxJSONID)})
	}
	return timeline.None
}

func (s *nvtxShare) keep(p payload) uint32 {
	s.payloads = append(s.payloads, p)
	return uint32(len(s.payloads) - 1)
}

// Unclosed ranges end at the last time of any NVTX row, as in nsys stats.
// Ranges are in the order of the file, whatever the number of workers.
func (b *builder) nvtx(ctx context.Context) error {
	shares, err := b.nvtxShares(ctx, false)
	if err != nil {
		return err
	}
	var bags []*bag[timeline.Range]
	for _, s := range shares {
		bags = append(bags, &s.ranges)
	}
	b.t.Ranges = pour(bags)
	for i := range b.t.Ranges {
		if r := &b.t.Ranges[i]; r.Unclosed {
			r.End = b.t.LastNVTX.NS
		}
	}
	return b.jsonPayloads(ctx)
}

// nvtxTables is nvtx without ranges, for who goes through them one by one.
func (b *builder) nvtxTables(ctx context.Context) error {
	if _, err := b.nvtxShares(ctx, true); err != nil {
		return err
	}
	return b.jsonPayloads(ctx)
}

func (b *builder) nvtxShares(ctx context.Context, only bool) ([]*nvtxShare, error) {
	b.f.noteUnknown(nvtxLayout)
	shares, err := scanTable(ctx, b.f, nvtxLayout, b.f.Workers, func(s *nvtxShare, r row) bool {
		s.only = only
		return s.add(r)
	})
	if err != nil {
		return nil, err
	}
	var all, ranges ends
	var unclosed int64
	for _, s := range shares {
		all.join(s.lastAll)
		ranges.join(s.lastSpan)
		b.cover(s.span)
		b.joinNVTX(s)
		b.ranges += s.count
		b.payloadSeen = b.payloadSeen || s.payloadSeen
		unclosed += s.unclosed
	}
	b.t.LastNVTX, b.t.LastRange = all.time(), ranges.time()
	if unclosed > 0 {
		b.f.warn(timeline.CodeUnclosed, fact.Count("n", unclosed))
	}
	return shares, nil
}

// joinNVTX renumbers what a worker has numbered and adds it to the timeline.
func (b *builder) joinNVTX(s *nvtxShare) {
	t := b.t
	names := make([]timeline.StringID, len(s.names.list))
	for i, n := range s.names.list {
		names[i] = timeline.StringID(b.names.id(n))
	}
	threads := make([]uint32, len(s.threads.list))
	for i, global := range s.threads.list {
		threads[i] = b.thread(global)
	}
	domains := s.domains.into(&b.domains)
	base := uint32(len(t.Payloads))
	payload := func(p uint32) uint32 {
		if p == timeline.None {
			return p
		}
		return p + base
	}
	s.ranges.each(func(r *timeline.Range) {
		r.Name, r.Domain, r.Thread, r.Payload = names[r.Name], domains[r.Domain], threads[r.Thread], payload(r.Payload)
		if r.EndThread != timeline.None {
			r.EndThread = threads[r.EndThread]
		}
	})
	for i := range s.marks {
		m := &s.marks[i]
		m.Name, m.Domain, m.Thread, m.Payload = names[m.Name], domains[m.Domain], threads[m.Thread], payload(m.Payload)
	}
	for i := range s.domainRows {
		d := &s.domainRows[i]
		d.Name, d.Thread = names[d.Name], threads[d.Thread]
	}
	for i := range s.categories {
		c := &s.categories[i]
		c.Name, c.Domain = names[c.Name], domains[c.Domain]
	}
	b.joinPython(&s.python, names, threads)
	t.Marks = append(t.Marks, s.marks...)
	t.DomainRows = append(t.DomainRows, s.domainRows...)
	t.Categories = append(t.Categories, s.categories...)
	for _, p := range s.payloads {
		if p.json != noString {
			b.json = append(b.json, jsonRef{len(t.Payloads), p.json})
		}
		t.Payloads = append(t.Payloads, p.Payload)
	}
}

// A jsonRef is a payload whose text is an entry of StringIds.
type jsonRef struct {
	payload int
	id      int64
}

// jsonPayloads fills texts that stand in StringIds; an id that leads nowhere gives "".
func (b *builder) jsonPayloads(ctx context.Context) error {
	wanted := map[int64]bool{}
	for _, j := range b.json {
		wanted[j.id] = true
	}
	texts, err := b.f.strings(ctx, wanted)
	for _, j := range b.json {
		b.t.Payloads[j.payload].Value = texts[j.id]
	}
	return err
}
