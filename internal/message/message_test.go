package message

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

func TestExpand(t *testing.T) {
	p := fact.New("x", fact.Stage("stage", "decode"), fact.NS("gain", int64(207_600_000)), fact.Share("idle", 0.891), fact.Count("n", 1), fact.Count("m", 6048)).Params
	for _, c := range []struct{ template, want string }{
		{"{stage} waits {idle}", "decode waits 89 %"},
		{"save {gain}[ of {of}]", "save 207.6 ms"},
		{"save {gain}[ in {stage}]", "save 207.6 ms in decode"},
		{"{n:launch|launches} and {m:launch|launches}", "1 launch and 6,048 launches"},
		{"{{a}} [[b", "{a} [b"},
		{"{nosuch}", "{nosuch}"},
	} {
		if got := (expander{params: p}).expand(c.template); got != c.want {
			t.Errorf("%q gave %q, want %q", c.template, got, c.want)
		}
	}
}

// Times of minutes are not told in seconds with a fraction.
func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{115.55e9: "1 min 56 s", 26.49e9: "26.49 s", 7500e9: "2 h 5 min", -200e9: "-3 min 20 s", 207.6e6: "207.6 ms", 100e9: "1 min 40 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("%g ns: %s, want %s", ns, got, want)
		}
	}
}

// Every code has its words in one table, and every template is well formed.
func TestTables(t *testing.T) {
	seen := map[fact.Code]bool{}
	for _, table := range tables {
		for code, w := range table {
			if seen[code] {
				t.Errorf("%s has words in two tables", code)
			}
			seen[code] = true
			if w.Text == "" {
				t.Errorf("%s has no text", code)
			}
		}
	}
}

// A fact is split between the sentences of its template, and not inside a value.
func TestSentencesOf(t *testing.T) {
	f := fact.New("damaged-timeline", fact.ErrorText("damage", "cut. off"))
	if got := SentencesOf(f); len(got) != 3 || strings.Join(got, " ") != Text(f) {
		t.Errorf("got %q of %q", got, Text(f))
	}
	defer CodesOnly()()
	if got := SentencesOf(f); len(got) != 1 {
		t.Errorf("a code is split: %q", got)
	}
}
