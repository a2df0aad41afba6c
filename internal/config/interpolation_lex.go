package config

import "slices"

// lexMode is what the lexer of interpolations is inside of.
type lexMode uint8

const (
	modeTop    lexMode = iota // text outside of interpolations
	modeValue                 // arguments of a resolver
	modeInter                 // the path of a node, or the name of a resolver
	modeSingle                // a string in apostrophes
	modeDouble                // a string in quotation marks
)

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
