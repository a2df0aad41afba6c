package report

import (
	"math"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
)

// quantities says how the numbers of a result are written, by the end of the key
// that they stand under.
var quantities = []struct {
	key   string // the end of a key after an underscore; the whole key too, unless it begins with one
	write func(float64) string
}{
	{"ns", elapsed},
	{"ms", func(x float64) string { return elapsed(x * 1e6) }},
	{"_s", func(x float64) string { return elapsed(x * 1e9) }},
	{"seconds", func(x float64) string { return elapsed(x * 1e9) }},
	{"_bytes", func(x float64) string { return prefixed(x, "B") }},
	{"_hz", clock},
	{"share", percent},
	{"coverage", percent},
	{"_all", percent}, // coverage_all
	{"_gain", percent},
	{"attained", percent},
	{"intensity", significant},
	{"waves", significant},
	{"speedup", significant},
	{"launches_mean", significant},
}

// HasText tells whether a number under the key of a result has a text of its own:
// its key names a unit.
func HasText(key string) bool { return writerOf(key) != nil }

// writerOf is nil for a key without a unit. The first row of the table that fits decides.
func writerOf(key string) func(float64) string {
	for _, q := range quantities {
		if key == q.key && !strings.HasPrefix(q.key, "_") || strings.HasSuffix(key, "_"+strings.TrimPrefix(q.key, "_")) {
			return q.write
		}
	}
	return nil
}

// QuantityText writes a number of a result by its key, "" for a key without a unit.
func QuantityText(key string, x float64) string {
	if write := writerOf(key); write != nil {
		return write(x)
	}
	return ""
}

// CounterText writes a value in the unit that it came in: that of a counter as NVIDIA
// names it, or a code of evidence, whose words are labels of the domain evidence-unit.
// Units are compared without regard to case; an unknown one follows the number as it is.
func CounterText(x float64, unit string) string {
	switch strings.ToLower(unit) {
	case "", "count":
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return thousands(int64(x))
		}
		return significant(x)
	case "share":
		return percent(x)
	case "byte", "byte/s", "flop", "flop/s":
		return rate(x, unit)
	case "byte/second":
		return prefixed(x, "B/s")
	case "ns", "nsecond", "nanosecond":
		return elapsed(x)
	case "s", "second":
		return elapsed(x * 1e9)
	case "ms":
		return elapsed(x * 1e6)
	case "us", "usecond":
		return elapsed(x * 1e3)
	case "hz", "cycle/second", "cycle/s":
		return clock(x)
	case "%", "pct", "percent":
		return percentage(x) + " %"
	}
	unit = message.Label("evidence-unit", unit)
	if math.Abs(x) >= 1e4 && math.Abs(x) < 1e15 {
		return thousands(int64(math.Round(x))) + " " + unit
	}
	return significant(x) + " " + unit
}
