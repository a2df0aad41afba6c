package html

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/report"
)

var update = flag.Bool("update", false, "write generated files instead of comparing them")

// TestTypesFollowResult keeps the types that the page is written against equal
// to those of analysis.Result.
func TestTypesFollowResult(t *testing.T) {
	path := filepath.Join("..", "..", "..", "web", "src", "result.ts")
	want := typeScript(reflect.TypeFor[analysis.Result]())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s does not follow analysis.Result; run: go generate ./internal/report/html", path)
	}
}

// TestNotesStayObjects: the keys whose facts stay objects are those that the types
// declare as lists of objects. The page shows nothing at all where one is a text.
func TestNotesStayObjects(t *testing.T) {
	var want []string
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for _, f := range reflect.VisibleFields(t) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && f.Type != reflect.TypeFor[[]fact.Fact]() && strings.Contains(wordsOf(f.Type.Elem()), "plain") {
				want = append(want, key)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[analysis.Result]())
	got := slices.Clone(notes)
	slices.Sort(got)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("notes are %q, the types have %q", got, want)
	}
}

// typeScript declares root and all structs that it reaches.
func typeScript(root reflect.Type) string {
	var out strings.Builder
	out.WriteString("// Generated from analysis.Result by go generate ./internal/report/html. Not to be edited.\n")
	queue := []reflect.Type{root}
	for i := 0; i < len(queue); i++ {
		fmt.Fprintf(&out, "\nexport interface %s {\n", queue[i].Name())
		out.WriteString(wordsOf(queue[i]))
		for _, f := range reflect.VisibleFields(queue[i]) {
			if f.Anonymous || !f.IsExported() || f.Type == reflect.TypeFor[fact.Params]() { // the page gets words in their place
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			counter := queue[i] == reflect.TypeFor[analysis.Metric]() || queue[i] == reflect.TypeFor[analysis.RegionMetric]()
			if name == "-" || counter && slices.Contains([]string{"value", "unit", "text"}, name) {
				continue
			}
			optional := ""
			always := name == "basis" && queue[i] == reflect.TypeFor[analysis.Peak]()
			if !always && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")) {
				optional = "?"
			}
			typ := f.Type
			if name == "thresholds" { // the page gets rows with a name
				typ = reflect.TypeFor[[]analysis.Fact]()
			}
			fmt.Fprintf(&out, "  %s%s: %s;\n", name, optional, tsType(typ, &queue))
			if isNumber(f.Type) && (report.HasText(name) || name == "value" || name == "level" || name == "flops" && queue[i] == reflect.TypeFor[analysis.Point]()) {
				fmt.Fprintf(&out, "  %s_text%s: string;\n", name, optional)
			}
			if name == "bounds" {
				out.WriteString("  bounds_text: string[] | null;\n")
			}
			if f.Type == reflect.TypeFor[*fact.Fact]() || f.Type == reflect.TypeFor[fact.Fact]() {
				fmt.Fprintf(&out, "  %s_short?: string;\n", name)
			}
		}
		out.WriteString("}\n")
	}
	return out.String()
}

// wordsOf are the fields that message.Words adds to objects of a type.
func wordsOf(t reflect.Type) string {
	if t == reflect.TypeFor[analysis.Peak]() || t == reflect.TypeFor[analysis.CounterLane]() || t == reflect.TypeFor[analysis.Stall]() {
		return "  label: string;\n"
	}
	if t == reflect.TypeFor[analysis.Metric]() || t == reflect.TypeFor[analysis.RegionMetric]() {
		return "  text: string;\n"
	}
	switch t {
	case reflect.TypeFor[analysis.Kernel]():
		return "  attained_label?: string;\n"
	case reflect.TypeFor[analysis.Fact]():
		return "  title?: string;\n"
	}
	if f, ok := t.FieldByName("Level"); ok && f.Tag.Get("json") == "level,omitempty" {
		return "  label: string;\n  level_label?: string;\n"
	}
	if _, ok := t.FieldByName("Units"); ok {
		return "  label: string;\n"
	}
	if f, ok := t.FieldByName("Code"); ok && f.Type == reflect.TypeFor[fact.Code]() {
		return "  text: string;\n  plain?: string;\n  next?: string;\n"
	}
	return ""
}

func isNumber(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

func tsType(t reflect.Type, queue *[]reflect.Type) string {
	if t == reflect.TypeFor[fact.Fact]() || t == reflect.TypeFor[fact.Stored]() || t == reflect.TypeFor[[]fact.Fact]() {
		return "string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Pointer:
		return tsType(t.Elem(), queue)
	case reflect.Slice:
		elem := tsType(t.Elem(), queue)
		if t.Elem().Kind() == reflect.Slice {
			elem = "(" + elem + ")"
		}
		return elem + "[] | null"
	case reflect.Array:
		return tsType(t.Elem(), queue) + "[]"
	case reflect.Struct:
		if !slices.Contains(*queue, t) {
			*queue = append(*queue, t)
		}
		return t.Name()
	default:
		return "number"
	}
}
