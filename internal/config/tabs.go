package config

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// refuseTabs fails on a tab outside of quotes, block texts and comments, as
// PyYAML does everywhere: the Go parser lets some of them pass.
func (r *yamlReader) refuseTabs(data []byte, doc *yaml.Node) error {
	if bytes.IndexByte(data, '\t') < 0 {
		return nil
	}
	starts := lineStarts(data)
	inText := make([]bool, len(data))
	scalars := scalarNodes(doc, nil)
	slices.SortStableFunc(scalars, func(a, b *yaml.Node) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	for i, y := range scalars {
		switch {
		case y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			markQuoted(data, inText, offsetOf(data, starts, y.Line, y.Column))
		case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			end := len(data)
			if i+1 < len(scalars) && scalars[i+1].Line-1 < len(starts) {
				end = starts[scalars[i+1].Line-1]
			}
			for at := offsetOf(data, starts, y.Line+1, 1); at < end; at++ {
				inText[at] = true
			}
		}
	}
	return r.findTab(data, inText)
}

func (r *yamlReader) findTab(data []byte, inText []bool) error {
	line, column, comment := 1, 1, false
	for i, c := range data {
		switch {
		case c == '\n':
			line, column, comment = line+1, 0, false
		case inText[i] || comment:
		case c == '#' && (i == 0 || bytes.IndexByte([]byte(" \t\n"), data[i-1]) >= 0):
			comment = true
		case c == '\t':
			e := r.fail(line, column, "found a tab outside of quotes")
			e.Hint = "YAML is indented and separated with blanks, never with tabs"
			return e
		}
		if utf8.RuneStart(c) {
			column++
		}
	}
	return nil
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// offsetOf turns a line and a column in characters into an offset.
func offsetOf(data []byte, starts []int, line, column int) int {
	if line < 1 || line > len(starts) {
		return len(data)
	}
	at := starts[line-1]
	for ; column > 1 && at < len(data); column-- {
		_, size := utf8.DecodeRune(data[at:])
		at += size
	}
	return at
}

// markQuoted marks a quoted text, which may follow an anchor or a tag.
func markQuoted(data []byte, inText []bool, at int) {
	for at < len(data) && data[at] != '\'' && data[at] != '"' {
		at++
	}
	if at >= len(data) {
		return
	}
	quote := data[at]
	for i := at; i < len(data); i++ {
		inText[i] = true
		if i == at {
			continue
		}
		switch {
		case quote == '"' && data[i] == '\\' && i+1 < len(data):
			i++
			inText[i] = true
		case quote == '\'' && data[i] == quote && i+1 < len(data) && data[i+1] == quote:
			i++
			inText[i] = true
		case data[i] == quote:
			return
		}
	}
}

func scalarNodes(y *yaml.Node, list []*yaml.Node) []*yaml.Node {
	if y.Kind == yaml.ScalarNode || y.Kind == yaml.AliasNode {
		list = append(list, y)
	}
	for _, c := range y.Content {
		list = scalarNodes(c, list)
	}
	return list
}
