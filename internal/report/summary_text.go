package report

import (
	"strings"
	"unicode/utf8"
)

// tied keeps a number and its unit on one line; no text holds it.
const tied = "\x00"

// wrap breaks a text at blanks; what is left after the last line is cut, and
// an ellipsis says so. Lines after the first begin with indent.
// most is at least 1; an empty text is one empty line.
func wrap(s string, width int, indent string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(strings.ReplaceAll(s, " %", tied+"%")) {
		word = strings.ReplaceAll(word, tied, " ")
		word = shorten(word, max(width-len(indent), 1))
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = indent + word
		}
	}
	lines = append(lines, line)
	if len(lines) <= most {
		return lines
	}
	last := lines[most-1]
	for utf8.RuneCountInString(last) > width-2 { // words stay whole
		cut := strings.LastIndexByte(last, ' ')
		if cut <= len(indent) {
			last = string([]rune(last)[:width-2])
			break
		}
		last = last[:cut]
	}
	return append(lines[:most-1], strings.TrimRight(last, ",;:")+" …")
}

// whole is a text in that many lines at most, nil where it does not fit.
func whole(s string, width int, indent string, most int) []string {
	if lines := wrap(oneLine(s), width, indent, len(s)+1); len(lines) <= most {
		return lines
	}
	return nil
}

// wrapSentences leaves out the last sentences rather than cut one; the first one
// ends with a whole word, and an ellipsis, where it is too long itself.
func wrapSentences(sentences []string, width, most int) []string {
	for n := len(sentences); n > 1; n-- {
		if lines := whole(strings.Join(sentences[:n], " "), width, "", most); lines != nil {
			return lines
		}
	}
	return wrap(oneLine(sentences[0]), width, "", most)
}

// The escape sequences of a terminal, which take no room.
const boldOn, boldOff = "\x1b[1m", "\x1b[0m"

// bold sets a text off where the terminal takes escape sequences.
func bold(s string, on bool) string {
	if !on {
		return s
	}
	return boldOn + s + boldOff
}
