package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Sums are rows that are summed up while they come, by keys that rows share. The zero value is
// ready to use.
type Sums struct {
	// Rows counts all rows, also those without a value.
	Rows int64
	list map[string]*Sum // by the keys, joined
}

// A Sum is the rows that have the same keys.
type Sum struct {
	Keys []string
	// Rows counts also those without a value.
	Rows int64
	Spread
}

// Add counts a row; v is NaN where it has no value. keys become the sum's own.
func (s *Sums) Add(keys []string, v float64) {
	x := s.of(keys)
	s.Rows++
	x.Rows++
	x.Spread.Add(v)
}

// of is the sum with these keys.
func (s *Sums) of(keys []string) *Sum {
	if s.list == nil {
		s.list = map[string]*Sum{}
	}
	id := strings.Join(keys, "\x00")
	x := s.list[id]
	if x == nil {
		x = &Sum{Keys: keys}
		s.list[id] = x
	}
	return x
}

// Len is the number of sums.
func (s *Sums) Len() int { return len(s.list) }

// Coarser joins the sums that have the same keys at some places.
func (s *Sums) Coarser(places []int) *Sums {
	out := &Sums{Rows: s.Rows}
	for _, id := range slices.Sorted(maps.Keys(s.list)) { // sums of floats depend on their order
		x := s.list[id]
		keys := make([]string, len(places))
		for i, place := range places {
			keys[i] = x.Keys[place]
		}
		y := out.of(keys)
		y.Rows += x.Rows
		y.Join(x.Spread)
	}
	return out
}

// Sorted are all sums: by their total, the largest first, or by their keys.
func (s *Sums) Sorted(byTotal bool) []*Sum {
	return slices.SortedFunc(maps.Values(s.list), func(x, y *Sum) int {
		if byTotal && x.Total != y.Total {
			return cmp.Compare(y.Total, x.Total)
		}
		return slices.Compare(x.Keys, y.Keys)
	})
}
