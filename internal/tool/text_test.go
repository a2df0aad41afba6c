package tool

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{"", ""},
		{"\x00\x00\x00", ""},
		{"  a\t\tb \r", "a b"},
		{"\x1b[1;31merror\x1b[0m: no", "error: no"},
		{"\x1b]0;title\x07text", "text"},
		{"a\x1bb", "a b"},
		{"nul\x00inside\x07", "nul inside"},
		{"bad \xff\xfe utf-8", "bad utf-8"},
		{"żółw ✓ 漢字", "żółw ✓ 漢字"},
		{"csi \u009b31m", "csi 31m"},
		{strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{strings.Repeat("x", 301), strings.Repeat("x", 300) + "..."},
		{strings.Repeat("漢", 400), strings.Repeat("漢", 300) + "..."},
		{strings.Repeat("y", 5<<20), strings.Repeat("y", 300) + "..."},
	} {
		got := Quote(c.in)
		if got != c.want {
			t.Errorf("%.40q: %.60q, want %.60q", c.in, got, c.want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Quote(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxQuote+3 || strings.ContainsAny(got, "\x00\x1b\n\r\t\x7f") {
			t.Errorf("%q", got)
		}
	})
}
