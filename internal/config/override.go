package config

import (
	"slices"
	"strings"
)

// override is one parsed command-line override.
type override struct {
	op       string // "=", "+", "++" or "~"
	key      string // dotted path or group
	pkg      string // behind the "@" of a group; read only where hasPkg is true
	hasPkg   bool
	value    *Node  // nil for "~key" and for a sweep; every node has the override as its origin
	sweep    *sweep // nil where there is a single value
	line     string // as it was typed
	keyPos   int    // byte offset of the key in line
	valuePos int    // byte offset behind the "="
}

// setOrigin gives a tree the origin of the override that it was typed in.
// Keys keep the zero origin.
func setOrigin(n *Node, origin Origin) {
	n.origin = origin
	for _, e := range n.entries {
		setOrigin(e.Value, origin)
	}
	for _, item := range n.items {
		setOrigin(item, origin)
	}
}

// Parts of a key: a$b-c, and numbers as indices of lists.
const (
	keySpecial = `[a-zA-Z_$][a-zA-Z0-9_$-]*`
	keyPart    = `(?:` + keySpecial + `|` + unsigned + `)`
)

// keyRules and valueRules split the line before and after the first "=".
var keyRules = []rule{
	match(tokEqual, `=`+blanks), match(tokTilde, `~`), match(tokPlus, `\+`), match(tokAt, `@`), match(tokColon, `:`), match(tokSlash, `/`),
	match(tokID, name), match(tokKeySpecial, keySpecial), match(tokDotPath, keyPart+`(?:\.`+keyPart+`)+`),
}

// A quoted value ends at the first own quote that follows an even number of
// backslashes; an interpolation ends at the first brace.
var valueRules = slices.Concat([]rule{
	match(tokParenOpen, blanks+`\(`+blanks), match(tokComma, blanks+`,`+blanks), match(tokParenClose, blanks+`\)`),
	match(tokBracketOpen, `\[`+blanks), match(tokBracketClose, blanks+`\]`), match(tokBraceOpen, `\{`+blanks), match(tokBraceClose, blanks+`\}`),
	match(tokColon, blanks+`:`+blanks), match(tokEqual, blanks+`=`+blanks),
}, primitiveRules, []rule{
	match(tokQuoted, `'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"`), match(tokInterpolation, `\$\{[^}]+\}`),
})

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
