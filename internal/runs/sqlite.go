package runs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// An SQLite file is cleaned in place, by overwriting parts of its text with
// text of the same length: no cell moves, so the file stays valid without a
// writer of SQLite's format. Space that no cell uses (free pages, gaps inside
// pages, ends of overflow pages) still holds deleted content and is zeroed.

var errIndexText = errors.New("an index holds text that must change, which would break its order")

// sqliteFile walks an SQLite file page by page.
type sqliteFile struct {
	f    *os.File
	page int64 // bytes a page; all of them usable
	n    int64 // pages
	used []bool
}

// editRow may change the bytes of a row's texts, not their lengths. A nil
// element stands for a value that is neither text nor blob. It returns whether
// it changed anything.
type editRow func(table string, texts [][]byte) bool

// sqliteTable is a row of the schema.
type sqliteTable struct {
	kind, name string
	root       int64
}

// walkSQLite lets edit see every row of every table and index of the file. With
// write, what edit changes is written back and unused space is zeroed.
func walkSQLite(f *os.File, edit editRow, write bool) error {
	db, err := openSQLite(f)
	if err != nil {
		return err
	}
	if err := db.tables(edit, nil, write); err != nil || !write {
		return err
	}
	return db.zeroFree()
}

// editSQLiteTables is walkSQLite with write for the tables that want names: the
// others may be gigabytes. Pages that belong to no table stay as they are.
func editSQLiteTables(f *os.File, want func(table string) bool, edit editRow) error {
	db, err := openSQLite(f)
	if err != nil {
		return err
	}
	return db.tables(edit, want, true)
}

func (db *sqliteFile) tables(edit editRow, want func(table string) bool, write bool) error {
	var tables []sqliteTable
	schema := &treeWalk{db: db, table: "sqlite_schema", write: write, schema: &tables}
	if err := schema.walk(1); err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	for _, t := range tables {
		if t.root <= 0 || want != nil && !want(t.name) {
			continue // a view or trigger, or of no interest
		}
		w := &treeWalk{db: db, table: t.name, index: t.kind == "index", edit: edit, write: write}
		if err := w.walk(t.root); err != nil {
			return fmt.Errorf("%s %s: %w", t.kind, t.name, err)
		}
	}
	return nil
}

func openSQLite(f *os.File) (*sqliteFile, error) {
	var h [100]byte
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return nil, errors.New("it is not an SQLite file")
	}
	size := int64(binary.BigEndian.Uint16(h[16:]))
	if size == 1 {
		size = 65536
	}
	if size < 512 || size > 65536 || size&(size-1) != 0 {
		return nil, fmt.Errorf("page size %d is not possible", size)
	}
	if h[20] != 0 {
		return nil, fmt.Errorf("its pages reserve %d bytes for an extension", h[20])
	}
	if enc := binary.BigEndian.Uint32(h[56:]); enc > 1 {
		return nil, errors.New("its text is not UTF-8")
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size()%size != 0 {
		return nil, fmt.Errorf("its size is not a whole number of pages of %d bytes: it is cut off", size)
	}
	db := &sqliteFile{f: f, page: size, n: fi.Size() / size}
	db.used = make([]bool, db.n+1)
	return db, nil
}

// read returns page no and marks it as seen; a page seen before means that the
// file is damaged.
func (db *sqliteFile) read(no int64) ([]byte, error) {
	if no < 1 || no > db.n {
		return nil, fmt.Errorf("page %d of %d does not exist", no, db.n)
	}
	if db.used[no] {
		return nil, fmt.Errorf("page %d is used twice", no)
	}
	db.used[no] = true
	b := make([]byte, db.page)
	_, err := db.f.ReadAt(b, (no-1)*db.page)
	return b, err
}

func (db *sqliteFile) writePage(no int64, b []byte) error {
	_, err := db.f.WriteAt(b, (no-1)*db.page)
	return err
}

// treeWalk visits one b-tree.
type treeWalk struct {
	db     *sqliteFile
	table  string
	index  bool // of an index, not of a table
	edit   editRow
	write  bool
	schema *[]sqliteTable // collects the schema when this is its tree
	texts  [][]byte       // of the record at hand
}

// span is a part of a payload: where its bytes lie.
type span struct {
	page int64 // 0: the page of the cell
	off  int
	n    int
}

func (w *treeWalk) walk(root int64) error {
	stack := []int64{root}
	for len(stack) > 0 {
		no := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		b, err := w.db.read(no)
		if err != nil {
			return err
		}
		children, err := w.visitPage(no, b)
		if err != nil {
			return fmt.Errorf("page %d: %w", no, err)
		}
		stack = append(stack, children...)
	}
	return nil
}

// visitPage handles the cells of one page and returns the pages below it.
func (w *treeWalk) visitPage(no int64, b []byte) (children []int64, err error) {
	head := 0
	if no == 1 {
		head = 100
	}
	kind := b[head]
	size := 8
	switch kind {
	case 0x02, 0x05:
		size = 12
		children = append(children, int64(binary.BigEndian.Uint32(b[head+8:])))
	case 0x0a, 0x0d:
	default:
		return nil, fmt.Errorf("type %#x is not that of a table or index", kind)
	}
	cells := int(binary.BigEndian.Uint16(b[head+3:]))
	array := head + size
	if array+2*cells > len(b) {
		return nil, fmt.Errorf("%d cells do not fit", cells)
	}
	keep := make([]bool, len(b))
	mark(keep, 0, array+2*cells)
	for i := range cells {
		at := int(binary.BigEndian.Uint16(b[array+2*i:]))
		child, end, err := w.visitCell(kind, b, at)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if child > 0 {
			children = append(children, child)
		}
		mark(keep, at, min(max(end, at+4), len(b)))
	}
	if !w.write {
		return children, nil
	}
	if err := keepFreeblocks(keep, b, int(binary.BigEndian.Uint16(b[head+1:]))); err != nil {
		return nil, err
	}
	for i := range b {
		if !keep[i] {
			b[i] = 0
		}
	}
	return children, w.db.writePage(no, b)
}

