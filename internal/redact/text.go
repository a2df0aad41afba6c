package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// JSON redacts the strings of a JSON text, keys included, and leaves every
// other byte, numbers above all, as it is.
// An error means that data is no JSON up to there; nothing is returned then.
func (r *Redactor) JSON(data []byte) ([]byte, error) {
	return editJSON(data, r.Text)
}

// editJSON passes the strings of a JSON text through edit. A key that is an
// ordinary word names nobody and stays.
func editJSON(data []byte, edit func(string) string) ([]byte, error) {
	var out bytes.Buffer
	for i := 0; i < len(data); {
		start := bytes.IndexByte(data[i:], '"')
		if start < 0 {
			out.Write(data[i:])
			break
		}
		start += i
		end := stringEnd(data, start)
		if end < 0 {
			return nil, fmt.Errorf("a string that starts at byte %d does not end", start)
		}
		out.Write(data[i:start])
		var s string
		if err := json.Unmarshal(data[start:end], &s); err != nil {
			return nil, fmt.Errorf("byte %d: %w", start, err)
		}
		key := bytes.HasPrefix(bytes.TrimLeft(data[end:], " \t\r\n"), []byte(":")) && slices.Contains(commonNames, s)
		if clean := edit(s); clean != s && !key {
			b, err := json.Marshal(clean)
			if err != nil {
				return nil, err
			}
			out.Write(b)
		} else {
			out.Write(data[start:end])
		}
		i = end
	}
	return out.Bytes(), nil
}

// stringEnd returns the index after the closing quote of the string at start,
// or -1.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// isText reports whether data is UTF-8 without control characters other than
// those of text and of a terminal's progress bars.
func isText(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	return !bytes.ContainsFunc(data, func(c rune) bool {
		return c < 0x20 && !strings.ContainsRune("\n\r\t\b\f\x1b", c)
	})
}

// File redacts the content of a file by its name: JSON by its strings, other
// text as a whole. The error says why the file cannot be cleaned; it must then be
// left out.
func (r *Redactor) File(name string, data []byte) (clean []byte, err error) {
	switch {
	case !isText(data):
		return nil, errors.New("it is not text, and its format cannot be cleaned")
	case strings.EqualFold(filepath.Ext(name), ".json"):
		clean, err = r.JSON(data)
	default:
		clean = []byte(r.Text(string(data)))
	}
	if err == nil {
		err = r.check(bytes.NewReader(clean))
	}
	return clean, err
}

// leftover says what known secret or long name is still in data, or "". Where
// data is cut out of a file, a name at the cut may be part of a longer word and
// does not count; the neighboring part shows it whole.
func (r *Redactor) leftover(data []byte, cutBefore, cutAfter bool) string {
	r.build()
	if r.secrets.in(data) {
		return "a secret known from the run is still in it"
	}
	for _, n := range r.names {
		for at := 0; ; {
			i := bytes.Index(data[at:], []byte(n))
			if i < 0 {
				break
			}
			at += i + len(n)
			if at == len(n) && cutBefore || at == len(data) && cutAfter {
				continue
			}
			if !wordByte(data, at-len(n)-1) && !wordByte(data, at) {
				return "a host or user name known from the run is still in it"
			}
		}
	}
	return ""
}

// eachWindow reads a file in windows that overlap and calls visit with each, until that
// is done or fails. last tells that the file ends with this window.
func eachWindow(r io.ReaderAt, size, overlap int, visit func(data []byte, at int64, last bool) (done bool, err error)) error {
	buf := make([]byte, size+overlap)
	for at := int64(0); ; at += int64(size) {
		n, err := r.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return err
		}
		if done, failed := visit(buf[:n], at, err == io.EOF); done || failed != nil || err == io.EOF {
			return failed
		}
	}
}

// wordByte is false outside data, so a name at either end counts as a word.
func wordByte(data []byte, i int) bool {
	if i < 0 || i >= len(data) {
		return false
	}
	c := data[i]
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// finder searches for many patterns in one pass: timelines have gigabytes. A
// table of hashed first bytes rejects nearly every position.
// It is built once and then only read, so several goroutines may search with it.
type finder struct {
	table   [1 << 16]bool
	byHead  map[uint32][]pattern // by the first four bytes, the longest first
	longest int
}

type pattern struct {
	text  []byte
	whole bool // no letter or digit may stand beside it
}

// newFinder finds nothing until patterns are added.
func newFinder() *finder { return &finder{byHead: map[uint32][]pattern{}} }

// hash spreads four bytes over the 65,536 buckets of the finder (Knuth, multiplicative).
func hash(head uint32) uint32 { return head * 2654435761 >> 16 }

// add takes a pattern of at least four bytes.
func (f *finder) add(text []byte, whole bool) {
	head := binary.LittleEndian.Uint32(text)
	f.table[hash(head)] = true
	list := append(f.byHead[head], pattern{text, whole})
	slices.SortStableFunc(list, func(a, b pattern) int { return len(b.text) - len(a.text) })
	f.byHead[head] = list
	f.longest = max(f.longest, len(text))
}

// next finds the first pattern at or behind an offset.
// size is that of the longest pattern there; a shorter one inside it is not reported.
func (f *finder) next(data []byte, from int) (at, size int, ok bool) {
	for i := from; i+4 <= len(data); i++ {
		head := binary.LittleEndian.Uint32(data[i:])
		if !f.table[hash(head)] {
			continue
		}
		for _, p := range f.byHead[head] {
			if bytes.HasPrefix(data[i:], p.text) && (!p.whole || !wordByte(data, i-1) && !wordByte(data, i+len(p.text))) {
				return i, len(p.text), true
			}
		}
	}
	return 0, 0, false
}

// replace puts word(size) in the place of each pattern. Data without any is
// returned as it is.
// data itself is never changed.
func (f *finder) replace(data []byte, word func(size int) []byte) []byte {
	var out []byte
	last := 0
	for from := 0; ; {
		at, size, ok := f.next(data, from)
		if !ok {
			break
		}
		out = append(append(out, data[last:at]...), word(size)...)
		last = at + size
		from = last
	}
	if last == 0 {
		return data
	}
	return append(out, data[last:]...)
}

// overwrite blots each pattern out in place and returns how many there were.
// Lengths stay, so that formats with lengths and offsets stay valid.
func (f *finder) overwrite(data []byte) int {
	n := 0
	for from := 0; ; n++ {
		at, size, ok := f.next(data, from)
		if !ok {
			return n
		}
		copy(data[at:], fillWord(size))
		from = at + size
	}
}
