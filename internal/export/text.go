package export

import (
	"strings"
	"unicode"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
)

// clean makes a name of a program safe in any viewer: valid UTF-8 without control characters
// and without marks that change the direction of text. What is replaced stays visible as
// U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// lost says what of a file the export lacks.
// It is nil for a sound file, and complete only after the file was read.
func lost(f *nsys.File) (notes []string) {
	for _, d := range f.Lost() {
		notes = append(notes, message.Text(d.What))
	}
	return notes
}
