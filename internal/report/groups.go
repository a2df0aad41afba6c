package report

import (
	"io"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// all holds every row.
func (t *Table[T]) all() []*T {
	rows := slices.Collect(t.Rows)
	t.written = len(rows)
	return rows
}

// collect gives the rows or, where they are too many for a text, their sums by the columns of
// Groups.By. Exactly one of the results is nil, unless there is no row at all.
func (t *Table[T]) collect() (rows []*T, sums *timeline.Sums) {
	if t.most <= 0 || t.Groups.Of == "" {
		return t.all(), nil
	}
	by, of := t.only(t.Groups.By...).Columns, t.column(t.Groups.Of)
	add := func(r *T) {
		keys := make([]string, len(by))
		for i := range by {
			keys[i] = plain(by[i].shown(r))
		}
		v, ok := number(of.shown(r))
		if !ok {
			v = math.NaN()
		}
		sums.Add(keys, v)
	}
	for r := range t.Rows {
		t.written++
		switch {
		case sums != nil:
			add(r)
		case len(rows) < t.most:
			rows = append(rows, r)
		default:
			sums = &timeline.Sums{}
			for _, held := range append(rows, r) {
				add(held)
			}
			rows = nil
		}
	}
	return rows, sums
}

// mostGroups are the sums that a person goes through.
const mostGroups = 1000

// writeGroups writes the sums in place of the rows, and says so. Sums that are too many
// themselves are joined by the columns of Groups.Coarse.
func (t *Table[T]) writeGroups(w io.Writer, width int, sums *timeline.Sums) error {
	by, of := t.Groups.By, t.column(t.Groups.Of)
	if t.Groups.Coarse != nil && sums.Len() > mostGroups {
		by = t.Groups.Coarse
		places := make([]int, len(by))
		for i, key := range by {
			places[i] = slices.Index(t.Groups.By, key)
		}
		sums = sums.Coarser(places)
	}
	unit := of.Unit
	if units[unit].factor != 1 {
		unit = Count // values are scaled already
	}
	v := View[*timeline.Sum]{Name: t.Name, Everything: "--all", Columns: []Column[*timeline.Sum]{{Key: "rows", Title: t.Name, Unit: Count, Value: func(x **timeline.Sum) any { return (*x).Rows }}}}
	number := func(key, group string, priority int, get func(*timeline.Sum) float64) {
		v.Columns = append(v.Columns, Column[*timeline.Sum]{Key: key, Unit: unit, Group: group, Priority: priority, Value: func(x **timeline.Sum) any { return when((*x).N > 0, get(*x)) }})
	}
	if t.Groups.Sum {
		number("total", "", 0, func(x *timeline.Sum) float64 { return x.Total })
	}
	number("mean", "each", 1, func(x *timeline.Sum) float64 { return x.Mean() })
	number("min", "each", 2, func(x *timeline.Sum) float64 { return x.Least })
	number("max", "each", 3, func(x *timeline.Sum) float64 { return x.Most })
	titles := make([]string, len(by))
	for i, key := range by {
		c := t.column(key)
		titles[i] = c.title()
		v.Columns = append(v.Columns, Column[*timeline.Sum]{Key: key, Title: titles[i], Format: c.Format, Value: func(x **timeline.Sum) any { return orNil((*x).Keys[i]) }})
	}
	v.Order = Order{Key: by[0]}
	if t.Groups.Sum {
		v.Order = Order{Key: "total", Descending: true}
	}
	table := v.Table(sums.Sorted(t.Groups.Sum))
	if err := table.WriteText(w, width); err != nil {
		return err
	}
	t.aside = append([]string{message.Phrase("rows-summed-up", sums.Rows, message.And(titles))}, table.aside...)
	return nil
}
