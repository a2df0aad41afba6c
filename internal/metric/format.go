package metric

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Format chooses between the ways in which ncu prints numbers.
type Format struct {
	Release Release
	Base    bool // --print-units base: no scaling, two decimals
	Group   bool // thousands separators, which ncu prints outside LC_ALL=C
}

// Column is how one metric is printed over all rows of a table. ncu chooses
// the magnitude by the largest value of the column.
type Column struct {
	Unit   string // as printed: "Gbyte/s", "us", "Ghz"
	format Format
	scaled bool // the unit has a name, and magnitudes are chosen
	max    float64
	factor float64
}

// NewColumn makes the column of a metric whose unit is given in the spelling
// of the release, as UnitIn returns it.
// values is gone through once and not kept; nil values and texts do not count.
func NewColumn(unit string, f Format, values func(yield func(Value) bool)) Column {
	c := Column{Unit: unit, format: f, factor: 1}
	if unit == "" || f.Base {
		return c
	}
	c.scaled = true
	for v := range values {
		if x, ok := v.Float64(); ok && x > c.max {
			c.max = x
		}
	}
	scaled, top := scaleUnit(unit, c.max)
	c.Unit = scaled
	if top != c.max {
		// The vendor scales the maximum and multiplies by the quotient;
		// dividing each value would differ in the last digit.
		c.factor = top / c.max
	}
	return c
}

// Append prints a value as it stands in the column.
// It appends to dst, which may be nil, and has no error: texts come as they are.
func (c *Column) Append(dst []byte, v Value) []byte {
	switch {
	case v.IsZero():
		return append(dst, "no data"...)
	case !c.scaled:
		return c.format.appendPlain(dst, v)
	case c.max == 0 && c.format.Release >= R2025:
		return append(dst, '0')
	case c.max == 0:
		return append(dst, "0.000000"...)
	case math.IsInf(c.max, 1):
		return append(dst, "-nan"...)
	case c.format.Release >= R2025 && c.factor == 1 && v.isInteger():
		return strconv.AppendUint(dst, v.bits, 10)
	}
	x, _ := v.Float64()
	return appendFixed(dst, x*c.factor, 6)
}

// appendPlain prints whole numbers without and others with two decimals.
func (f Format) appendPlain(dst []byte, v Value) []byte {
	x, ok := v.Float64()
	if !ok {
		return append(dst, v.text...)
	}
	start := len(dst)
	switch {
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case x != math.Trunc(x) || math.IsInf(x, 0):
		dst = appendFixed(dst, x, 2)
	case x >= 1<<64 || x < math.MinInt64:
		dst = append(dst, '0') // what the vendor's cast yields
	case x < 0:
		dst = strconv.AppendInt(dst, int64(x), 10)
	default:
		dst = strconv.AppendUint(dst, uint64(x), 10)
	}
	if f.Group {
		dst = group(dst, start)
	}
	return dst
}

// appendFixed prints as C does, also NaN and infinities.
func appendFixed(dst []byte, x float64, decimals int) []byte {
	switch {
	case math.IsNaN(x) && math.Signbit(x):
		return append(dst, "-nan"...)
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, x, 'f', decimals, 64)
}

// group inserts commas between the thousands of the number at dst[start:].
func group(dst []byte, start int) []byte {
	if start < len(dst) && dst[start] == '-' {
		start++
	}
	end := start
	for end < len(dst) && dst[end] >= '0' && dst[end] <= '9' {
		end++
	}
	n := end - start
	if n <= 3 {
		return dst
	}
	number := string(dst[start:])
	dst = dst[:start]
	for i := range len(number) {
		if i > 0 && i < n && (n-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, number[i])
	}
	return dst
}

// ladders give the names of a unit's magnitudes, each a thousand times the
// one before. Seconds go down: they stand below a fraction bar.
var ladders = map[string][]string{
	"byte":    {"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte"},
	"hz":      {"hz", "Khz", "Mhz", "Ghz"},
	"nsecond": {"nsecond", "usecond", "msecond", "second"},
	"second":  {"second", "msecond", "usecond", "nsecond"},
	"ns":      {"ns", "us", "ms", "s"},
	"s":       {"s", "ms", "us", "ns"},
}

// scaleUnit chooses the magnitude for a column with the given maximum: of the
// numerator if it has magnitudes, or else of the denominator. It returns the
// unit and the maximum in it.
func scaleUnit(unit string, largest float64) (string, float64) {
	num, den, fraction := strings.Cut(unit, "/")
	if l, ok := ladders[num]; ok {
		name, top := rung(l, largest)
		if fraction {
			name += "/" + den
		}
		return name, top
	}
	if l, ok := ladders[den]; ok {
		name, top := rung(l, largest)
		return num + "/" + name, top
	}
	return unit, largest
}

// rung multiplies by 0.001 as often as needed. The rounding of that product is
// part of what is printed.
func rung(ladder []string, largest float64) (string, float64) {
	i := 0
	for i+1 < len(ladder) && largest >= 1000 {
		i, largest = i+1, largest*0.001
	}
	return ladder[i], largest
}

// Unscaled returns the base unit, in the same spelling, of a unit as printed
// in a scaled column: "Mbyte/s" gives "byte/s".
func Unscaled(unit string) string {
	num, den, fraction := strings.Cut(unit, "/")
	if base, ok := ladderOf(num, false); ok {
		if fraction {
			return base + "/" + den
		}
		return base
	}
	if base, ok := ladderOf(den, true); ok && fraction {
		return num + "/" + base
	}
	return unit
}

// ladderOf finds the unit whose magnitudes include the given one.
func ladderOf(unit string, below bool) (string, bool) {
	bases := []string{"byte", "hz", "nsecond", "ns"}
	if below {
		bases = []string{"byte", "hz", "second", "s"}
	}
	for _, base := range bases {
		if slices.Contains(ladders[base], unit) {
			return base, true
		}
	}
	return "", false
}
