package ncurep

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fact"
)

// sources lists the embedded cubins and sources of a report by reading their
// field headers only. It does not disturb Next.
func (r *Reader) sources() []Source {
	saved := r.at
	defer func() { r.at = saved }()
	var out []Source
	for i := range r.blocks {
		b := &r.blocks[i]
		r.at = b.at
		for range b.sources {
			at, size, ok := r.message(b.at + b.have)
			if !ok {
				break
			}
			if s, ok := r.source(at, size); ok {
				out = append(out, s)
			}
			r.at = at + size
		}
	}
	return out
}

// source reports false for an empty entry.
func (r *Reader) source(at, size int64) (Source, bool) {
	s := Source{Size: size}
	if size == 0 {
		return s, false
	}
	c := &r.cur
	c.reset(at, at+size)
	for c.left() > 0 {
		if err := r.sourceField(&s); err != nil {
			r.warn(c.offset(), c.left(), sourceDamaged, fact.Error("error", err))
			break
		}
	}
	return s, true
}

// sourceField adds up the sizes of the contents and skips them.
func (r *Reader) sourceField(s *Source) error {
	c := &r.cur
	tag, err := c.varint()
	if err != nil {
		return err
	}
	num, typ := protowire.DecodeTag(tag)
	switch typ {
	case protowire.Fixed32Type:
		return c.skip(4)
	case protowire.Fixed64Type:
		return c.skip(8)
	case protowire.VarintType, protowire.BytesType:
	default:
		return errShort
	}
	v, err := c.varint()
	if err != nil {
		return err
	}
	if typ == protowire.VarintType {
		switch num {
		case 1:
			s.Reference = v
		case 6:
			s.SMRevision = uint32(v)
		}
		return nil
	}
	if v > uint64(c.left()) {
		return errShort
	}
	switch num {
	case 2:
		s.CodeSize += int64(v)
	case 4:
		s.BinarySize += int64(v)
	case 8:
		s.FilesSize += int64(v)
	}
	return c.skip(int64(v))
}
