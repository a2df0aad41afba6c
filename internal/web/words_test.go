package web

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
)

// TestWordsOfStorePage: the page asks for words that deepprof has, deepprof has none that it
// does not ask for, and it has none of its own.
func TestWordsOfStorePage(t *testing.T) {
	word := regexp.MustCompile(`\bword\((?:[^")]*\? )?"([a-z-]+)"(?: : "([a-z-]+)")?`)
	comment, quoted := regexp.MustCompile(`(?m)//.*$`), regexp.MustCompile(`"([^"\n]*)"`)
	sentence := regexp.MustCompile(`^[A-Z][a-z]+$|[A-Za-z]{2,}[,;:]? +[A-Za-z]{2,}|^ [a-z]+ $`)
	others := []string{"use strict", "Content-Type", "11px system-ui, sans-serif", "ArrowLeft", "ArrowRight"}
	texts, asked := message.StoreTexts(), map[string]bool{}
	for _, name := range []string{"app.js", "timeline.js"} {
		data, err := fs.ReadFile(pageFiles, "page/"+name)
		if err != nil {
			t.Fatal(err)
		}
		source := comment.ReplaceAllString(string(data), "")
		for _, m := range word.FindAllStringSubmatch(source, -1) {
			for _, id := range m[1:] {
				if asked[id] = true; id != "" && texts[id] == "" {
					t.Errorf("%s: no words for %q", name, id)
				}
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(source, -1) {
			if sentence.MatchString(m[1]) && !strings.Contains(strings.Join(others, "|"), m[1]) {
				t.Errorf("%s has words of its own: %q", name, m[1])
			}
		}
	}
	for id := range texts {
		if !asked[id] {
			t.Errorf("the page does not ask for %q", id)
		}
	}
}
