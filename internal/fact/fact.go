// Package fact is the form in which the parts of deepprof tell each other what
// is so: a code with typed parameters. It holds no English: internal/message
// alone turns a fact into words.
package fact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Code names what is so, for example "launch-bound". Codes are stable: they
// are compared, gated and exported. The package that states a fact declares its
// codes as constants; internal/message has the words for each.
type Code string

// A Fact is a code with what it is about and how much.
type Fact struct {
	Code   Code   `json:"code"`
	Params Params `json:"params,omitempty"`
}

// Params are the parameters of a fact by key. Keys are lower case, as in
// "{gain}" of the message.
type Params map[string]Value

// A Value is a typed parameter. Exactly one of Number, Text, List and Facts
// holds it; Kind says which, and what it means.
type Value struct {
	Kind   Kind
	Number float64  // in the unit of Kind
	Text   string   // a name, an ID, or text that a tool wrote
	List   []string // several names of one kind
	Facts  []Fact   // reasons, causes
}

// A Kind is the type of a value. Numbers carry their unit in it.
type Kind string

// Kinds of numbers.
const (
	KindNS        Kind = "ns"     // nanoseconds
	KindShare     Kind = "share"  // 0 to 1, shown in percent
	KindCount     Kind = "count"  // a whole number of things
	KindNumber    Kind = "number" // without a unit
	KindBytes     Kind = "byte"
	KindBytesPS   Kind = "byte/s"
	KindFLOPs     Kind = "flop" // a multiplication and an addition are two
	KindFLOPsPS   Kind = "flop/s"
	KindHertz     Kind = "hz"
	KindFactor    Kind = "factor" // 1.25 is 1.25 times
	KindTokensPS  Kind = "tokens/s"
	KindIntensity Kind = "flop/byte"
)

// Kinds of names. An ID has a label in internal/message; the others are shown
// as they are.
const (
	KindStage  Kind = "stage"          // name of a stage; "" is the whole program
	KindRegion Kind = "region"         // path of a region
	KindKernel Kind = "kernel"         // name of a kernel
	KindFile   Kind = "file"           // a path
	KindKey    Kind = "key"            // a configuration key, with "=value" where one is meant
	KindMetric Kind = "metric"         // name of a counter
	KindName   Kind = "name"           // any other name: a program, a module, a tool
	KindVendor Kind = "text_of_vendor" // text that NVIDIA's tools or the user's program wrote
	KindError  Kind = "error"          // an error of the system or of a reader, as its log has it; nothing looks inside
	KindID     Kind = "id"             // "domain:id" of something enumerated, "limiter:dram"
	KindFacts  Kind = "facts"
)

// oldVendor is how earlier versions wrote KindVendor and KindError.
const oldVendor Kind = "vendor"

// A Param is a value with its key.
type Param struct {
	Key   string
	Value Value
}

// New states a fact.
// Of two parameters with one key the last counts.
func New(code Code, params ...Param) Fact {
	f := Fact{Code: code}
	if len(params) > 0 {
		f.Params = Params{}
	}
	for _, p := range params {
		f.Params[p.Key] = p.Value
	}
	return f
}

// With is the fact with further parameters; f stays as it is.
// A further parameter replaces one of the same key.
func (f Fact) With(params ...Param) Fact {
	g := New(f.Code, params...)
	for key, v := range f.Params {
		if g.Params == nil {
			g.Params = Params{}
		}
		if _, ok := g.Params[key]; !ok {
			g.Params[key] = v
		}
	}
	return g
}

// Is reports whether the fact has one of the codes.
func (f Fact) Is(codes ...Code) bool { return slices.Contains(codes, f.Code) }

// IsZero reports whether nothing is stated.
func (f Fact) IsZero() bool { return f.Code == "" }

// Equal reports whether both state the same about the same.
// NaN is not equal to itself, as in Go.
func (f Fact) Equal(g Fact) bool {
	return f.Code == g.Code && maps.EqualFunc(f.Params, g.Params, Value.Equal)
}

// Equal reports whether both are the same.
func (v Value) Equal(w Value) bool {
	return v.Kind == w.Kind && v.Number == w.Number && v.Text == w.Text && slices.Equal(v.List, w.List) && slices.EqualFunc(v.Facts, w.Facts, Fact.Equal)
}

// Number is the number under a key; 0 where there is none.
func (f Fact) Number(key string) float64 { return f.Params[key].Number }

// Text is the name under a key; "" where there is none.
func (f Fact) Text(key string) string { return f.Params[key].Text }

