package analysis

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
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

// named are the keys of a result, and the kinds of parameters, whose values may
// have a space in them, each with the reason. No other key may.
var named = map[string]string{
	"rules":          "NVIDIA's rules",
	"text_of_vendor": "text of NVIDIA's tools or of the user's program",
	"error":          "an error of the system or of a reader, as its log has it",

	"name": nameOfProgram, "short": nameOfProgram, "mangled": nameOfProgram, "kernel": nameOfProgram, "kernels": nameOfProgram, "unmatched": nameOfProgram,
	"path": rangeOfProgram, "region": rangeOfProgram, "stage": rangeOfProgram, "slowest": rangeOfProgram, "names": rangeOfProgram, "module": rangeOfProgram, "layers": rangeOfProgram,
	"group": "a process or thread, as the program names it",
	"id":    "a kind with the range that it is about",

	"label": "a category, as the user's rules name it", "section": "a section of ncu, as NVIDIA names it",
	"metric": "a counter, or the product of two", "unit": "a unit, as NVIDIA writes it",
	"file": "a path", "command": "a command line, or an argument of one", "key": "a setting with its value",
	"cpu": "as the system names it", "os": "as the system names it", "host": "as the system names it",
	"ncu": "a version, as the tool prints it", "nsys": "a version, as the tool prints it", "driver": "a version", "cuda": "a version",
}

const (
	nameOfProgram  = "a function or another name of the program: void f<int>(int)"
	rangeOfProgram = "an NVTX range, as the program names it"
)

// checkNoEnglish fails for a string with a space under any other key.
func checkNoEnglish(t *testing.T, r *Result) {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	eachText(tree, "", func(place, text string) {
		if strings.Contains(text, " ") {
			t.Errorf("%s holds the text %q", place, text)
		}
	})
}

// eachText visits the strings outside of named keys.
func eachText(x any, place string, visit func(place, text string)) {
	switch x := x.(type) {
	case map[string]any:
		for key, v := range x {
			if named[key] == "" || !holdsText(v) && key != "rules" {
				eachText(v, place+"."+key, visit)
			}
		}
	case []any:
		for _, v := range x {
			eachText(v, place, visit)
		}
	case string:
		visit(place, x)
	}
}

// holdsText tells strings and lists of them from objects, which are looked into.
func holdsText(v any) bool {
	switch v := v.(type) {
	case string:
		return true
	case []any:
		return len(v) == 0 || holdsText(v[0])
	}
	return false
}

// The check itself finds a sentence, and lets names be.
func TestCheckOfEnglish(t *testing.T) {
	var found []string
	tree := map[string]any{"name": "a kernel", "why": "it was left out", "kernels": []any{map[string]any{"name": "void f(int)", "no_point": "it has none"}}}
	eachText(tree, "", func(place, text string) {
		if strings.Contains(text, " ") {
			found = append(found, place)
		}
	})
	slices.Sort(found)
	if !slices.Equal(found, []string{".kernels.no_point", ".why"}) {
		t.Errorf("found %v", found)
	}
}
