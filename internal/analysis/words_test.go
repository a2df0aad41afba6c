package analysis

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/message"
)

// Every code that this package declares has words.
func TestCodesHaveWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		lit, ok := node.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		code, err := strconv.Unquote(lit.Value)
		if err != nil || strings.HasPrefix(code, "-") || strings.Contains(code, "/") { // a suffix, an import
			return true
		}
		n++
		if !message.Known(fact.Code(code)) && !message.Known(forTorch(fact.Code(code))) {
			t.Errorf("%s has no words", code)
		}
		return true
	})
	if n < 100 {
		t.Errorf("only %d codes were found", n)
	}
}

// The facts of real results fill their templates, and result.json holds no
// sentence that this package could have written.
func TestFactsFillTheirTemplates(t *testing.T) {
	for _, fixtures := range [][]string{{llmTimeline, llmCounters}, {toyTimeline, toyCounters}, {toyTimeline}, {toyCounters}} {
		r := analyzeFiles(t, fixtures...)
		var all []fact.Fact
		for i := range r.Findings {
			all = append(all, r.Findings[i].Fact)
		}
		for _, o := range r.Opportunities {
			all = append(append(append(all, o.Title), o.Assumes...), o.How...)
			for _, e := range o.Evidence {
				all = append(all, e.Of, e.Threshold)
			}
		}
		for i := range r.Kernels {
			l := &r.Kernels[i].Limiter
			all = append(append(all, l.Why...), l.Need, r.Kernels[i].NoPoint)
			for _, e := range l.Evidence {
				all = append(all, e.Of, e.Threshold)
			}
		}
		for _, s := range r.Stages {
			for _, m := range s.measures() {
				for _, u := range m.list {
					all = append(all, u.Why...)
				}
			}
		}
		for _, f := range all {
			for _, text := range []string{message.Text(f), message.Plain(f), message.Short(f)} {
				if strings.ContainsAny(text, "{}") || strings.Contains(text, ".. ") || strings.Contains(text, "  ") {
					t.Errorf("%+v reads %q", f, text)
				}
			}
			if data, err := json.Marshal(f.Params); err != nil || strings.Contains(string(data), ". ") {
				t.Errorf("a sentence among the parameters: %s", data)
			}
		}
	}
}

// made are the keys, and the kinds of parameters, whose values this package makes of names
// of the input: C++ names without their arguments, paths of ranges, an ID of a kind and a
// range, a product of counters, a list of codes. Each word of them stands in the input, or is
// a code.
var made = []string{"short", "kernel", "kernels", "name", "names", "path", "group", "region", "slowest", "id", "metric", "stage", "command"}

// checkNoEnglish fails for a string that is neither a code, nor a text of the input, such as
// a name or what a tool of NVIDIA's wrote. input are all files that were analyzed, one after
// the other.
func checkNoEnglish(t *testing.T, r *Result, input []byte) {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range fixture.OwnWords(t, data, input, made...) {
		t.Errorf("%s holds the text %q, which is not of the input", place, text)
	}
}

// The check itself finds a sentence, and lets names be.
func TestCheckOfEnglish(t *testing.T) {
	const document = `{"label": "copies of a stream", "why": "it was left out", "kernels": [{"name": "void f(int)", "short": "f<int, 2>", "code": "no-point"}]}`
	found := slices.Sorted(maps.Keys(fixture.OwnWords(t, []byte(document), []byte("xx void f(int) yy"), made...)))
	if !slices.Equal(found, []string{".label", ".why"}) {
		t.Errorf("found %v", found)
	}
}
