package config

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a problem with the configuration, in the words of Hydra where it
// has words for it, with the place and a suggestion.
type Error struct {
	Kind    string // what went wrong, of the closed list in docs/hydra.md: "unknown-key", "override-syntax", ...
	Message string // one or more lines without place or suggestion
	Key     string // the dotted key concerned, where there is one
	Origin  Origin // the file and line, or the override; zero where neither is to blame
	Column  int    // 1-based column in the override; 0 where unknown
	Line    string // the source line that the caret points into; "" where not known
	Hint    string // the next step or the nearest valid name; "" where there is none
	Err     error  // cause, where it is another error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error gives the place, the message, the line with a caret and the hint.
// Files are named in front, overrides below the message with a caret: that is where
// users look for each.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Origin.File != "" {
		b.WriteString(e.Origin.String())
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	line, column := e.Line, e.Origin.Column
	if e.Origin.Override != "" {
		line, column = e.Origin.Override, e.Column
	}
	if line != "" && column > 0 && utf8.ValidString(line) {
		b.WriteString("\n    ")
		b.WriteString(strings.Map(visible, line))
		b.WriteString("\n    ")
		b.WriteString(strings.Repeat(" ", column-1))
		b.WriteByte('^')
	} else if e.Origin.Override != "" {
		b.WriteString("\n    in the override ")
		b.WriteString(e.Origin.Override)
	}
	if e.Hint != "" {
		b.WriteString("\n")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// visible keeps the caret under its character whatever the line holds.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
