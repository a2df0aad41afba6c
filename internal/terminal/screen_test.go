package terminal

import "testing"

// TestHarmless: nothing that acts on a terminal passes, and text stays text.
func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":             "plain\ttext\n",
		"µs … 日本":                   "µs … 日本",
		"\x1b[1mbold\x1b[0m":        "\x1b[1mbold\x1b[0m",
		"a\x1b]0;title\x07":         `a\x1b]0;title\x07`,
		"\x1b[2J\x1b[H":             `\x1b[2J\x1b[H`,
		"good\rbad":                 `good\x0dbad`,
		"\x9b31m":                   `\x9b31m`,
		"\u009b31m":                 `\u009b31m`,
		"gpu\u202eevil\u2066\u200f": `gpu\u202eevil\u2066\u200f`,
		"\x7f\b":                    `\x7f\x08`,
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}