func mark(keep []bool, from, to int) {
	for i := from; i < to; i++ {
		keep[i] = true
	}
}

// keepFreeblocks spares the four bytes that chain the free blocks of a page.
func keepFreeblocks(keep []bool, b []byte, at int) error {
	for steps := 0; at != 0; steps++ {
		if at+4 > len(b) || steps > len(b)/4 {
			return errors.New("its list of free blocks is damaged")
		}
		mark(keep, at, at+4)
		at = int(binary.BigEndian.Uint16(b[at:]))
	}
	return nil
}

// visitCell handles the cell at offset at and returns the page below it, if
// any, and the offset after the cell.
func (w *treeWalk) visitCell(kind byte, b []byte, at int) (child int64, end int, err error) {
	if at < 8 || at >= len(b) {
		return 0, 0, fmt.Errorf("offset %d is outside the page", at)
	}
	i := at
	if kind == 0x02 || kind == 0x05 {
		if i+4 > len(b) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		child = int64(binary.BigEndian.Uint32(b[i:]))
		i += 4
	}
	if kind == 0x05 {
		_, n := varint(b[i:])
		if n == 0 {
			return 0, 0, io.ErrUnexpectedEOF
		}
		return child, i + n, nil
	}
	size, n := varint(b[i:])
	i += n
	if kind == 0x0d && n > 0 {
		_, n = varint(b[i:])
		i += n
	}
	if n == 0 || size > uint64(w.db.n*w.db.page) {
		return 0, 0, fmt.Errorf("payload of %d bytes is larger than the file", size)
	}
	end, err = w.visitPayload(kind, b, i, int(size))
	return child, end, err
}

// visitPayload gathers a record from its page and the overflow pages, lets it
// be edited, and puts it back.
func (w *treeWalk) visitPayload(kind byte, b []byte, at, size int) (end int, err error) {
	local := localPayload(kind, int(w.db.page), size)
	end = at + local
	if end > len(b) {
		return 0, io.ErrUnexpectedEOF
	}
	spans := []span{{0, at, local}}
	rec := b[at:end]
	if local < size {
		if end+4 > len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		next := int64(binary.BigEndian.Uint32(b[end:]))
		end += 4
		rec = append(make([]byte, 0, size), rec...)
		if rec, spans, err = w.gather(rec, spans, next, size); err != nil {
			return 0, err
		}
	}
	changed, err := w.visitRecord(rec)
	if err != nil || !changed || len(spans) == 1 {
		return end, err
	}
	return end, w.scatter(b, rec, spans)
}

func (w *treeWalk) gather(rec []byte, spans []span, next int64, size int) ([]byte, []span, error) {
	for len(rec) < size {
		p, err := w.db.read(next)
		if err != nil {
			return nil, nil, fmt.Errorf("overflow: %w", err)
		}
		n := min(size-len(rec), len(p)-4)
		rec = append(rec, p[4:4+n]...)
		spans = append(spans, span{next, 4, n})
		if w.write && 4+n < len(p) {
			clear(p[4+n:])
			if err := w.db.writePage(next, p); err != nil {
				return nil, nil, err
			}
		}
		next = int64(binary.BigEndian.Uint32(p))
	}
	return rec, spans, nil
}

func (w *treeWalk) scatter(b, rec []byte, spans []span) error {
	at := 0
	for _, s := range spans {
		part := rec[at : at+s.n]
		at += s.n
		if s.page == 0 {
			copy(b[s.off:], part)
			continue
		}
		if _, err := w.db.f.WriteAt(part, (s.page-1)*w.db.page+int64(s.off)); err != nil {
			return err
		}
	}
	return nil
}

// zeroFree zeroes what no b-tree uses: free pages, and pages that nothing
// refers to. Pages that map others in an auto-vacuum file are kept.
func (db *sqliteFile) zeroFree() error {
	var h [100]byte
	if _, err := db.f.ReadAt(h[:], 0); err != nil {
		return err
	}
	for next := int64(binary.BigEndian.Uint32(h[32:])); next != 0; {
		b, err := db.read(next)
		if err != nil {
			return fmt.Errorf("free list: %w", err)
		}
		n := int64(binary.BigEndian.Uint32(b[4:]))
		if n > db.page/4-2 {
			return fmt.Errorf("free list: page %d lists %d pages", next, n)
		}
		clear(b[8+4*n:])
		if err := db.writePage(next, b); err != nil {
			return err
		}
		next = int64(binary.BigEndian.Uint32(b))
	}
	vacuum := binary.BigEndian.Uint32(h[52:]) != 0
	zero := make([]byte, db.page)
	for no := int64(1); no <= db.n; no++ {
		if db.used[no] || (vacuum && db.isMap(no)) {
			continue
		}
		if err := db.writePage(no, zero); err != nil {
			return err
		}
	}
	return nil
}

func (db *sqliteFile) isMap(no int64) bool {
	lock := (int64(1)<<30)/db.page + 1
	group := db.page/5 + 1
	first := (no-2)/group*group + 2
	if first == lock {
		first++
	}
	return no == first
}
