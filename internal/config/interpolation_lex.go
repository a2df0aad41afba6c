package config

import (
	"strings"
)

type lexMode uint8

const (
	modeTop lexMode = iota
	modeValue
	modeInter
	modeSingle
	modeDouble
)

var modeRules = [...][]rule{
	modeTop: {
		{tokInterOpen, matchInterOpen},
		{tokText, plainText("\\$")},
		{tokEscInter, matchEscInter},
		{tokTopEscape, matchSlashPairs},
		{tokText, matchSlashes},
		{tokText, oneOf("$")},
	},
	modeValue: {
		{tokInterOpen, matchInterOpen},
		{tokBraceOpen, padded('{', false, true)},
		{tokBraceClose, padded('}', true, false)},
		{tokQuoteOpen, oneOf("'\"")},
		{tokComma, padded(',', true, true)},
		{tokBracketOpen, padded('[', false, true)},
		{tokBracketClose, padded(']', true, false)},
		{tokColon, padded(':', true, true)},
		{tokFloat, matchFloat},
		{tokInt, matchInt},
		{tokBool, word("true", "false")},
		{tokNull, word("null")},
		{tokUnquoted, oneOf(unquotedChars)},
		{tokID, matchID},
		{tokEscape, matchEscape},
		{tokSpace, blanks},
	},
	modeInter: {
		{tokInterOpen, matchInterOpen},
		{tokColon, padded(':', true, true)},
		{tokInterClose, padded('}', true, false)},
		{tokDot, oneOf(".")},
		{tokBracketOpen, oneOf("[")},
		{tokBracketClose, oneOf("]")},
		{tokID, matchID},
		{tokInterKey, matchInterKey},
	},
	modeSingle: quotedRules('\''),
	modeDouble: quotedRules('"'),
}

func quotedRules(quote byte) []rule {
	q := string(quote)
	return []rule{
		{tokInterOpen, matchInterOpen},
		{tokQuoteClose, oneOf(q)},
		{tokText, plainText("\\$" + q)},
		{tokEscInter, matchEscInter},
		{tokEscape, func(s string) int {
			if n := strings.IndexFunc(s, func(r rune) bool { return r != '\\' }); n%2 == 1 && s[n] == quote {
				return n + 1
			}
			return 0
		}},
		{tokQuotedEscape, matchSlashPairs},
		{tokText, matchSlashes},
		{tokText, oneOf("$")},
	}
}

func matchInterOpen(s string) int {
	if strings.HasPrefix(s, "${") {
		return 2 + blanks(s[2:])
	}
	return 0
}

// plainText matches text that holds none of the stops and does not end with a
// backslash.
func plainText(stops string) func(string) int {
	return func(s string) int {
		end := 0
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' {
				continue
			}
			if strings.IndexByte(stops, s[i]) >= 0 {
				break
			}
			end = i + 1
		}
		return end
	}
}

func matchSlashes(s string) int {
	n := 0
	for n < len(s) && s[n] == '\\' {
		n++
	}
	return n
}

func matchSlashPairs(s string) int { return matchSlashes(s) &^ 1 }

func matchEscInter(s string) int {
	if n := matchSlashes(s); n%2 == 1 && strings.HasPrefix(s[n:], "${") {
		return n + 2
	}
	return 0
}

func matchInterKey(s string) int {
	if i := strings.IndexAny(s, "\\{}()[]:. \t'\""); i >= 0 {
		return i
	}
	return len(s)
}
