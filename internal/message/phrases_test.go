package message

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// takers are the functions that take the ID of a phrase, by which argument it is, and whether
// the values of the phrase follow it.
var takers = map[string]struct {
	at     int
	values bool
}{
	"message.Phrase": {0, true}, "d.say": {0, true}, "item": {0, true}, "itemIf": {1, true}, "d.lacks": {0, false}, "known": {0, false}, "d.heading": {1, false},
}

// TestPhrases holds every ID that is asked for against the table, with how many values it is
// given, and the table against what is asked for.
func TestPhrases(t *testing.T) {
	asked := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "phrases") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := literal(n); ok {
				asked[strings.TrimPrefix(s, ">")] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if calleeOf(call.Fun) == "newGrid" {
				for _, arg := range call.Args {
					if id, ok := literal(arg); ok && template(strings.TrimPrefix(id, ">")) == "" {
						t.Errorf("%s: there is no phrase %q", path, id)
					}
				}
			}
			take, ok := takers[calleeOf(call.Fun)]
			if !ok || take.at >= len(call.Args) {
				return true
			}
			id, ok := literal(call.Args[take.at])
			if !ok {
				return true
			}
			text := template(id)
			if text == "" {
				t.Errorf("%s: there is no phrase %q", path, id)
				return true
			}
			most, least := len(places(text)), len(places(outsideBrackets.ReplaceAllString(text, "")))
			if given := len(call.Args) - take.at - 1; take.values && (given > most || given < least) && call.Ellipsis == token.NoPos {
				t.Errorf("%s: %q has %d places, of which %d must be filled, and gets %d values", path, id, most, least, given)
			}
			return true
		})
		return nil
	})
	if err != nil || len(asked) < 100 {
		t.Fatalf("%d texts, %v", len(asked), err)
	}
	for id := range phrases {
		if !asked[id] {
			t.Errorf("nothing says %q", id)
		}
		if pageTexts[id] != "" {
			t.Errorf("%q stands in two tables", id)
		}
	}
}

// outsideBrackets matches what may be left out; brackets are nested once at most.
var outsideBrackets = regexp.MustCompile(`\[[^][]*(\[[^][]*\][^][]*)*\]`)

// template is that of a phrase or of a text of the page; "" where there is none.
func template(id string) string { return cmp.Or(phrases[id], pageTexts[id]) }

// TestPhrasesAreWhole finds words that can only be the beginning or the end of something: a
// renderer that puts a sentence together from such parts decides how it reads. One template
// with places says the same.
func TestPhrasesAreWhole(t *testing.T) {
	fragment := regexp.MustCompile(`^ ?[,;:.)]|^ \S|[ ,;(]$`) // two blanks indent a line
	whole := func(where, text string) {
		if fragment.MatchString(text) {
			t.Errorf("%s: %q is a part of a sentence", where, text)
		}
	}
	for id, text := range phrases {
		whole(id, text)
		if strings.Contains(text, "%s") || strings.Contains(text, "%d") {
			t.Errorf("%s: %q has verbs of fmt, which nothing fills", id, text)
		}
	}
	for id, text := range pageTexts {
		whole(id, text)
	}
	for _, table := range labels {
		for domain, list := range table {
			for id, text := range list {
				whole(domain+" "+id, text)
			}
		}
	}
	for _, table := range tables {
		for code, w := range table {
			for _, text := range []string{w.Text, w.Short, w.Plain, w.Next} {
				whole(string(code), text)
			}
		}
	}
}

func TestPhraseValues(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{Phrase("mean-of-gpus", "GPU time", 2), "GPU time, mean of 2 GPUs"},
		{Phrase("mean-of-gpus", "GPU time", 0), "GPU time"},
		{Phrase("mean-of-gpus", "GPU time", nil), "GPU time"},
		{Phrase("n-launches", 0), "0 launches"},
		{Phrase("n-launches", int64(6048)), "6,048 launches"},
		{Phrase("link-kernels"), "All, with the counters behind each verdict: [kernels.md](kernels.md)."},
		{Phrase("limiter-shares", "DRAM", "64 %", "80 %"), "DRAM (64 %; 80 % counted)"},
		{Phrase("limiter-shares", "DRAM", "64 %"), "DRAM (64 %)"},
		{Phrase("limiter-shares", "DRAM", nil, "80 %"), "DRAM"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func literal(n ast.Node) (string, bool) {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	return "", false
}

func TestPhraseAsCode(t *testing.T) {
	if got := Phrase("mean-of-gpus", "busy", 2); got != "busy, mean of 2 GPUs" {
		t.Errorf("with words: %q", got)
	}
	defer CodesOnly()()
	if got := Phrase("mean-of-gpus", "busy", 2); got != "mean-of-gpus busy 2" {
		t.Errorf("as a code: %q", got)
	}
}
