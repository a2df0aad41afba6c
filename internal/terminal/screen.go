// Package terminal is what a person sees of deepprof while and after it works: text
// that cannot control the terminal, pages, the live line, Ctrl-C, and the steps of a
// run on one screen. Data that other programs read does not pass through it.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/deepprof/deepprof/internal/tool"
)

// screen is a terminal that text of others cannot control: names of runs, GPUs
// and kernels may hold anything. What would move the cursor, change the terminal
// or turn the direction of text is written as an escape that can be read. Only
// line feeds, tabs and the two sequences for bold text pass.
type screen struct {
	file *os.File
	harmlessWriter
}

// On wraps a file that is a terminal; others are written as they are.
func On(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return &screen{f, harmlessWriter{f}}
	}
	return f
}

// fileOf is the file behind a stream, where there is one.
// It is false for buffers of tests and for pipes made in the program.
func fileOf(w io.Writer) (*os.File, bool) {
	if s, ok := w.(*screen); ok {
		return s.file, true
	}
	f, ok := w.(*os.File)
	return f, ok
}

// harmlessWriter is what a pager reads from.
type harmlessWriter struct{ w io.Writer }

// Write counts p, not what the pager or the terminal got, as io.Writer demands.
func (h harmlessWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.w, harmless(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

var boldSequences = []string{"\x1b[1m", "\x1b[0m"}

// harmless writes control and direction characters as escapes.
// Text without such characters comes back as it is. A byte that is not UTF-8 becomes \xNN.
func harmless(s string) string {
	if strings.IndexFunc(s, controls) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
next:
	for len(s) > 0 {
		for _, seq := range boldSequences {
			if strings.HasPrefix(s, seq) {
				b.WriteString(seq)
				s = s[len(seq):]
				continue next
			}
		}
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case controls(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case controls(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// controls tells characters that act on a terminal or on the order of text.
func controls(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// Paged lets write print through the pager of the user. Output that is no terminal
// is not paged.
// write runs once, also where no pager can be started.
// An error is that of write, or says that the program of the pager was not found.
func Paged(out io.Writer, write func(io.Writer) error) error {
	terminal, ok := fileOf(out)
	if _, height := Size(out); height == 0 || !ok {
		return write(out)
	}
	started, err := tool.Page(terminal, func(w io.Writer) error { return write(harmlessWriter{w}) })
	if err != nil || started {
		return err
	}
	return write(out)
}

// Width is 0 where the output is no terminal: files and pipes get
// whole names.
func Width(w io.Writer) int {
	width, _ := Size(w)
	return width
}

// screenRows is used when the height of the terminal is unknown.
const screenRows = 24

// Size is 0, 0 where the output is no terminal; one that does not know
// its width has 0, which cuts nothing.
func Size(w io.Writer) (width, height int) {
	f, ok := fileOf(w)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, cmp.Or(height, screenRows)
}
