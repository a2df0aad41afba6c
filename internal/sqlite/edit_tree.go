package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	indexInterior = 0x02
	indexLeaf     = 0x0a
)

// treeEdit walks one b-tree of an editor.
type treeEdit struct {
	*editor
	tree
	edit   EditRow
	sorted bool // by the texts of its records: an index, or a table WITHOUT ROWID
	// texts is used again for the next record.
	texts [][]byte // of the record at hand
}

// span says where a part of a payload lies; page 0 is that of the cell.
type span struct {
	page uint32
	off  int
	n    int
}

// walk visits pages in no particular order of rows; its memory is that of one page and
// the numbers of those still to visit.
func (w *treeEdit) walk() error {
	if w.root > maxPages {
		return fmt.Errorf("its root page %d cannot be", w.root)
	}
	stack := []uint32{uint32(w.root)}
	for len(stack) > 0 {
		page := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		buf, err := w.take(page)
		if err != nil {
			return err
		}
		children, err := w.editPage(page, buf)
		if err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		stack = append(stack, children...)
	}
	return nil
}

// editPage handles the cells of one page and returns the pages below it.
func (w *treeEdit) editPage(page uint32, buf []byte) (children []uint32, err error) {
	head := bodyStart(page)
	kind := buf[head]
	w.sorted = kind == indexInterior || kind == indexLeaf
	size := 8
	switch kind {
	case indexInterior, interiorPage:
		size = 12
		children = append(children, binary.BigEndian.Uint32(buf[head+8:]))
	case indexLeaf, leafPage:
	default:
		return nil, fmt.Errorf("type %#x is not that of a table or index", kind)
	}
	cells := int(binary.BigEndian.Uint16(buf[head+3:]))
	array := head + size
	if array+2*cells > len(buf) {
		return nil, fmt.Errorf("%d cells do not fit", cells)
	}
	keep := make([]bool, len(buf))
	mark(keep, 0, array+2*cells)
	for i := range cells {
		at := int(binary.BigEndian.Uint16(buf[array+2*i:]))
		child, end, err := w.editCell(kind, buf, at)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if child > 0 {
			children = append(children, child)
		}
		mark(keep, at, min(max(end, at+4), len(buf)))
	}
	if !w.write {
		return children, nil
	}
	if err := keepFreeblocks(keep, buf, int(binary.BigEndian.Uint16(buf[head+1:]))); err != nil {
		return nil, err
	}
	for i := range buf {
		if !keep[i] {
			buf[i] = 0
		}
	}
	return children, w.put(page, buf)
}

// mark keeps the bytes from up to before to; the caller bounds both.
func mark(keep []bool, from, to int) {
	for i := from; i < to; i++ {
		keep[i] = true
	}
}

// keepFreeblocks spares the four bytes that chain the free blocks of a page.
func keepFreeblocks(keep []bool, buf []byte, at int) error {
	for steps := 0; at != 0; steps++ {
		if at+4 > len(buf) || steps > len(buf)/4 {
			return errors.New("its list of free blocks is damaged")
		}
		mark(keep, at, at+4)
		at = int(binary.BigEndian.Uint16(buf[at:]))
	}
	return nil
}

// editCell handles the cell at offset at and returns the page below it, if any,
// and the offset after the cell.
func (w *treeEdit) editCell(kind byte, buf []byte, at int) (child uint32, end int, err error) {
	if at < 8 || at >= len(buf) {
		return 0, 0, fmt.Errorf("offset %d is outside the page", at)
	}
	i := at
	if kind == indexInterior || kind == interiorPage {
		if i+4 > len(buf) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		child = binary.BigEndian.Uint32(buf[i:])
		i += 4
	}
	size, n := varint(buf[i:])
	if kind == interiorPage { // that was the rowid; it has no payload
		if n == 0 {
			return 0, 0, io.ErrUnexpectedEOF
		}
		return child, i + n, nil
	}
	i += n
	if kind == leafPage && n > 0 {
		_, n = varint(buf[i:])
		i += n
	}
	if n == 0 || size > uint64(w.size) {
		return 0, 0, fmt.Errorf("payload of %d bytes is larger than the file", size)
	}
	end, err = w.editPayload(kind, buf, i, int(size))
	return child, end, err
}

// editPayload gathers a record from its page and the overflow pages, lets it be
// edited, and puts it back.
func (w *treeEdit) editPayload(kind byte, buf []byte, at, size int) (end int, err error) {
	local := w.head.local(size, kind == leafPage)
	end = at + local
	if end > len(buf) {
		return 0, io.ErrUnexpectedEOF
	}
	spans := []span{{0, at, local}}
	rec := buf[at:end]
	if local < size {
		if end+4 > len(buf) {
			return 0, io.ErrUnexpectedEOF
		}
		next := binary.BigEndian.Uint32(buf[end:])
		end += 4
		rec = append(make([]byte, 0, size), rec...)
		if rec, spans, err = w.gather(rec, spans, next, size); err != nil {
			return 0, err
		}
	}
	changed, err := w.editRecord(rec)
	if err != nil || !changed || len(spans) == 1 || !w.write {
		return end, err
	}
	return end, w.scatter(buf, rec, spans)
}

// gather appends the parts on overflow pages to rec, which has room for them, and notes
// where each lies. It also zeroes what the last overflow page does not use.
func (w *treeEdit) gather(rec []byte, spans []span, next uint32, size int) ([]byte, []span, error) {
	for len(rec) < size {
		p, err := w.take(next)
		if err != nil {
			return nil, nil, fmt.Errorf("overflow: %w", err)
		}
		n := min(size-len(rec), len(p)-4)
		rec = append(rec, p[4:4+n]...)
		spans = append(spans, span{next, 4, n})
		if w.write && 4+n < len(p) {
			clear(p[4+n:])
			if err := w.put(next, p); err != nil {
				return nil, nil, err
			}
		}
		next = binary.BigEndian.Uint32(p)
	}
	return rec, spans, nil
}

// scatter writes the parts on overflow pages; that on the page of the cell only into
// buf, which editPage writes.
func (w *treeEdit) scatter(buf, rec []byte, spans []span) error {
	at := 0
	for _, s := range spans {
		part := rec[at : at+s.n]
		at += s.n
		if s.page == 0 {
			copy(buf[s.off:], part)
			continue
		}
		if _, err := w.out.WriteAt(part, w.offset(s.page)+int64(s.off)); err != nil {
			return err
		}
	}
	return nil
}

// editRecord splits a record into its values. The texts handed to edit are parts
// of rec.
// It reports whether edit changed anything, and refuses a change in a sorted tree.
func (w *treeEdit) editRecord(rec []byte) (bool, error) {
	head, n := varint(rec)
	if n == 0 || head < uint64(n) || head > uint64(len(rec)) {
		return false, errors.New("the header of a record is damaged")
	}
	types, body := rec[n:head], rec[head:]
	w.texts = w.texts[:0]
	for len(types) > 0 {
		serial, n := varint(types)
		size := serialLen(serial)
		if n == 0 || size > int64(len(body)) {
			return false, errors.New("a record is damaged")
		}
		types = types[n:]
		var text []byte
		if serial >= 12 {
			text = body[:size:size]
		}
		w.texts = append(w.texts, text)
		body = body[size:]
	}
	changed := w.edit(w.name, w.texts)
	if changed && w.write && w.sorted {
		return false, errIndexText
	}
	return changed, nil
}
