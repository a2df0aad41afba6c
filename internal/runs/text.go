package runs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/fact"
)

// maxText bounds each sentence in the manifest. A program may print a megabyte
// without a line feed, and the manifest must fit into what a full disk leaves.
const maxText = 1200

// Text makes words of a foreign program fit for a screen and for the manifest:
// one line, without control characters, of bounded length.
func Text(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText] // at a character's middle at worst, which reads as one bad character
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsControl(r) && !unicode.IsSpace(r):
			return '\uFFFD'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "..."
	}
	return s
}

// bound applies Text to everything that may quote a foreign program.
// bound changes the manifest in place; facts keep their codes.
func (m *Manifest) bound() {
	m.Reason.Fact = m.Reason.Map(Text)
	for i := range m.Warnings {
		m.Warnings[i].Fact = m.Warnings[i].Map(Text)
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		s.Reason.Fact = s.Reason.Map(Text)
		for j := range s.Attempts {
			if o := s.Attempts[j].Outcome; o != nil {
				o.bound()
			}
		}
	}
}

func (o *Outcome) bound() {
	for _, f := range []*fact.Fact{&o.Text, &o.Evidence, &o.Cause} {
		*f = f.Map(Text)
	}
	for i := range o.Warnings {
		o.Warnings[i].Fact = o.Warnings[i].Map(Text)
	}
}
