package ncurep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// What one read of the file asks for: much of a message that is being decoded,
// little if only the headers of blocks are visited.
const (
	windowSize   = 256 << 10
	headerWindow = 4 << 10
)

// errShort stands for damage inside a message; what reads the file has errors of its own.
var errShort = errors.New("message ends inside a field")

// cursor walks forward through a part of a file. Slices that it returns are
// valid until its next call.
// No read goes beyond end, so a length in the file cannot lead outside its message.
// It is for one goroutine.
type cursor struct {
	src   io.ReaderAt
	store []byte // room for buf, used again by every read
	buf   []byte // the bytes from base on that were read
	base  int64  // offset of buf in the file
	pos   int    // in buf
	end   int64  // limit of the walk
	ahead int    // how much to read at once
}

// reset moves to offset at and limits the walk to end; what is read already is kept.
func (c *cursor) reset(at, end int64) {
	if at >= c.base && at <= c.base+int64(len(c.buf)) {
		c.pos = int(at - c.base)
	} else {
		c.base, c.buf, c.pos = at, nil, 0
	}
	c.end = end
}

// offset is the place in the file of what comes next, left how many bytes the walk still has;
// negative if a reset went beyond its end.
func (c *cursor) offset() int64 { return c.base + int64(c.pos) }
func (c *cursor) left() int64   { return c.end - c.offset() }

// peek returns up to n bytes without moving, fewer only at the end of the walk.
func (c *cursor) peek(n int) ([]byte, error) {
	if int64(n) > c.left() {
		n = int(c.left())
	}
	if len(c.buf)-c.pos >= n {
		return c.buf[c.pos : c.pos+n], nil
	}
	at, want := c.offset(), max(n, c.ahead)
	if int64(want) > c.left() {
		want = int(c.left())
	}
	if cap(c.store) < want {
		c.store = make([]byte, max(want, windowSize))
	}
	kept := copy(c.store[:want], c.buf[c.pos:])
	got, err := c.src.ReadAt(c.store[kept:want], at+int64(kept))
	c.base, c.pos, c.buf = at, 0, c.store[:kept+got]
	if len(c.buf) >= n {
		return c.buf[:n], nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("read %d bytes at offset %d: %w", n, at, err)
}

// next returns the next n bytes and moves past them; errShort if the walk has fewer.
func (c *cursor) next(n int64) ([]byte, error) {
	if n > c.left() {
		return nil, errShort
	}
	b, err := c.peek(int(n))
	if err != nil {
		return nil, err
	}
	c.pos += int(n)
	return b, nil
}

// skip moves forward by n bytes, reading nothing.
func (c *cursor) skip(n int64) error {
	if n < 0 || n > c.left() {
		return errShort
	}
	if at := c.offset() + n; at <= c.base+int64(len(c.buf)) {
		c.pos += int(n)
	} else {
		c.base, c.buf, c.pos = at, nil, 0
	}
	return nil
}

// uint32 reads a length of the container, little-endian.
func (c *cursor) uint32() (uint32, error) {
	b, err := c.next(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// varint needs no ten bytes at the end of the walk: peek gives fewer there.
func (c *cursor) varint() (uint64, error) {
	b, err := c.peek(binary.MaxVarintLen64)
	if err != nil {
		return 0, err
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, errShort
	}
	c.pos += n
	return v, nil
}

// field reads the head of a field and, unless it is of bytes, its value. Of bytes
// it returns the length, which is not more than what is left.
func (c *cursor) field() (f field, size int64, err error) {
	tag, err := c.varint()
	if err != nil {
		return f, 0, err
	}
	if f.num, f.typ = protowire.DecodeTag(tag); f.num < 1 {
		return f, 0, errShort
	}
	switch f.typ {
	case protowire.VarintType:
		f.val, err = c.varint()
		return f, 0, err
	case protowire.Fixed64Type:
		return f, 0, c.skip(8)
	case protowire.Fixed32Type:
		return f, 0, c.skip(4)
	case protowire.BytesType:
		n, err := c.varint()
		if err == nil && n > uint64(c.left()) {
			err = errShort
		}
		return f, int64(n), err
	}
	return f, 0, errShort
}
