package config

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// YAML writes a tree as Hydra prints and records it: PyYAML's block style, with
// omegaconf's quoting of strings that look like numbers or booleans.
func (n *Node) YAML() []byte {
	w := &yamlWriter{}
	switch {
	case n.kind == Map && len(n.entries) > 0:
		w.mapping(n, 0, false)
	case n.kind == List && len(n.items) > 0:
		w.sequence(n, 0, false)
	default:
		w.value(n, 0)
		w.b.WriteByte('\n')
	}
	return []byte(w.b.String())
}

// bestWidth is the column behind which PyYAML folds a long string.
const bestWidth = 80

// longKey is the length from which a key needs the "? " form: PyYAML counts the
// five characters of the tag "!!str" too.
const longKey = 128 - len("!!str")

type yamlWriter struct {
	b      strings.Builder
	column int // of characters on the current line
}

func (w *yamlWriter) write(s string) {
	w.b.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		w.column = utf8.RuneCountInString(s[i+1:])
	} else {
		w.column += utf8.RuneCountInString(s)
	}
}

func (w *yamlWriter) indent(n int) { w.write("\n" + strings.Repeat(" ", n)) }

// mapping writes entries; the first stands on the current line where it
// follows a "- ".
func (w *yamlWriter) mapping(n *Node, indent int, inline bool) {
	for i, e := range n.entries {
		if i > 0 || !inline {
			w.write(strings.Repeat(" ", indent))
		}
		w.key(e.Key, indent)
		w.block(e.Value, indent, false)
	}
}

// key writes a key and its colon. An empty or long one needs the "? " form.
func (w *yamlWriter) key(key *Node, indent int) {
	if key.kind == String && (key.text == "" || utf8.RuneCountInString(key.text) >= longKey || strings.ContainsAny(key.text, "\n\u0085\u2028\u2029")) {
		w.write("? ")
		w.scalar(key, indent+2, false)
		w.write("\n" + strings.Repeat(" ", indent) + ":")
		return
	}
	w.scalar(key, indent, true)
	w.write(":")
}

// block writes a value behind a key or a dash.
func (w *yamlWriter) block(n *Node, indent int, dash bool) {
	switch {
	case n.kind == Map && len(n.entries) > 0:
		if dash {
			w.write(" ")
			w.mapping(n, indent+2, true)
			return
		}
		w.write("\n")
		w.mapping(n, indent+2, false)
	case n.kind == List && len(n.items) > 0:
		if dash {
			w.write(" ")
			w.sequence(n, indent+2, true)
			return
		}
		w.write("\n")
		w.sequence(n, indent, false)
	default:
		w.write(" ")
		w.value(n, indent+2)
		w.write("\n")
	}
}

func (w *yamlWriter) sequence(n *Node, indent int, inline bool) {
	for i, item := range n.items {
		if i > 0 || !inline {
			w.write(strings.Repeat(" ", indent))
		}
		w.write("-")
		w.block(item, indent, true)
	}
}

func (w *yamlWriter) value(n *Node, indent int) {
	switch n.kind {
	case Map:
		w.write("{}")
	case List:
		w.write("[]")
	default:
		w.scalar(n, indent, false)
	}
}

func (w *yamlWriter) scalar(n *Node, indent int, isKey bool) {
	switch n.kind {
	case Null:
		w.write("null")
	case Bool:
		w.write(map[bool]string{true: "true", false: "false"}[n.boolean])
	case Int:
		w.write(pyInt(n))
	case Float:
		w.write(yamlFloatText(n.float))
	case Bytes:
		w.binary(n, indent)
	default:
		w.text(n.text, indent, isKey)
	}
}

func yamlFloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := pyFloat(f)
	if !strings.Contains(s, ".") {
		s = strings.Replace(s, "e", ".0e", 1)
	}
	return s
}

func (w *yamlWriter) binary(n *Node, indent int) {
	w.write("!!binary |")
	data := base64.StdEncoding.EncodeToString([]byte(n.text))
	for len(data) > 76 {
		w.indent(indent)
		w.write(data[:76])
		data = data[76:]
	}
	w.indent(indent)
	w.write(data)
}

// pyNumber matches what Python's int() and float() take: omegaconf quotes such
// strings.
var pyNumber = regexp.MustCompile(`(?i)^\s*[-+]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?(?:e[-+]?\d+(?:_\d+)*)?` +
	`|\.\d+(?:_\d+)*(?:e[-+]?\d+(?:_\d+)*)?|inf(?:inity)?|nan)\s*$`)

var yamlBools = []string{"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE",
	"false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF"}

var timestamp = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$`)

// pyYAMLFloat is PyYAML's own rule, which the dumper goes by.
var pyYAMLFloat = regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
	`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// looksOther tells whether a plain string would be read as something else.
func looksOther(s string) bool {
	switch tag := plainTag(s); tag {
	case "!!str":
		return timestamp.MatchString(s)
	case "!!float":
		return pyYAMLFloat.MatchString(s)
	}
	return true
}

