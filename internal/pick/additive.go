package pick

import "strings"

// The ways in which a metric of single launches becomes one of a region.
const (
	HowSum  = "sum"  // adds up over launches: bytes, instructions, time
	HowMean = "mean" // weighted by the time of the launches
)

// ratios are parts of names whose values say how, not how much.
var ratios = []string{"throughput", "_rate", "_ratio", "_pct", "__average", "__maximum", "__max_", "_per_", "sass_average", "__ratio"}

// counts are metrics of ncu's own that add up although they have no roll-up.
var counts = []string{"inst_executed", "thread_inst_executed", "sass__inst_executed", "memory_l1_", "memory_l2_", "derived__memory_l1_", "derived__memory_l2_"}

// additive tells whether the values of a metric add up over launches. A rate, a
// share of a peak, a maximum or a property of the launch does not.
func additive(name, unit string) bool {
	if unit == "%" || unit == "hz" || strings.Contains(unit, "/") {
		return false
	}
	base, rollup, rolled := strings.Cut(name, ".")
	for _, part := range ratios {
		if strings.Contains(base, part) {
			return false
		}
	}
	if rolled {
		return rollup == "sum"
	}
	for _, prefix := range counts {
		if strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return false
}
