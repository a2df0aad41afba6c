package config

import "strings"

// tokenType is shared by the two grammars: that of overrides and that of
// interpolations. Both come from ANTLR lexers, so the longest match wins and
// of equally long ones the rule that stands first.
type tokenType uint8

const (
	tokEOF tokenType = iota
	tokEqual
	tokTilde
	tokPlus
	tokAt
	tokColon
	tokSlash
	tokID
	tokKeySpecial
	tokDotPath
	tokParenOpen
	tokParenClose
	tokComma
	tokBracketOpen
	tokBracketClose
	tokBraceOpen
	tokBraceClose
	tokFloat
	tokInt
	tokBool
	tokNull
	tokUnquoted
	tokEscape
	tokSpace
	tokQuoted
	tokInterpolation
	tokInterOpen
	tokInterClose
	tokDot
	tokInterKey
	tokQuoteOpen
	tokQuoteClose
	tokText
	tokEscInter
	tokTopEscape
	tokQuotedEscape
)

type token struct {
	typ  tokenType
	text string
	pos  int // byte offset
}

// rule matches a prefix and returns its length, 0 for none.
type rule struct {
	typ   tokenType
	match func(s string) int
}

// longest applies the rules by ANTLR's law.
func longest(rules []rule, s string) (tokenType, int) {
	best, size := tokEOF, 0
	for _, r := range rules {
		if n := r.match(s); n > size {
			best, size = r.typ, n
		}
	}
	return best, size
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }

func blanks(s string) int {
	n := 0
	for n < len(s) && isBlank(s[n]) {
		n++
	}
	return n
}

// padded matches a character with optional blanks on the sides asked for.
func padded(c byte, before, after bool) func(string) int {
	return func(s string) int {
		n := 0
		if before {
			n = blanks(s)
		}
		if n >= len(s) || s[n] != c {
			return 0
		}
		n++
		if after {
			n += blanks(s[n:])
		}
		return n
	}
}

func oneOf(chars string) func(string) int {
	return func(s string) int {
		if s != "" && strings.IndexByte(chars, s[0]) >= 0 {
			return 1
		}
		return 0
	}
}

func matchID(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || s[n] == '_' || n > 0 && isDigit(s[n])) {
		n++
	}
	return n
}

func matchKeySpecial(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || s[n] == '_' || s[n] == '$' || n > 0 && (isDigit(s[n]) || s[n] == '-')) {
		n++
	}
	return n
}

// matchUnsigned matches '0' or a number without a leading zero, with single
// underscores between digits.
func matchUnsigned(s string) int {
	if s == "" || !isDigit(s[0]) {
		return 0
	}
	if s[0] == '0' {
		return 1
	}
	return matchDigits(s)
}

// matchDigits matches digits with single underscores between them.
func matchDigits(s string) int {
	n := 0
	for n < len(s) {
		switch {
		case isDigit(s[n]):
			n++
		case s[n] == '_' && n > 0 && n+1 < len(s) && isDigit(s[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

func matchDotPath(s string) int {
	part := func(s string) int { return max(matchKeySpecial(s), matchUnsigned(s)) }
	n := part(s)
	if n == 0 {
		return 0
	}
	dots := 0
	for n < len(s) && s[n] == '.' {
		p := part(s[n+1:])
		if p == 0 {
			break
		}
		n += 1 + p
		dots++
	}
	if dots == 0 {
		return 0
	}
	return n
}

func sign(s string) int {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return 1
	}
	return 0
}

func matchInt(s string) int {
	n := sign(s)
	if m := matchUnsigned(s[n:]); m > 0 {
		return n + m
	}
	return 0
}

func matchFloat(s string) int {
	n := sign(s)
	s = s[n:]
	if len(s) >= 3 && (strings.EqualFold(s[:3], "inf") || strings.EqualFold(s[:3], "nan")) {
		return n + 3
	}
	whole := matchUnsigned(s)
	point := 0
	if whole < len(s) && s[whole] == '.' {
		if fraction := matchDigits(s[whole+1:]); fraction > 0 || whole > 0 {
			point = whole + 1 + fraction
		}
	}
	best := point
	for _, mantissa := range []int{whole, point} {
		if mantissa == 0 || mantissa >= len(s) || s[mantissa]|0x20 != 'e' {
			continue
		}
		e := mantissa + 1
		e += sign(s[e:])
		if d := matchDigits(s[e:]); d > 0 {
			best = max(best, e+d)
		}
	}
	if best == 0 {
		return 0
	}
	return n + best
}

func word(words ...string) func(string) int {
	return func(s string) int {
		for _, w := range words {
			if len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
				return len(w)
			}
		}
		return 0
	}
}

// escapable are the characters that a backslash quotes in an unquoted value.
const escapable = "\\()[]{}:=, \t"

func matchEscape(s string) int {
	n := 0
	for n+1 < len(s) && s[n] == '\\' && strings.IndexByte(escapable, s[n+1]) >= 0 {
		n += 2
	}
	return n
}

// unescape drops every other character of a run of escapes.
func unescape(s string) string {
	b := make([]byte, 0, len(s)/2)
	for i := 1; i < len(s); i += 2 {
		b = append(b, s[i])
	}
	return string(b)
}

const unquotedChars = `/-\+.$%*@?|`
