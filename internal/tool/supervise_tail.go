package tool

import (
	"bytes"
	"os"
)

// maxLine bounds what is kept of one line; a program that never ends its line
// must not fill the memory.
const maxLine = 1 << 20

// A tail follows a file that another process writes, line by line.
type tail struct {
	file *os.File
	part []byte
	fn   func(text string)
}

func openTail(path string, fn func(string)) (*tail, error) {
	if path == "" {
		return &tail{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &tail{file: f, fn: fn}, nil
}

// read delivers the complete lines that have arrived and says whether any
// bytes came.
func (t *tail) read() bool {
	if t.file == nil {
		return false
	}
	var buf [32 << 10]byte
	any := false
	for {
		n, err := t.file.Read(buf[:])
		if n > 0 {
			any = true
			t.split(buf[:n])
		}
		if err != nil || n == 0 {
			return any
		}
	}
}

func (t *tail) split(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			if len(t.part) < maxLine {
				t.part = append(t.part, p...)
			}
			return
		}
		t.part = append(t.part, p[:i]...)
		p = p[i+1:]
		if len(t.part) > 0 {
			t.fn(string(t.part))
		}
		t.part = t.part[:0]
	}
}

// pending is the line that has begun and not ended.
func (t *tail) pending() string { return string(t.part) }

// close delivers what is left, also where the last line has no end.
func (t *tail) close() {
	if t.file == nil {
		return
	}
	t.read()
	if len(t.part) > 0 {
		t.fn(string(t.part))
	}
	_ = t.file.Close()
	t.file = nil
}

// outputFile opens the file that a process writes its output to.
func outputFile(path string) (*os.File, error) {
	if path == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o644)
}
