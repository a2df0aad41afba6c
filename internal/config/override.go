package config

import "strings"

// override is one parsed command-line override.
type override struct {
	op       string // "=", "+", "++" or "~"
	key      string // dotted path or group
	pkg      string
	hasPkg   bool
	hasValue bool // false for "~key"
	value    element
	line     string
	keyPos   int // byte offset of the key in line
	valuePos int // byte offset behind the "="
}

// element is a parsed value: a scalar, a list, a dictionary or a sweep.
type element struct {
	scalar *Node // nil where it is none
	quote  byte  // of a quoted string: ' or "
	list   []element
	dict   []elementPair
	isList bool
	isDict bool
	sweep  *sweep
}

type elementPair struct {
	key   *Node
	value element
}

// node turns an element that is no sweep into a tree.
func (e element) node(origin Origin) *Node {
	var n *Node
	switch {
	case e.isList:
		n = newList()
		for _, item := range e.list {
			n.push(item.node(origin))
		}
	case e.isDict:
		n = newMap()
		for _, p := range e.dict {
			n.put(p.key, p.value.node(origin))
		}
	default:
		c := *e.scalar
		n = &c
	}
	n.origin = origin
	return n
}

// typeName names the type of a value as Python does.
func (e element) typeName() string {
	if e.scalar != nil {
		return pyType(e.scalar)
	}
	return pyType(e.node(Origin{}))
}

var keyRules = []rule{
	{tokEqual, padded('=', false, true)},
	{tokTilde, oneOf("~")},
	{tokPlus, oneOf("+")},
	{tokAt, oneOf("@")},
	{tokColon, oneOf(":")},
	{tokSlash, oneOf("/")},
	{tokID, matchID},
	{tokKeySpecial, matchKeySpecial},
	{tokDotPath, matchDotPath},
}

var valueRules = []rule{
	{tokParenOpen, padded('(', true, true)},
	{tokComma, padded(',', true, true)},
	{tokParenClose, padded(')', true, false)},
	{tokBracketOpen, padded('[', false, true)},
	{tokBracketClose, padded(']', true, false)},
	{tokBraceOpen, padded('{', false, true)},
	{tokBraceClose, padded('}', true, false)},
	{tokColon, padded(':', true, true)},
	{tokEqual, padded('=', true, true)},
	{tokFloat, matchFloat},
	{tokInt, matchInt},
	{tokBool, word("true", "false")},
	{tokNull, word("null")},
	{tokUnquoted, oneOf(unquotedChars)},
	{tokID, matchID},
	{tokEscape, matchEscape},
	{tokSpace, blanks},
	{tokQuoted, matchQuoted},
	{tokInterpolation, matchInterpolation},
}

// matchQuoted ends at the first own quote that follows an even number of
// backslashes.
func matchQuoted(s string) int {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return 0
	}
	slashes := 0
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			slashes++
			continue
		case s[i] == s[0] && slashes%2 == 0:
			return i + 1
		}
		slashes = 0
	}
	return 0
}

func matchInterpolation(s string) int {
	if !strings.HasPrefix(s, "${") {
		return 0
	}
	if end := strings.IndexByte(s, '}'); end > 2 {
		return end + 1
	}
	return 0
}

// unquote takes the quotes off and unescapes the backslashes before quotes.
func unquote(s string) string {
	quote, body := s[0], s[1:]
	var b strings.Builder
	for i := 0; i < len(body)-1; {
		if body[i] != '\\' {
			b.WriteByte(body[i])
			i++
			continue
		}
		run := i
		for run < len(body) && body[run] == '\\' {
			run++
		}
		slashes := run - i
		if run < len(body) && body[run] == quote {
			b.WriteString(body[i : i+slashes/2])
			if slashes%2 == 1 {
				b.WriteByte(quote)
				run++
			}
		} else {
			b.WriteString(body[i:run])
		}
		i = run
	}
	return b.String()
}
