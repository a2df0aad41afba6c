package metric

import (
	"slices"
	"strings"
)

// hint is a word that tells the unit of a name it occurs in.
type hint struct{ word, unit string }

// alphabetic is the order in which words count once all of them were met in a
// report: by the name of the unit.
var alphabetic = [3][]hint{
	R2022: withoutPasses(makeHints(hint{"branch", ""}, "second")),
	R2024: makeHints(hint{"branch", ""}, "second"),
	R2025: makeHints(hint{"branch_", "branches"}, "s"),
}

// The first five stay in their places, as ncu tries them first.
func makeHints(branch hint, seconds string) []hint {
	h := []hint{{"pct", "%"}, {"percent", "%"}, {"block", "block"}, {"cta", "block"}, branch, {"byte", "byte"}, {"mem", "byte"},
		{"cycle", "cycle"}, {"frequency", "hz"}, {"inst", "inst"}, {"passes", "pass"}, {"register", "register"},
		{"duration", "ns"}, {"second", "s"}, {"samples", "sample"}, {"sector", "sector"},
		{"thread", "thread"}, {"transaction", "transaction"}, {"warp", "warp"}}
	key := func(x hint) string {
		if x.unit == "ns" || x.unit == "s" {
			return seconds
		}
		return x.unit
	}
	slices.SortStableFunc(h[5:], func(a, b hint) int { return strings.Compare(key(a), key(b)) })
	return h
}

// withoutPasses drops what 2022.3 did not know yet.
func withoutPasses(h []hint) []hint {
	return slices.DeleteFunc(h, func(x hint) bool { return x.unit == "pass" || x.unit == "sample" })
}

// fresh is the order in which words count that were not met in a report yet,
// as observed with made-up reports.
var fresh = []string{"warp", "pct", "byte", "mem", "sector", "second", "duration", "cycle", "inst", "block", "cta", "register",
	"transaction", "thread", "percent", "frequency", "passes", "samples", "branch", "branch_"}

// guess finds a unit by the words in a name, for metrics that are in no table,
// as if all words had been met.
func guess(name string, r Release) string {
	return guessWith(name, func(s string) (hint, bool) { return firstHint(s, alphabetic[r]) }).unit
}

// guessWith applies find to the name, or to both sides of a rate. A rate has
// no word.
func guessWith(name string, find func(string) (hint, bool)) hint {
	left, right, ok := strings.Cut(name, "_per_")
	if ok && !strings.Contains(right, "pct") {
		a, okA := find(left)
		b, okB := find(right)
		if !okA || !okB || a.unit == b.unit {
			return hint{}
		}
		return hint{unit: a.unit + "/" + b.unit}
	}
	h, _ := find(name)
	return h
}

// Order decides, not the place in the name.
func firstHint(s string, hints []hint) (hint, bool) {
	for _, h := range hints {
		if strings.Contains(s, h.word) {
			return h, true
		}
	}
	return hint{}, false
}
