package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/suggest"
)

// Decode turns a resolved tree, without its hydra node, into a Plan. Every
// problem is reported; the Plan is complete only where there is none.
func Decode(root *config.Node) (*Plan, Problems) {
	d := decoder{root: root, bad: map[string]bool{}}
	p := new(Plan)
	d.mapping("", root, reflect.ValueOf(p).Elem())
	for _, rule := range rules {
		rule(p, &d)
	}
	d.problems.sort()
	return p, d.problems
}

// decoder collects problems on the way through a tree.
type decoder struct {
	root     *config.Node
	problems Problems
	bad      map[string]bool // keys with a problem: nothing that depends on their values is checked
}

// fail reports a problem with the value n of a key.
func (d *decoder) fail(key string, n *config.Node, format string, args ...any) {
	d.bad[key] = true
	var origin config.Origin
	if n != nil {
		origin = n.Origin()
	}
	d.problems = append(d.problems, Problem{Key: key, Origin: origin, Message: fmt.Sprintf(format, args...)})
}

// mapping decodes the keys of a mapping into the fields of a struct.
func (d *decoder) mapping(path string, n *config.Node, dst reflect.Value) {
	if n == nil || n.Kind() != config.Map {
		d.fail(path, n, "want a mapping, got %s", describe(n))
		d.blame(path, dst.Type())
		return
	}
	fields := fieldsOf(dst.Type())
	for _, e := range n.Entries() {
		name, ok := e.Key.Text()
		if !ok || !slices.ContainsFunc(fields, func(f field) bool { return f.key == name }) {
			d.unknown(path, e, fields)
		}
	}
	var missing []string
	for _, f := range fields {
		key := join(path, f.key)
		child := n.Get(f.key)
		if child == nil && f.absent {
			continue
		}
		if child == nil {
			missing = append(missing, f.key)
			d.bad[key] = true
			d.blame(key, f.typ)
			continue
		}
		d.value(key, child, f, dst.Field(f.index))
	}
	d.absent(path, n, missing)
}

// manyAbsent is from how many keys without a value on one error names them all:
// a file was written that replaces a shipped one with a part of it.
const manyAbsent = 4

// absent reports keys of a mapping that have no value.
func (d *decoder) absent(path string, n *config.Node, keys []string) {
	if len(keys) >= manyAbsent && path != "" {
		more := ""
		if named := manyAbsent - 1; len(keys) > manyAbsent {
			more = fmt.Sprintf(" and %d more", len(keys)-named)
			keys = keys[:named]
		}
		d.fail(path, n, "no value for %s%s; a file in a folder of yours replaces the shipped file of that name as a whole: start from a copy of it, or give single values as overrides", strings.Join(keys, ", "), more)
		return
	}
	for _, key := range keys {
		d.fail(join(path, key), n, "no value; every key must be in the configuration, the shipped files give this one a default")
	}
}

// blame marks everything below a key that could not be read.
func (d *decoder) blame(path string, t reflect.Type) {
	if !isMapping(t) {
		return
	}
	for _, f := range fieldsOf(t) {
		d.bad[join(path, f.key)] = true
		d.blame(join(path, f.key), f.typ)
	}
}

func (d *decoder) unknown(path string, e config.Entry, fields []field) {
	name := Flow(e.Key)
	key := join(path, name)
	if d.renamed(key, e.Value) {
		return
	}
	if advice := renameAdvice(key); advice != "" {
		d.failUnknown(key, e.Value, " of the Python original; "+advice)
		return
	}
	d.failUnknown(key, e.Value, didYouMean(path, name, fields))
}

// failUnknown reports a key that does not exist; more ends the message.
func (d *decoder) failUnknown(key string, n *config.Node, more string) {
	d.fail(key, n, "unknown key%s", more)
	d.problems[len(d.problems)-1].unknownKey = true
}

// didYouMean looks for the key among its siblings, then for keys elsewhere
// that end alike.
func didYouMean(path, name string, fields []field) string {
	var siblings []string
	for _, f := range fields {
		siblings = append(siblings, f.key)
	}
	near := suggest.Nearest(name, siblings)
	for i := range near {
		near[i] = join(path, near[i])
	}
	if len(near) == 0 {
		near = elsewhere(name)
	}
	if len(near) == 0 {
		return ""
	}
	for i := range near {
		near[i] = "'" + near[i] + "'"
	}
	return "; did you mean " + orList(near) + "?"
}

// elsewhere lists keys with this last element, nil where there are too many to
// be of help.
func elsewhere(name string) []string {
	var out []string
	for _, key := range Keys() {
		if strings.HasSuffix(key, "."+name) {
			out = append(out, key)
		}
	}
	if len(out) > 3 {
		return nil
	}
	return out
}

// orList words alternatives: a, b or c.
func orList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// describe words a value for an error message.
func describe(n *config.Node) string {
	if n == nil {
		return "nothing"
	}
	switch n.Kind() {
	case config.Null:
		return "null"
	case config.Map:
		return "a mapping"
	case config.List:
		return "a list"
	case config.String:
		text, _ := n.Text()
		return fmt.Sprintf("the string %q", shorten(text))
	case config.Int:
		return "the integer " + shorten(Flow(n))
	}
	return "the " + n.Kind().String() + " " + shorten(Flow(n))
}

// shorten keeps an error message on one line of bearable length.
func shorten(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}
