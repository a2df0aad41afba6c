package tool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

// A folder's name is no pattern, whatever characters it has.
func TestMatchTakesFolderAsItIs(t *testing.T) {
	for _, name := range []string{"exp [v2]", "r?", "a*b", `back\slash`, "[", "plain"} {
		dir := filepath.Join(t.TempDir(), name)
		want := []string{filepath.Join(dir, "host-linux-x64/nsys"), filepath.Join(dir, "host-linux-y/nsys")}
		for _, path := range append(want, filepath.Join(dir, "other/nsys"), filepath.Join(filepath.Dir(dir), "rX", "host-linux-z/nsys")) {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := tool.Match(dir, "host-linux-*/nsys"); !slices.Equal(got, want) {
			t.Errorf("Match in %q = %q, want %q", name, got, want)
		}
	}
}

// filepath.Glob makes a pattern of a whole path, so that a run in a folder like
// "exp [v2]" finds nothing, or the files of another. Nothing that is built calls
// it: tool.Match takes the folder as it is.
func TestNoGlobOfPaths(t *testing.T) {
	root := filepath.Join("..", "..")
	read := 0
	for _, top := range []string{"cmd", "internal", "conf", "bench", "workloads", "recordings"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			read++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Glob" && path != filepath.Join(root, "internal", "tool", "command.go") {
					t.Errorf("%s calls %v.Glob: use tool.Match", path, call.X)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files read: is the source elsewhere?", read)
	}
}
