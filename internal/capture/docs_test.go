package capture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// kinds are the verdicts that kind.go declares.
func kinds(t *testing.T) []Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Kind" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Kind(text))
		}
		return true
	})
	if len(all) < 40 {
		t.Fatalf("only %d verdicts were found", len(all))
	}
	return all
}

// TestDocs: docs/outcomes.md lists every outcome with its cause and next step, and
// every message; all of them have words.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, k := range kinds(t) {
		if k == Captured {
			continue
		}
		if row := "| " + string(k) + " | " + message.Text(k.Cause()) + " | " + message.Next(k.Cause()) + " |"; !strings.Contains(doc, row) {
			t.Errorf("docs/outcomes.md does not list %s", row)
		}
	}
	for _, p := range patterns() {
		if !strings.Contains(doc, "| "+p.ID+" | ") {
			t.Errorf("docs/outcomes.md does not list the message %s", p.ID)
		}
		if p.Effect != Fact && !message.Known(fact.Code(p.ID)) {
			t.Errorf("the message %s has no words", p.ID)
		}
	}
}
