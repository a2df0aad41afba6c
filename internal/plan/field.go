package plan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// field is one key of a mapping, read from the tags of a struct field.
type field struct {
	key   string
	index int
	typ   reflect.Type
	oneof []string
	form  string // what a string looks like; "" where anything will do
	split string
	null  string // what null means; "" where null is not allowed
	limit limits

	absent bool // the key may be missing
	digits bool // an integer stands for its digits
}

// limits bound a number; nil is no bound.
type limits struct{ min, max, above *float64 }

// holds tells whether v lies within the limits; NaN and infinities never do.
func (l limits) holds(v float64) bool {
	return v-v == 0 && (l.min == nil || v >= *l.min) && (l.max == nil || v <= *l.max) && (l.above == nil || v > *l.above)
}

// String words the limits: "at least 1", "above 0 and at most 1".
func (l limits) String() string {
	var parts []string
	add := func(word string, v *float64) {
		if v != nil {
			parts = append(parts, word+" "+strconv.FormatFloat(*v, 'f', -1, 64))
		}
	}
	add("at least", l.min)
	add("above", l.above)
	add("at most", l.max)
	return strings.Join(parts, " and ")
}

// isMapping tells whether values of a type are mappings with known keys.
func isMapping(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[ModelConfig]()
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf reads the tags of a struct of this package. A wrong tag is a
// mistake in the source and panics; the tests touch every struct.
func fieldsOf(t reflect.Type) []field {
	if got, ok := fieldCache.Load(t); ok {
		return got.([]field)
	}
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		f := field{key: sf.Tag.Get("key"), index: i, typ: sf.Type, form: sf.Tag.Get("form"), split: sf.Tag.Get("split"), null: sf.Tag.Get("null"), absent: sf.Tag.Get("absent") != "", digits: sf.Tag.Get("digits") != ""}
		if f.key == "" {
			panic(fmt.Sprintf("plan: field %s.%s has no key tag", t.Name(), sf.Name))
		}
		if list := sf.Tag.Get("oneof"); list != "" {
			f.oneof = strings.Split(list, ",")
		}
		f.limit = limits{min: bound(sf, "min"), max: bound(sf, "max"), above: bound(sf, "above")}
		out = append(out, f)
	}
	fieldCache.Store(t, out)
	return out
}

// bound is nil where the field has no such tag.
func bound(sf reflect.StructField, tag string) *float64 {
	text, ok := sf.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("plan: field %s: tag %s: %v", sf.Name, tag, err))
	}
	return &v
}

// Key describes one key of the configuration.
type Key struct {
	Name    string   // dotted
	Type    string   // as users know it: "integer"
	Form    string   // what a string looks like; "" where anything will do
	Bounds  string   // of a number: "at least 1"; "" where there are none
	Values  []string // what a string, or each element of a list, may be; nil where anything may
	List    bool     // takes a list
	Null    string   // what null means; "" where null is not allowed
	Split   string   // a string stands for a list, cut at this character; "" where not
	Mapping bool     // holds keys of its own, listed after it
}

// Describe returns all keys in the order of the structs, mappings before what
// they hold. Keys inside free mappings (model.config, model.stage_hooks,
// pipeline.workload.env) are not known beforehand.
func Describe() []Key {
	var out []Key
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		for _, f := range fieldsOf(t) {
			_, name := f.typeName()
			k := Key{
				Name: join(path, f.key), Type: name, Form: f.form, Bounds: f.limit.String(), Values: f.oneof, List: f.typ.Kind() == reflect.Slice,
				Null: f.null, Split: f.split, Mapping: isMapping(f.typ),
			}
			out = append(out, k)
			if k.Mapping {
				walk(k.Name, f.typ)
			}
		}
	}
	walk("", reflect.TypeFor[Plan]())
	return out
}

// Keys returns the dotted names of all keys that hold a value.
func Keys() []string {
	var out []string
	for _, k := range Describe() {
		if !k.Mapping {
			out = append(out, k.Name)
		}
	}
	return out
}
