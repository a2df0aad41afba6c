package sqlite

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUTF16 appends raw, text of a UTF-16 database, as UTF-8. Broken pairs
// become U+FFFD; an odd byte at the end is dropped.
func appendUTF16(dst, raw []byte, encoding textEncoding) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	if encoding == utf16BE {
		order = binary.BigEndian
	}
	for i := 0; i+1 < len(raw); i += 2 {
		r := rune(order.Uint16(raw[i:]))
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if i+3 < len(raw) {
				pair = utf16.DecodeRune(r, rune(order.Uint16(raw[i+2:])))
			}
			if r = pair; pair != utf8.RuneError {
				i += 2
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
