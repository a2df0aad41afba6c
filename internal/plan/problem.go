package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Key     string        // dotted key of the value to blame
	Origin  config.Origin // where that value was written, or its mapping where the key is absent
	Message string        // what is wrong and what to do about it

	unknownKey bool // the key does not exist
}

// String gives the place, the key and the message on one line.
func (p Problem) String() string {
	var parts []string
	if p.Origin != (config.Origin{}) {
		parts = append(parts, p.Origin.String())
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// Problems are all problems of a configuration in the order of their places:
// files by name and line, then overrides in the order of the keys.
type Problems []Problem

// Error gives one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, nil where there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps Problems) sort() {
	class := func(o config.Origin) int {
		switch {
		case o.Override != "":
			return 1
		case o.File != "":
			return 0
		}
		return 2
	}
	unknown := func(p Problem) int { // what was mistyped explains what is missing
		if p.unknownKey {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(unknown(a), unknown(b)),
			cmp.Compare(class(a.Origin), class(b.Origin)),
			cmp.Compare(a.Origin.File, b.Origin.File),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column),
		)
	})
}
