package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
)

// minShare is the least number of leaf pages for which another goroutine pays.
// Smaller tables are scanned by one worker, whatever was asked for.
const minShare = 32

// Scan streams the given columns of a table to fn. The table is cut into at
// most Workers(workers) contiguous shares, in the order of the rowids: worker w
// sees the rows of its share in order, all of them before those of worker w+1.
// Different workers call fn at the same time.
//
// An error of fn or the end of ctx stops the scan and is returned. Damage is
// no error: it is counted in the stats, and everything readable is delivered.
// A table that cannot be scanned, and a column that it lacks, are errors. Several scans
// of one DB may run at the same time.
func (db *DB) Scan(ctx context.Context, table *Table, columns []string, workers int, fn func(worker int, r *Row) error) (ScanStats, error) {
	return db.scanTable(ctx, table, columns, workers, func(*plan, []uint32, int) {}, func(w int) func(*Row) error {
		return func(r *Row) error { return fn(w, r) }
	})
}

// scanTable is both scans: begin learns of the plan, the leaf pages and the number of
// shares before the first row, visit gives what takes the rows of a share.
func (db *DB) scanTable(ctx context.Context, table *Table, columns []string, workers int,
	begin func(p *plan, leaves []uint32, shares int), visit func(worker int) func(*Row) error) (stats ScanStats, err error) {
	if !table.refuse.IsZero() {
		return stats, fmt.Errorf("scan table %s of %s: its layout is not known (%s)", table.Name, db.path, table.refuse.Code)
	}
	p, err := newPlan(table, columns, db.head.encoding)
	if err != nil {
		return stats, fmt.Errorf("scan %s: %w", db.path, err)
	}
	leaves := db.leaves(table.root, &stats)
	n := max(1, min(Workers(workers), len(leaves)/minShare))
	begin(p, leaves, n)
	shares, err := db.scanShares(ctx, p, leaves, n, visit)
	for i := range shares {
		stats.add(shares[i])
	}
	stats.Changed = db.changed()
	return stats, err
}

// scanShares cuts the leaves into shares, each for one worker; visit gives what takes the
// rows of a worker.
// The first error stops all workers; stats of what they did until then come back.
func (db *DB) scanShares(ctx context.Context, p *plan, leaves []uint32, n int, visit func(worker int) func(*Row) error) ([]ScanStats, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shares := make([]ScanStats, n)
	var group sync.WaitGroup
	for w := range n {
		group.Go(func() {
			s := newScanner(db, p, visit(w))
			if err := s.scan(ctx, leaves[len(leaves)*w/n:len(leaves)*(w+1)/n]); err != nil {
				cancel(err)
			}
			shares[w] = s.stats
		})
	}
	group.Wait()
	return shares, context.Cause(ctx)
}

// scanner is the state of one worker.
type scanner struct {
	db  *DB
	fn  func(*Row) error
	row *Row
	buf []byte // a run of pages
	// page is allocated when the first record spills over.
	page  []byte // an overflow page
	stats ScanStats

	maxLocal int // of a payload that has no overflow pages
}

// newScanner allocates once per share: a run of pages and a row.
func newScanner(db *DB, p *plan, fn func(*Row) error) *scanner {
	return &scanner{
		db: db, fn: fn, row: p.newRow(),
		buf:      make([]byte, max(runBytes, db.head.pageSize)+slack),
		maxLocal: db.head.usable - 35,
	}
}

// It checks ctx between reads, not between rows.
func (s *scanner) scan(ctx context.Context, leaves []uint32) error {
	size := s.db.head.pageSize
	for len(leaves) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		count, span := s.db.run(leaves)
		first := leaves[0]
		if count > 1 && readFull(s.db.file, s.buf[:span*size], s.db.offset(first)) != nil {
			count = 1 // page by page, to lose only the ones that cannot be read
		}
		if count == 1 {
			if err := s.db.readPage(first, s.buf[:size]); err != nil {
				s.stats.badPage(first, pageUnread, fact.Error("error", err))
				leaves = leaves[1:]
				continue
			}
		}
		for _, page := range leaves[:count] {
			at := int(page-first) * size
			if err := s.leaf(page, s.buf[at:at+size+slack]); err != nil {
				return err
			}
		}
		leaves = leaves[count:]
	}
	return nil
}

