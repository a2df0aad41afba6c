package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A scale writes the numbers of one column in one unit, so that they compare
// at a glance.
type scale struct {
	// unit is written after each number, or once in the head of the column; "" for counts.
	unit string
	// divisor turns a value in the base unit (ns, byte, FLOP) into one in unit; never 0.
	divisor float64
	digits  int // after the point
	// each is, of a column whose numbers are too far apart for one unit, what the
	// unit of each is chosen from; the other fields mean nothing then.
	each []scale
}

// Scales of each unit, the largest first, so that the first that fits is taken. Bytes have
// decimal prefixes, as NVIDIA's tools write them; moments keep the microsecond.
var (
	timeScales   = []scale{{unit: "s", divisor: 1e9, digits: 3}, {unit: "ms", divisor: 1e6, digits: 3}, {unit: "µs", divisor: 1e3, digits: 3}, {unit: "ns", divisor: 1, digits: 1}}
	momentScales = []scale{{unit: "s", divisor: 1e9, digits: 6}, {unit: "ms", divisor: 1e6, digits: 3}, {unit: "µs", divisor: 1e3, digits: 3}, {unit: "ns", divisor: 1, digits: 1}}
	byteScales   = []scale{{unit: "TB", divisor: 1e12, digits: 3}, {unit: "GB", divisor: 1e9, digits: 3}, {unit: "MB", divisor: 1e6, digits: 3}, {unit: "kB", divisor: 1e3, digits: 3}, {unit: "B", divisor: 1, digits: 0}}
	flopScales   = []scale{{unit: "PFLOP", divisor: 1e15, digits: 3}, {unit: "TFLOP", divisor: 1e12, digits: 3}, {unit: "GFLOP", divisor: 1e9, digits: 3}, {unit: "MFLOP", divisor: 1e6, digits: 3}, {unit: "kFLOP", divisor: 1e3, digits: 3}, {unit: "FLOP", divisor: 1, digits: 0}}
	rateScales   = []scale{{unit: "TFLOP/s", divisor: 1e12, digits: 3}, {unit: "GFLOP/s", divisor: 1e9, digits: 3}, {unit: "MFLOP/s", divisor: 1e6, digits: 3}, {unit: "FLOP/s", divisor: 1, digits: 0}}
)

// scaleFor picks the largest unit in which the largest value has two digits, so
// that small values in the same column keep some of theirs. One digit is enough
// where three decimals lose nothing of a whole number.
func scaleFor(scales []scale, largest float64) scale {
	for _, s := range scales {
		if largest >= 10*s.divisor || s.divisor == 1e3 && largest >= s.divisor {
			return s
		}
	}
	return scales[len(scales)-1]
}

// columnScale picks the unit in which the largest value of a column is at least 1.
// Where that leaves the least of them but 0 with fewer than two digits, each has its own.
func columnScale(scales []scale, largest, least float64) scale {
	if s := unitOf(scales, largest); least >= s.divisor/100 || s.divisor == 1 {
		return s
	}
	return scale{each: scales}
}

// unitOf is the largest unit in which x is at least 1, or the smallest that there is.
// The sign of x does not matter; of 0 it is the smallest.
func unitOf(scales []scale, x float64) scale {
	i := slices.IndexFunc(scales, func(s scale) bool { return math.Abs(x) >= s.divisor })
	if i < 0 {
		i = len(scales) - 1
	}
	return scales[i]
}

// write is a number in the unit of its column, or with its own.
func (s scale) write(x float64) string {
	switch {
	case s.each == nil:
		return fixed(x/s.divisor, s.digits)
	case x == 0:
		return "0"
	}
	own := unitOf(s.each, x)
	if x /= own.divisor; x == math.Trunc(x) && own.divisor == 1 {
		own.digits = 0
	}
	return fixed(x, own.digits) + " " + own.unit
}

// amount writes one value with the unit that suits it: "8.05 MB". An absent value,
// and one whose unit has no scales, stays as it is.
func amount(u Unit, v any) any {
	x, ok := number(v)
	if !ok || !u.scaled() {
		return v
	}
	x *= units[u].factor
	s := unitOf(units[u].scales, x)
	x /= s.divisor
	digits := 2 - int(math.Log10(max(math.Abs(x), 1))) // three digits in all
	return fixed(x, min(max(digits, 0), s.digits)) + " " + s.unit
}

