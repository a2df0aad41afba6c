package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/timeline"
)

var update = flag.Bool("update", false, "write docs/schemas anew")

// TestSchemasArePublished fails when docs/schemas is stale; run with -update.
func TestSchemasArePublished(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range all {
		want, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		path := filepath.Join("..", "..", "docs", "schemas", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%s is stale: run go test ./internal/report -update", path)
		}
	}
}

// withFacts describes the parameters of a fact, which may hold further facts:
// each is an object of one kind with its value.
var withFacts = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[fact.Params](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "object", MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1)}},
}}

// schemas are the JSON schemas of all tables, by file name, made from the types
// of the rows.
func schemas() (map[string]*jsonschema.Schema, error) {
	out := map[string]*jsonschema.Schema{}
	for _, s := range []struct {
		name  string
		rows  []reflect.Type // the kinds of row; any of them
		about string
	}{
		{"kernels", []reflect.Type{reflect.TypeFor[KernelRow]()}, "deepprof show kernels --json"},
		{"regions", []reflect.Type{reflect.TypeFor[timeline.RegionRow](), reflect.TypeFor[regionLine]()}, "deepprof show regions --json; the first form of a row is of a timeline, the second of counters"},
		{"ranges", []reflect.Type{reflect.TypeFor[timeline.RangeRow]()}, "deepprof show ranges --json"},
		{"launches", []reflect.Type{reflect.TypeFor[timeline.LaunchRow](), reflect.TypeFor[CountedLaunchRow]()}, "deepprof show launches --json; the first form of a row is of a timeline, the second of counters"},
		{"gaps", []reflect.Type{reflect.TypeFor[timeline.GapGroupRow](), reflect.TypeFor[timeline.GapRow]()}, "deepprof show gaps --json, and with --all"},
		{"info", []reflect.Type{reflect.TypeFor[Fact]()}, "deepprof show info --json"},
		{"metrics", nil, "deepprof show metrics --json"},
		{"flops", []reflect.Type{reflect.TypeFor[flops.Row]()}, "deepprof show flops --json"},
		{"config_values", []reflect.Type{reflect.TypeFor[Value]()}, "deepprof config show --origin --json"},
		{"config_options", []reflect.Type{reflect.TypeFor[Option]()}, "deepprof config groups --json"},
	} {
		row := metricSchema()
		if len(s.rows) > 0 {
			var forms []*jsonschema.Schema
			for _, t := range s.rows {
				form, err := jsonschema.ForType(t, withFacts)
				if err != nil {
					return nil, fmt.Errorf("make the schema of %s: %w", s.name, err)
				}
				forms = append(forms, form)
			}
			row = forms[0]
			if len(forms) > 1 {
				row = &jsonschema.Schema{AnyOf: forms}
			}
		}
		out[s.name+".v1.json"] = envelope(s.name, s.about, row)
	}
	out["flops.v1.json"].Properties["notes"] = &jsonschema.Schema{Type: "array", Description: "warnings, and assumptions that the count rests on", Items: &jsonschema.Schema{
		Type: "object", Required: []string{"kind", "code", "text"}, Properties: map[string]*jsonschema.Schema{
			"kind": {Enum: []any{"warning", "assumption"}}, "code": {Type: "string"}, "text": {Type: "string"},
			"params": {Type: "object", Description: "typed values: the kind, and the value"},
		},
	}}
	result, err := jsonschema.For[analysis.Result](withFacts)
	if err != nil {
		return nil, fmt.Errorf("make the schema of result: %w", err)
	}
	result.Schema, result.Title, result.Description = "https://json-schema.org/draft/2020-12/schema", "deepprof.result", "result.json of a run; deepprof analyze --json"
	out["result.v2.json"] = result
	compared, err := jsonschema.For[compare.Comparison](withFacts)
	if err != nil {
		return nil, fmt.Errorf("make the schema of compare: %w", err)
	}
	compared.Schema, compared.Title, compared.Description = "https://json-schema.org/draft/2020-12/schema", "deepprof.compare", "deepprof compare --json"
	out["compare.v1.json"] = compared
	return out, nil
}

// envelope is the object around the rows of every table.
func envelope(name, about string, row *jsonschema.Schema) *jsonschema.Schema {
	constant := func(v any) *jsonschema.Schema { return &jsonschema.Schema{Const: &v} }
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "deepprof." + name, Description: about, Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"schema":         constant("deepprof." + name),
			"schema_version": constant(1),
			"rows":           {Type: "array", Items: row},
			"rows_left_out":  {Type: "integer", Description: "rows that --top left out"},
			"warnings":       {Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "what a reader must know to trust the rows"},
		},
		Required: []string{"schema", "schema_version", "rows", "rows_left_out", "warnings"},
	}
}

// metricSchema describes MetricRow.AppendJSON.
func metricSchema() *jsonschema.Schema {
	value := func() *jsonschema.Schema {
		return &jsonschema.Schema{Types: []string{"number", "string", "null"}, Description: "null: not measured; the texts nan, inf and -inf stand for those numbers"}
	}
	text := func(about string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: about}
	}
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"report": text("of a run with several reports: the one that the launch is of"),
			"launch": {Type: "integer", Description: "id of the launch, as ncu numbers it"},
			"kernel": text("full name of the kernel"),
			"name":   text("name of the metric"),
			"value":  value(),
			"unit":   text("base unit of the value; empty for a plain count"),
			"instances": {Type: "array", Description: "with --instances: the values that the metric is made of", Items: &jsonschema.Schema{
				Type: "object", Properties: map[string]*jsonschema.Schema{"id": value(), "value": value()}, Required: []string{"id", "value"},
			}},
		},
		Required:             []string{"launch", "kernel", "name", "value", "unit"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}
