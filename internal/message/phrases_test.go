package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPhrases holds every ID that is asked for against the table, and the table
// against what is asked for.
func TestPhrases(t *testing.T) {
	takes := map[string]bool{"message.Phrase": true, "d.say": true, "d.heading": true, "newGrid": true, "parts.add": true}
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
				asked[s] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || !takes[calleeOf(call.Fun)] {
				return true
			}
			for i, arg := range call.Args {
				id, ok := literal(arg)
				if !ok || i > 0 && !slices.Contains([]string{"newGrid", "d.heading", "parts.add"}, calleeOf(call.Fun)) {
					continue
				}
				id = strings.TrimPrefix(id, ">")
				asked[id] = true
				if phrases[id] == "" && pageTexts[id] == "" {
					t.Errorf("%s: there is no phrase %q", path, id)
				}
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

func literal(n ast.Node) (string, bool) {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	return "", false
}

func TestPhraseAsCode(t *testing.T) {
	if got := Phrase("mean-of-gpus", 2); got != ", mean of 2 GPUs" {
		t.Errorf("with words: %q", got)
	}
	defer CodesOnly()()
	if got := Phrase("mean-of-gpus", 2); got != "mean-of-gpus 2" {
		t.Errorf("as a code: %q", got)
	}
}
