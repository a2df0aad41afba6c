package ncurep

import (
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fact"
)

// layout gives the field numbers of one kind of result message; 0 if the
// kind has no such field. What is not listed is skipped.
type layout struct {
	thread, created, context, stream          protowire.Number
	mangled, function, demangled, display     protowire.Number
	grid, block, launchInfo                   protowire.Number
	comments, contextName, streamName, frames protowire.Number
	metrics, sections, rules, nvtx, clock     protowire.Number
}

// layouts follow the .proto files of 2022.3 and 2024.1. The rules of ranges
// (20) and graphs (22) are in no published file; reports of 2025.3 carry them.
var layouts = [4]layout{
	Kernel: {thread: 1, mangled: 5, function: 6, demangled: 7, grid: 10, block: 11, comments: 12, metrics: 13, created: 14,
		sections: 17, rules: 19, nvtx: 21, context: 22, stream: 23, clock: 25, contextName: 26, streamName: 27, frames: 28},
	Range: {thread: 1, comments: 3, metrics: 4, created: 5, sections: 7, nvtx: 10, context: 11, clock: 12, contextName: 13, frames: 14, rules: 20},
	CommandList: {thread: 1, comments: 3, metrics: 4, created: 5, sections: 7, nvtx: 10, context: 11, stream: 12, clock: 13,
		contextName: 14, streamName: 15, frames: 16, display: 18, launchInfo: 20, rules: 21},
	Graph: {thread: 1, comments: 3, metrics: 4, created: 5, sections: 7, nvtx: 10, context: 11, stream: 12, clock: 13,
		contextName: 14, streamName: 15, frames: 16, rules: 22},
}

// maxResultField is the largest field number in layouts.
const maxResultField = 28

// A part decodes a message of a result and reports whether it was sound. What it could read
// before the damage is in the result all the same.
type part func([]byte) bool

// places are those of a result's fields. What the options leave out has none.
func (r *Reader) places(res *Result) places {
	l, to := &layouts[res.Kind], make(places, maxResultField+1)
	to[l.thread], to[l.created], to[l.context] = &res.ThreadID, &res.CreationTime, &res.ContextID
	to[l.stream] = func(id uint64) { res.StreamID, res.HasStream = uint32(id), true }
	to[l.mangled], to[l.function], to[l.demangled], to[l.display] = &res.MangledName, &res.FunctionName, &res.DemangledName, &res.DisplayName
	to[l.comments], to[l.contextName], to[l.streamName] = &res.Comments, &res.ContextName, &res.StreamName
	to[l.grid] = part(func(b []byte) bool { return decode(b, res.Grid.places()) })
	to[l.block] = part(func(b []byte) bool { return decode(b, res.Block.places()) })
	to[l.launchInfo] = part(res.launchInfo)
	to[l.frames] = part(func(b []byte) bool { return r.decode(b, places{1: list(&res.CPUStack, (*Frame).places)}) })
	to[l.clock] = part(func(b []byte) bool {
		return decode(b, places{2: func(locked uint64) { res.ClockLocked = new(locked != 0) }})
	})
	to[l.nvtx] = part(func(b []byte) (ok bool) {
		res.NVTX, ok = r.nvtx(b)
		return ok
	})
	if !r.opts.NoMetrics {
		to[l.metrics] = part(func(b []byte) bool { return r.metric(res, b) })
	}
	if r.opts.Sections {
		to[l.sections] = part(func(b []byte) bool {
			s, ok := decodeSection(b)
			res.Sections = append(res.Sections, s)
			return ok
		})
	}
	if r.opts.Rules {
		to[l.rules] = part(func(b []byte) bool {
			s, ok := r.rule(b)
			res.Rules = append(res.Rules, s)
			return ok
		})
	}
	to[0] = nil // taken by the fields that this kind lacks
	return to
}

// launchInfo takes the extents of the first function of a command list; those of further ones
// are not kept.
func (res *Result) launchInfo(b []byte) bool {
	return !res.Grid.IsZero() || decode(b, places{1: res.Grid.places(), 2: res.Block.places()})
}

// Both are the places of a message of their own in a result.
func (d *Dim3) places() places { return places{1: &d.X, 2: &d.Y, 3: &d.Z} }

func (f *Frame) places() places {
	return places{1: &f.Module, 2: &f.PC, 3: &f.File, 4: &f.Function, 5: &f.Line}
}

