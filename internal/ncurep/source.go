package ncurep

import (
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

// source describes an entry as far as it can be read; false for an empty one.
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

// sourceField adds up the sizes of the contents, in bytes, and skips them.
func (r *Reader) sourceField(s *Source) error {
	f, size, err := r.cur.field()
	if err != nil {
		return err
	}
	switch f.num {
	case 2:
		s.CodeSize += size
	case 4:
		s.BinarySize += size
	case 8:
		s.FilesSize += size
	case 1, 6:
		f.put(places{1: &s.Reference, 6: &s.SMRevision}[f.num], nil)
	}
	return r.cur.skip(size)
}
