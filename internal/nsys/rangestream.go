package nsys

import (
	"context"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A rangeStream goes through the NVTX ranges of a file in their order, any number of times,
// so that millions of them need no memory. What they refer to is in the timeline of its
// builder.
// One pass at a time, on one goroutine; close ends the last.
type rangeStream struct {
	b     *builder
	f     *File // of its own
	ctx   context.Context
	end   func() // of the pass
	now   *conveyor[passingRange, rangeSite]
	sites []timeline.Range // of the pass: what ranges of a site have in common
	rows  []timeline.Range // that were given last
	lost  bool             // a range refers to what was not there before, or could not be read
}

// A passingRange is a row of NVTX_EVENTS.
type passingRange struct {
	start, end int64
	site       uint32
	unclosed   bool
}

// A rangeSite is what many ranges have in common.
type rangeSite struct {
	name      name
	globalTid int64
	domain    domain
	kind      timeline.RangeKind
}

// Ranges begins a pass, as timeline.Flow says.
func (s *rangeStream) Ranges() func() []timeline.Range {
	s.close()
	ctx, stop := context.WithCancel(s.ctx)
	s.end, s.sites = stop, nil
	s.now = newConveyor(ctx, func(c *conveyor[passingRange, rangeSite]) error { return s.read(ctx, c) })
	return s.next
}

// read runs on a goroutine of its own.
func (s *rangeStream) read(ctx context.Context, c *conveyor[passingRange, rangeSite]) error {
	table, columns, at := s.f.columns(&nvtxLayout)
	if table == nil {
		return nil
	}
	columns = slices.DeleteFunc(columns, func(name string) bool { return name == "" })
	type numbers struct {
		name      timeline.StringID
		globalTid int64
		domain    uint32
		kind      timeline.RangeKind
	}
	var share nvtxShare
	var known interner[numbers]
	var sites []rangeSite
	c.keys = &sites
	_, err := s.f.db.Scan(ctx, table, columns, 1, func(_ int, in *sqlite.Row) error {
		r := row{in, at}
		if !r.whole(nvtxStart) || !r.whole(nvtxType) {
			return nil
		}
		key := numbers{globalTid: r.int(nvtxThread)}
		switch r.int(nvtxType) {
		case eventPushPop, eventTPushPop:
			key.kind = timeline.PushPop
		case eventStartEnd, eventTStartEnd:
			key.kind = timeline.StartEnd
		default:
			return nil
		}
		key.name, _ = share.name(r)
		key.domain = share.domain(r)
		site := known.id(key)
		if int(site) == len(sites) {
			sites = append(sites, rangeSite{share.names.list[key.name], key.globalTid, share.domains.list[key.domain], key.kind})
		}
		return c.put(passingRange{r.int(nvtxStart), r.int(nvtxEnd), site, r.null(nvtxEnd)})
	})
	if err != nil {
		return fmt.Errorf("read table %s: %w", nvtxLayout.table, err)
	}
	return nil
}

// next gives the next ranges, which are valid until it is called again.
func (s *rangeStream) next() []timeline.Range {
	if !s.now.next() {
		s.lost = s.lost || !s.now.ended()
		return nil
	}
	for _, site := range s.now.now.keys[len(s.sites):] {
		name, ok := s.b.names.ids[site.name]
		thread, known := s.b.threads.ids[site.globalTid]
		domain, there := s.b.domains.ids[site.domain]
		s.lost = s.lost || !ok || !known || !there
		s.sites = append(s.sites, timeline.Range{
			Name: s.b.renamed[name], Thread: thread, Domain: domain, Kind: site.kind, EndThread: timeline.None, Payload: timeline.None,
		})
	}
	s.rows = s.rows[:0]
	for i := range s.now.now.rows {
		r := &s.now.now.rows[i]
		g := s.sites[r.site]
		g.Start, g.End, g.Unclosed = r.start, r.end, r.unclosed
		if r.unclosed {
			g.End = s.b.t.LastNVTX.NS
		}
		s.rows = append(s.rows, g)
	}
	return s.rows
}

// close ends the pass. It returns when its goroutine has ended.
func (s *rangeStream) close() {
	if s.now != nil {
		s.end()
		s.now.drain()
		s.now = nil
	}
}
