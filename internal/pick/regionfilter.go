package pick

import (
	"errors"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// A regionFilter is the NVTX filter of ncu: any include and no exclude.
type regionFilter struct {
	include, exclude []string // in ncu's spelling
	in, ex           []*nvtx.Expr
	unmatched        []Unmatched
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
	if len(include) > 0 && len(f.in) == 0 {
		return nil, fmt.Errorf("choose regions: %w", firstUnmatched(include, seen))
	}
	if f.exclude, f.ex, err = f.resolve("nvtx_exclude", exclude, seen); err != nil {
		return nil, err
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

func firstUnmatched(include []string, seen []nvtx.Seen) error {
	_, err := nvtx.Resolve(include, seen)
	return err
}

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
				f.unmatched = append(f.unmatched, Unmatched{Key: key, Expr: part, Why: "no range of the timeline was opened under that name", Near: none.Near})
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

func (f *regionFilter) match(s nvtx.State) bool {
	any := func(list []*nvtx.Expr) bool {
		return slices.ContainsFunc(list, func(e *nvtx.Expr) bool { return e.Match(s) })
	}
	return (len(f.in) == 0 || any(f.in)) && !any(f.ex)
}
