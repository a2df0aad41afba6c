package message

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// Value writes a parameter by its kind.
func Value(v fact.Value) string {
	switch {
	case v.Kind == fact.KindFacts:
		return Join(v.Facts)
	case v.List != nil:
		all := make([]string, len(v.List))
		for i, s := range v.List {
			all[i] = name(v.Kind, s)
		}
		return And(all)
	}
	switch v.Kind {
	case fact.KindNS:
		return Duration(v.Number)
	case fact.KindShare:
		return Share(v.Number)
	case fact.KindCount:
		return Count(int64(v.Number))
	case fact.KindNumber:
		return strconv.FormatFloat(v.Number, 'g', 4, 64)
	case fact.KindFactor:
		return strconv.FormatFloat(v.Number, 'f', 2, 64) + " times"
	case fact.KindBytes, fact.KindBytesPS, fact.KindFLOPs, fact.KindFLOPsPS, fact.KindHertz, fact.KindTokensPS, fact.KindIntensity:
		return scaled(v.Number, v.Kind)
	}
	return name(v.Kind, v.Text)
}

// wholeProgram names the stage of a program without ranges.
const wholeProgram = "the program"

// name is a text by its kind: an ID has a label, and the stage without a name is the program.
func name(k fact.Kind, s string) string {
	switch k {
	case fact.KindStage:
		if s == "" {
			return wholeProgram
		}
	case fact.KindID:
		domain, id, _ := strings.Cut(s, ":")
		return Label(domain, id)
	}
	return s
}

// And joins names: "a, b and c".
func And(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// Or joins lists of which one holds: "a, b; or c, d".
func Or(lists []string) string { return strings.Join(lists, "; or ") }

// Duration writes nanoseconds for people: "207.6 ms", "1 min 56 s", "2 h 5 min".
func Duration(ns float64) string {
	switch x := math.Abs(ns); {
	case x >= 100e9:
		return longDuration(ns)
	case x >= 1e9:
		return fmt.Sprintf("%.2f s", ns/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.1f \u00b5s", ns/1e3)
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// longDuration has two units: of hours nobody counts the seconds.
func longDuration(ns float64) string {
	d, sign := time.Duration(math.Abs(ns)).Round(time.Second), ""
	if ns < 0 {
		sign = "-"
	}
	if d < time.Hour {
		return fmt.Sprintf("%s%d min %d s", sign, int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%s%d h %d min", sign, int(d.Hours()), int(d.Minutes())%60)
}

// Share writes 0.89 as "89 %", with digits that keep a small one readable.
func Share(x float64) string {
	p := 100 * x
	switch a := math.Abs(p); {
	case a >= 10 || a == 0:
		return fmt.Sprintf("%.0f %%", p)
	case a >= 1:
		return fmt.Sprintf("%.1f %%", p)
	case a >= 0.01:
		return fmt.Sprintf("%.2f %%", p)
	}
	return strconv.FormatFloat(p, 'g', 2, 64) + " %"
}

// Count writes a whole number with a comma every three digits.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if strings.HasPrefix(s, "-") {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// units are those of kinds whose numbers get a prefix (k, M, G, ...) before them.
var units = map[fact.Kind]string{fact.KindBytes: "B", fact.KindBytesPS: "B/s", fact.KindFLOPs: "FLOP", fact.KindFLOPsPS: "FLOP/s",
	fact.KindHertz: "Hz", fact.KindTokensPS: "tokens/s", fact.KindIntensity: "FLOP/B"}

// scaled writes four digits with a decimal prefix; tokens and intensities have none.
func scaled(x float64, k fact.Kind) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T", "P"} {
		if math.Abs(x) < 1000 || k == fact.KindTokensPS || k == fact.KindIntensity {
			break
		}
		x, prefix = x/1000, p
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " " + prefix + units[k]
}
