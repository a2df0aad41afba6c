package report

import "testing"

func TestWrapLines(t *testing.T) {
	for _, test := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"one two three", 0, "one two three"},
		{"one two three", 8, "one two\n  three"},
		{"  note: aa bb", 9, "  note:\n  aa bb"},
		{"nsys      done, with a warning", 16, "nsys      done,\n  with a warning"},
		{"see /a/very/long/path/to/copy now", 10, "see\n  /a/very/long/path/to/copy\n  now"},
	} {
		if got := Wrap(test.line, test.width, "  "); got != test.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.line, test.width, got, test.want)
		}
	}
	if got, want := WrapMost("one two three four, five", 10, "", 2), "one two\nthree …"; got != want {
		t.Errorf("WrapMost = %q, want %q", got, want)
	}
	if got := WrapMost("one two", 10, "", 2); got != "one two" {
		t.Errorf("WrapMost = %q", got)
	}
}

func TestRows(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  int
	}{
		{"", 10, 0},
		{"a\nb\n", 10, 2},
		{"0123456789\n", 10, 1},
		{"0123456789a\n\n", 10, 3},
		{"0123456789a\n", 0, 1},
		{bold("0123456789", true) + "\n", 10, 1},
	} {
		if got := Rows(test.text, test.width); got != test.want {
			t.Errorf("Rows(%q, %d) = %d, want %d", test.text, test.width, got, test.want)
		}
	}
}
