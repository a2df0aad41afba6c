package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
)

// absent stands where a value was not measured; its footnote says why.
const absent = "n/a"

// significant writes a number with at least three significant digits and no
// exponent where it has a common size.
// NaN and infinities are absent values and read n/a.
func significant(x float64) string {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return absent
	case a == 0:
		return "0"
	case a < 1e-3 || a >= 1e7:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case a >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 2-int(math.Floor(math.Log10(a))), 64)
}

// prefixed writes a number with an SI prefix and its unit: 4.32 TB/s.
func prefixed(x float64, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for i+1 < len(prefixes) && math.Abs(x) >= 999.5 {
		x, i = x/1000, i+1
	}
	return significant(x) + " " + prefixes[i] + unit
}

// rate writes a value in the units of the result: flop/s, byte/s, flop, byte.
func rate(x float64, unit string) string {
	return prefixed(x, strings.NewReplacer("flop", "FLOP", "byte", "B").Replace(unit))
}

// byteSize writes a number of bytes.
func byteSize(n int64) string { return bytesText(float64(n)) }

// bytesText is byteSize of what was counted in part.
func bytesText(n float64) string { return prefixed(n, "B") }

// clock writes a frequency.
func clock(hz float64) string { return prefixed(hz, "Hz") }

// elapsed writes a time that stands alone: 12.3 ms.
// ns may be negative, as a change is; 0 has no unit.
func elapsed(ns float64) string {
	switch a := math.Abs(ns); {
	case a == 0:
		return "0"
	case a >= 999.5e6:
		return significant(ns/1e9) + " s"
	case a >= 999.5e3:
		return significant(ns/1e6) + " ms"
	case a >= 999.5:
		return significant(ns/1e3) + " µs"
	}
	return significant(ns) + " ns"
}

// spread writes a mean with its standard deviation, to the digits of the mean; one
// that rounds to nothing is left out.
// std is in the unit of mean and not negative.
func spread(mean, std float64, unit string) string {
	m := significant(mean)
	digits := 0
	if _, after, ok := strings.Cut(m, "."); ok {
		digits = len(after)
	}
	s := strconv.FormatFloat(std, 'f', digits, 64)
	if strings.ContainsRune(m, 'e') {
		s = significant(std)
	}
	if strings.Trim(s, "0.") == "" {
		return m + " " + unit
	}
	return m + " ± " + s + " " + unit
}

// thousands writes a count with separators: 1,234,567.
func thousands(n int64) string { return message.Count(n) }

// percent writes a share that stands alone, 0.1234 as 12.3 %.
func percent(x float64) string { return percentage(x*100) + " %" }

// percentage writes one decimal, and two significant digits of what is below 1;
// what is not 0 does not read as 0.
func percentage(x float64) string {
	switch a := math.Abs(x); {
	case x > 0 && x < 0.001:
		return "<0.001"
	case a < 0.001:
		return "0.0"
	case a < 0.00995:
		return strconv.FormatFloat(x, 'f', 4, 64)
	case a < 0.0995:
		return strconv.FormatFloat(x, 'f', 3, 64)
	case a < 0.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// times writes a column of nanoseconds in one unit. NaN is an absent value.
// unit is chosen by the largest, and cells are as many as ns.
func times(ns []float64) (unit string, cells []string) {
	most := 0.0
	for _, x := range ns {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
	}
	s := scaleFor(timeScales, most)
	digits := s.digits
	switch top := most / s.divisor; {
	case top >= 1000:
		digits = min(digits, 1)
	case top >= 100:
		digits = min(digits, 2)
	}
	smallest := math.Pow(10, -float64(digits))
	cells = make([]string, len(ns))
	for i, x := range ns {
		x /= s.divisor
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			cells[i] = absent
		case x == 0: // not the same as a little that rounds to it
			cells[i] = "0"
		case x > 0 && x < smallest/2:
			cells[i] = "<" + strconv.FormatFloat(smallest, 'f', digits, 64)
		default:
			cells[i] = strconv.FormatFloat(x, 'f', digits, 64)
		}
	}
	return s.unit, cells
}
