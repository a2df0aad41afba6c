package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
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
