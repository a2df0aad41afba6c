package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	headerSize = 100
	// minUsable is the least that a page must hold beside its reserved bytes.
	minUsable = 480
	// maxPages is the largest page number that SQLite gives.
	maxPages = 1<<32 - 2
	// maxPayload bounds one record. SQLite's own limit is 1e9 unless a build
	// raises it to 2^31-1; a serial type of this length still fits 32 bits.
	maxPayload = 2_000_000_000
)

// Magic begins every SQLite 3 file.
const Magic = "SQLite format 3\x00"

// textEncoding is the number that the header gives to an encoding.
type textEncoding uint32

const (
	utf8Text textEncoding = 1 + iota
	utf16LE
	utf16BE
)

// header is the part of the first 100 bytes that reading needs.
type header struct {
	pageSize  int
	usable    int    // pageSize without the reserved bytes at the end of a page
	pageCount uint32 // 0 when the writer did not keep it up to date
	encoding  textEncoding
}

// local is how many bytes of a payload lie on the page of its cell, by the rule
// of the file format; the rest lies on overflow pages.
func (h *header) local(size int, leafOfTable bool) int {
	most := h.usable - 35
	if !leafOfTable {
		most = (h.usable-12)*64/255 - 23
	}
	if size <= most {
		return size
	}
	least := (h.usable-12)*32/255 - 23
	if k := least + (size-least)%(h.usable-4); k <= most {
		return k
	}
	return least
}

// size is that of the file. The error has errNotSQLite in its chain if the file is
// none at all.
func readHeader(r io.ReaderAt, size int64) (header, error) {
	if size == 0 {
		return header{}, fmt.Errorf("%w: the file is empty; the export that wrote it has failed or is still running", errNotSQLite)
	}
	buf := make([]byte, min(size, 512))
	if n, err := r.ReadAt(buf, 0); err != nil && n < len(buf) {
		return header{}, fmt.Errorf("read header: %w", err)
	}
	if !bytes.HasPrefix(buf, []byte(Magic)) {
		return header{}, fmt.Errorf("%w: it does not begin like one", errNotSQLite)
	}
	if len(buf) < headerSize {
		return header{}, fmt.Errorf("%w: cut after %d bytes, inside the header", errNotSQLite, size)
	}
	return parseHeader(buf)
}

// buf has at least headerSize bytes and begins with Magic.
func parseHeader(buf []byte) (header, error) {
	h := header{pageSize: int(binary.BigEndian.Uint16(buf[16:]))}
	if h.pageSize == 1 {
		h.pageSize = 65536
	}
	if h.pageSize < 512 || h.pageSize&(h.pageSize-1) != 0 {
		return h, fmt.Errorf("damaged header: page size %d is no power of two from 512 to 65536", h.pageSize)
	}
	if v := buf[19]; v > 2 {
		return h, fmt.Errorf("file format version %d is newer than this reader knows (2): export the report again with an older schema", v)
	}
	h.usable = h.pageSize - int(buf[20])
	if h.usable < minUsable {
		return h, fmt.Errorf("damaged header: %d of %d bytes of a page are reserved", buf[20], h.pageSize)
	}
	// The count holds only if the writer that last changed the file kept it.
	if binary.BigEndian.Uint32(buf[24:]) == binary.BigEndian.Uint32(buf[92:]) {
		h.pageCount = binary.BigEndian.Uint32(buf[28:])
	}
	switch e := binary.BigEndian.Uint32(buf[56:]); e {
	case 0: // no table has been created yet
		h.encoding = utf8Text
	case 1, 2, 3:
		h.encoding = textEncoding(e)
	default:
		return h, fmt.Errorf("damaged header: unknown text encoding %d", e)
	}
	return h, nil
}
