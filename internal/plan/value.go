package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/suggest"
)

// longest is more than any run takes and fits a time.Duration.
const longest = 1e9 // seconds

// value decodes one key.
func (d *decoder) value(key string, n *config.Node, f field, dst reflect.Value) {
	switch {
	case n.Missing():
		d.fail(key, n, "no value yet; give one with %s=...", key)
		d.blame(key, f.typ)
		return
	case n.Interpolation():
		d.fail(key, n, "unresolved interpolation %s", describe(n))
		d.blame(key, f.typ)
		return
	case n.Kind() == config.Null && !isMapping(f.typ):
		if f.null == "" {
			d.fail(key, n, "want %s, got null", f.want())
		}
		return
	}
	switch v := dst.Addr().Interface().(type) {
	case *bool:
		if b, ok := n.Bool(); ok {
			*v = b
			return
		}
		d.fail(key, n, "want true or false, got %s", describe(n))
	case *int:
		*v = int(d.integer(key, n, f))
	case **int:
		*v = new(int(d.integer(key, n, f)))
	case *float64:
		*v = d.number(key, n, f)
	case *time.Duration:
		seconds := d.number(key, n, f)
		if seconds > longest {
			d.fail(key, n, "want at most %.0f seconds, got %s", longest, Flow(n))
			return
		}
		*v = time.Duration(seconds * float64(time.Second))
	case *string:
		*v = d.text(key, n, f)
	case *[]string:
		*v = d.list(key, n, f)
	case *map[string]string:
		*v = d.table(key, n)
	case *ModelConfig:
		*v = d.modelConfig(key, n)
	default:
		d.mapping(key, n, dst)
	}
}

func (d *decoder) integer(key string, n *config.Node, f field) int64 {
	i, ok := n.Int()
	if !ok {
		d.fail(key, n, "want %s, got %s", f.want(), describe(n))
		return 0
	}
	if !f.limit.holds(float64(i)) {
		d.fail(key, n, "want %s, got %d", f.want(), i)
	}
	return i
}

func (d *decoder) number(key string, n *config.Node, f field) float64 {
	v, ok := n.Float()
	if i, isInt := n.Int(); isInt {
		v, ok = float64(i), true
	}
	if !ok {
		d.fail(key, n, "want %s, got %s", f.want(), describe(n))
		return 0
	}
	if !f.limit.holds(v) {
		d.fail(key, n, "want %s, got %s", f.want(), Flow(n))
		return 0
	}
	return v
}

func (d *decoder) text(key string, n *config.Node, f field) string {
	text, ok := textOf(n, f.digits)
	if !ok {
		hint := quoteHint(n)
		if f.oneof != nil || f.form != "" {
			hint = "" // a quoted value would be as wrong
		}
		d.fail(key, n, "want %s, got %s%s", f.want(), describe(n), hint)
		return ""
	}
	d.oneOf(key, n, f, text)
	if f.oneof == nil && f.null == "" && text == "" {
		d.fail(key, n, "want a string that is not empty")
	}
	return text
}

// oneOf checks a string against the allowed values of its key.
func (d *decoder) oneOf(key string, n *config.Node, f field, text string) {
	if f.oneof == nil || slices.Contains(f.oneof, text) {
		return
	}
	near := suggest.DidYouMean(text, f.oneof)
	if near != "" && len(f.oneof) > 8 {
		d.fail(key, n, "unknown value %q%s", shorten(text), near)
		return
	}
	d.fail(key, n, "want one of %s, got %q%s", strings.Join(f.oneof, ", "), shorten(text), near)
}

func (d *decoder) list(key string, n *config.Node, f field) []string {
	if text, ok := n.Text(); ok && f.split != "" {
		parts := f.cut(text)
		for _, part := range parts {
			d.oneOf(key, n, f, part)
		}
		return parts
	}
	if f.digits && n.Kind() == config.Int {
		return []string{Flow(n)}
	}
	if n.Kind() != config.List {
		d.fail(key, n, "want %s, got %s", f.want(), describe(n))
		return nil
	}
	var out []string
	for i, item := range n.Items() {
		at := key + "." + strconv.Itoa(i)
		text := d.part(key, at, item, f.digits, "no value yet")
		if !d.bad[at] {
			d.oneOf(at, item, f, text)
		}
		d.bad[key] = d.bad[key] || d.bad[at]
		if f.split == ";" {
			out = append(out, f.cut(text)...)
			continue
		}
		out = append(out, text)
	}
	return out
}

