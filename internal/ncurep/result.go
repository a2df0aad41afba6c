package ncurep

import (
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fact"
)

// layout gives the field numbers of one kind of result message; 0 where the
// kind has no such field. What is not listed is passed over.
type layout struct {
	thread, call, kernel            protowire.Number
	mangled, function, demangled    protowire.Number
	display, grid, block, comments  protowire.Number
	metrics, created, source        protowire.Number
	sections, rules, unsupported    protowire.Number
	nvtx, context, stream, clock    protowire.Number
	contextName, streamName, frames protowire.Number
	references, green, launchInfo   protowire.Number
}

// layouts follow the .proto files of 2022.3 and 2024.1. The rules of ranges
// (20) and graphs (22) are in no published file; reports of 2025.3 carry them.
var layouts = [4]layout{
	Kernel: {thread: 1, call: 2, kernel: 4, mangled: 5, function: 6, demangled: 7, grid: 10, block: 11, comments: 12,
		metrics: 13, created: 14, source: 15, sections: 17, rules: 19, unsupported: 20, nvtx: 21, context: 22, stream: 23,
		clock: 25, contextName: 26, streamName: 27, frames: 28, green: 30},
	Range: {thread: 1, call: 2, comments: 3, metrics: 4, created: 5, sections: 7, unsupported: 9, nvtx: 10, context: 11,
		clock: 12, contextName: 13, frames: 14, references: 15, green: 16, rules: 20},
	CommandList: {thread: 1, call: 2, comments: 3, metrics: 4, created: 5, sections: 7, unsupported: 9, nvtx: 10, context: 11,
		stream: 12, clock: 13, contextName: 14, streamName: 15, frames: 16, references: 17, display: 18, launchInfo: 20, rules: 21},
	Graph: {thread: 1, call: 2, comments: 3, metrics: 4, created: 5, sections: 7, unsupported: 9, nvtx: 10, context: 11,
		stream: 12, clock: 13, contextName: 14, streamName: 15, frames: 16, references: 17, green: 18, rules: 22},
}

// Next returns the next result, or io.EOF after the last. Damage is reported
// by Warnings, never as an error: what follows it is still delivered.
// A Result is the caller's own and stays valid. An empty message uses up an ID.
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

// nextMessage finds the next result in a block, past the sources before it.
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

// message reads the length in front of the message at r.at.
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
	c := &r.cur
	c.reset(at, at+size)
	for c.left() > 0 {
		if err := r.resultField(res, &layouts[kind]); err != nil {
			res.LostFields++
			r.warn(c.offset(), c.left(), resultDamaged, fact.Count("result", id), fact.Error("error", err), fact.Bytes("lost", c.left()))
			break
		}
	}
	r.expect = len(res.Metrics)
	return res
}

// resultField reads or passes over one field of a result.
func (r *Reader) resultField(res *Result, l *layout) error {
	c := &r.cur
	tag, err := c.varint()
	if err != nil {
		return err
	}
	num, typ := protowire.DecodeTag(tag)
	switch {
	case num < 1:
		return errShort
	case typ == protowire.VarintType:
		v, err := c.varint()
		if err != nil {
			return err
		}
		res.number(l, num, v)
		return nil
	case typ == protowire.Fixed64Type:
		return c.skip(8)
	case typ == protowire.Fixed32Type:
		return c.skip(4)
	case typ != protowire.BytesType:
		return errShort
	}
	n, err := c.varint()
	if err != nil {
		return err
	}
	if n > uint64(c.left()) {
		return errShort
	}
	if !r.wantsField(l, num) {
		return c.skip(int64(n))
	}
	if n > maxField {
		res.LostFields++
		r.warn(c.offset(), int64(n), fieldLarge, fact.Count("result", res.ID), fact.Bytes("size", int64(n)), fact.Bytes("most", int64(maxField)))
		return c.skip(int64(n))
	}
	at := c.offset()
	data, err := c.next(int64(n))
	if err != nil {
		return err
	}
	if !r.resultMessage(res, l, num, data) {
		res.LostFields++
		r.warn(at, int64(n), fieldDamaged, fact.Count("result", res.ID), fact.Count("field", int64(num)))
	}
	return nil
}

