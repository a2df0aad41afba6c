package redact

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"slices"
)

// Inventory lists the environment variables that a raw report of Nsight Systems
// holds, and those of them that look like secrets. Both are sorted.
// The file is searched byte by byte, because its format is not described: the list may
// miss variables in compressed parts and hold text that only looks like one.
func Inventory(path string) (names, secret []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	const window, overlap = 8 << 20, 64 << 10
	buf := make([]byte, window)
	for at := int64(0); ; at += window - overlap {
		n, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		for _, kv := range assignments(buf[:n]) {
			name, value, _ := bytes.Cut(kv, []byte("="))
			names = append(names, string(name))
			if Secret(string(name), string(value)) {
				secret = append(secret, string(name))
			}
		}
		if err == io.EOF {
			break
		}
	}
	return sorted(names), sorted(secret), nil
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// assignments are the texts NAME=value behind their length, as protobuf writes
// them.
func assignments(data []byte) [][]byte {
	var out [][]byte
	for i := 0; i+4 < len(data); i++ {
		size, n := binary.Uvarint(data[i : i+3])
		from := i + n
		if n <= 0 || size < 3 || size > 32<<10 || from+int(size) > len(data) || !nameStart(data[from]) {
			continue
		}
		text := data[from : from+int(size)]
		if assignment.Match(text) && isText(text) {
			out = append(out, text)
			i = from + int(size) - 1
		}
	}
	return out
}

func nameStart(c byte) bool { return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }
