package metric

import "strings"

// Unit returns the base unit of a metric by its name, as the newest known
// release of Nsight Compute calls it: "ns", "byte", "%", "byte/s", "hz";
// empty for a plain number.
func Unit(name string) string { return unitIn(name, Latest) }

// unitIn returns the unit that a release prints for a metric in a report of
// --set full; Units tells that in a given report. Reports carry no units: ncu
// takes them from a table of the chip's counters, from a table of its own
// metrics, or guesses from words in the name, and so does this.
func unitIn(name string, r Release) string {
	if u, ok := ownUnit(name, r); ok {
		return r.spell(u)
	}
	if c, suffix, ok := classify(name, r); ok {
		if u, ok := c.with(suffix); ok {
			return r.spell(u)
		}
	}
	return r.spell(guess(name, r))
}

// Guessed reports whether a release has no table for the metric and guesses
// its unit. Units follows the guesses of releases before 2025 closely, but not
// for every counter that they do not know.
func Guessed(name string, r Release) bool {
	if r >= R2025 {
		return false
	}
	if _, ok := ownUnit(name, r); ok && r > R2022 {
		return false
	}
	if r == R2022 {
		return strings.Contains(name, "__")
	}
	_, _, ok := classify(name, r)
	return !ok && strings.Contains(name, "__")
}

// class is the unit of a counter before a suffix is applied.
type class struct {
	kind classKind
	unit string
	// cumulative counters add up a quantity every cycle: their rate per cycle
	// is that quantity itself.
	cumulative bool
}

// A classKind is which suffixes a counter takes.
type classKind uint8

const (
	counter    classKind = iota // with rollups .sum, .avg, .min, .max
	ratio                       // .pct, .ratio and .max_rate
	throughput                  // a share of the peak in all of them
)

// The units in which a dimensionless counter is printed: "" stays empty with
// every suffix, one is printed in its rates.
const one = "1"

// with applies a suffix such as ".sum.per_second"; false for one that the kind does not take.
func (c class) with(suffix string) (string, bool) {
	switch c.kind {
	case ratio:
		switch suffix {
		case ".pct":
			return "%", true
		case ".ratio", ".max_rate":
			return c.unit, true
		}
		return "", false
	case throughput:
		return "%", strings.Contains(suffix, ".pct")
	}
	rest, ok := cutRollup(suffix)
	if !ok {
		return "", false
	}
	switch {
	case rest == "", rest == ".peak_sustained_active", rest == ".peak_sustained_elapsed",
		rest == ".peak_sustained_frame", rest == ".peak_sustained_region":
		return c.plain(), true
	case strings.HasPrefix(rest, ".pct_of_peak_"):
		return "%", true
	case strings.HasSuffix(rest, ".per_second"):
		return c.perSecond(), true
	case rest == ".peak_sustained", rest == ".peak_burst", strings.HasPrefix(rest, ".per_cycle_"):
		return c.perCycle(), true
	}
	return "", false
}

// plain, perSecond and perCycle are the unit under the suffixes of that meaning.
func (c class) plain() string {
	if c.unit == one {
		return ""
	}
	return c.unit
}

func (c class) perSecond() string {
	if c.unit == "" {
		return ""
	}
	return c.unit + "/s"
}

func (c class) perCycle() string {
	switch {
	case c.unit == "" || c.unit == "cycle":
		return ""
	case c.cumulative:
		return c.unit
	}
	return c.unit + "/cycle"
}

// cutRollup reports false for a suffix that begins with none of the four.
func cutRollup(suffix string) (string, bool) {
	for _, r := range []string{".sum", ".avg", ".min", ".max"} {
		if rest, ok := strings.CutPrefix(suffix, r); ok && (rest == "" || rest[0] == '.') {
			return rest, true
		}
	}
	return "", false
}

// split takes a name apart: an optional group such as "TPC.TriageCompute.",
// the base name, and the suffix from its first dot on.
func split(name string) (group, base, suffix string) {
	if i := strings.Index(name, "Triage"); i == 0 || i > 0 && name[i-1] == '.' {
		if j := strings.IndexByte(name[i:], '.'); j >= 0 {
			group, name = name[:i+j+1], name[i+j+1:]
		}
	}
	base, _, _ = strings.Cut(name, ".")
	return group, base, name[len(base):]
}

// hardwareUnits are the parts of a GPU whose counters PerfWorks names.
var hardwareUnits = map[string]bool{
	"ctc": true, "dram": true, "dramc": true, "fbpa": true, "fe": true, "gcc": true, "gpc": true, "gpu": true,
	"gr": true, "idc": true, "l1tex": true, "lrc": true, "ltc": true, "lts": true, "mcc": true, "nvldl": true,
	"nvlrx": true, "nvltx": true, "nvltl": true, "pcie": true, "sm": true, "smsp": true, "sys": true, "syslrc": true,
	"syslts": true, "tpc": true, "vidlrc": true,
}

// classify finds the class of a chip's counter. It reports false for names
// that the release does not know as one.
func classify(name string, r Release) (class, string, bool) {
	group, base, suffix := split(name)
	hw, rest, ok := strings.Cut(base, "__")
	if !ok || suffix == "" || !hardwareUnits[hw] {
		return class{}, "", false
	}
	if !r.knows(group, hw, base) {
		return class{}, "", false
	}
	c := classOf(base, rest)
	if r <= R2024 {
		c = c.before2025(base)
	}
	return c, suffix, true
}

// classOf applies the rules in order; the first that matches decides.
func classOf(base, rest string) class {
	for _, rule := range rules {
		if rule.match(base) {
			return rule.class
		}
	}
	for word := range strings.SplitSeq(rest, "_") {
		if c, ok := words[word]; ok {
			return c
		}
	}
	return class{}
}

// before2025 gives the class that releases up to 2024.1 assign.
func (c class) before2025(base string) class {
	switch {
	case c.kind == ratio && c.unit == "sector":
		c.unit = "sector/request"
	case c.kind == ratio && c.unit == "byte":
		c.unit = ""
	case c.kind != counter:
	case c.unit == "tag" || c.unit == "ops":
		c.unit = ""
	case c.unit == "branches":
		c.unit = one
	case c.unit == one && strings.Contains(base, "requests"):
		c.unit = "request"
	case c.unit == one:
		c.unit = ""
	case strings.HasPrefix(base, "gpc__cgas_active"):
		c.unit = "cycle"
	case c.unit == "" && (strings.Contains(base, "cgas_") || strings.Contains(base, "ops_path")):
		c.unit = one
	}
	return c
}
