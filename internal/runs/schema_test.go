package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepprof/deepprof/internal/fact"
)

const schemaDir = "../../docs/schemas"

func schemaOf[T any](t *testing.T, title, id string) *jsonschema.Schema {
	t.Helper()
	enum := func(values []string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		return s
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Status]():      enum(stringsOf(Statuses)),
		reflect.TypeFor[State]():       enum(stringsOf(states)),
		reflect.TypeFor[fact.Params](): {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "object", MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1)}},
	}})
	must(t, err)
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", id, title
	open(s)
	return s
}

func stringsOf[T ~string](in []T) (out []string) {
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

// open lets a later version add fields that an earlier reader passes over.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "object" || len(s.Types) > 0 {
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
	}
	open(s.Items)
	if s.Properties == nil {
		open(s.AdditionalProperties)
	}
	for _, p := range s.Properties {
		open(p)
	}
}

// The schemas in docs follow the types, and what the package writes follows the
// schemas.
func TestSchemas(t *testing.T) {
	r := packable(t, t.TempDir())
	env := fullMachine.collector().Collect(ctx)
	must(t, r.reopenForTest(func() error { return r.WriteJSON(EnvName, env) }))
	for _, c := range []struct {
		name   string
		schema *jsonschema.Schema
		file   string
	}{
		{"run.v2.json", schemaOf[Manifest](t, "deepprof run.json, version 2", "urn:deepprof:schema:run:v2"), r.Path(ManifestName)},
		{"env.v1.json", schemaOf[Env](t, "deepprof env.json, version 1", "urn:deepprof:schema:env:v1"), r.Path(EnvName)},
	} {
		text, err := json.MarshalIndent(c.schema, "", "  ")
		must(t, err)
		goldenFile(t, filepath.Join(schemaDir, c.name), append(text, '\n'))
		resolved, err := c.schema.Resolve(nil)
		must(t, err)
		data, err := os.ReadFile(c.file)
		must(t, err)
		var v map[string]any
		must(t, json.Unmarshal(data, &v))
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s does not follow %s: %v", c.file, c.name, err)
		}
		v["schema"] = "one"
		if resolved.Validate(v) == nil {
			t.Errorf("%s accepts a schema version that is no number", c.name)
		}
	}
}

// Earlier versions stored why a file was left out as a sentence.
func TestReasonsOfOlderPacksAreRead(t *testing.T) {
	var f File
	must(t, json.Unmarshal([]byte(`{"path":"a","size":1,"sha256":"","omitted":"its name cannot be cleaned"}`), &f))
	var index PackIndex
	must(t, json.Unmarshal([]byte(`{"omitted":[{"path":"a","text":"not a plain file"}]}`), &index))
	if f.Omitted.Text("text") != "its name cannot be cleaned" || index.Omitted[0].Text != "not a plain file" {
		t.Errorf("%+v, %+v", f, index)
	}
}
