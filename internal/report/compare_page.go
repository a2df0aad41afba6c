package report

import (
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
)

// A Grid is a table as texts, for a page.
type Grid struct {
	// Headers are titles with their units.
	Headers []string
	Left    []bool     // columns that are aligned left, as many as headers
	Rows    [][]string // cells in the order of the headers
}

// A Section of a page has a title, lines and tables.
type Section struct {
	Title string
	// Lines are sentences above the tables; nil where there are none.
	Lines []string
	Grids []Grid
}

// grid is the table as texts, with the columns that people see.
func (t *Table[T]) grid() Grid {
	rows := t.all()
	columns := t.visible(rows, false)
	headers, cells, _ := layout(columns, rows, longestName)
	g := Grid{Headers: headers, Rows: make([][]string, len(rows))}
	for i := range columns {
		g.Left = append(g.Left, columns[i].left())
		for r := range rows {
			g.Rows[r] = append(g.Rows[r], cells[i][r])
		}
	}
	return g
}

// CompareTitle is what came of a comparison in one sentence of at most 20 words.
func CompareTitle(c *compare.Comparison) string { return upperFirst(message.Short(c.Headline())) }

// CompareHead is what came of a comparison, in a line.
func CompareHead(c *compare.Comparison) string { return upperFirst(message.Text(c.Headline())) }

// CompareSections is a comparison as the sections of a page.
func CompareSections(c *compare.Comparison) []Section {
	head := Section{Title: message.Phrase("compare-sides-title"), Lines: append([]string{sides(c)}, message.Texts(c.Warnings)...)}
	for i := range c.Differ {
		head.Lines = append(head.Lines, differenceWords(&c.Differ[i]))
	}
	out := []Section{head}
	if c.Gate != nil {
		out = append(out, Section{Title: upperFirst(gateTitle(c.Gate)), Grids: []Grid{gateView.Table(gateLines(c.Gate)).grid()}})
	}
	for _, k := range firstKinds {
		out = appendKind(out, c, k)
	}
	for i := range c.Falls {
		f := &c.Falls[i]
		out = append(out, Section{Title: upperFirst(fallTitle(f)), Grids: []Grid{fallView.Table(f.Summed(compareFall)).grid()}})
	}
	for _, k := range detailKinds {
		out = appendKind(out, c, k)
	}
	return out
}

// appendKind adds the section of a kind, with every row; nothing where there is none.
func appendKind(out []Section, c *compare.Comparison, k compare.Kind) []Section {
	s := Section{Title: message.Label("compare.kind", string(k))}
	for _, t := range compareTables(c, k, true) {
		if g, ok := t.table.(interface{ grid() Grid }); ok {
			s.Grids = append(s.Grids, g.grid())
		}
	}
	if len(s.Grids) == 0 {
		return out
	}
	return append(out, s)
}