// cut splits a string that stands for a list. NVTX expressions have a rule of
// their own for semicolons within names.
func (f field) cut(text string) []string {
	if f.split == ";" {
		return nvtx.SplitList(text)
	}
	var out []string
	for part := range strings.SplitSeq(text, f.split) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// table decodes a free mapping of strings. An integer counts as its digits,
// because NAME=1 on the command line is one.
func (d *decoder) table(key string, n *config.Node) map[string]string {
	if n.Kind() != config.Map {
		d.fail(key, n, "want a mapping, got %s", describe(n))
		return nil
	}
	out := make(map[string]string, n.Len())
	for _, e := range n.Entries() {
		name := Flow(e.Key)
		at := join(key, name)
		out[name] = d.part(key, at, e.Value, true, fmt.Sprintf("no value yet; give one with %s=...", at))
	}
	return out
}

// part reads a string within the value of a key; missing says that it has no value. What
// is wrong with it is wrong with the key.
func (d *decoder) part(key, at string, n *config.Node, digits bool, missing string) string {
	text, ok := textOf(n, digits)
	switch {
	case n.Missing():
		d.fail(at, n, "%s", missing)
	case !ok:
		d.fail(at, n, "want a string, got %s%s", describe(n), quoteHint(n))
	}
	d.bad[key] = d.bad[key] || d.bad[at]
	return text
}

// textOf is a string, or with digits the digits of an integer; false for anything else.
func textOf(n *config.Node, digits bool) (string, bool) {
	if digits && n.Kind() == config.Int {
		return Flow(n), true
	}
	return n.Text()
}

func (d *decoder) modelConfig(key string, n *config.Node) ModelConfig {
	if text, ok := n.Text(); ok && text != "" {
		return ModelConfig{File: text}
	}
	if n.Kind() != config.Map {
		d.fail(key, n, "want a mapping or the path of a config.json, got %s", describe(n))
		return ModelConfig{}
	}
	return ModelConfig{Values: d.plain(key, n).(map[string]any)}
}

// plain turns a node into what a JSON encoder takes.
func (d *decoder) plain(key string, n *config.Node) any {
	switch n.Kind() {
	case config.Null:
		return nil
	case config.Bool:
		b, _ := n.Bool()
		return b
	case config.Int:
		i, ok := n.Int()
		if !ok {
			d.fail(key, n, "want an integer of at most 64 bits, got %s", describe(n))
		}
		return i
	case config.Float:
		v, _ := n.Float()
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.fail(key, n, "want a finite number, got %s", Flow(n))
		}
		return v
	case config.List:
		out := make([]any, 0, n.Len())
		for i, item := range n.Items() {
			out = append(out, d.plain(key+"."+strconv.Itoa(i), item))
		}
		return out
	case config.Map:
		out := make(map[string]any, n.Len())
		for _, e := range n.Entries() {
			out[Flow(e.Key)] = d.plain(join(key, Flow(e.Key)), e.Value)
		}
		return out
	}
	text, ok := n.Text()
	switch {
	case !ok:
		d.fail(key, n, "want text, got %s", describe(n))
	case n.Missing():
		d.fail(key, n, "no value yet; give one with %s=...", key)
	}
	return text
}

// want words what a key takes.
func (f field) want() string {
	article, text := f.typeName()
	text = article + text
	switch bounds := f.limit.String(); {
	case f.form != "":
		text = f.form
	case f.oneof != nil && f.typ.Kind() == reflect.String:
		text = "one of " + strings.Join(f.oneof, ", ")
	case bounds != "":
		text += " (" + bounds + ")"
	}
	if f.null != "" {
		text += " or null"
	}
	return text
}

// typeName names the type of a key as users know it, and what stands before the
// name in a sentence.
func (f field) typeName() (article, name string) {
	switch f.typ {
	case reflect.TypeFor[bool]():
		return "", "true or false"
	case reflect.TypeFor[int](), reflect.TypeFor[*int]():
		return "an ", "integer"
	case reflect.TypeFor[float64]():
		return "a ", "number"
	case reflect.TypeFor[time.Duration]():
		return "a ", "number of seconds"
	case reflect.TypeFor[string]():
		return "a ", "string"
	case reflect.TypeFor[[]string]():
		return "a ", "list of strings"
	case reflect.TypeFor[ModelConfig]():
		return "a ", "mapping or the path of a config.json"
	}
	return "a ", "mapping"
}

// quoteHint tells how a number or boolean becomes the string that was wanted.
func quoteHint(n *config.Node) string {
	switch n.Kind() {
	case config.Bool, config.Int, config.Float:
		return "; quote it to make it a string"
	}
	return ""
}

// Flow writes a value on one line, as YAML would in its flow style but with
// plain strings left unquoted: for people, not for parsers.
func Flow(n *config.Node) string {
	if n == nil {
		return ""
	}
	switch n.Kind() {
	case config.Null:
		return "null"
	case config.Bool:
		b, _ := n.Bool()
		return strconv.FormatBool(b)
	case config.Int:
		return n.Digits()
	case config.Float:
		v, _ := n.Float()
		return flowFloat(v)
	case config.List:
		var parts []string
		for _, item := range n.Items() {
			parts = append(parts, Flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case config.Map:
		var parts []string
		for _, e := range n.Entries() {
			parts = append(parts, Flow(e.Key)+": "+Flow(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, _ := n.Text()
	return text
}

// flowFloat keeps a float apart from an integer.
func flowFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if math.Trunc(v) == v && !strings.ContainsAny(text, "e.I") {
		text += ".0"
	}
	return strings.ToLower(strings.TrimPrefix(text, "+"))
}
