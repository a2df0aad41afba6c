package report

import (
	"strings"
	"unicode/utf8"
)

// tied keeps a number and its unit on one line; no text holds it.
const tied = "\x00"

// wrap breaks a text at blanks; what is left after the last line is cut, and
// an ellipsis says so. Lines after the first begin with indent.
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

// sentences are the first n of a text.
func sentences(s string, n int) string {
	at := 0
	for range n {
		end := strings.Index(s[at:], ". ")
		if end < 0 {
			return s
		}
		at += end + 2
	}
	return s[:at-1]
}

// wrapSentences leaves out the last sentences rather than cut one; the first one
// ends with a clause, and an ellipsis, where it is too long itself.
func wrapSentences(s string, width, most int) []string {
	fits := func(s string) bool { return len(wrap(s, width, "", len(s)+1)) <= most }
	for !fits(s) {
		end := strings.LastIndex(strings.TrimSuffix(s, "."), ". ")
		if end < 0 {
			break
		}
		s = s[:end+1]
	}
	for short := s; !fits(short); {
		end := max(strings.LastIndex(short, "; "), strings.LastIndex(short, ", "))
		if end < len(s)/3 {
			break
		}
		if short = short[:end]; fits(short + " …") {
			return wrap(short+" …", width, "", most)
		}
	}
	return wrap(s, width, "", most)
}

// The escape sequences of a terminal, which take no room.
const boldOn, boldOff = "\x1b[1m", "\x1b[0m"

func bold(s string, on bool) string {
	if !on {
		return s
	}
	return boldOn + s + boldOff
}
