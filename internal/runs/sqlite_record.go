package runs

import "errors"

// localPayload is how much of a payload lies on the cell's own page, by the
// rule of SQLite's file format.
func localPayload(kind byte, usable, size int) int {
	most := usable - 35
	if kind != 0x0d {
		most = (usable-12)*64/255 - 23
	}
	if size <= most {
		return size
	}
	least := (usable-12)*32/255 - 23
	k := least + (size-least)%(usable-4)
	if k <= most {
		return k
	}
	return least
}

// visitRecord splits a record into its values. The texts handed to edit are
// parts of rec.
func (w *treeWalk) visitRecord(rec []byte) (bool, error) {
	head, n := varint(rec)
	if n == 0 || head < uint64(n) || head > uint64(len(rec)) {
		return false, errors.New("the header of a record is damaged")
	}
	types, body := rec[n:head], rec[head:]
	texts := w.texts[:0]
	var ints []int64
	for len(types) > 0 {
		t, n := varint(types)
		size, ok := serialSize(t)
		if n == 0 || !ok || size > uint64(len(body)) {
			return false, errors.New("a record is damaged")
		}
		types = types[n:]
		var text []byte
		if t >= 12 {
			text = body[:size:size]
		}
		texts = append(texts, text)
		if w.schema != nil {
			ints = append(ints, integer(t, body[:size]))
		}
		body = body[size:]
	}
	w.texts = texts
	if w.schema != nil {
		if len(texts) >= 4 {
			*w.schema = append(*w.schema, sqliteTable{string(texts[0]), string(texts[1]), ints[3]})
		}
		return false, nil
	}
	changed := w.edit(w.table, texts)
	if changed && w.write && w.index {
		return false, errIndexText
	}
	return changed, nil
}

func serialSize(t uint64) (uint64, bool) {
	switch {
	case t < 10:
		return [...]uint64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[t], true
	case t < 12:
		return 0, false
	}
	return (t - 12) / 2, true
}

func integer(t uint64, b []byte) int64 {
	switch {
	case t == 9:
		return 1
	case t < 1 || t > 6:
		return 0
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

// varint reads SQLite's: big endian, seven bits a byte, the ninth whole. n is 0
// when b ends too early.
func varint(b []byte) (v uint64, n int) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return v<<8 | uint64(b[i]), 9
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
