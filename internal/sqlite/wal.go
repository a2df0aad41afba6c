package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/deepprof/deepprof/internal/fact"
)

const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	walMagic        = 0x377f0682 // the lowest bit tells the byte order of the checksums
	walVersion      = 3007000
)

var journalMagic = []byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}

// checkJournal refuses a database with a hot rollback journal: its pages are
// half those of an unfinished transaction. A journal that was kept after a
// commit has a zeroed or empty head.
// It only looks: rolling back is for SQLite to do.
func checkJournal(path string) error {
	name := path + "-journal"
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() < int64(len(journalMagic)) {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read rollback journal: %w", err)
	}
	defer file.Close()
	head := make([]byte, len(journalMagic))
	if _, err := io.ReadFull(file, head); err != nil || !bytes.Equal(head, journalMagic) {
		return nil
	}
	return fmt.Errorf("%w: %s holds an unfinished transaction; wait for the export to end, "+
		"or, if nothing writes it any more, roll it back with: sqlite3 %s 'PRAGMA schema_version'", errBusy, name, path)
}

// wal maps pages to their last committed frame in the write-ahead log.
// It is built at Open and then only read, so that several scans may use it.
type wal struct {
	file   io.ReaderAt
	frames map[uint32]int64 // page number to the offset of its content
}

// openLog opens the write-ahead log beside the database; nil without one.
func (db *DB) openLog() (io.ReaderAt, int64, error) {
	name := db.beside + "-wal"
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() < walHeaderSize+frameHeaderSize {
		return nil, 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("read write-ahead log: %w", err)
	}
	db.closers = append(db.closers, file)
	db.stamps = append(db.stamps, stamp{name, info.Size(), info.ModTime()})
	return file, info.Size(), nil
}

// loadWAL reads a log of the given size. Frames after the last commit, and
// those left from before the log was reset, do not count.
func (db *DB) loadWAL(file io.ReaderAt, size int64) error {
	w := &wal{file: file}
	committed, last, err := w.index(db.head.pageSize, db.pages, size)
	if err != nil {
		return fmt.Errorf("read write-ahead log: %w", err)
	}
	if committed == 0 {
		return nil
	}
	db.wal = w
	db.pages = last
	db.warnings = append(db.warnings, fact.New(logRead, fact.Count("n", len(w.frames)), fact.File("file", db.beside)))
	return db.reloadHeader()
}

// reloadHeader takes the header from the log when the log holds page 1.
func (db *DB) reloadHeader() error {
	if _, ok := db.wal.frames[1]; !ok {
		return nil
	}
	page := make([]byte, db.head.pageSize)
	if err := db.readPage(1, page); err != nil {
		return err
	}
	if !bytes.HasPrefix(page, []byte(Magic)) {
		return fmt.Errorf("%w: page 1 in the write-ahead log is no header", errNotSQLite)
	}
	head, err := parseHeader(page)
	if err != nil {
		return err
	}
	if head.pageSize != db.head.pageSize {
		return fmt.Errorf("page size %d in the write-ahead log, %d in the database", head.pageSize, db.head.pageSize)
	}
	db.head = head
	return nil
}

// index fills w.frames from the committed frames, which it counts, and gives
// the size of the database in pages after the last of them.
func (w *wal) index(pageSize int, filePages uint32, size int64) (committed int64, last uint32, err error) {
	in := io.NewSectionReader(w.file, 0, size)
	head := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, 0, err
	}
	be := binary.BigEndian
	if be.Uint32(head)&^1 != walMagic || be.Uint32(head[4:]) != walVersion || be.Uint32(head[8:]) != uint32(pageSize) {
		return 0, 0, nil // SQLite ignores such a log too
	}
	var order binary.ByteOrder = binary.LittleEndian
	if be.Uint32(head)&1 == 1 {
		order = be
	}
	var sum checksum
	if sum.add(order, head[:24]); !sum.equals(head[24:]) {
		return 0, 0, nil
	}
	// Every page of a sound database is in the file or in a frame, which bounds
	// the page numbers that a damaged log can bring.
	frameSize := int64(frameHeaderSize + pageSize)
	most := int64(filePages) + (size-walHeaderSize)/frameSize
	w.frames = map[uint32]int64{}
	pending := map[uint32]int64{}
	frame := make([]byte, frameSize)
	for at := int64(walHeaderSize); ; at += frameSize {
		if _, err := io.ReadFull(in, frame); err != nil {
			return committed, last, nil
		}
		page, commit := be.Uint32(frame), be.Uint32(frame[4:])
		if !bytes.Equal(frame[8:16], head[16:24]) || page == 0 || int64(page) > most || int64(commit) > most {
			return committed, last, nil
		}
		sum.add(order, frame[:8])
		if sum.add(order, frame[frameHeaderSize:]); !sum.equals(frame[16:]) {
			return committed, last, nil
		}
		pending[page] = at + frameHeaderSize
		if commit == 0 {
			continue
		}
		for p, off := range pending {
			w.frames[p] = off
		}
		committed += int64(len(pending))
		clear(pending)
		last = commit
	}
}

// checksum is the running sum of a write-ahead log.
// It goes on from frame to frame, so that one damaged frame ends the log.
type checksum [2]uint32

// data has a multiple of eight bytes.
func (c *checksum) add(order binary.ByteOrder, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c[0] += order.Uint32(data) + c[1]
		c[1] += order.Uint32(data[4:]) + c[0]
	}
}

// equals takes eight bytes, which are big-endian whatever the order of the sums.
func (c *checksum) equals(b []byte) bool {
	return c[0] == binary.BigEndian.Uint32(b) && c[1] == binary.BigEndian.Uint32(b[4:])
}
