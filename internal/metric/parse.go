package metric

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Normalize turns a value in a printed unit into the base unit: 1.5 "us" into
// 1500 "ns", 2 "cycle/nsecond" into 2e9 "hz".
// A unit that it does not know comes back as it is.
func Normalize(x float64, unit string) (float64, string) {
	num, den, fraction := strings.Cut(unit, "/")
	base, power := baseOf(num, false)
	x *= power
	if !fraction {
		return x, base
	}
	below, divisor := baseOf(den, true)
	x /= divisor
	switch {
	case base == "cycle" && below == "s":
		return x, "hz"
	case base == "" && (below == "s" || below == "cycle"):
		base = one
	}
	return x, base + "/" + below
}

// baseOf returns the base unit of one side of a fraction bar and how many of
// it the unit holds. Times above the bar are counted in ns, below it in s.
func baseOf(unit string, below bool) (string, float64) {
	if base, ok := strings.CutSuffix(unit, "second"); ok && (base == "" || len(base) == 1) {
		unit = base + "s"
	}
	if power, ok := map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]; ok {
		if below {
			return "s", power / 1e9
		}
		return "ns", power
	}
	for _, word := range []string{"byte", "hz"} {
		if prefix, ok := strings.CutSuffix(unit, word); ok {
			if power, ok := map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}[prefix]; ok {
				if below {
					power = 1 / power // ncu prints 24400 %/byte as 24.4 %/Kbyte
				}
				return word, power
			}
		}
	}
	return unit, 1
}

// Locale is how a table writes its numbers.
type Locale uint8

// The ways of writing a number.
const (
	LocaleUnknown Locale = iota
	LocaleC              // 1234567.89 or 1,234,567.89
	LocaleComma          // 1.234.567,89
	LocaleMixed          // the table contradicts itself
)

// errNotNumber and ErrAmbiguous tell why a cell is no number.
var (
	errNotNumber = errors.New("not a number")
	ErrAmbiguous = errors.New("ambiguous: the separator can stand for thousands or for decimals")
)

// Evidence returns what one cell says about the locale of its table.
// A single separator before three digits tells nothing.
func Evidence(cell string) Locale {
	_, dots, commas, ok := shape(cell)
	switch {
	case !ok || len(dots)+len(commas) == 0:
		return LocaleUnknown
	case len(dots) > 0 && len(commas) > 0:
		if dots[0] > commas[0] {
			return LocaleC
		}
		return LocaleComma
	case len(commas) > 1:
		return LocaleC
	case len(dots) > 1:
		return LocaleComma
	case len(dots) == 1 && !thousands(cell, dots):
		return LocaleC
	case len(commas) == 1 && !thousands(cell, commas):
		return LocaleComma
	}
	return LocaleUnknown
}

// Merge combines the evidence of two cells.
func (l Locale) Merge(m Locale) Locale {
	switch {
	case l == LocaleUnknown || l == m:
		return m
	case m == LocaleUnknown:
		return l
	}
	return LocaleMixed
}

// ParseNumber reads a number as the vendor prints it. A single separator with
// three digits after it is read only if the locale is known.
// Errors are ErrAmbiguous, or another for text that is no number. Whole numbers come
// back as Uint64, all others as Float64.
func ParseNumber(cell string, l Locale) (Value, error) {
	switch cell {
	case "nan", "-nan", "NaN":
		return Float64(math.NaN()), nil
	case "inf", "Inf":
		return Float64(math.Inf(1)), nil
	case "-inf":
		return Float64(math.Inf(-1)), nil
	}
	plain, dots, commas, ok := shape(cell)
	if !ok {
		return Value{}, errNotNumber
	}
	if len(dots)+len(commas) == 0 || len(dots) == 1 && len(commas) == 0 && l == LocaleC {
		return parsePlain(plain)
	}
	if own := Evidence(cell); own != LocaleUnknown {
		if l != LocaleUnknown && l != own && l != LocaleMixed {
			return Value{}, ErrAmbiguous
		}
		l = own
	}
	point, sep, seps := dots, ",", commas
	switch l {
	case LocaleC:
	case LocaleComma:
		point, sep, seps = commas, ".", dots
	default:
		return Value{}, ErrAmbiguous
	}
	if len(point) > 1 || len(seps) > 0 && !thousands(cutAt(cell, point), seps) {
		return Value{}, errNotNumber
	}
	plain = strings.ReplaceAll(cell, sep, "")
	if l == LocaleComma {
		plain = strings.Replace(plain, ",", ".", 1)
	}
	return parsePlain(plain)
}

// cutAt is the part before the decimal point.
func cutAt(cell string, point []int) string {
	if len(point) == 0 {
		return cell
	}
	return cell[:point[0]]
}

// parsePlain takes digits with at most one point.
func parsePlain(s string) (Value, error) {
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return Uint64(u), nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Value{}, errNotNumber
	}
	return Float64(x), nil
}

// shape finds the separators of a cell that consists of digits and them.
func shape(cell string) (plain string, dots, commas []int, ok bool) {
	if cell == "" || len(cell) > 400 {
		return "", nil, nil, false
	}
	digits := 0
	for i, c := range []byte(cell) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			dots = append(dots, i)
		case c == ',':
			commas = append(commas, i)
		case c == '-' && i == 0:
		default:
			return "", nil, nil, false
		}
	}
	return cell, dots, commas, digits > 0
}

// thousands reports whether all separators stand where thousands end.
func thousands(cell string, seps []int) bool {
	end := len(cell)
	for i := len(seps) - 1; i >= 0; i-- {
		if end-seps[i] != 4 {
			return false
		}
		end = seps[i]
	}
	digits := strings.TrimPrefix(cell[:end], "-")
	return len(digits) >= 1 && len(digits) <= 3
}
