package sqlite

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

const (
	interiorPage = 0x05
	leafPage     = 0x0d
	// slack bytes follow every page buffer, so that the last integer of a page
	// can be loaded as a word.
	slack = 8
	// runBytes is the most that one read brings: large enough that the calls
	// cost nothing, small enough to stay in a core's cache.
	runBytes = 256 << 10
	// gapBytes between two wanted pages are read rather than skipped.
	gapBytes = 8 << 10
)

// readPage fills buf, which has the length of a page.
func (db *DB) readPage(page uint32, buf []byte) error {
	if page == 0 || page > db.pages {
		return fmt.Errorf("page %d lies outside the file of %d pages", page, db.pages)
	}
	if off, ok := db.inWAL(page); ok {
		return readFull(db.wal.file, buf, off)
	}
	return readFull(db.file, buf, db.offset(page))
}

// inWAL is where the log has the page; the page in the main file is then out of date.
func (db *DB) inWAL(page uint32) (int64, bool) {
	if db.wal == nil {
		return 0, false
	}
	off, ok := db.wal.frames[page]
	return off, ok
}

// offset counts from page 1, in bytes of the main file.
func (db *DB) offset(page uint32) int64 {
	return int64(page-1) * int64(db.head.pageSize)
}

// readFull fails if the file is shorter than it was when it was opened.
func readFull(r io.ReaderAt, buf []byte, off int64) error {
	n, err := r.ReadAt(buf, off)
	if n == len(buf) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("cut off at byte %d", off+int64(n))
	}
	return err
}

// run gives how many of the leading pages of the list one read brings, and how
// many pages of the file that read spans.
// Pages of the log are read one by one.
func (db *DB) run(list []uint32) (count, span int) {
	size := db.head.pageSize
	most, gap := uint32(max(runBytes/size, 1)), uint32(gapBytes/size)
	first := list[0]
	if _, ok := db.inWAL(first); ok || first == 0 || first > db.pages {
		return 1, 1
	}
	count = 1
	for ; count < len(list); count++ {
		prev, next := list[count-1], list[count]
		if next <= prev || next-prev > gap+1 || next-first >= most || next > db.pages {
			break
		}
		if _, ok := db.inWAL(next); ok {
			break
		}
	}
	return count, int(list[count-1]-first) + 1
}

// bodyStart is where the b-tree header of a page begins.
func bodyStart(page uint32) int {
	if page == 1 {
		return headerSize
	}
	return 0
}

// leaves lists the leaf pages below root in the order of the rowids. All
// leaves of a sound tree have the same depth, so only the interior pages and
// one leaf are read. What cannot be followed is counted in stats.
func (db *DB) leaves(root uint32, stats *ScanStats) []uint32 {
	buf := make([]byte, db.head.pageSize)
	seen := make([]uint64, int(db.pages)/64+1) // a page has one parent: another visit is a cycle
	if !db.visit(root, seen, stats) {
		return nil
	}
	level := []uint32{root}
	for {
		if !db.isInterior(level, buf) {
			return level
		}
		var next []uint32
		for _, page := range level {
			next = db.expand(page, buf, next, seen, stats)
		}
		level = next
	}
}

// visit marks a page and reports false for one that cannot be, which it counts as bad.
func (db *DB) visit(page uint32, seen []uint64, stats *ScanStats) bool {
	if page == 0 || page > db.pages {
		stats.badPage(page, pageOutside, fact.Count("pages", int64(db.pages)))
		return false
	}
	if seen[page/64]&(1<<(page%64)) != 0 {
		stats.badPage(page, pageTwice)
		return false
	}
	seen[page/64] |= 1 << (page % 64)
	return true
}

// isInterior reports the kind of the pages of a level by the first and the
// last of them that can be recognized.
func (db *DB) isInterior(level []uint32, buf []byte) bool {
	kind := func(page uint32) byte {
		if db.readPage(page, buf) != nil {
			return 0
		}
		return buf[bodyStart(page)]
	}
	for _, page := range level {
		if k := kind(page); k == interiorPage {
			return true
		} else if k == leafPage {
			break
		}
	}
	for _, page := range slices.Backward(level) {
		if k := kind(page); k == interiorPage || k == leafPage {
			return k == interiorPage
		}
	}
	return false
}

// expand appends the children of an interior page. A page of another kind is
// kept as it is: a leaf at the wrong depth still has rows.
func (db *DB) expand(page uint32, buf []byte, next []uint32, seen []uint64, stats *ScanStats) []uint32 {
	if err := db.readPage(page, buf); err != nil {
		stats.badPage(page, pageUnread, fact.Error("error", err))
		return next
	}
	start := bodyStart(page)
	switch kind := buf[start]; kind {
	case interiorPage:
	case leafPage:
		return append(next, page)
	default:
		stats.badPage(page, pageKind, fact.Count("kind", int(kind)))
		return next
	}
	count := int(binary.BigEndian.Uint16(buf[start+3:]))
	pointers := start + 12
	if pointers+2*count > db.head.usable {
		stats.badPage(page, pageCells, fact.Count("n", count))
		count = 0
	}
	for i := range count {
		at := int(binary.BigEndian.Uint16(buf[pointers+2*i:]))
		if at < pointers+2*count || at+5 > db.head.usable {
			stats.badPage(page, pageChild, fact.Count("n", i+1))
			continue
		}
		if child := binary.BigEndian.Uint32(buf[at:]); db.visit(child, seen, stats) {
			next = append(next, child)
		}
	}
	if child := binary.BigEndian.Uint32(buf[start+8:]); db.visit(child, seen, stats) {
		next = append(next, child)
	}
	return next
}
