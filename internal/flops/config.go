// Package flops counts what a transformer must compute and move: FLOPs,
// weights, key-value cache and activations per stage, from the fields of its
// config.json alone. It needs no GPU, no torch and no weights.
//
// Two counts stand beside each other. The headline is what the model needs:
// of a causal attention only the half below the diagonal, as flash kernels
// execute it. The other is what torch's FlopCounterMode reports for the same
// pass, which takes the whole square. docs/flops.md gives the rules.
//
// It is large because model families differ: attention, experts, recurrent layers,
// vision towers and quantization each have rules of their own.
package flops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// maxConfig bounds the size of a config.json; real ones have a few kilobytes.
const maxConfig = 16 << 20

// maxSize bounds every dimension of a model, so that a damaged file cannot
// make the arithmetic meaningless.
const maxSize = 1 << 28

// maxLayers bounds what is walked layer by layer.
const maxLayers = 1 << 14

// Parse reads a config.json as Hugging Face writes it.
// The error names every field that is missing or wrong; a model whose type is not known is
// no error, but counted like another, with a warning in its reports.
func Parse(r io.Reader) (*Model, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read model config: %w", err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("read model config: larger than %d MiB, which no config.json is", maxConfig>>20)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("read model config: not a JSON object: %w", err)
	}
	if values == nil {
		return nil, errors.New("read model config: null, want a JSON object")
	}
	return ParseMap(values)
}

// ParseMap reads the same fields from a map, as the configuration of a run
// holds them: nil, bool, integers, floats, json.Number, string, []any and
// map[string]any.
func ParseMap(values map[string]any) (*Model, error) {
	m := &Model{raw: values}
	root := &object{values: values, model: m}
	m.build(root)
	if err := root.err(); err != nil {
		return nil, fmt.Errorf("model config: %w", err)
	}
	if m.Parameters() >= huge {
		return nil, errors.New("model config: the sizes multiply to more than any model has; check them")
	}
	return m, nil
}

// object reads the fields of one mapping. Everything that is missing or wrong
// is collected in the root.
type object struct {
	values   map[string]any // not to be changed: they are the caller's
	path     string         // of the mapping, with a dot at its end; "" for the root
	parent   *object
	model    *Model
	defaults map[string]any  // transformers' own where a key is absent
	read     map[string]bool // fields that were asked for
	told     map[string]bool // defaults that were taken, and stated
	// missing and wrong are those of the root alone: everything below adds to them.
	missing []string // names of fields, with their path
	wrong   []string // whole sentences, each with its field
}

// root is where problems and what was read are collected.
func (o *object) root() *object {
	for o.parent != nil {
		o = o.parent
	}
	return o
}

// err names everything that is wrong or missing, so that one try tells all.
func (o *object) err() error {
	var problems []error
	if len(o.wrong) > 0 {
		problems = append(problems, errors.New(strings.Join(o.wrong, "; ")))
	}
	if len(o.missing) > 0 {
		slices.Sort(o.missing)
		problems = append(problems, fmt.Errorf("no %s; add %s to count this model", strings.Join(slices.Compact(o.missing), ", "), map[bool]string{true: "it", false: "them"}[len(o.missing) == 1]))
	}
	return errors.Join(problems...)
}

// bad collects a problem; reading goes on with a value that does no harm: no count is made of
// a config with problems.
func (o *object) bad(key, format string, args ...any) {
	r := o.root()
	r.wrong = append(r.wrong, o.path+key+": "+fmt.Sprintf(format, args...))
}

// section is a nested mapping; an empty one where there is none, for its defaults.
func (o *object) section(key string) *object {
	if c := o.child(key); c != nil {
		return c
	}
	return &object{values: values{}, path: o.path + key + ".", parent: o, model: o.model}
}

// child is a nested mapping; nil where there is none, or where it is no mapping.
func (o *object) child(key string) *object {
	o.note(key)
	v, ok := o.values[key]
	if !ok || v == nil {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		o.bad(key, "want a mapping, got %T", v)
		return nil
	}
	return &object{values: values, path: o.path + key + ".", parent: o, model: o.model}
}

// note remembers that a field was asked for.
func (o *object) note(key string) {
	if o.read == nil {
		o.read = map[string]bool{}
	}
	o.read[key] = true
}

// get gives a field, or what transformers takes where it is absent, which becomes an
// assumption of the count; nil where neither is there. A field that is null is there, and nil.
func (o *object) get(key string) any {
	o.note(key)
	if v, ok := o.values[key]; ok {
		return v
	}
	v, ok := o.defaults[key]
	if ok && !o.told[key] { // every layer asks
		if o.told == nil {
			o.told = map[string]bool{}
		}
		o.told[key] = true
		o.model.assume(fact.New(FieldDefault, fact.Key("field", o.path+key), fact.Name("value", fmt.Sprint(v))))
	}
	return v
}

