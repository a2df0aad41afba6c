package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// EditRow sees the texts and blobs of one row of a table or index, in the order
// of the columns; a nil element stands for a value of another type. It may
// change their bytes, not their lengths, and returns whether it has.
type EditRow func(table string, texts [][]byte) bool

// errIndexText refuses an edit that would need an index to be sorted again.
var errIndexText = errors.New("an index holds text that must change, which would break its order")

// Texts shows visit every row of every table and index. What visit changes is
// not written. Unlike Scan it returns an error for any damage.
// f is only read and not closed.
func Texts(f *os.File, visit EditRow) error {
	e, err := newEditor(f)
	if err != nil {
		return err
	}
	return e.trees(visit, nil)
}

// EditTexts writes back what edit changes in any table. No cell moves, so the
// file stays valid. Space that no cell uses (free pages, gaps inside pages, ends
// of overflow pages) still holds deleted content and is zeroed.
// f must be open for reading and writing, and nobody else may write it. After an error
// the file may be changed in part.
func EditTexts(f *os.File, edit EditRow) error {
	e, err := newEditor(f)
	if err != nil {
		return err
	}
	e.write = true
	if err := e.trees(edit, nil); err != nil {
		return err
	}
	return e.zeroFree()
}

// EditTables is EditTexts for the tables and indexes that want names: the
// others may be gigabytes. Pages that belong to no table stay as they are.
// The rest of the contract is that of EditTexts.
func EditTables(f *os.File, want func(table string) bool, edit EditRow) error {
	e, err := newEditor(f)
	if err != nil {
		return err
	}
	e.write = true
	return e.trees(edit, want)
}

// editor walks all trees of a database and may change its pages.
// Every page is taken once: a page that two trees share is damage.
// It is for one goroutine. The file stays open: it belongs to the caller.
type editor struct {
	*DB
	out   *os.File
	write bool
	seen  []uint64 // bit per page, as in leaves
}

// tree is one b-tree of the schema.
type tree struct {
	kind, name string
	root       int64
}

// newEditor refuses what an edit in place cannot handle.
func newEditor(f *os.File) (*editor, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	db := &DB{path: f.Name(), file: f, size: info.Size()}
	if db.head, err = readHeader(f, db.size); err != nil {
		return nil, err
	}
	if db.head.usable != db.head.pageSize {
		return nil, fmt.Errorf("its pages reserve %d bytes for an extension", db.head.pageSize-db.head.usable)
	}
	if db.head.encoding != utf8Text {
		return nil, errors.New("its text is not UTF-8")
	}
	if db.size%int64(db.head.pageSize) != 0 {
		return nil, fmt.Errorf("its size is not a whole number of pages of %d bytes: it is cut off", db.head.pageSize)
	}
	db.pages = uint32(min(db.size/int64(db.head.pageSize), maxPages))
	return &editor{DB: db, out: f, seen: make([]uint64, int(db.pages)/64+1)}, nil
}

// trees walks the schema, which is never edited, and every tree that it lists.
func (e *editor) trees(edit EditRow, want func(string) bool) error {
	list, err := e.schema()
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	keep := func(string, [][]byte) bool { return false }
	if err := (&treeEdit{editor: e, tree: tree{"table", Schema, 1}, edit: keep}).walk(); err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	for _, t := range list {
		if t.root <= 0 || want != nil && !want(t.name) {
			continue // a view or trigger, or of no interest
		}
		if err := (&treeEdit{editor: e, tree: t, edit: edit}).walk(); err != nil {
			return fmt.Errorf("%s %s: %w", t.kind, t.name, err)
		}
	}
	return nil
}

// schema is an error for any damage: a tree that is not listed would keep its texts.
func (e *editor) schema() ([]tree, error) {
	var list []tree
	stats, err := e.Scan(context.Background(), &schemaTable, []string{"type", "name", "rootpage"}, 1, func(_ int, r *Row) error {
		list = append(list, tree{r.Text(0), r.Text(1), r.Int(2)})
		return nil
	})
	if err == nil && stats.Damaged() {
		err = stats.err()
	}
	return list, err
}

// take reads a page that no tree has reached before.
// The buffer is the caller's own: cells of it are edited in place.
func (e *editor) take(page uint32) ([]byte, error) {
	var stats ScanStats
	if !e.visit(page, e.seen, &stats) {
		return nil, fmt.Errorf("page %d lies outside the file, or two tables share it", page)
	}
	buf := make([]byte, e.head.pageSize)
	return buf, e.readPage(page, buf)
}

// put writes at once; there is no journal.
// A program that dies in between leaves pages of both states.
func (e *editor) put(page uint32, buf []byte) error {
	_, err := e.out.WriteAt(buf, e.offset(page))
	return err
}

// zeroFree zeroes what no b-tree uses: free pages, and pages that nothing
// refers to. Pages that map others in an auto-vacuum file are kept.
func (e *editor) zeroFree() error {
	head := make([]byte, headerSize)
	if err := readFull(e.file, head, 0); err != nil {
		return err
	}
	for next := binary.BigEndian.Uint32(head[32:]); next != 0; {
		buf, err := e.take(next)
		if err != nil {
			return fmt.Errorf("free list: %w", err)
		}
		n := int64(binary.BigEndian.Uint32(buf[4:]))
		if n > int64(len(buf)/4-2) {
			return fmt.Errorf("free list: page %d lists %d pages", next, n)
		}
		clear(buf[8+4*n:])
		if err := e.put(next, buf); err != nil {
			return err
		}
		next = binary.BigEndian.Uint32(buf)
	}
	vacuum := binary.BigEndian.Uint32(head[52:]) != 0
	zero := make([]byte, e.head.pageSize)
	for page := uint32(1); page <= e.pages; page++ {
		if e.seen[page/64]&(1<<(page%64)) != 0 || vacuum && e.isMap(page) {
			continue
		}
		if err := e.put(page, zero); err != nil {
			return err
		}
	}
	return nil
}

// isMap tells the pages that list the parents of those behind them.
func (e *editor) isMap(page uint32) bool {
	size := int64(e.head.pageSize)
	lock := (int64(1)<<30)/size + 1
	group := size/5 + 1
	first := (int64(page)-2)/group*group + 2
	if first == lock {
		first++
	}
	return int64(page) == first
}
