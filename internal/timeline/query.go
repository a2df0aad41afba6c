package timeline

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// By says how rows are split.
type By uint8

// The ways to split kernel and region rows. They can be combined.
const (
	ByDevice By = 1 << iota
	ByProcess
	ByRegion
	ByLaunchConfig
)

var byNames = []struct {
	name string
	by   By
}{
	{"device", ByDevice},
	{"process", ByProcess},
	{"region", ByRegion},
	{"launch-config", ByLaunchConfig},
}

// ParseBy reads a comma-separated list such as "device,region".
// Empty items are skipped; "" is no split at all.
func ParseBy(list string) (By, error) {
	var by By
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(byNames, func(b struct {
			name string
			by   By
		}) bool {
			return b.name == name
		})
		if i < 0 {
			return 0, fmt.Errorf("split by %q: unknown; choose from device, process, region, launch-config", name)
		}
		by |= byNames[i].by
	}
	return by, nil
}

// A Query chooses what a computation covers. The zero Query covers everything.
type Query struct {
	By  By
	Top int // rows kept, most important first; 0 keeps all

	// Kernel keeps the kernels one of whose names it matches.
	Kernel *regexp.Regexp
	// Region keeps the work that was launched while it holds. An nvtx.Expr
	// gives it as its method Match.
	Region func(nvtx.State) bool

	// Grouped makes one row of the regions whose names differ by generated ids or
	// by a number alone.
	Grouped bool
	// Detect makes ranges of what repeats in the launches where the file has no
	// range, and says so.
	Detect bool
	// Captured counts work that a CUDA graph replayed to the ranges that were open
	// when its node was captured, instead of those around the launch of the graph.
	Captured bool
	// OrLaunched leaves work whose ranges of capture are not known, with Captured, in
	// those around the launch of its graph. Otherwise it is outside every range.
	OrLaunched bool
	// LaunchedIn keeps the kernels that were launched while it holds, whatever ranges
	// they count to.
	LaunchedIn func(nvtx.State) bool

	Devices   []int // CUDA device numbers; empty means all
	Processes []int // process numbers; empty means all

	// MinGap drops shorter gaps from Gaps, in nanoseconds.
	MinGap int64
	// WholeDevices leaves the gaps of single streams out of Gaps: most of them
	// are the device's own.
	WholeDevices bool

	// Exact rounds fractions by RoundExact, as recent versions of nsys stats do,
	// instead of Round1.
	Exact bool

	// Shorten makes short_name from a kernel's name. Nil takes the short name
	// of the file.
	Shorten func(string) string
}

// NeedsRegions tells whether the answer depends on NVTX ranges, and so on the
// calls that launched the kernels.
func (q *Query) NeedsRegions() bool {
	return q.Region != nil || q.LaunchedIn != nil || q.By&ByRegion != 0
}

func (q *Query) wantDevice(device int32) bool {
	return len(q.Devices) == 0 || slices.Contains(q.Devices, int(device))
}

func (q *Query) wantProcess(pid int) bool {
	return len(q.Processes) == 0 || slices.Contains(q.Processes, pid)
}

// Rows is an answer: rows in their order of importance, and what a reader of
// them must know.
// Warnings may be shared with other answers: append to a copy.
type Rows[T any] struct {
	Rows []T
	// Cut is the number of rows that Query.Top left out.
	Cut      int
	Warnings []fact.Fact
}

// A Stream is an answer whose rows are made while they are asked for; each may
// be kept. They can be gone through again.
// Late is complete once all rows have been gone through.
type Stream[T any] struct {
	Rows     iter.Seq[*T]
	Len      int // rows that come
	Cut      int // rows that Query.Top left out
	Warnings []fact.Fact
	// Late gives what came up while rows were made; nil for nothing.
	Late func() []fact.Fact
}

// Count is the number of rows.
func (r Rows[T]) Count() int { return len(r.Rows) }

// Notes are the warnings.
func (r Rows[T]) Notes() []fact.Fact { return r.Warnings }

// Count is the number of rows that come.
func (s Stream[T]) Count() int { return s.Len }

// Notes are the warnings, with those of the rows that were made so far.
func (s Stream[T]) Notes() []fact.Fact {
	if s.Late == nil {
		return s.Warnings
	}
	return slices.Concat(s.Warnings, s.Late())
}

func cutTop[T any](rows []T, top int) Rows[T] {
	r := Rows[T]{Rows: rows}
	if top > 0 && len(rows) > top {
		r.Rows, r.Cut = rows[:top], len(rows)-top
	}
	return r
}
