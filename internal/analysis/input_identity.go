package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Identity is what is known of a timeline or a report before it is read: what
// its run recorded, else what its name tells.
func (in *Input) Identity(path string) timeline.Identity {
	return in.Identities[path].Or(timeline.IdentityOfName(format.BaseName(path)))
}

// identityOf is the identity of a timeline that was read.
func (in *Input) identityOf(path string, tl *timed) timeline.Identity {
	own := tl.t.Identity(tl.tape)
	if redact.Removed(own.Host) {
		own.Host = ""
	}
	return in.Identity(path).Or(own)
}

// Ordered are the timelines, first the one that the details are about. That is
// the rank that was counted, since counters are joined to it; then they come by
// rank, window and repeat, then by the numbers that names end in.
func (in *Input) Ordered() []string {
	counted := in.countedRank()
	other := func(id timeline.Identity) int { // than the rank that was counted
		return btoi(counted == nil || id.Rank == nil || *id.Rank != *counted)
	}
	list := slices.Compact(slices.Clone(in.Timelines))
	slices.SortStableFunc(list, func(x, y string) int {
		a, b := in.Identity(x), in.Identity(y)
		return cmp.Or(other(a)-other(b), a.Compare(b), compareNumbers(format.BaseName(x), format.BaseName(y)))
	})
	return list
}

// countedRank is the rank of all reports of counters; nil where they tell none,
// or several.
func (in *Input) countedRank() *int {
	var rank *int
	for _, path := range in.Counters {
		id := in.Identity(path)
		if id.Rank == nil || rank != nil && *rank != *id.Rank {
			return nil
		}
		rank = id.Rank
	}
	return rank
}

// compareNumbers orders names that differ in the number at their end alone.
func compareNumbers(x, y string) int {
	n, ok := timeline.NumberInName(x)
	m, also := timeline.NumberInName(y)
	if !ok || !also || strings.TrimRight(x, "0123456789") != strings.TrimRight(y, "0123456789") {
		return 0
	}
	return cmp.Compare(n, m)
}

// numberParts gives parts whose files do not tell their place a window, a rank or
// a repeat, by what relates them: windows are of one process one after the other,
// ranks of one program at the same time, repeats of one program one after the
// other. Parts that nothing relates stay as they are.
func numberParts(parts []*recording) {
	var open []*recording
	for _, p := range parts {
		if p.row.Of.Rank == nil && p.row.Of.Window == 0 && p.row.Of.Repeat == 0 && p.row.Lost == nil {
			open = append(open, p)
		}
	}
	if len(open) < 2 || len(open) != len(parts) {
		return
	}
	numbers, numbered := numbersOfNames(open)
	switch {
	case !sameProgram(open):
	case together(open) && numbered && !sameProcess(open):
		for i, p := range open {
			p.row.Of.Rank = &numbers[i]
		}
	case together(open):
	default:
		byStart := slices.Clone(open)
		slices.SortStableFunc(byStart, func(x, y *recording) int { return cmp.Compare(x.utc(x.lo), y.utc(y.lo)) })
		for i, p := range byStart {
			if sameProcess(open) {
				p.row.Of.Window = i + 1
			} else {
				p.row.Of.Repeat = i + 1
			}
		}
	}
}

// numbersOfNames are the numbers that the names of all files end in, where they
// differ.
func numbersOfNames(parts []*recording) ([]int, bool) {
	numbers, seen := make([]int, len(parts)), map[int]bool{}
	for i, p := range parts {
		n, ok := timeline.NumberInName(format.BaseName(p.path))
		if !ok || seen[n] {
			return nil, false
		}
		numbers[i], seen[n] = n, true
	}
	return numbers, true
}

// sameProgram tells that nothing says that the programs differ. Where commands
// are not known, most kernels must be the same.
func sameProgram(parts []*recording) bool {
	for _, p := range parts[1:] {
		if p.command != "" && parts[0].command != "" {
			if p.command != parts[0].command {
				return false
			}
		} else if p.likeness(parts[0]) < 0.5 {
			return false
		}
	}
	return true
}

// sameProcess tells that all are of one process of one host.
func sameProcess(parts []*recording) bool {
	first := parts[0].row.Of
	return first.Process != 0 && !slices.ContainsFunc(parts, func(p *recording) bool {
		return p.row.Of.Process != first.Process || p.row.Of.Host != first.Host
	})
}

// together tells that there is a moment that all parts lie around, by their
// clocks in UTC.
func together(parts []*recording) bool {
	var begin, end int64
	for i, p := range parts {
		if p.epoch == 0 {
			return false
		}
		if i == 0 {
			begin, end = p.utc(p.lo), p.utc(p.hi)
		}
		begin, end = max(begin, p.utc(p.lo)), min(end, p.utc(p.hi))
	}
	return begin < end
}
