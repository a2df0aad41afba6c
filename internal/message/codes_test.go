package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// TestEveryCodeHasWords reads the constants of type fact.Code that the program
// declares, wherever they stand.
func TestEveryCodeHasWords(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, code := range codesOf(file) {
			seen++
			if !Known(code) {
				t.Errorf("%s: %s has no words", path, code)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d codes, %v", seen, err)
	}
}

// TestEveryCodeOfASessionHasWords reads the codes that the Python programs write,
// and the next step of each that ends a session.
func TestEveryCodeOfASessionHasWords(t *testing.T) {
	files, err := filepath.Glob("../../workloads/session/*.py")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	written := map[string]bool{}
	code := regexp.MustCompile(`"((?:session|operators)-[a-z-]+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			written[m[1]] = true
			if !Known(fact.Code(m[1])) {
				t.Errorf("%s: %s has no words", file, m[1])
			}
		}
	}
	for c, w := range sessionFailures {
		if !written[string(c)] {
			t.Errorf("no program writes %s", c)
		}
		if w.Next == "" && !strings.HasPrefix(string(c), "session-needed-") {
			t.Errorf("%s does not say what to do", c)
		}
	}
}

func codesOf(file *ast.File) (codes []fact.Code) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		typ, ok := spec.Type.(*ast.SelectorExpr)
		if !ok || typ.Sel.Name != "Code" {
			return true
		}
		if pkg, ok := typ.X.(*ast.Ident); !ok || pkg.Name != "fact" {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					codes = append(codes, fact.Code(s))
				}
			}
		}
		return true
	})
	return codes
}