// plain is the exact text of a value, for CSV.
// An absent value is ""; lists are joined with "; ", extents written as 1x2x3.
func plain(v any) string {
	switch x := deref(v).(type) {
	case nil:
		return ""
	case string:
		return x
	case int:
		return strconv.Itoa(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case []string:
		return strings.Join(x, "; ")
	case [3]int32:
		return fmt.Sprintf("%dx%dx%d", x[0], x[1], x[2])
	case [3]uint64:
		return fmt.Sprintf("%dx%dx%d", x[0], x[1], x[2])
	default:
		return fmt.Sprint(x)
	}
}

// number gives the value of a numeric cell.
// ok is false for texts, booleans and absent values.
func number(v any) (float64, bool) {
	switch x := reflect.ValueOf(deref(v)); {
	case x.CanInt():
		return float64(x.Int()), true
	case x.CanUint():
		return float64(x.Uint()), true
	case x.CanFloat():
		return x.Float(), true
	}
	return 0, false
}

// deref follows a pointer; a nil pointer is an absent value.
func deref(v any) any {
	p := reflect.ValueOf(v)
	switch {
	case p.Kind() != reflect.Pointer:
		return v
	case p.IsNil():
		return nil
	}
	return p.Elem().Interface()
}

// value is what p points to; an untyped nil, which is an absent cell, where p is nil.
func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// orNil is nil for a value that stands for none.
func orNil[T comparable](x T) any {
	var none T
	return when(x != none, x)
}

// when is v where so holds, and else an absent value. v is evaluated in any case:
// it must not follow a pointer that may be nil.
func when(so bool, v any) any {
	if so {
		return v
	}
	return nil
}

// each is f of every element, in order; never nil.
func each[E, V any](list []E, f func(*E) V) []V {
	out := make([]V, len(list))
	for i := range list {
		out[i] = f(&list[i])
	}
	return out
}

// A reach is the largest number of a column and the least but 0, by size; both are
// 0 of a column without any.
type reach struct{ most, least float64 }

// join takes in both; an empty reach adds nothing.
func (a reach) join(b reach) reach {
	switch {
	case a.least == 0:
		return b
	case b.least == 0:
		return a
	}
	return reach{max(a.most, b.most), min(a.least, b.least)}
}

// reachOf looks at what people see, so that a value that is hidden sets no scale. NaN and
// infinities count as absent.
func reachOf[T any](c *Column[T], rows []*T) (all reach) {
	for _, r := range rows {
		if x, ok := number(c.shown(r)); ok && !math.IsInf(x, 0) && !math.IsNaN(x) {
			all = all.join(reach{math.Abs(x), math.Abs(x)})
		}
	}
	return all
}

// scales gives the scale of each column; those of one group share it.
// Columns without a unit get the scale that changes nothing, so that out is as long as columns.
func scales[T any](columns []Column[T], rows []*T) []scale {
	own := make([]reach, len(columns))
	groups := map[string]reach{}
	for i := range columns {
		if c := &columns[i]; c.Unit.scaled() {
			own[i] = reachOf(c, rows)
			groups[c.Group] = groups[c.Group].join(own[i])
		}
	}
	out := make([]scale, len(columns))
	for i, c := range columns {
		if c.Group != "" {
			own[i] = groups[c.Group]
		}
		out[i] = c.scale(own[i])
	}
	return out
}

// scaled tells units of which a column has one scale.
func (u Unit) scaled() bool { return len(units[u].scales) > 0 }

// scale is how numbers of that reach are written.
func (c *Column[T]) scale(r reach) scale {
	switch {
	case c.Format == Moment: // they are looked for, one beside the other
		return unitOf(momentScales, r.most)
	case c.Unit.scaled():
		return columnScale(units[c.Unit].scales, r.most, r.least)
	case c.Unit == Percent:
		return scale{divisor: 1, digits: 1}
	}
	return scale{divisor: 1, digits: -1}
}

// readable writes a column for people and returns its header and cells; none
// is longer than clip.
func readable[T any](c *Column[T], s scale, rows []*T, clip int) (header string, cells []string) {
	header = c.title()
	cells = make([]string, len(rows))
	if c.Unit == NoUnit {
		for i, r := range rows {
			cells[i] = c.Format.shorten(oneLine(plain(c.shown(r))), clip)
		}
		return header, cells
	}
	switch steps := units[c.Unit].scales; {
	case s.unit == "":
	case header == steps[len(steps)-1].unit: // the title is the unit
		header = s.unit
	default:
		header += " (" + s.unit + ")"
	}
	for i, r := range rows {
		v := deref(c.shown(r))
		x, ok := number(v)
		switch {
		case v == nil:
			cells[i] = "-"
		case !ok:
			cells[i] = shorten(oneLine(plain(v)), clip)
		case c.Unit == Share:
			cells[i] = percentage(x)
		case s.digits < 0:
			cells[i] = brief(v, x)
		default:
			cells[i] = s.write(x)
		}
	}
	return header, cells
}

// fixed writes so many decimals; what is not 0 does not read as 0.
// Negative numbers that round to 0 are written as they round.
func fixed(x float64, digits int) string {
	if least := math.Pow(10, -float64(digits)); x > 0 && x < least/2 {
		return "<" + strconv.FormatFloat(least, 'f', digits, 64)
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// brief writes a number that has no unit to scale: whole ones as they are,
// others with a few digits. CSV and JSON have them all.
func brief(v any, x float64) string {
	if _, ok := v.(float64); !ok || x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return plain(v)
	}
	switch a := math.Abs(x); {
	case a >= 1e15 || a < 1e-3:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// oneLine makes a text safe for one cell of a table: names come from programs
// and may hold line breaks, control characters and broken UTF-8.
// The result is valid UTF-8 and holds no escape sequence of a terminal.
func oneLine(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != 0x7f
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// shorten makes a cell fit. Of words the first whole ones stay: half a number, or
// the end of another sentence, would say something else.
func (f Format) shorten(s string, width int) string {
	if f != Words || width < 1 || utf8.RuneCountInString(s) <= width {
		return shorten(s, width)
	}
	head := string([]rune(s)[:width-1])
	if at := strings.LastIndexByte(head, ' '); at > 0 {
		return head[:at+1] + "…"
	}
	return shorten(s, width)
}

// shorten keeps both ends of a text, because names differ at either.
// width is in characters; less than 1 leaves the text as it is.
func shorten(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if n <= width || width < 1 {
		return s
	}
	r := []rune(s)
	head := (width - 1 + 1) / 2
	tail := width - 1 - head
	return string(r[:head]) + "…" + string(r[n-tail:])
}