// leaf delivers the rows of a page, which is followed by slack bytes in buf.
// Rows out of order are delivered and counted; one that repeats the rowid before it is
// damage.
func (s *scanner) leaf(page uint32, buf []byte) error {
	start, usable := bodyStart(page), s.db.head.usable
	if kind := buf[start]; kind != leafPage {
		s.stats.badPage(page, pageKind, fact.Count("kind", int(kind)))
		return nil
	}
	s.stats.Pages++
	count := int(binary.BigEndian.Uint16(buf[start+3:]))
	pointers := start + 8
	content := pointers + 2*count
	if content > usable {
		s.stats.badPage(page, pageCells, fact.Count("n", count))
		return nil
	}
	row := s.row
	for i := range count {
		before := row.rowID
		at := int(binary.BigEndian.Uint16(buf[pointers+2*i:]))
		cause := rowOutside
		if at >= content && at < usable {
			cause = s.cell(buf, at)
		}
		if cause == "" && i > 0 && row.rowID <= before {
			if row.rowID == before {
				cause = rowTwice
			} else {
				s.stats.Disordered++
			}
		}
		if cause != "" {
			s.stats.badRow(page, i, cause)
			continue
		}
		s.stats.Rows++
		if err := s.fn(row); err != nil {
			return err
		}
	}
	return nil
}

// cell decodes the cell at buf[at:] into the row, or says what is wrong with it.
func (s *scanner) cell(buf []byte, at int) (cause fact.Code) {
	usable, row := s.db.head.usable, s.row
	length, n := uint64(buf[at]), 1
	if length >= 0x80 {
		length, n = varint(buf[at:usable])
	}
	id, m := varint(buf[at+n : usable])
	if n == 0 || m == 0 {
		return rowOverEnd
	}
	at += n + m
	row.rowID = int64(id)
	if length > uint64(s.maxLocal) {
		return s.spilled(buf, at, length)
	}
	end := at + int(length)
	if end > usable {
		return rowOverEnd
	}
	if row.ints != nil {
		return row.plan.decodeInts(row.ints, row, buf[at:end+slack], int(length))
	}
	row.text = row.text[:0]
	_, cause = row.plan.decode(row.cells, buf[at:end], int(length))
	row.body = buf[at : end+slack]
	return cause
}

// spilled decodes a record that goes on in overflow pages. Those are read as
// far as the wanted columns reach.
func (s *scanner) spilled(buf []byte, at int, length uint64) (cause fact.Code) {
	db, row := s.db, s.row
	row.text = row.text[:0]
	if length > maxPayload || length > uint64(db.pages)*uint64(db.head.pageSize) {
		return rowHuge
	}
	size := int(length)
	local := db.head.local(size, true)
	if at+local+4 > db.head.usable {
		return rowOverEnd
	}
	row.overflow = append(row.overflow[:0], buf[at:at+local]...)
	next := binary.BigEndian.Uint32(buf[at+local:])
	head, n := varint(row.overflow)
	if n == 0 || head > length {
		return rowHeader
	}
	next, cause = s.follow(next, int(head))
	if cause != "" {
		return cause
	}
	end, cause := row.plan.decode(row.cells, row.overflow, size)
	if cause != "" {
		return cause
	}
	if _, cause = s.follow(next, end); cause != "" {
		return cause
	}
	// Pages are appended whole, so the record's own end has to be kept in mind:
	// decode has checked that no value goes beyond it.
	row.overflow = append(row.overflow, make([]byte, slack)...)
	row.body = row.overflow
	if row.ints != nil {
		row.plan.take(row.ints, row)
	}
	return ""
}

// follow appends overflow pages to the record until it has need bytes, and
// returns the page after the last. The buffer grows with what is read, never
// by a length in the file.
// It may read up to a page more than was needed.
func (s *scanner) follow(next uint32, need int) (uint32, fact.Code) {
	row, usable := s.row, s.db.head.usable
	if s.page == nil {
		s.page = make([]byte, s.db.head.pageSize)
	}
	// Brent's cycle detection: mark is compared with each page and moves on at
	// distances that double.
	mark, steps, limit := next, 0, 1
	for len(row.overflow) < need {
		if err := s.db.readPage(next, s.page); err != nil {
			return 0, rowOverflow
		}
		row.overflow = append(row.overflow, s.page[4:usable]...)
		next = binary.BigEndian.Uint32(s.page)
		if next == mark && len(row.overflow) < need {
			return 0, rowCycle
		}
		if steps++; steps == limit {
			mark, steps, limit = next, 0, limit*2
		}
	}
	return next, ""
}
