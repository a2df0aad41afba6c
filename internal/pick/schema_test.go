package pick

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepprof/deepprof/internal/fact"
)

var update = flag.Bool("update", false, "rewrite the schema in docs")

const schemaFile = "../../docs/schemas/targets.v1.json"

// TestTargetsSchema: the schema in docs follows the type, and what is written
// follows the schema.
func TestTargetsSchema(t *testing.T) {
	s, err := jsonschema.For[Targets](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Reason]():          {Description: "a code with parameters; a text in files of earlier versions", Types: []string{"object", "string"}},
		reflect.TypeFor[fact.StoredList](): {Description: "codes with parameters; a text in files of earlier versions", Types: []string{"array", "string", "null"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", "urn:deepprof:schema:targets:v1", "deepprof targets.json, version 1"
	growing(s)
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(have, text) {
		t.Errorf("%s is out of date; run go test ./internal/pick -update: %v", schemaFile, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, all := load(t, "toy"), counted(t, "toy_full")
	targets, err := Choose(l, Policy{Include: []string{"prefill", "nosuch"}, Slowest: true, KernelExclude: []string{"saxpy"}})
	if err != nil {
		t.Fatal(err)
	}
	if targets.Verification, err = Verify(targets, all[:5], l); err != nil {
		t.Fatal(err)
	}
	_, targets.Ladder = replayLadder{}.first()
	data, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("targets.json does not follow its schema: %v", err)
	}
	v["schema"] = "one"
	if resolved.Validate(v) == nil {
		t.Error("a schema version that is no number is accepted")
	}
}

// growing lets a later version add fields that an earlier reader passes over.
func growing(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	growing(s.Items)
	for _, p := range s.Properties {
		growing(p)
	}
}
