package report

// writeView writes a declared table on a page: the cells of every other output,
// with capitals in the heads, thousands apart and footnotes.
func writeView[T any](d *doc, v View[T], rows []*T) {
	columns := v.visible(rows, true)
	scale := scales(columns, rows)
	g := &grid{rows: make([][]string, len(rows))}
	for i := range columns {
		c := &columns[i]
		head, cells := readable(c, scale[i], rows, longestName)
		g.heads, g.right = append(g.heads, prose(upperFirst(head))+d.note(prose(sentence(c.Help)))), append(g.right, !c.left())
		for r, row := range rows {
			g.rows[r] = append(g.rows[r], markdownCell(d, c, row, cells[r]))
		}
	}
	d.table(g)
}

// markdownCell is a cell with its footnote; one without a value is n/a where a
// footnote says why, and else empty.
func markdownCell[T any](d *doc, c *Column[T], row *T, text string) string {
	value := deref(c.shown(row))
	switch n, ok := number(value); {
	case value == nil:
		text = ""
	case ok && c.Unit == Count && isWhole(value):
		text = thousands(int64(n))
	case c.Format == Link:
		text = "[" + prose(text) + "](" + text + "/report.md)"
	default:
		text = markdown(c.Format, text)
	}
	if c.Note == nil {
		return text
	}
	note := d.note(prose(upperFirst(sentence(c.Note(row)))))
	if text == "" && note != "" {
		text = absent
	}
	return text + note
}

// isWhole tells a number that was counted from one that was measured.
func isWhole(v any) bool {
	_, fraction := v.(float64)
	return !fraction
}

// pointers are the rows of a slice.
func pointers[T any](rows []T) []*T { return each(rows, func(r *T) *T { return r }) }

// shownAll is the view with its details.
func shownAll[T any](v View[T]) View[T] {
	for i := range v.Columns { // only has made them anew
		v.Columns[i].Detail = false
	}
	return v
}
