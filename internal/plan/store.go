package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// storedSchema is the version of the form in which a run stores its plan. A
// reader accepts its own version and older ones.
const storedSchema = 1

// stored is the outer form of plan.json.
type stored struct {
	Schema int             `json:"schema"`
	Plan   json.RawMessage `json:"plan"`
}

// Marshal gives a plan as a run stores it in plan.json. Keys are those of the
// configuration, durations are seconds, and null stands where the
// configuration has null.
func Marshal(p *Plan) ([]byte, error) {
	inner, err := json.Marshal(Section(p))
	if err != nil {
		return nil, fmt.Errorf("store the plan: %w", err)
	}
	data, err := json.MarshalIndent(stored{storedSchema, inner}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("store the plan: %w", err)
	}
	return append(data, '\n'), nil
}

// Unmarshal reads a plan that Marshal stored. It checks types, not rules: the
// plan was checked before its run started. Keys that this version does not know
// are ignored; keys that the plan lacks are an error, unless they may be absent.
func Unmarshal(data []byte) (*Plan, error) {
	var outer stored
	if err := json.Unmarshal(data, &outer); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if outer.Schema < 1 || outer.Schema > storedSchema {
		return nil, fmt.Errorf("read the plan: schema %d is not known, this version reads 1 to %d; use a newer deepprof", outer.Schema, storedSchema)
	}
	p := new(Plan)
	if err := readMapping("", outer.Plan, reflect.ValueOf(p).Elem()); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return p, nil
}

// Section gives a struct of the plan as it is stored: by the keys of the configuration,
// durations in seconds, null where the configuration has null.
func Section[T any](of *T) map[string]any { return storedMapping(reflect.ValueOf(of).Elem()) }

// storedMapping gives a struct as a mapping by its keys.
func storedMapping(v reflect.Value) map[string]any {
	out := map[string]any{}
	for _, f := range fieldsOf(v.Type()) {
		out[f.key] = storedValue(v.Field(f.index), f)
	}
	return out
}

func storedValue(v reflect.Value, f field) any {
	if isMapping(f.typ) {
		return storedMapping(v)
	}
	if f.null != "" && v.IsZero() {
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.Seconds()
	case ModelConfig:
		if x.File != "" {
			return x.File
		}
		return exactNumbers(x.Values)
	case []string:
		if x == nil {
			return []string{}
		}
	case map[string]string:
		if x == nil {
			return map[string]string{}
		}
	}
	return v.Interface()
}

// exactNumbers keeps floats apart from integers, which JSON does not: 1.0 is
// written with its point.
func exactNumbers(v any) any {
	switch x := v.(type) {
	case float64:
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = exactNumbers(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, item := range x {
			out[key] = exactNumbers(item)
		}
		return out
	}
	return v
}

func readMapping(path string, raw json.RawMessage, dst reflect.Value) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil || values == nil {
		return fmt.Errorf("%s: want a mapping, got %s", path, shorten(string(raw)))
	}
	for _, f := range fieldsOf(dst.Type()) {
		key := join(path, f.key)
		child, ok := values[f.key]
		switch {
		case !ok && f.absent:
		case !ok:
			return fmt.Errorf("%s: no value", key)
		default:
			if err := readValue(key, child, f, dst.Field(f.index)); err != nil {
				return err
			}
		}
	}
	return nil
}

func readValue(key string, raw json.RawMessage, f field, dst reflect.Value) error {
	if isMapping(f.typ) {
		return readMapping(key, raw, dst)
	}
	if string(raw) == "null" {
		if f.null == "" {
			return fmt.Errorf("%s: want %s, got null", key, f.want())
		}
		return nil
	}
	var err error
	switch v := dst.Addr().Interface().(type) {
	case *time.Duration:
		var seconds float64
		err = json.Unmarshal(raw, &seconds)
		*v = time.Duration(seconds * float64(time.Second))
	case *ModelConfig:
		*v, err = readModelConfig(raw)
	case *[]string:
		if err = json.Unmarshal(raw, v); len(*v) == 0 {
			*v = nil // as Decode leaves an empty list
		}
	default:
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("%s: want %s, got %s", key, f.want(), shorten(string(raw)))
	}
	return nil
}

func readModelConfig(raw json.RawMessage) (c ModelConfig, err error) {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return c, json.Unmarshal(raw, &c.File)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err = decoder.Decode(&c.Values); err == nil {
		c.Values, _ = typedNumbers(c.Values).(map[string]any)
	}
	return c, err
}

// typedNumbers is the inverse of exactNumbers.
func typedNumbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i
		}
		number, _ := x.Float64() // a JSON number; beyond the range of a float it is infinite
		return number
	case []any:
		for i, item := range x {
			x[i] = typedNumbers(item)
		}
	case map[string]any:
		for key, item := range x {
			x[key] = typedNumbers(item)
		}
	}
	return v
}
