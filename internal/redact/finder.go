package redact

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

func utf16Units(s string) []uint16 { return utf16.Encode([]rune(s)) }

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

func newFinder() *finder { return &finder{byHead: map[uint32][]pattern{}} }

func hash(head uint32) uint32 { return head * 2654435761 >> 16 }

// add takes a pattern of at least four bytes.
func (f *finder) add(text []byte, whole bool) {
	head := binary.LittleEndian.Uint32(text)
	f.table[hash(head)] = true
	list := append(f.byHead[head], pattern{text, whole})
	for i := len(list) - 1; i > 0 && len(list[i].text) > len(list[i-1].text); i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
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
func (f *finder) overwrite(data []byte) int {
	n := 0
	for from := 0; ; n++ {
		at, size, ok := f.next(data, from)
		if !ok {
			return n
		}
		copy(data[at:], fillWord("redacted", size))
		from = at + size
	}
}
