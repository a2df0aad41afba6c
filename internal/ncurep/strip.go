package ncurep

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Strip copies a report without the contents of its embedded cubins and
// sources. Their entries stay, with their references, so that ncu can still
// open the copy. A truncated report is copied up to its last complete block.
// src is only read. What it writes has the results, metrics, rules and NVTX states as
// they were.
func Strip(src io.ReaderAt, size int64, w io.Writer) error {
	out := bufio.NewWriterSize(w, 256<<10)
	c := &cursor{src: src, ahead: windowSize}
	c.reset(0, size)
	head, err := c.next(int64(len(magic)) + 4)
	if err != nil || string(head[:len(magic)]) != magic {
		return fmt.Errorf("strip report: %w", errFormat)
	}
	n := binary.LittleEndian.Uint32(head[len(magic):])
	out.Write(head)
	if err := copyBytes(out, c, int64(n)); err != nil {
		return fmt.Errorf("strip report: file header: %w", err)
	}
	for c.left() > 0 {
		err := stripBlock(out, c)
		if errors.Is(err, errShort) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("strip report: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("strip report: %w", err)
	}
	return nil
}

// copyBytes copies n bytes in pieces; errShort if fewer are left.
func copyBytes(w io.Writer, c *cursor, n int64) error {
	if n > c.left() {
		return errShort
	}
	for n > 0 {
		b, err := c.next(min(n, windowSize))
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		n -= int64(len(b))
	}
	return nil
}

// stripBlock writes nothing before the whole block was found to be there. The header
// comes first and holds the size of the payload, so the kept sources are held in memory.
func stripBlock(w io.Writer, c *cursor) error {
	n, err := c.uint32()
	if err != nil {
		return err
	}
	if int64(n) > maxHeader {
		return errShort
	}
	b, err := c.next(int64(n))
	if err != nil {
		return err
	}
	header := append([]byte(nil), b...)
	var sources uint64
	var payload uint32
	sound := decode(header, places{1: &sources, 5: &payload})
	if !sound || int64(payload) > c.left() {
		return errShort
	}
	end := c.offset() + int64(payload)
	var kept []byte
	for range sources {
		entry, err := stripSource(c, end)
		if err != nil {
			return err
		}
		kept = binary.LittleEndian.AppendUint32(kept, uint32(len(entry)))
		kept = append(kept, entry...)
	}
	rest := end - c.offset()
	header = withPayloadSize(header, uint64(int64(len(kept))+rest))
	if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	if _, err := w.Write(kept); err != nil {
		return err
	}
	return copyBytes(w, c, rest)
}

// stripSource reads a SourceData and returns it without its contents: code,
// intermediate and binary are empty, source files and relocations gone.
func stripSource(c *cursor, end int64) ([]byte, error) {
	n, err := c.uint32()
	if err != nil {
		return nil, err
	}
	stop := c.offset() + int64(n)
	if stop > end {
		return nil, errShort
	}
	limit := c.end
	c.end = stop
	defer func() { c.end = limit }()
	var kept []byte
	for c.left() > 0 {
		f, size, err := c.field()
		switch {
		case err != nil:
			return nil, err
		case f.typ == protowire.VarintType:
			kept = protowire.AppendVarint(protowire.AppendTag(kept, f.num, f.typ), f.val)
		case f.typ != protowire.BytesType:
			return nil, errShort
		case f.num >= 2 && f.num <= 4:
			kept = protowire.AppendBytes(protowire.AppendTag(kept, f.num, f.typ), nil)
		}
		if err := c.skip(size); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// withPayloadSize replaces the payload size of a block header, in bytes. The header is sound:
// stripBlock has decoded it.
func withPayloadSize(header []byte, size uint64) []byte {
	var out []byte
	for b := header; len(b) > 0; {
		f, n := consumeField(b)
		if n <= 0 {
			break
		}
		if f.num == 5 {
			out = protowire.AppendVarint(protowire.AppendTag(out, 5, protowire.VarintType), size)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
