package tool

import (
	"bytes"
	"io"
	"os"
	"time"
)

const (
	// maxLine bounds what is kept of one line; a program that never ends its
	// line must not fill the memory.
	maxLine = 1 << 20

	// A program may print faster than its lines can be looked at. Reading then
	// stops after tailBudget, so that limits and requests to stop are looked at
	// as well, and where it lies further behind than maxBehind it goes on
	// resumeAt bytes before the end. The file holds everything all the same.
	tailBudget = 20 * time.Millisecond
	maxBehind  = 64 << 20
	resumeAt   = 256 << 10
)

// A tail follows a file that another process writes, line by line.
type tail struct {
	file *os.File
	buf  [32 << 10]byte
	rest []byte // of buf: read and not yet looked at
	part []byte // of a line
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

// read delivers complete lines that have arrived, for as long as the budget
// lasts, and says whether any bytes came.
func (t *tail) read(budget time.Duration) bool {
	if t.file == nil {
		return false
	}
	t.catchUp(maxBehind)
	any := false
	for until := time.Now().Add(budget); time.Now().Before(until); {
		if len(t.rest) == 0 {
			n, err := t.file.Read(t.buf[:])
			if err != nil || n == 0 {
				return any
			}
			t.rest = t.buf[:n]
		}
		any = true
		t.step()
	}
	return any
}

// catchUp drops what cannot be read in time: all but the last lines where more
// than behind bytes are waiting. The first line after that may lack its
// beginning.
func (t *tail) catchUp(behind int64) {
	at, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return
	}
	if info, err := t.file.Stat(); err == nil && info.Size()-at > behind {
		if _, err := t.file.Seek(info.Size()-resumeAt, io.SeekStart); err == nil {
			t.rest, t.part = nil, t.part[:0]
		}
	}
}

// step takes what is left of one line.
func (t *tail) step() {
	i := bytes.IndexAny(t.rest, "\r\n")
	if i < 0 {
		if len(t.part) < maxLine {
			t.part = append(t.part, t.rest...)
		}
		t.rest = nil
		return
	}
	t.part = append(t.part, t.rest[:i]...)
	t.rest = t.rest[i+1:]
	if len(t.part) > 0 {
		t.fn(string(t.part))
	}
	t.part = t.part[:0]
}

// pending is the line that has begun and not ended, or the beginning of it.
func (t *tail) pending() string { return string(t.part[:min(len(t.part), 4<<10)]) }

// close delivers what is left, also where the last line has no end; of very much
// only the end, so that it takes a few seconds at most.
func (t *tail) close() {
	if t.file == nil {
		return
	}
	t.read(2 * time.Second)
	t.catchUp(resumeAt)
	t.read(2 * time.Second)
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