// Map applies a function to every name and text among the parameters, those of
// facts within included.
func (f Fact) Map(change func(string) string) Fact {
	if f.Params == nil {
		return f
	}
	params := make(Params, len(f.Params))
	for key, v := range f.Params {
		v.Text, v.List, v.Facts = change(v.Text), slices.Clone(v.List), slices.Clone(v.Facts)
		for i := range v.List {
			v.List[i] = change(v.List[i])
		}
		for i := range v.Facts {
			v.Facts[i] = v.Facts[i].Map(change)
		}
		params[key] = v
	}
	return Fact{f.Code, params}
}

func number(key string, k Kind, x float64) Param { return Param{key, Value{Kind: k, Number: x}} }
func text(key string, k Kind, s string) Param    { return Param{key, Value{Kind: k, Text: s}} }
func list(key string, k Kind, s []string) Param  { return Param{key, Value{Kind: k, List: s}} }

// NS is a duration in nanoseconds.
func NS[T ~int64 | ~float64](key string, ns T) Param { return number(key, KindNS, float64(ns)) }

// Seconds is a duration in seconds.
func Seconds(key string, s float64) Param { return number(key, KindNS, s*1e9) }

// Share is a part of a whole, 0 to 1.
func Share(key string, x float64) Param { return number(key, KindShare, x) }

// Count is a number of things.
func Count[T ~int | ~int64 | ~int32 | ~uint64](key string, n T) Param {
	return number(key, KindCount, float64(n))
}

// Num is a number of any other kind.
func Num(key string, k Kind, x float64) Param { return number(key, k, x) }

// Bytes is a number of bytes.
func Bytes[T ~int | ~int64 | ~float64](key string, n T) Param {
	return number(key, KindBytes, float64(n))
}

// Stage is the name of a stage; "" is the whole program.
func Stage(key, name string) Param { return text(key, KindStage, name) }

// Region is the path of a region.
func Region(key, path string) Param { return text(key, KindRegion, path) }

// Kernel is the name of a kernel.
func Kernel(key, name string) Param { return text(key, KindKernel, name) }

// File is a path.
func File(key, path string) Param { return text(key, KindFile, path) }

// Key is a configuration key, with "=value" where one is meant.
func Key(key, name string) Param { return text(key, KindKey, name) }

// Metric is the name of a counter.
func Metric(key, name string) Param { return text(key, KindMetric, name) }

// Name is any other name.
func Name(key, name string) Param { return text(key, KindName, name) }

// Names are several names of one kind.
func Names(key string, k Kind, names []string) Param { return list(key, k, names) }

// Error is an error of the system or of a reader; what to do about it is in the
// words of the fact.
func Error(key string, err error) Param { return ErrorText(key, err.Error()) }

// ErrorText is an error of which only the text is left, or what a reader tells of
// the damage of a file.
func ErrorText(key, s string) Param { return text(key, KindError, s) }

// Vendor is text that NVIDIA's tools or the user's program wrote.
func Vendor(key, s string) Param { return text(key, KindVendor, s) }

// ID is something enumerated: ID("unit", "limiter", "dram").
func ID(key, domain, id string) Param { return text(key, KindID, domain+":"+id) }

// IDs are several of one domain.
func IDs(key, domain string, ids []string) Param {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = domain + ":" + id
	}
	return list(key, KindID, all)
}

// Because are further facts, such as reasons.
func Because(key string, facts ...Fact) Param {
	return Param{key, Value{Kind: KindFacts, Facts: facts}}
}

// MarshalJSON writes {"ns": 5}: the kind and the value.
func (v Value) MarshalJSON() ([]byte, error) {
	var x any = v.Number
	switch {
	case v.Kind == KindFacts:
		x = v.Facts
	case v.List != nil:
		x = v.List
	case v.isName():
		x = v.Text
	}
	return json.Marshal(map[Kind]any{v.Kind: x})
}

// isName tells kinds whose value is text.
func (v Value) isName() bool {
	switch v.Kind {
	case KindStage, KindRegion, KindKernel, KindFile, KindKey, KindMetric, KindName, KindVendor, KindError, KindID:
		return true
	}
	return false
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(data []byte) error {
	var m map[Kind]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if len(m) != 1 {
		return fmt.Errorf("read parameter %s: it has %d kinds, not one", data, len(m))
	}
	for k, raw := range m {
		if k == oldVendor {
			k = KindVendor
		}
		*v = Value{Kind: k}
		switch raw = bytes.TrimSpace(raw); {
		case k == KindFacts:
			return json.Unmarshal(raw, &v.Facts)
		case bytes.HasPrefix(raw, []byte("[")):
			return json.Unmarshal(raw, &v.List)
		case bytes.HasPrefix(raw, []byte(`"`)):
			return json.Unmarshal(raw, &v.Text)
		default:
			return json.Unmarshal(raw, &v.Number)
		}
	}
	return nil
}
