package ncurep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// An .ncu-rep is a magic followed by protobuf messages, each behind its length.
// Texts of the same length can be put in the place of others without knowing
// what the messages mean.

// maxNesting bounds how deep messages inside messages are followed.
const maxNesting = 40

// EditTexts copies an .ncu-rep and passes its texts through edit, which keeps
// their length; what edit returns in another length is not taken.
// Redaction uses it: offsets, lengths and everything that is no text stay as they are,
// so ncu opens the copy. It needs memory for the largest message of the file.
// edit sees every text, also names of metrics: it must leave alone what it does not
// mean to change.
func EditTexts(r io.ReaderAt, size int64, w io.Writer, edit func(string) string) error {
	in := io.NewSectionReader(r, 0, size)
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || string(head[:]) != magic {
		return errFormat
	}
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	for at := int64(4); at < size; {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return fmt.Errorf("it is cut off at byte %d", at)
		}
		n := int64(binary.LittleEndian.Uint32(head[:]))
		if at += 4; n > size-at {
			return fmt.Errorf("it is cut off: a message at byte %d has %d bytes, the file %d more", at, n, size-at)
		}
		msg := make([]byte, n)
		if _, err := io.ReadFull(in, msg); err != nil {
			return err
		}
		if !isMessage(msg) {
			return fmt.Errorf("the message at byte %d cannot be read", at)
		}
		editMessage(msg, edit, 0)
		if _, err := w.Write(append(head[:], msg...)); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// isMessage reports whether b is a sequence of protobuf fields. The empty one
// is.
func isMessage(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || num > 1<<16 || typ == protowire.StartGroupType || typ == protowire.EndGroupType {
			return false
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// editMessage edits the texts of a message in place. It expects what isMessage has accepted.
func editMessage(b []byte, edit func(string) string, depth int) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		b = b[n:]
		size := protowire.ConsumeFieldValue(num, typ, b)
		if typ == protowire.BytesType {
			if v, n := protowire.ConsumeBytes(b); n > 0 {
				editField(v, edit, depth+1)
			}
		}
		b = b[size:]
	}
}

// editField decides what a field of bytes is. The wire does not tell a text
// from a message: if it can be both, the inner texts are edited first, and
// the whole only if something is then still to be changed.
func editField(v []byte, edit func(string) string, depth int) {
	if len(v) == 0 {
		return
	}
	if depth < maxNesting && isMessage(v) {
		editMessage(v, edit, depth)
	}
	if isString(v) {
		replace(v, edit)
	} else if !isMessage(v) {
		editBlob(v, edit)
	}
}

// replace drops an edit that changes the length: it would shift every later field.
func replace(v []byte, edit func(string) string) {
	if s := edit(string(v)); len(s) == len(v) {
		copy(v, s)
	}
}

// isString accepts printable UTF-8, blanks, and the zero bytes of a list of
// texts.
func isString(v []byte) bool {
	if !utf8.Valid(v) {
		return false
	}
	for _, c := range string(v) {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0 || c > 0x7e && !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// editBlob edits the zero-terminated texts inside other data, such as the names
// of source files in a cubin.
func editBlob(v []byte, edit func(string) string) {
	const shortest = 6
	for start := 0; start < len(v); {
		end := bytes.IndexByte(v[start:], 0)
		if end < 0 {
			return
		}
		end += start
		from := end
		for from > start && v[from-1] >= 0x20 && v[from-1] < 0x7f {
			from--
		}
		if end-from >= shortest {
			replace(v[from:end], edit)
		}
		start = end + 1
	}
}
