package report

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A group is the rows of a view that have the same value of some columns.
type group struct {
	// by are the cells that its rows share, as CSV has them, in the order of groups.by.
	by []string
	// rows counts also those without a number in the summed column.
	rows   int64
	values timeline.Spread // of those that are there
}

// groups collects rows while they come: it holds one group for each value.
type groups[T any] struct {
	by []*Column[T]
	// of is the column whose numbers are summed; by are those that make the groups.
	of *Column[T]
	// list is by the cells of by, joined; rows counts those of all groups.
	list map[string]*group
	rows int64
}

// all holds every row.
func (t *Table[T]) all() []*T {
	var rows []*T
	for r := range t.Rows {
		rows = append(rows, r)
	}
	t.written = len(rows)
	return rows
}

// collect gives the rows or, where they are too many for a text, their groups.
// Exactly one of the results is nil, unless there is no row at all.
func (t *Table[T]) collect() ([]*T, *groups[T]) {
	if t.most <= 0 || t.Groups.Of == "" {
		return t.all(), nil
	}
	var rows []*T
	var sums *groups[T]
	for r := range t.Rows {
		if sums == nil && len(rows) < t.most {
			rows = append(rows, r)
			continue
		}
		if sums == nil {
			sums = t.newGroups(rows)
			rows = nil
		}
		sums.add(r)
	}
	if sums == nil {
		t.written = len(rows)
		return rows, nil
	}
	t.written = int(sums.rows)
	if t.Groups.Coarse != nil && len(sums.list) > mostGroups {
		sums = sums.coarser(t.Groups.Coarse)
	}
	return nil, sums
}

// mostGroups are the sums that a person goes through.
const mostGroups = 1000

// coarser joins the groups that have the same value of the columns with these keys.
func (g *groups[T]) coarser(keys []string) *groups[T] {
	out := &groups[T]{of: g.of, list: map[string]*group{}, rows: g.rows}
	var at []int
	for i, c := range g.by {
		if slices.Contains(keys, c.Key) {
			at, out.by = append(at, i), append(out.by, c)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.list)) { // sums of floats depend on their order
		x := g.list[key]
		y := out.group(elementsAt(x.by, at))
		y.rows += x.rows
		y.values.Join(x.values)
	}
	return out
}

// group is the one with these cells.
func (g *groups[T]) group(cells []string) *group {
	key := strings.Join(cells, "\x00")
	x := g.list[key]
	if x == nil {
		x = &group{by: cells}
		g.list[key] = x
	}
	return x
}

// newGroups begins with the rows that were held until they became too many.
func (t *Table[T]) newGroups(rows []*T) *groups[T] {
	g := &groups[T]{of: t.column(t.Groups.Of), list: map[string]*group{}}
	for _, key := range t.Groups.By {
		g.by = append(g.by, t.column(key))
	}
	for _, r := range rows {
		g.add(r)
	}
	return g
}

// add counts a row to its group. A row without a number counts as a row and adds no value.
func (g *groups[T]) add(r *T) {
	cells := make([]string, len(g.by))
	for i, c := range g.by {
		cells[i] = plain(c.shown(r))
	}
	x := g.group(cells)
	g.rows++
	x.rows++
	if v, ok := number(g.of.shown(r)); ok {
		x.values.Add(v)
	}
}

// writeGroups writes the sums in place of the rows, and says so.
func (t *Table[T]) writeGroups(w io.Writer, width int, g *groups[T]) error {
	v := View[*group]{Name: t.Name, Everything: "--all", Columns: []Column[*group]{{Key: "rows", Title: t.Name, Unit: Count, Value: func(x **group) any { return (*x).rows }}}}
	unit := g.of.Unit
	if units[unit].factor != 1 {
		unit = Count // values are scaled already
	}
	number := func(key string, priority int, get func(*group) float64) {
		v.Columns = append(v.Columns, Column[*group]{Key: key, Unit: unit, Group: "each", Priority: priority, Value: func(x **group) any {
			if (*x).values.N == 0 {
				return nil
			}
			return get(*x)
		}})
	}
	if t.Groups.Sum {
		number("total", 0, func(x *group) float64 { return x.values.Total })
		v.Columns[1].Group = ""
	}
	number("mean", 1, func(x *group) float64 { return x.values.Mean() })
	number("min", 2, func(x *group) float64 { return x.values.Least })
	number("max", 3, func(x *group) float64 { return x.values.Most })
	for i, c := range g.by {
		v.Columns = append(v.Columns, Column[*group]{Key: c.Key, Title: c.title(), Format: c.Format, Value: func(x **group) any { return orNil((*x).by[i]) }})
	}
	rows := slices.SortedFunc(maps.Values(g.list), func(x, y *group) int {
		if t.Groups.Sum && x.values.Total != y.values.Total {
			return cmp.Compare(y.values.Total, x.values.Total)
		}
		return slices.Compare(x.by, y.by)
	})
	v.Order = Order{Key: g.by[0].Key}
	if t.Groups.Sum {
		v.Order = Order{Key: "total", Descending: true}
	}
	sums := v.table(Slice(rows), nil)
	if err := sums.WriteText(w, width); err != nil {
		return err
	}
	titles := make([]string, len(g.by))
	for i, c := range g.by {
		titles[i] = c.title()
	}
	t.aside = append([]string{message.Phrase("rows-summed-up", g.rows, message.And(titles))}, sums.aside...)
	return nil
}