// Next returns the next result, or io.EOF after the last. Damage is reported
// by Warnings, never as an error: what follows it is still delivered.
// A Result is the caller's own and stays valid. An empty message uses up an ID.
// Options.Metrics is asked while it runs.
func (r *Reader) Next() (*Result, error) {
	for r.block < len(r.blocks) {
		b := &r.blocks[r.block]
		at, size, ok := r.nextMessage(b)
		if !ok {
			r.block, r.started = r.block+1, false
			continue
		}
		id := r.nextID
		r.nextID++
		if size == 0 {
			r.warn(at, 0, resultEmpty, fact.Count("result", id))
			continue
		}
		return r.result(b, id, ResultKind(r.kind), at, size), nil
	}
	return nil, io.EOF
}

// nextMessage finds the next result in a block, past the sources before it; false behind the
// last, and where the block is damaged, which it warns of.
func (r *Reader) nextMessage(b *block) (at, size int64, ok bool) {
	end := b.at + b.have
	if !r.started {
		r.at, r.kind, r.seen, r.started = b.at, 0, 0, true
		if b.counts == [4]uint32{} && b.have == b.size && b.sources > 0 {
			return 0, 0, false
		}
		if !r.skipSources(b, end) {
			return 0, 0, false
		}
	}
	for r.kind < len(b.counts) && r.seen == b.counts[r.kind] {
		r.kind, r.seen = r.kind+1, 0
	}
	if r.kind == len(b.counts) {
		if left := end - r.at; left > 0 {
			r.warn(r.at, left, blockUnknown, fact.Bytes("lost", left))
		}
		return 0, 0, false
	}
	at, size, ok = r.message(end)
	if !ok {
		return 0, 0, false
	}
	r.seen++
	r.at = at + size
	return at, size, true
}

// skipSources visits only the lengths; the entries hold whole cubins.
func (r *Reader) skipSources(b *block, end int64) bool {
	for range b.sources {
		at, size, ok := r.message(end)
		if !ok {
			return false
		}
		r.at = at + size
	}
	return true
}

// message reads the length in front of the message at r.at, and tells where it lies; false,
// with a warning, for one that reaches beyond end. It does not move r.at.
func (r *Reader) message(end int64) (at, size int64, ok bool) {
	c := &r.cur
	c.reset(r.at, end)
	n, err := c.uint32()
	switch {
	case err != nil:
		r.warn(r.at, end-r.at, blockEnds, fact.Bytes("lost", end-r.at))
	case int64(n) > c.left():
		r.warn(r.at, end-r.at, messageLong, fact.Bytes("size", int64(n)), fact.Bytes("lost", end-r.at))
	default:
		return c.offset(), int64(n), true
	}
	return 0, 0, false
}

// result reads the fields up to the first that is damaged; those before it are kept.
func (r *Reader) result(b *block, id int, kind ResultKind, at, size int64) *Result {
	res := &Result{ID: id, Kind: kind, Process: b.process, Device: -1}
	if !r.opts.NoMetrics {
		res.Metrics = make([]Metric, 0, r.expect)
	}
	c, to := &r.cur, r.places(res)
	c.reset(at, at+size)
	for c.left() > 0 {
		if err := r.resultField(res, to); err != nil {
			res.LostFields++
			r.warn(c.offset(), c.left(), resultDamaged, fact.Count("result", id), fact.Error("error", err), fact.Bytes("lost", c.left()))
			break
		}
	}
	r.expect = len(res.Metrics)
	return res
}

// resultField reads one field of a result, or skips it unread if it has no place.
func (r *Reader) resultField(res *Result, to places) error {
	c := &r.cur
	f, n, err := c.field()
	if err != nil {
		return err
	}
	var place any
	if int(f.num) < len(to) {
		place = to[f.num]
	}
	switch {
	case f.typ == protowire.VarintType:
		f.put(place, nil)
		return nil
	case f.typ != protowire.BytesType:
		return nil
	case place == nil:
		return c.skip(n)
	case n > maxField:
		res.LostFields++
		r.warn(c.offset(), n, fieldLarge, fact.Count("result", res.ID), fact.Bytes("size", n), fact.Bytes("most", int64(maxField)))
		return c.skip(n)
	}
	at := c.offset()
	if f.data, err = c.next(n); err != nil {
		return err
	}
	if p, ok := place.(part); !ok {
		f.put(place, r.intern)
	} else if !p(f.data) {
		res.LostFields++
		r.warn(at, n, fieldDamaged, fact.Count("result", res.ID), fact.Count("field", int64(f.num)))
	}
	return nil
}
