package folder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// badNull is the place of a null that stands for a number, a text or an object that
// a t always has; "" where there is none. The decoder would read it as 0.
func badNull(data []byte, t reflect.Type) string {
	may, must := map[string]bool{}, map[string]bool{}
	for rest, null := data, []byte("null"); ; {
		at := bytes.Index(rest, null)
		if at < 0 {
			return ""
		}
		before := bytes.TrimRight(rest[:at], " \t\r\n")
		rest = rest[at+len(null):]
		if len(may) == 0 {
			nullable(t, may, must, map[reflect.Type]bool{})
		}
		if name, ok := nullName(before); ok && (!may[name] || must[name]) { // look closer
			var tree any
			if json.Unmarshal(data, &tree) != nil {
				return ""
			}
			return nullIn(tree, t, "")
		}
	}
}

// nullName is the name of the member whose value begins after the text; "" for an
// element of a list, and false within a string.
func nullName(before []byte) (string, bool) {
	if len(before) == 0 {
		return "", true
	}
	switch before[len(before)-1] {
	case '[', ',':
		return "", true
	case ':':
		name := bytes.TrimRight(before[:len(before)-1], " \t\r\n\"")
		return string(name[bytes.LastIndexByte(name, '"')+1:]), true
	}
	return "", false
}

// member is a field as JSON names it; false for one that JSON leaves out.
func member(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() && !f.Anonymous {
		return "", false
	}
	return cmp.Or(name, f.Name), true
}

// isPlain tells types of which null would be read as a zero, in silence.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return false
	}
	return !readsItself(t)
}

// unmarshaler is what a type with a decoder of its own implements.
var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// readsItself: the type has its own decoder, which knows what null means.
func readsItself(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

// nullable collects the names of members that may be null, and of those that must
// not; a name can be both in different structs.
func nullable(t reflect.Type, may, must map[string]bool, seen map[reflect.Type]bool) {
	if seen[t] || readsItself(t) {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		nullable(t.Elem(), may, must, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			name, ok := member(t.Field(i))
			if !ok {
				continue
			}
			if isPlain(t.Field(i).Type) {
				must[name] = true
			} else {
				may[name] = true
			}
			nullable(t.Field(i).Type, may, must, seen)
		}
	}
}

// nullIn is the path of the first null in v that a t cannot have, such as stages[1].wall_ns; ""
// where there is none.
func nullIn(v any, t reflect.Type, path string) string {
	if v == nil {
		if isPlain(t) {
			return strings.TrimPrefix(path, ".")
		}
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if readsItself(t) {
		return ""
	}
	switch v := v.(type) {
	case []any:
		if k := t.Kind(); k != reflect.Slice && k != reflect.Array {
			return ""
		}
		for i := range v {
			if bad := nullIn(v[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i)); bad != "" {
				return bad
			}
		}
	case map[string]any:
		return nullMember(v, t, path)
	}
	return ""
}

// nullMember looks into an object: a map, or a struct with those that it embeds. Members that
// the type does not know are not looked at.
func nullMember(v map[string]any, t reflect.Type, path string) string {
	switch t.Kind() {
	case reflect.Map:
		for name, x := range v {
			if bad := nullIn(x, t.Elem(), path+"."+name); bad != "" {
				return bad
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, ok := member(f)
			if !ok {
				continue
			}
			if f.Anonymous && f.Tag.Get("json") == "" {
				if bad := nullIn(v, f.Type, path); bad != "" {
					return bad
				}
				continue
			}
			if x, has := v[name]; has {
				if bad := nullIn(x, f.Type, path+"."+name); bad != "" {
					return bad
				}
			}
		}
	}
	return ""
}
