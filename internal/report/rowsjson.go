package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
)

// writeRows writes the rows as the elements of a list. Where there are many, other
// goroutines make their text while the next rows are made.
// Rows must not be changed after they were yielded: others read them.
func (t *Table[T]) writeRows(w io.Writer) error {
	const together = 512
	out := &inOrder{w: w}
	defer out.wait()
	batch := make([]*T, 0, together)
	for row := range t.Rows {
		if batch = append(batch, row); len(batch) < together {
			continue
		}
		if err := out.add(t.textOf(batch, t.written == 0)); err != nil {
			return err
		}
		t.written += len(batch)
		batch = make([]*T, 0, together)
	}
	text := t.textOf(batch, t.written == 0)
	t.written += len(batch)
	if err := out.add(text); err != nil {
		return err
	}
	return out.wait()
}

// textOf makes the text of rows, which are not the first ones or are.
func (t *Table[T]) textOf(rows []*T, first bool) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error {
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false) // names of kernels are full of <, and people search for them
		for i, row := range rows {
			if i > 0 || !first {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			if a, ok := any(row).(interface{ AppendJSON([]byte) []byte }); ok {
				b.Write(a.AppendJSON(b.AvailableBuffer()))
				continue
			}
			if err := enc.Encode(row); err != nil {
				return fmt.Errorf("write %s: %w", t.Name, err)
			}
			b.Truncate(b.Len() - 1) // the line feed
		}
		return nil
	}
}

// inOrder writes texts that several goroutines make in the order in which they were added.
type inOrder struct {
	w     io.Writer
	texts []chan error // of those under way, in order
	// made has the buffer of each of texts, free those that were written and can be used again.
	made []*bytes.Buffer
	free []*bytes.Buffer
	err  error // the first
}

// add begins a text. No more are under way than there are cores, and two.
func (o *inOrder) add(text func(*bytes.Buffer) error) error {
	for len(o.texts) > runtime.GOMAXPROCS(0)+1 && o.err == nil {
		o.next()
	}
	if o.err != nil {
		return o.err
	}
	b := &bytes.Buffer{}
	if n := len(o.free); n > 0 {
		b, o.free = o.free[n-1], o.free[:n-1]
		b.Reset()
	}
	done := make(chan error, 1)
	o.texts, o.made = append(o.texts, done), append(o.made, b)
	go func() { done <- text(b) }()
	return nil
}

// next writes the first text that is under way.
func (o *inOrder) next() {
	err, b := <-o.texts[0], o.made[0]
	o.texts, o.made, o.free = o.texts[1:], o.made[1:], append(o.free, b)
	if err == nil && o.err == nil {
		_, err = o.w.Write(b.Bytes())
	}
	if o.err == nil {
		o.err = err
	}
}

// wait writes what is left, and returns when no goroutine is under way.
func (o *inOrder) wait() error {
	for len(o.texts) > 0 {
		o.next()
	}
	return o.err
}