// has tells whether a field is there and not null.
func (o *object) has(key string) bool {
	o.note(key)
	if v, ok := o.values[key]; ok {
		return v != nil
	}
	return o.defaults[key] != nil
}

// first is the first of several names that a field is given under; "" for none.
// A name that the file has goes before one with a default.
func (o *object) first(keys ...string) string {
	found := ""
	for _, key := range keys {
		o.note(key)
	}
	for _, key := range keys {
		if !o.has(key) {
			continue
		}
		if o.values[key] != nil {
			return key
		}
		if found == "" {
			found = key
		}
	}
	return found
}

// need is a size that must be there, under any of its names; 1 where it is missing, so that
// nothing divides by 0 until the error is told.
func (o *object) need(keys ...string) int64 {
	if key := o.first(keys...); key != "" {
		return o.size(key, 0)
	}
	r := o.root()
	r.missing = append(r.missing, o.path+keys[0])
	return 1
}

// size is a field that counts something; def where it is absent or null. It is never negative
// and at most maxSize; of a wrong one at least 1 comes back.
func (o *object) size(key string, def int64) int64 {
	v := o.get(key)
	if v == nil {
		return def
	}
	n, ok := integer(v)
	if !ok {
		o.bad(key, "want an integer, got %v", v)
		return max(def, 1)
	}
	if n < 0 || n > maxSize {
		o.bad(key, "%d is not between 0 and %d", n, int64(maxSize))
		return max(def, 1)
	}
	return n
}

// integer is a whole number that JSON, YAML or Go hold.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case json.Number:
		if n, err := n.Int64(); err == nil {
			return n, true
		}
	}
	f, ok := float(v)
	return int64(f), ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// float is a number that JSON, YAML or Go hold.
func float(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// number is a field of any number; def where it is absent, null or wrong.
func (o *object) number(key string, def float64) float64 {
	v := o.get(key)
	if v == nil {
		return def
	}
	f, ok := float(v)
	if !ok {
		o.bad(key, "want a number, got %v", v)
		return def
	}
	return f
}

// typed is a field of one type; def where it is absent or null, and where it is of
// another type, which is wrong.
func typed[T any](o *object, key, want string, def T) T {
	v := o.get(key)
	if v == nil {
		return def
	}
	t, ok := v.(T)
	if !ok {
		o.bad(key, "want %s, got %v", want, v)
		return def
	}
	return t
}

// flag is true or false, as typed.
func (o *object) flag(key string, def bool) bool { return typed(o, key, "true or false", def) }

// text is a string, as typed; "" is a value of its own, not absent.
func (o *object) text(key, def string) string { return typed(o, key, "a string", def) }

// list is a field that holds several values; nil where it is absent or null.
func (o *object) list(key string) []any { return typed[[]any](o, key, "a list", nil) }

// sizeOf is a size under any of several names; def where none is given.
func (o *object) sizeOf(def int64, keys ...string) int64 {
	if key := o.first(keys...); key != "" {
		return o.size(key, def)
	}
	return def
}

// sizeAt is a size, or one of a list with an entry for each layer.
func (o *object) sizeAt(key string, layer int64) int64 {
	if _, ok := o.values[key].([]any); !ok {
		return o.size(key, 0)
	}
	list := o.sizes(key)
	if layer >= int64(len(list)) {
		o.bad(key, "%d entries, and there are more layers; give one for each", len(list))
		return 1
	}
	return list[layer]
}

// sizes is a list of integers from 0 to maxSize; nil where it is absent, null or wrong.
func (o *object) sizes(key string) []int64 {
	var out []int64
	for _, v := range o.list(key) {
		n, ok := integer(v)
		if !ok || n < 0 || n > maxSize {
			o.bad(key, "want a list of sizes, got %v in it", v)
			return nil
		}
		out = append(out, n)
	}
	return out
}

// names is a list of strings with one entry for each layer, or more; nil where it is absent
// or too short.
func (o *object) names(key string, layers int64) []string {
	if list := o.list(key); list != nil && int64(len(list)) < layers {
		o.bad(key, "%d entries for %d layers; give one for each", len(list), layers)
		return nil
	}
	return o.strings(key)
}

// square is a size that may be given as a list of two equal ones. Pictures that are no
// squares are not counted, and are an error.
func (o *object) square(key string, def int64) int64 {
	o.note(key)
	if v, ok := o.values[key]; ok {
		if list, ok := v.([]any); ok {
			got := o.sizes(key)
			if len(list) != 2 || len(got) != 2 || got[0] != got[1] {
				o.bad(key, "only squares are counted, got %v", list)
				return max(def, 1)
			}
			return got[0]
		}
	}
	return o.size(key, def)
}