func (w *yamlWriter) text(s string, indent int, isKey bool) {
	a := analyse(s)
	quoted := slices.Contains(yamlBools, s) || pyNumber.MatchString(s)
	switch {
	case !quoted && !looksOther(s) && a.plain && !(isKey && s == ""):
		w.plain(s, indent, !isKey)
	case a.single && !(isKey && a.multiline):
		w.single(s, indent, !isKey)
	default:
		w.double(s, indent, !isKey)
	}
}

// analysis says in which styles a string can be written.
type analysis struct {
	plain, single, multiline bool
}

func isBreak(r rune) bool { return r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029 }

func isWhite(r rune) bool { return r == 0 || r == ' ' || r == '\t' || r == '\r' || isBreak(r) }

func analyse(s string) analysis {
	a := analysis{plain: true, single: true}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		a.plain = false
	}
	runes := []rune(s)
	previous := rune(' ')
	for i, r := range runes {
		followed := i+1 >= len(runes) || isWhite(runes[i+1])
		last := i == len(runes)-1
		switch {
		case i == 0 && strings.ContainsRune("#,[]{}&*!|>'\"%@`", r),
			i == 0 && strings.ContainsRune("?-", r) && followed,
			r == ':' && followed,
			r == '#' && i > 0 && isWhite(previous):
			a.plain = false
		}
		if r != '\n' && (r < 0x20 || r > 0x7e) && !printable(r) {
			a.plain, a.single = false, false
		}
		switch {
		case r == ' ':
			if i == 0 || last {
				a.plain = false
			}
			if i > 0 && isBreak(previous) {
				a.plain, a.single = false, false
			}
		case isBreak(r):
			a.plain, a.multiline = false, true
			if i > 0 && previous == ' ' {
				a.single = false
			}
		}
		previous = r
	}
	return a
}

func printable(r rune) bool {
	return (r == 0x85 || r >= 0xa0 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r < 0x10ffff) && r != 0xfeff
}

// plain writes words, folding behind the best width.
func (w *yamlWriter) plain(s string, indent int, fold bool) {
	for s != "" {
		word := len(s)
		if i := strings.IndexByte(s, ' '); i >= 0 {
			word = i
		}
		w.write(s[:word])
		s = s[word:]
		gap := 0
		for gap < len(s) && s[gap] == ' ' {
			gap++
		}
		switch {
		case gap == 0:
		case gap == 1 && fold && w.column > bestWidth:
			w.indent(indent)
		default:
			w.write(s[:gap])
		}
		s = s[gap:]
	}
}

func (w *yamlWriter) single(s string, indent int, fold bool) {
	w.write("'")
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ' ':
			end := i
			for end < len(s) && s[end] == ' ' {
				end++
			}
			if end == i+1 && fold && w.column > bestWidth && i != 0 && end != len(s) {
				w.indent(indent)
			} else {
				w.write(s[i:end])
			}
			i = end
		case isBreak(r):
			if r == '\n' {
				w.write("\n")
			}
			for i < len(s) {
				r, size = utf8.DecodeRuneInString(s[i:])
				if !isBreak(r) {
					break
				}
				w.write(string(r))
				i += size
			}
			w.write(strings.Repeat(" ", indent))
			w.column = indent
		case r == '\'':
			w.write("''")
			i++
		default:
			w.write(s[i : i+size])
			i += size
		}
	}
	w.write("'")
}

var yamlEscapes = map[rune]string{0: `\0`, 7: `\a`, 8: `\b`, '\t': `\t`, '\n': `\n`, 11: `\v`, 12: `\f`, '\r': `\r`, 27: `\e`,
	'"': `\"`, '\\': `\\`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`}

func yamlEscape(r rune) (string, bool) {
	if r >= 0x20 && r <= 0x7e && r != '"' && r != '\\' {
		return "", false
	}
	if (r > 0xa0 || r == 0xa0) && r <= 0xfffd && r != 0x2028 && r != 0x2029 && r != 0xfeff {
		return "", false
	}
	if text, ok := yamlEscapes[r]; ok {
		return text, true
	}
	switch {
	case r <= 0xff:
		return fmt.Sprintf(`\x%02X`, r), true
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04X`, r), true
	}
	return fmt.Sprintf(`\U%08X`, r), true
}

// double follows PyYAML's loop: it writes a chunk when an escape or a fold
// comes, and folds with a backslash.
func (w *yamlWriter) double(s string, indent int, fold bool) {
	runes := []rune(s)
	w.write(`"`)
	start := 0
	for end := 0; end <= len(runes); end++ {
		escape, special := "", end == len(runes)
		if !special {
			escape, special = yamlEscape(runes[end])
		}
		if special {
			w.write(string(runes[start:end]))
			start = end
			if end < len(runes) {
				w.write(escape)
				start = end + 1
			}
		}
		if fold && end > 0 && end < len(runes)-1 && (runes[end] == ' ' || start >= end) && w.column+(end-start) > bestWidth {
			if start < end {
				w.write(string(runes[start:end]))
				start = end
			}
			w.write(`\`)
			w.indent(indent)
			if runes[start] == ' ' {
				w.write(`\`)
			}
		}
	}
	w.write(`"`)
}
