package config

import (
	"regexp"
	"slices"
)

// failure carries an error up to the function that began to read, to resolve or to
// walk the defaults lists, as a panic: within the recursion nothing has to hand
// errors on. It never leaves the package.
type failure struct{ err error }

// must panics with a failure if err is set.
func must[T any](value T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return value
}

// catch is deferred where that begins: it returns the error of a failure.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.err
	default:
		panic(p)
	}
}

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

// token is a piece of an override or of a string with interpolations.
type token struct {
	typ  tokenType
	text string
	pos  int // byte offset
}

// primitive tells whether a token can be part of an unquoted value.
func (t token) primitive() bool {
	switch t.typ {
	case tokID, tokNull, tokInt, tokFloat, tokBool, tokUnquoted, tokEscape, tokSpace:
		return true
	}
	return false
}

// tokenStream walks over tokens, of which the last is tokEOF.
type tokenStream struct {
	tokens []token
	next   int
}

// peek gives tokEOF at the end, as often as it is asked.
func (s *tokenStream) peek() token { return s.tokens[s.next] }

// take returns the next token and passes it; the end is never passed.
func (s *tokenStream) take() token {
	t := s.tokens[s.next]
	if t.typ != tokEOF {
		s.next++
	}
	return t
}

// accept passes a token of the type, if it comes next.
func (s *tokenStream) accept(typ tokenType) bool {
	if s.peek().typ != typ {
		return false
	}
	s.take()
	return true
}

// rule matches a prefix of what is left.
type rule struct {
	typ tokenType
	// anchored at the start by match; an empty match counts as none
	pattern *regexp.Regexp
}

// match makes a rule of a pattern, of which the longest match counts.
func match(typ tokenType, pattern string) rule {
	re := regexp.MustCompile(`(?s)^(?:` + pattern + `)`)
	re.Longest()
	return rule{typ, re}
}

// longest applies the rules by ANTLR's law.
// The length is 0 if no rule matches. It tries every rule at every place, which is
// cheap for the short texts of a configuration.
func longest(rules []rule, s string) (tokenType, int) {
	best, size := tokEOF, 0
	for _, r := range rules {
		if n := len(r.pattern.FindString(s)); n > size {
			best, size = r.typ, n
		}
	}
	return best, size
}

// Patterns that both grammars share.
const (
	blanks   = `[ \t]*`
	name     = `[a-zA-Z_][a-zA-Z0-9_]*`
	digits   = `[0-9](?:_?[0-9])*`
	unsigned = `(?:0|[1-9](?:_?[0-9])*)`
	exponent = `[eE][+-]?` + digits
	float    = `[+-]?(?:` + unsigned + `\.(?:` + digits + `)?(?:` + exponent + `)?|\.` + digits + `(?:` + exponent + `)?|` + unsigned + exponent + `|(?i:inf|nan))`
	// characters that a backslash quotes in an unquoted value
	escapes  = `(?:\\[\\()\[\]{}:=, \t])+`
	unquoted = `[/\-\\+.$%*@?|]`
)

// primitiveRules are the parts of an unquoted value.
var primitiveRules = []rule{
	match(tokFloat, float), match(tokInt, `[+-]?`+unsigned), match(tokBool, `(?i:true|false)`), match(tokNull, `(?i:null)`),
	match(tokUnquoted, unquoted), match(tokID, name), match(tokEscape, escapes), match(tokSpace, `[ \t]+`),
}

// sign is the length of the sign that a number begins with.
func sign(s string) int {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return 1
	}
	return 0
}

// unescape drops every other character of a run of escapes.
// s must consist of pairs: a backslash and the character that it quotes.
func unescape(s string) string {
	b := make([]byte, 0, len(s)/2)
	for i := 1; i < len(s); i += 2 {
		b = append(b, s[i])
	}
	return string(b)
}

// lexMode is what the lexer of interpolations is inside of.
type lexMode uint8

const (
	modeTop    lexMode = iota // text outside of interpolations
	modeValue                 // arguments of a resolver
	modeInter                 // the path of a node, or the name of a resolver
	modeSingle                // a string in apostrophes
	modeDouble                // a string in quotation marks
)

// interOpen begins an interpolation; blanks after the brace are allowed.
const interOpen = `\$\{` + blanks

// modeRules are indexed by mode. Order matters only among matches of equal length.
var modeRules = [...][]rule{
	modeTop: textRules(``, match(tokTopEscape, `(?:\\\\)+`)),
	modeValue: slices.Concat([]rule{
		match(tokInterOpen, interOpen), match(tokBraceOpen, `\{`+blanks), match(tokBraceClose, blanks+`\}`), match(tokQuoteOpen, `['"]`),
		match(tokComma, blanks+`,`+blanks), match(tokBracketOpen, `\[`+blanks), match(tokBracketClose, blanks+`\]`), match(tokColon, blanks+`:`+blanks),
	}, primitiveRules),
	modeInter: {
		match(tokInterOpen, interOpen), match(tokColon, blanks+`:`+blanks), match(tokInterClose, blanks+`\}`), match(tokDot, `\.`),
		match(tokBracketOpen, `\[`), match(tokBracketClose, `\]`), match(tokID, name), match(tokInterKey, `[^\\{}()\[\]:. \t'"]+`),
	},
	modeSingle: quotedRules(`'`),
	modeDouble: quotedRules(`"`),
}

// quotedRules: backslashes count only before the quote itself or an interpolation.
func quotedRules(quote string) []rule {
	return textRules(quote, match(tokQuoteClose, quote), match(tokEscape, `(?:\\\\)*\\`+quote), match(tokQuotedEscape, `(?:\\\\)+`))
}

// textRules are those of text that goes on until the next interpolation or
// quote. Text does not end with a backslash: what backslashes mean depends on
// what follows them.
func textRules(quote string, more ...rule) []rule {
	return slices.Concat([]rule{match(tokInterOpen, interOpen), match(tokText, `(?:\\*[^\\$`+quote+`])+`), match(tokEscInter, `(?:\\\\)*\\\$\{`)},
		more, []rule{match(tokText, `\\+`), match(tokText, `\$`)})
}
