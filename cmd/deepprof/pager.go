package main

import (
	"io"

	"github.com/deepprof/deepprof/internal/tool"
)

// paged lets write print through the pager of the user. Output that is no terminal
// is not paged.
// write runs once, also where no pager can be started.
func paged(out io.Writer, write func(io.Writer) error) error {
	terminal, ok := fileOf(out)
	if _, height := terminalSize(out); height == 0 || !ok {
		return write(out)
	}
	started, err := tool.Page(terminal, func(w io.Writer) error { return write(harmlessWriter{w}) })
	if err != nil || started {
		return err
	}
	return write(out)
}
