package metric

import (
	"slices"
	"strings"
)

// Units returns the units that a release prints for the metrics of one report.
// They are not a function of the name alone: ncu goes through the names in
// order and remembers for each unit the word that it last met it under. A name
// that is in no table gets the unit of a remembered word in it, if there is
// one, before any other word counts. So what a guess yields depends on the
// metrics that sort before it.
// Names may repeat and be in any order. The map has every name; a unit may be "".
func Units(names []string, r Release) map[string]string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	g := guesser{release: r, met: map[string]string{}}
	for _, w := range fresh {
		if i := slices.IndexFunc(alphabetic[r], func(h hint) bool { return h.word == w }); i >= 0 {
			g.fresh = append(g.fresh, alphabetic[r][i])
		}
	}
	units := make(map[string]string, len(sorted))
	for _, name := range slices.Compact(sorted) {
		units[name] = r.spell(g.next(name))
	}
	return units
}

// guesser holds the words met so far.
type guesser struct {
	release Release
	met     map[string]string // by unit, times under one
	fresh   []hint
}

// Names must come in sorted order, because words that were met count later.
func (g *guesser) next(name string) string {
	if !byWords(name, g.release) {
		if u, ok := ownUnit(name, g.release); ok {
			return u
		}
		if c, suffix, ok := classify(name, g.release); ok {
			if u, ok := c.with(suffix); ok {
				g.meet(hint{canonical(u), u})
				return u
			}
		}
	}
	if strings.HasSuffix(name, "_pct") {
		g.meet(hint{"pct", "%"})
		return "%"
	}
	h := guessWith(name, g.find)
	g.meet(h)
	return h.unit
}

// canonical is the word that a counter of the chip leaves for its unit.
func canonical(unit string) string {
	switch unit {
	case "%":
		return "percent"
	case "ns", "s":
		return "" // in no name
	}
	return unit
}

// slot is the key under which the word of a unit is remembered.
func slot(unit string) string {
	if unit == "ns" {
		return "s"
	}
	return unit
}

// Rates and words that occur in no name leave nothing behind.
func (g *guesser) meet(h hint) {
	if h.word == "" || h.unit == "" || strings.Contains(h.unit, "/") {
		return
	}
	g.met[slot(h.unit)] = h.word
}

// find prefers words that were met, by the name of their unit.
func (g *guesser) find(s string) (hint, bool) {
	for _, h := range alphabetic[g.release] {
		word := g.met[slot(h.unit)]
		if word == h.word && strings.Contains(s, word) || h.unit == "block" && word != "" && strings.Contains(s, h.word) {
			return h, true
		}
	}
	return firstHint(s, g.fresh)
}

// byWords tells the metrics of ncu's own whose units it guesses. Unit knows
// them as they are in a report of --set full.
func byWords(name string, r Release) bool {
	switch {
	case strings.HasPrefix(name, "launch__block_dim_"), name == "launch__thread_count", name == "launch__shared_mem_config_size",
		strings.HasPrefix(name, "launch__occupancy_cluster_"),
		strings.HasPrefix(name, "sass__inst_executed_") && !strings.Contains(name, "_per_opcode"),
		strings.HasPrefix(name, "derived__sm__sass_thread_inst_executed_op_"),
		strings.HasPrefix(name, "derived__smsp__sass_thread_inst_executed_op_"):
		return true
	case strings.HasPrefix(name, "derived__memory_l"):
		return r < R2025
	case strings.HasPrefix(name, "smsp__pcsamp_warps_issue_stalled_"):
		return !strings.Contains(name, "branch_resolving") || r < R2025
	}
	return false
}
