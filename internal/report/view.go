package report

import (
	"iter"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
)

// A View declares one table, once for every output: the terminal, Markdown, CSV,
// JSON and the page walk the same columns.
type View[Row any] struct {
	// Name is that of the view and, after "deepprof.", of its JSON schema.
	Name string
	// Order is how the rows come. Views do not sort: who makes the rows does, and
	// readers are told.
	Order Order
	// Groups is how rows are summed up where there are too many to read; the zero
	// value never does.
	Groups Groups
	// Everything is the flag that prints every column; "" is --csv.
	Everything string
	// Legend says below a table for people what its headings mean.
	Legend string
	// Columns are in the order of CSV and of tables for people.
	Columns []Column[Row]
}

// Version is that of the JSON schema of every view.
const Version = 1

// A Column is one field of a row.
type Column[Row any] struct {
	// Key is the header in CSV and never changes: scripts read it. The key in JSON is that
	// of the row's own tag, which a test holds against this one.
	Key string
	// Title is the header for people; "" takes Key without its unit. A scaled unit and a
	// percent sign are added where the table is written.
	Title string
	// Named: the title is a name that the user's program gave, and keeps its case.
	Named bool
	// Help is what the column means, where the title does not say it all: a footnote in
	// Markdown, a title on the page.
	Help string
	// Unit is that of Value; a column without one holds texts.
	Unit Unit
	// Format is for people alone; its zero value is any text or number.
	Format Format
	// Value is what CSV holds; nil is an absent value.
	Value func(*Row) any
	// Show replaces Value where a person reads; nil shows what Value gives.
	Show func(*Row) any
	// Note is what to know of a cell, such as why it is absent: a footnote in
	// Markdown, a title on the page. "" is nothing.
	Note func(*Row) string
	// Part is, for a column of shares, the key of the column whose values they are
	// shares of: value over whole, with one whole for all rows that have the same
	// value of Within. "" where the share is of something that has no column.
	Part, Within string
	// Columns of one Group are scaled to the same unit.
	Group string
	// Detail columns are left out where a person reads, to keep lines short.
	Detail bool
	// Priority decides which columns stay where space is short: those with the
	// highest number go first, and those with 0 stay.
	Priority int
}

// A Unit is what the numbers of a column count. A column without one holds texts.
type Unit uint8

// Units of values as rows hold them; people see a scaled one.
const (
	NoUnit Unit = iota
	Count
	Nanoseconds
	Microseconds
	Milliseconds
	Seconds
	Bytes
	FLOP
	FLOPPerSecond
	Percent // 0 to 100
	Share   // 0 to 1, shown in percent
)

// units say how the numbers of a unit are shown: those with scales in one scale
// for the whole column, after they were multiplied by factor.
var units = [...]struct {
	name   string // in the description of a column
	suffix string // of keys, which a title leaves out
	factor float64
	scales []scale
}{
	NoUnit:        {factor: 1},
	Count:         {name: "count", factor: 1},
	Nanoseconds:   {name: "ns", suffix: "_ns", factor: 1, scales: timeScales},
	Microseconds:  {name: "us", suffix: "_us", factor: 1e3, scales: timeScales},
	Milliseconds:  {name: "ms", suffix: "_ms", factor: 1e6, scales: timeScales},
	Seconds:       {name: "s", suffix: "_seconds", factor: 1e9, scales: timeScales},
	Bytes:         {name: "byte", suffix: "_bytes", factor: 1, scales: byteScales},
	FLOP:          {name: "flop", factor: 1, scales: flopScales},
	FLOPPerSecond: {name: "flop/s", factor: 1, scales: rateScales},
	Percent:       {name: "percent", suffix: "_pct", factor: 1},
	Share:         {name: "share", factor: 100},
}

// A Format is how the values of a column are written. CSV and JSON always hold
// the plain value.
type Format uint8

// Formats of texts, and of one kind of number.
const (
	Text   Format = iota // any text or number
	ID                   // a text that is there to be copied, and never shortened
	Words                // a text in words, of which a narrow terminal gets the first
	Name                 // a name out of a program, shortened in the middle there; Markdown shows it as code
	Moment               // nanoseconds since the capture began: to the microsecond, so that it can be found again
	Number               // a text that is a number with its unit
	Link                 // the folder of a report, beside the page
)

// formatNames are the values of ColumnInfo.Format, which the page and clients of the API
// branch on: they stay.
var formatNames = [...]string{Text: "text", ID: "id", Words: "words", Name: "name", Moment: "moment", Number: "number", Link: "link"}

// An Order is how the rows of a view come.
type Order struct {
	// Key is that of the column that they are sorted by, in place of which Words tells an
	// order that no column has. Both are "" where the order says nothing.
	Key, Words string
	// Descending: the largest comes first.
	Descending bool
}

// Groups says how rows are summed up: one line for each value of the columns By,
// with how often it occurs, and the least, the mean and the largest of Of.
type Groups struct {
	// By are keys of columns; empty where Of is.
	By []string
	// Coarse are some of By, for sums that are themselves too many to read (mostGroups);
	// nil where they are few.
	Coarse []string
	// Of is the key of the column with the numbers; "" never sums up.
	Of string
	// Sum: the values of Of add up to something. Else only mean, least and largest are
	// shown.
	Sum bool
}

// left reports whether a column is aligned left.
func (c *Column[Row]) left() bool { return c.Unit == NoUnit && c.Format != Number }

