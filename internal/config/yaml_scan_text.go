package config

import "strings"

// plain passes an unquoted text, which may go over several lines.
func (s *yamlScan) plain() {
	indent := s.indent + 1
	for s.peek(0) != '#' {
		start := s.pos
		for !s.blank(0) && !s.endsPlain() {
			s.step()
		}
		if s.pos == start {
			return
		}
		s.allowKey = false
		if !s.plainSpaces() || s.flow == 0 && s.column < indent {
			return
		}
	}
}

// endsPlain tells whether an indicator ends a text. In flow style a colon does
// before another indicator too; the Go parser needs a blank between them.
func (s *yamlScan) endsPlain() bool {
	c := s.peek(0)
	if s.flow > 0 && strings.IndexByte(",?[]{}", c) >= 0 {
		return true
	}
	if c != ':' {
		return false
	}
	if s.flow > 0 && !s.blank(1) && strings.IndexByte(",[]{}", s.peek(1)) >= 0 {
		s.edit(s.pos+1, s.column+1, 0, " ")
		return true
	}
	return s.blank(1)
}

// plainSpaces passes what may lie between two words of a text; false where the
// text ends.
func (s *yamlScan) plainSpaces() bool {
	start := s.pos
	s.skipBlanks()
	if s.width(s.pos) == 0 {
		return s.pos > start
	}
	for s.peek(0) == ' ' || s.width(s.pos) > 0 {
		s.step()
		if s.column == 0 {
			s.allowKey = true
			if s.marker() {
				return false
			}
		}
	}
	return true
}

func (s *yamlScan) singleQuoted() {
	for s.step(); !s.ended(); s.step() {
		if s.peek(0) != '\'' {
			continue
		}
		s.step()
		if s.peek(0) != '\'' {
			return
		}
	}
}

// escapes are the characters that PyYAML takes behind a backslash, besides a
// line break.
const escapes = "0abt\tnvfre \"\\/N_LPxuU"

func (s *yamlScan) doubleQuoted() {
	for s.step(); !s.ended(); s.step() {
		switch s.peek(0) {
		case '"':
			s.step()
			return
		case '\\':
			next := s.peek(1)
			if next != 0 && s.width(s.pos+1) == 0 && strings.IndexByte(escapes, next) < 0 {
				s.fault = "while scanning a double-quoted scalar\nfound unknown escape character"
				return
			}
			if next == '/' {
				s.edit(s.pos, s.column, 1, "")
			}
			if s.step(); s.ended() {
				return
			}
		}
	}
}

// blockText passes a text that starts with "|" or ">"; false where its first
// line is not as it must be, which the parser will say.
func (s *yamlScan) blockText() bool {
	s.step()
	given := 0
	for range 2 {
		switch c := s.peek(0); {
		case c >= '1' && c <= '9' && given == 0:
			given = int(c - '0')
			s.step()
		case c == '+' || c == '-':
			s.step()
		}
	}
	if s.peek(0) == '#' {
		s.fault = "while scanning a block scalar\nexpected chomping or indentation indicators, but found '#'"
		return false
	}
	s.skipBlanks()
	if s.peek(0) == '#' {
		s.skipLine()
	}
	if s.width(s.pos) == 0 {
		return false
	}
	s.step()
	indent := max(s.indent+1, 1)
	if given > 0 {
		indent += given - 1
	} else {
		indent = max(indent, s.deepestBlank())
	}
	for s.blockBreaks(indent); s.column == indent && !s.ended(); s.blockBreaks(indent) {
		s.skipLine()
		if !s.ended() {
			s.step()
		}
	}
	return true
}

// deepestBlank passes the blank lines and the indentation before a block text
// and gives the deepest column.
func (s *yamlScan) deepestBlank() int {
	deepest := 0
	for s.peek(0) == ' ' || s.width(s.pos) > 0 {
		s.step()
		deepest = max(deepest, s.column)
	}
	return deepest
}

// blockBreaks passes empty lines and the indentation of the next one.
func (s *yamlScan) blockBreaks(indent int) {
	for {
		for s.column < indent && s.peek(0) == ' ' {
			s.step()
		}
		if s.width(s.pos) == 0 {
			return
		}
		s.step()
	}
}
