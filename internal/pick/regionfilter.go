package pick

import (
	"errors"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A regionFilter is the NVTX filter of ncu: any include and no exclude.
type regionFilter struct {
	include, exclude []string // in ncu's spelling
	in, ex           []*nvtx.Expr
	unmatched        []Unmatched
}

// Filters are NVTX expressions as ncu spells them, and those that select nothing.
type Filters struct {
	Include, Exclude []string
	Unmatched        []Unmatched
	// Match is any include and no exclude, as ncu takes them.
	Match func(nvtx.State) bool
}

// ResolveFilters resolves expressions against the ranges of a timeline: those
// that select nothing are left out and named. A NothingError says that no
// include is left.
func ResolveFilters(include, exclude []string, seen []nvtx.Seen) (Filters, error) {
	f, err := newRegionFilter(include, exclude, seen)
	if err != nil {
		return Filters{}, err
	}
	return Filters{f.include, f.exclude, f.unmatched, f.match}, nil
}

// newRegionFilter resolves expressions against the ranges of the timeline. One
// that selects nothing is named; it is an error where no include is left.
func newRegionFilter(include, exclude []string, seen []nvtx.Seen) (*regionFilter, error) {
	f := &regionFilter{}
	if seen == nil {
		seen = []nvtx.Seen{} // a timeline without ranges is still one
	}
	var err error
	if f.include, f.in, err = f.resolve("nvtx_include", include, seen); err != nil {
		return nil, err
	}
	if f.exclude, f.ex, err = f.resolve("nvtx_exclude", exclude, seen); err != nil {
		return nil, err
	}
	if len(include) > 0 && len(f.in) == 0 {
		return nil, f.nothing(include, seen)
	}
	return f, nil
}

// spelledFilter takes expressions that are in ncu's spelling already.
func spelledFilter(include, exclude []string) (*regionFilter, error) {
	f := &regionFilter{include: include, exclude: exclude}
	var err error
	if f.in, err = parseAll("nvtx_include", include); err != nil {
		return nil, err
	}
	f.ex, err = parseAll("nvtx_exclude", exclude)
	return f, err
}

// Key names the setting in the error.
func parseAll(key string, values []string) ([]*nvtx.Expr, error) {
	var out []*nvtx.Expr
	for _, v := range values {
		e, err := nvtx.Parse(v)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		// A value without a slash is a start/end range to ncu.
		out = append(out, e.As(nvtx.StartEnd))
	}
	return out, nil
}

// nothing says that no include is left, with the ranges that there are.
func (f *regionFilter) nothing(include []string, seen []nvtx.Seen) error {
	_, err := nvtx.Resolve(include, seen)
	nothing := &NothingError{Why: fact.New(noRegionLeft), Unmatched: f.unmatched, Regions: true}
	var none *nvtx.UnmatchedError
	if errors.As(err, &none) {
		nothing.exist = rangesOf(none.Known)
	}
	return nothing
}

// mostListed is how many ranges that exist are named.
const mostListed = 20

// rangesOf names the ranges that there are, some of them, for whoever asked for others.
func rangesOf(known []string) fact.Fact {
	if len(known) == 0 {
		return fact.New(rangesNone)
	}
	params := []fact.Param{fact.Names("ranges", fact.KindRegion, known[:min(len(known), mostListed)])}
	if more := len(known) - mostListed; more > 0 {
		params = append(params, fact.Count("more", more))
	}
	return fact.New(rangesExist, params...)
}

// resolve gives the values for ncu and their expressions. What selects nothing is noted as
// unmatched; the error is that a text is no expression.
func (f *regionFilter) resolve(key string, exprs []string, seen []nvtx.Seen) ([]string, []*nvtx.Expr, error) {
	var resolved []nvtx.Resolution
	for _, text := range exprs {
		// A list "a;b" is resolved whole first: a name may hold the semicolon.
		parts := []string{text}
		if _, err := nvtx.Resolve(parts, seen); err != nil {
			parts = nvtx.SplitList(text)
		}
		for _, part := range parts {
			rs, err := nvtx.Resolve([]string{part}, seen)
			var none *nvtx.UnmatchedError
			switch {
			case errors.As(err, &none):
				f.unmatched = append(f.unmatched, Unmatched{Key: key, Expr: part, Why: because(noSuchRange), Near: none.Near})
			case err != nil:
				return nil, nil, fmt.Errorf("read %s: %w", key, err)
			}
			resolved = append(resolved, rs...)
		}
	}
	values := nvtx.Values(resolved)
	out, err := parseAll(key, values)
	return values, out, err
}

// all reports that the filter lets everything through.
func (f *regionFilter) all() bool { return len(f.in)+len(f.ex) == 0 }

// match: an exclude wins over an include, and no include is everything.
func (f *regionFilter) match(s nvtx.State) bool {
	any := func(list []*nvtx.Expr) bool {
		return slices.ContainsFunc(list, func(e *nvtx.Expr) bool { return e.Match(s) })
	}
	return (len(f.in) == 0 || any(f.in)) && !any(f.ex)
}
