// Package suggest finds the names a user probably meant.
package suggest

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// most is how many suggestions a person still reads.
const most = 3

// mostListed is how many names OneOf lists.
const mostListed = 24

// Nearest returns up to three candidates that look like name, the closest
// first, ties in the order given. It returns nothing if no candidate is
// close: a wild guess in an error message is worse than none.
// Case does not matter; candidates come back as they were given.
func Nearest(name string, candidates []string) []string {
	type scored struct {
		name string
		cost int
	}
	want := strings.ToLower(name)
	limit := max(2, len([]rune(want))/3)
	var near []scored
	for _, c := range candidates {
		have := strings.ToLower(c)
		cost := levenshtein.ComputeDistance(want, have)
		if len(want) >= 3 && (strings.HasPrefix(have, want) || strings.HasSuffix(have, want)) {
			cost = min(cost, limit)
		}
		if cost <= limit && cost < len([]rune(want)) {
			near = append(near, scored{c, cost})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.cost - b.cost })
	var out []string
	for _, s := range near {
		if len(out) < most && !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// DidYouMean words Nearest for the end of an error message: "; did you mean
// a or b?", or "" if nothing is close.
func DidYouMean(name string, candidates []string) string {
	if question := Question(name, candidates); question != "" {
		return "; " + question
	}
	return ""
}

// OneOf is DidYouMean that names all candidates if none is close, unless they are
// more than a person reads in one line: "; there are: a, b".
func OneOf(name string, candidates []string) string {
	if near := DidYouMean(name, candidates); near != "" || len(candidates) > mostListed {
		return near
	}
	return "; there are: " + strings.Join(candidates, ", ")
}

// Question is DidYouMean for a line of its own: "did you mean a or b?".
func Question(name string, candidates []string) string {
	near := Nearest(name, candidates)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = "'" + n + "'"
	}
	text := near[0]
	if n := len(near); n > 1 {
		text = strings.Join(near[:n-1], ", ") + " or " + near[n-1]
	}
	return "did you mean " + text + "?"
}
