package timeline

import (
	"encoding/binary"
	"math"
	"slices"
)

// EveryGap is FindGaps for when all gaps are wanted: there can be more of them than
// kernels. The timeline needs all CUDA calls. Rows are made in the order of time,
// in which kernels and calls lie, and kept in a few bytes each until they are asked
// for, the longest first.
func (t *Timeline) EveryGap(q Query) Stream[GapRow] {
	g, threads := newGaps(t, q), t.callsByThread()
	keep := func(Op) bool { return true }
	if q.Region != nil {
		keep = g.a.OpMatcher(q.Region)
	}
	s := gapStore{byKey: map[string]uint32{}, lanes: map[lane]bool{}}
	var row GapRow
	t.findGaps(&q, func(x gap) {
		if keep(t.op(x.after)) {
			g.fill(&row, x, t, threads)
			s.add(g.kindKey(s.key[:0], x), x, &row)
		}
	})
	s.sort()
	return Stream[GapRow]{Rows: s.rows, Len: len(s.order), Warnings: g.a.Warnings}
}

// kindKey tells kinds of rows apart: all of a row but its times.
func (g *Gaps) kindKey(key []byte, x gap) []byte {
	t := g.a.t
	add := func(v uint32) { key = binary.LittleEndian.AppendUint32(key, v) }
	add(uint32(x.lane.device))
	add(x.lane.queue)
	after := t.op(x.after)
	for _, op := range []Op{t.op(x.before), after} {
		add(uint32(op.Kind))
		switch op.Kind {
		case OpKernel:
			add(t.Kernels[op.Index].Function)
		case OpCopy:
			add(uint32(t.Copies[op.Index].Kind))
		}
	}
	call := g.a.callOf(after)
	if call == None {
		add(None)
	} else {
		add(g.a.callNode(call))
		add(t.Calls.Thread(call))
	}
	add(g.onHost)
	for f, n := range g.frames { // in any order: equal ones may be of two kinds
		for _, v := range []uint32{uint32(f.Function), uint32(f.File), uint32(f.Line), uint32(n)} {
			add(v)
		}
	}
	for _, s := range g.sums {
		add(uint32(s.name))
		key = binary.AppendVarint(key, s.GapCall.Calls)
	}
	return key
}

// A gapStore keeps rows in a few bytes: their kind, of which there are few, and
// their times.
type gapStore struct {
	kinds []GapRow // without times
	lanes map[lane]bool
	laned []lane // by kind
	byKey map[string]uint32
	key   []byte
	data  [][]byte // records, in chunks
	// order has the length of each gap, which is cut at 32 bits, and its place in
	// data in units of recordUnit, so that numbers that grow are gaps that shrink.
	order   []uint64
	touched byte // makes rows read ahead; means nothing
}

const (
	gapChunk   = 1 << 20
	recordUnit = 4
	recordMost = binary.MaxVarintLen64 * (4 + maxGapCalls) // no record is longer
)

func (s *gapStore) add(key []byte, x gap, row *GapRow) {
	s.key = key
	kind, ok := s.byKey[string(key)]
	if !ok {
		kind = uint32(len(s.kinds))
		s.byKey[string(key)] = kind
		s.newKind(x.lane, row)
	}
	n := len(s.data) - 1
	if n < 0 || len(s.data[n])+recordMost > gapChunk {
		s.data = append(s.data, make([]byte, 0, gapChunk))
		n++
	}
	b := s.data[n]
	at := n*(gapChunk/recordUnit) + len(b)/recordUnit
	s.order = append(s.order, uint64(math.MaxUint32-uint32(min(row.DurationNS, math.MaxUint32)))<<32|uint64(at))
	b = binary.AppendUvarint(b, uint64(kind))
	b = binary.AppendVarint(b, row.StartNS)
	b = binary.AppendVarint(b, row.EndNS-row.StartNS)
	for _, c := range row.Calls {
		b = binary.AppendVarint(b, c.NS)
	}
	if row.HostNS != nil {
		b = binary.AppendVarint(b, *row.HostNS)
	}
	for len(b)%recordUnit != 0 {
		b = append(b, 0)
	}
	s.data[n] = b
}

func (s *gapStore) newKind(l lane, row *GapRow) {
	made := row.clone()
	made.text = newGapText(made)
	s.kinds, s.laned, s.lanes[l] = append(s.kinds, *made), append(s.laned, l), true
}

// sort puts the gaps as compareGaps does. Gaps of one lane are found by time.
func (s *gapStore) sort() {
	slices.Sort(s.order)
	if len(s.order) == 0 || len(s.lanes) == 1 && s.order[0]>>32 != 0 {
		return
	}
	for from := 0; from < len(s.order); {
		to := from + 1
		for to < len(s.order) && s.order[to]>>32 == s.order[from]>>32 {
			to++
		}
		slices.SortFunc(s.order[from:to], func(x, y uint64) int { return compareGaps(s.gap(x), s.gap(y)) })
		from = to
	}
}

func (s *gapStore) record(order uint64) []byte {
	at := int(uint32(order)) * recordUnit
	return s.data[at/gapChunk][at%gapChunk:]
}

// gap is what compareGaps needs of a gap.
func (s *gapStore) gap(order uint64) gap {
	b := s.record(order)
	kind, n := binary.Uvarint(b)
	start, m := binary.Varint(b[n:])
	length, _ := binary.Varint(b[n+m:])
	return gap{lane: s.laned[kind], start: start, end: start + length}
}

// rows goes through the gaps, the longest first. They lie anywhere, so that some are
// brought into the cache at once before they are read.
func (s *gapStore) rows(yield func(*GapRow) bool) {
	for some := range slices.Chunk(s.order, 32) {
		for _, at := range some {
			s.touched += s.record(at)[0]
		}
		for _, at := range some {
			if !yield(s.row(s.record(at))) {
				return
			}
		}
	}
}

func (s *gapStore) row(b []byte) *GapRow {
	kind, n := binary.Uvarint(b)
	next := func() int64 {
		b = b[n:]
		var v int64
		v, n = binary.Varint(b)
		return v
	}
	r := &struct { // a row with what it points to is one piece of memory
		GapRow
		host  int64
		calls [2]GapCall
	}{GapRow: s.kinds[kind]}
	r.StartNS = next()
	r.EndNS = r.StartNS + next()
	r.DurationNS = Since(r.StartNS, r.EndNS)
	r.Calls = append(r.calls[:0], r.Calls...)
	for i := range r.Calls {
		r.Calls[i].NS = next()
	}
	if r.HostNS != nil {
		r.host = next()
		r.HostNS = &r.host
	}
	return &r.GapRow
}