// wantsField: what is not wanted is skipped, unread where it is large.
func (r *Reader) wantsField(l *layout, num protowire.Number) bool {
	switch num {
	case l.metrics:
		return !r.opts.NoMetrics
	case l.sections:
		return r.opts.Sections
	case l.rules:
		return r.opts.Rules
	case l.mangled, l.function, l.demangled, l.display, l.grid, l.block, l.comments, l.source, l.nvtx,
		l.clock, l.contextName, l.streamName, l.frames, l.references, l.launchInfo:
		return true
	}
	return false
}

// number takes a field that holds a plain number.
func (res *Result) number(l *layout, num protowire.Number, v uint64) {
	switch num {
	case l.thread:
		res.ThreadID = uint32(v)
	case l.call:
		res.APICallID = v
	case l.kernel:
		res.KernelID = v
	case l.created:
		res.CreationTime = v
	case l.unsupported:
		res.UnsupportedDevice = v != 0
	case l.context:
		res.ContextID = uint32(v)
	case l.stream:
		res.StreamID, res.HasStream = uint32(v), true
	case l.green:
		res.GreenContext = v != 0
	case l.references:
		res.SourceRefs = append(res.SourceRefs, v)
	}
}

// resultMessage takes a field that holds a text or a message, and reports whether it was sound.
func (r *Reader) resultMessage(res *Result, l *layout, num protowire.Number, b []byte) bool {
	ok := true
	switch num {
	case l.metrics:
		return r.metric(res, b)
	case l.mangled:
		res.MangledName = r.intern(b)
	case l.function:
		res.FunctionName = r.intern(b)
	case l.demangled:
		res.DemangledName = r.intern(b)
	case l.display:
		res.DisplayName = r.intern(b)
	case l.comments:
		res.Comments = string(b)
	case l.contextName:
		res.ContextName = r.intern(b)
	case l.streamName:
		res.StreamName = r.intern(b)
	case l.grid:
		res.Grid, ok = decodeDim3(b)
	case l.block:
		res.Block, ok = decodeDim3(b)
	case l.launchInfo:
		ok = res.launchInfo(b)
	case l.source:
		// The source itself is in a block of its own; here is its reference.
		ok = eachField(b, func(f field) {
			if f.num == 1 {
				res.SourceRefs = append(res.SourceRefs, f.val)
			}
		})
	case l.references:
		ok = eachPacked(b, func(v uint64) { res.SourceRefs = append(res.SourceRefs, v) })
	case l.clock:
		ok = eachField(b, func(f field) {
			if f.num == 2 {
				res.ClockLocked = new(f.bool())
			}
		})
	case l.frames:
		ok = eachField(b, func(f field) {
			if f.num == 1 {
				res.CPUStack = append(res.CPUStack, r.frameOf(f.data))
			}
		})
	case l.nvtx:
		res.NVTX, ok = r.nvtx(b)
	case l.sections:
		var s Section
		s, ok = decodeSection(b)
		res.Sections = append(res.Sections, s)
	case l.rules:
		var s RuleResult
		s, ok = r.rule(b)
		res.Rules = append(res.Rules, s)
	}
	return ok
}

// eachPacked reads a packed list of numbers; false where it ends inside one.
func eachPacked(b []byte, fn func(uint64)) bool {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return false
		}
		fn(v)
		b = b[n:]
	}
	return true
}

// launchInfo takes the extents of the first function of a command list.
func (res *Result) launchInfo(b []byte) bool {
	if !res.Grid.IsZero() {
		return true
	}
	return eachField(b, func(f field) {
		switch f.num {
		case 1:
			res.Grid, _ = decodeDim3(f.data)
		case 2:
			res.Block, _ = decodeDim3(f.data)
		}
	})
}

func decodeDim3(b []byte) (Dim3, bool) {
	var d Dim3
	ok := eachField(b, func(f field) {
		switch f.num {
		case 1:
			d.X = f.val
		case 2:
			d.Y = f.val
		case 3:
			d.Z = f.val
		}
	})
	return d, ok
}

// frameOf is one frame; the stack keeps the order of the file.
func (r *Reader) frameOf(b []byte) Frame {
	var fr Frame
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			fr.Module = r.intern(f.data)
		case 2:
			fr.PC = f.val
		case 3:
			fr.File = r.intern(f.data)
		case 4:
			fr.Function = r.intern(f.data)
		case 5:
			fr.Line = uint32(f.val)
		}
	})
	return fr
}