// shown is the cell for people, in the unit that is scaled.
func (c *Column[Row]) shown(r *Row) any {
	if c.Show != nil {
		return c.Show(r)
	}
	v := c.Value(r)
	if factor := units[c.Unit].factor; factor != 1 {
		if x, ok := number(v); ok {
			return x * factor
		}
	}
	return v
}

// title is the header for people, before a scaled unit is added.
func (c *Column[Row]) title() string {
	if c.Unit == Percent || c.Unit == Share {
		return c.bareTitle() + " %"
	}
	return c.bareTitle()
}

// bareTitle is the header without any unit; that of a column without one is made
// from its key.
func (c *Column[Row]) bareTitle() string {
	if c.Title != "" {
		return c.Title
	}
	return strings.ReplaceAll(strings.TrimSuffix(c.Key, units[c.Unit].suffix), "_", " ")
}

// column finds a column by its key; nil where there is none.
func (v *View[Row]) column(key string) *Column[Row] {
	if i := slices.IndexFunc(v.Columns, func(c Column[Row]) bool { return c.Key == key }); i >= 0 {
		return &v.Columns[i]
	}
	return nil
}

// without is the view less some columns.
func (v View[Row]) without(keys ...string) View[Row] {
	v.Columns = slices.DeleteFunc(slices.Clone(v.Columns), func(c Column[Row]) bool { return slices.Contains(keys, c.Key) })
	return v
}

// only is the view with some columns, in that order.
// A key that the view does not have is a mistake of the program, and panics.
func (v View[Row]) only(keys ...string) View[Row] {
	columns := make([]Column[Row], len(keys))
	for i, key := range keys {
		columns[i] = *v.column(key)
	}
	v.Columns = columns
	return v
}

// columnsOf are the columns of a view whose rows are part of others.
func columnsOf[Row, Part any](v View[Part], part func(*Row) *Part) []Column[Row] {
	out := make([]Column[Row], len(v.Columns))
	for i, c := range v.Columns {
		out[i] = Column[Row]{Key: c.Key, Title: c.Title, Named: c.Named, Help: c.Help, Unit: c.Unit, Format: c.Format, Part: c.Part, Within: c.Within, Group: c.Group, Detail: c.Detail, Priority: c.Priority,
			Value: func(r *Row) any { return c.Value(part(r)) }}
		if c.Show != nil {
			out[i].Show = func(r *Row) any { return c.Show(part(r)) }
		}
		if c.Note != nil {
			out[i].Note = func(r *Row) string { return c.Note(part(r)) }
		}
	}
	return out
}

// titled is the view with another title of a column.
func (v View[Row]) titled(key, title string) View[Row] {
	v.Columns = slices.Clone(v.Columns)
	v.column(key).Title = title
	return v
}

// Table is an answer of the view whose rows are in memory, with what a reader must
// know to trust them.
func (v View[Row]) Table(rows []Row, notes ...string) *Table[Row] {
	return v.table(Slice(rows), func() []string { return notes })
}

// table is an answer of the view. notes may be nil; they are asked for once the rows
// were written.
func (v View[Row]) table(rows iter.Seq[*Row], notes func() []string) *Table[Row] {
	return &Table[Row]{View: v, Rows: rows, Notes: notes}
}

// words says how rows are sorted; "" where nothing is said.
func (v *View[Row]) orderWords() string {
	c := v.column(v.Order.Key)
	switch {
	case v.Order.Words != "":
		return message.Phrase("in-order-of", v.Order.Words)
	case c == nil:
		return ""
	case v.Order.Descending:
		return message.Phrase("largest-first", c.bareTitle())
	}
	return message.Phrase("sorted-by", c.title())
}

// A ColumnInfo is the declaration of a column as data, for programs that draw a
// table themselves.
type ColumnInfo struct {
	// Key, Unit and Format never change for a column; the others are words.
	Key      string `json:"key"`
	Title    string `json:"title"`
	Help     string `json:"help,omitempty"`
	Unit     string `json:"unit,omitempty"` // of the values in JSON and CSV
	Format   string `json:"format,omitempty"`
	Align    string `json:"align"`              // left or right
	Priority int    `json:"priority,omitempty"` // the highest gives way first; 0 stays
	Detail   bool   `json:"detail,omitempty"`   // not in tables for people
	Part     string `json:"part,omitempty"`     // of shares: the key of the column that they are shares of
}

// A ViewInfo is the declaration of a view as data.
type ViewInfo struct {
	Name string `json:"name"`
	// SortedBy is the key of a column; "" where the order has no column.
	SortedBy   string       `json:"sorted_by,omitempty"`
	Descending bool         `json:"descending,omitempty"`
	Legend     string       `json:"legend,omitempty"`
	Columns    []ColumnInfo `json:"columns"`
}

// Info describes the view.
func (v View[Row]) Info() ViewInfo {
	info := ViewInfo{Name: v.Name, SortedBy: v.Order.Key, Descending: v.Order.Descending, Legend: v.Legend}
	for i := range v.Columns {
		c := &v.Columns[i]
		align := "right"
		if c.left() {
			align = "left"
		}
		info.Columns = append(info.Columns, ColumnInfo{c.Key, c.title(), c.Help, units[c.Unit].name, formatNames[c.Format], align, c.Priority, c.Detail, c.Part})
	}
	return info
}

// A Declared is a view without the type of its rows.
type Declared interface{ Info() ViewInfo }
