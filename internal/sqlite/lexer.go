package sqlite

import "strings"

// tokenKind classifies the tokens of a CREATE statement.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // an unquoted identifier or keyword
	tokenQuoted           // "x", [x] or `x`
	tokenString           // 'x', which old files also use to quote a name
	tokenNumber
	tokenPunct
)

// A token is a word, a number, a quoted text or a single mark.
type token struct {
	kind     tokenKind
	text     string // without quotes
	from, to int    // place in the source
}

// is reports whether the token is this keyword or punctuation mark.
func (t token) is(word string) bool {
	return (t.kind == tokenWord || t.kind == tokenPunct) && strings.EqualFold(t.text, word)
}

// isName reports whether the token can name a table or column.
func (t token) isName() bool {
	return t.kind == tokenWord || t.kind == tokenQuoted || t.kind == tokenString
}

// lex splits a statement into tokens, without comments. It never fails: what
// it does not know becomes punctuation.
func lex(src string) []token {
	var tokens []token
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
			continue
		case strings.HasPrefix(src[i:], "--"):
			i = after(src, i+2, "\n")
			continue
		case strings.HasPrefix(src[i:], "/*"):
			i = after(src, i+2, "*/")
			continue
		}
		t := next(src, i)
		tokens = append(tokens, t)
		i = t.to
	}
	return tokens
}

// next scans the token at src[i:].
// The token is never empty, so lex always moves on.
func next(src string, i int) token {
	switch c := src[i]; {
	case c == '\'':
		return quoted(src, i, '\'', tokenString)
	case c == '"' || c == '`':
		return quoted(src, i, c, tokenQuoted)
	case c == '[':
		end := after(src, i+1, "]")
		return token{tokenQuoted, strings.TrimSuffix(src[i+1:end], "]"), i, end}
	case isDigit(c) || c == '.' && i+1 < len(src) && isDigit(src[i+1]):
		end := i + 1
		for end < len(src) && (isWord(src[end]) || src[end] == '.' ||
			(src[end] == '+' || src[end] == '-') && (src[end-1] == 'e' || src[end-1] == 'E') && !isHex(src[i:end])) {
			end++
		}
		return token{tokenNumber, src[i:end], i, end}
	case isWord(c):
		end := i + 1
		for end < len(src) && isWord(src[end]) {
			end++
		}
		return token{tokenWord, src[i:end], i, end}
	}
	return token{tokenPunct, src[i : i+1], i, i + 1}
}

// quoted scans a token in quotes, inside which a doubled quote stands for one.
func quoted(src string, from int, quote byte, kind tokenKind) token {
	var text strings.Builder
	i := from + 1
	for ; i < len(src); i++ {
		if src[i] == quote {
			if i+1 == len(src) || src[i+1] != quote {
				return token{kind, text.String(), from, i + 1}
			}
			i++
		}
		text.WriteByte(src[i])
	}
	return token{kind, text.String(), from, len(src)}
}

// after is the place behind the next mark from i on, or the end.
func after(src string, i int, mark string) int {
	i = min(i, len(src))
	if n := strings.Index(src[i:], mark); n >= 0 {
		return i + n + len(mark)
	}
	return len(src)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(s string) bool { return len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') }

// isWord follows SQLite: every byte of a non-ASCII character belongs to names.
func isWord(c byte) bool {
	return c == '_' || c == '$' || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
