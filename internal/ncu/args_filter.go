package ncu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// maxFilter is how long one kernel filter may become, in bytes. Nsight Compute
// takes at least 120,000; this stays far from the 128 KiB of one argument.
const maxFilter = 32 << 10

// A Filter selects kernels by name in as many runs of ncu as the command line
// makes necessary.
// Both lists have the same length; names are sorted, and each is in one pass only.
type Filter struct {
	// Passes holds one value of --kernel-name for each run.
	Passes []string
	// Names are the kernels of each pass.
	Names [][]string
}

// KernelFilter selects the kernels of the given names, whole and exact in the
// spelling of the name base that goes with them. No filter is longer than max
// bytes; 0 means maxFilter. A name that does not fit even alone is an error.
func KernelFilter(names []string, max int) (Filter, error) {
	if max <= 0 {
		max = maxFilter
	}
	var f Filter
	var group []string
	size := 0
	flush := func() {
		if len(group) > 0 {
			f.Passes = append(f.Passes, pattern(group))
			f.Names = append(f.Names, group)
			group, size = nil, 0
		}
	}
	for _, name := range dedup(names) {
		if name == "" || strings.ContainsRune(name, 0) {
			return Filter{}, fmt.Errorf("build kernel filter: %q is not a kernel name", name)
		}
		n := len(escape(name)) + 1
		if n+len(frame) > max {
			return Filter{}, fmt.Errorf("build kernel filter: the name %.60q... is %d bytes long, more than the %d of one filter; select it by its function name or by a regex", name, len(name), max)
		}
		if len(frame)+size+n > max {
			flush()
		}
		group = append(group, name)
		size += n
	}
	flush()
	return f, nil
}

// frame is what surrounds the names of a pattern.
const frame = "regex:^()$"

// The expression matches whole names only.
func pattern(names []string) string {
	if len(names) == 1 {
		return "regex:^" + escape(names[0]) + "$"
	}
	escaped := make([]string, len(names))
	for i, n := range names {
		escaped[i] = escape(n)
	}
	return "regex:^(" + strings.Join(escaped, "|") + ")$"
}

// escape writes a name for Nsight Compute's regular expressions, which are
// Boost's in Perl syntax.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`\^$.|?*+()[]{}`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// dedup sorts a copy, so that the same kernels give the same command line.
func dedup(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

// KernelIDs selects the launches of the given numbers of every named function,
// in any context and stream: each number applies to each function. Nsight
// Compute takes one --kernel-id a run, counts launches from 1 among those that
// pass the NVTX filter, and reads both parts as regular expressions.
// A colon in a name becomes a dot of the expression, which may select more than the name.
func KernelIDs(functions []string, numbers []int, max int) (string, error) {
	if max <= 0 {
		max = maxFilter
	}
	functions, numbers = dedup(functions), slices.Clone(numbers)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if len(functions) == 0 || len(numbers) == 0 {
		return "", fmt.Errorf("build kernel id: %d functions and %d launch numbers", len(functions), len(numbers))
	}
	escaped := make([]string, len(functions))
	for i, name := range functions {
		if name == "" || strings.ContainsRune(name, 0) {
			return "", fmt.Errorf("build kernel id: %q is not a kernel name", name)
		}
		escaped[i] = strings.ReplaceAll(escape(name), ":", ".") // a colon separates the fields
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		if n < 1 {
			return "", fmt.Errorf("build kernel id: launch number %d; they count from 1", n)
		}
		texts[i] = fmt.Sprint(n)
	}
	id := "::regex:^(" + strings.Join(escaped, "|") + ")$:^(" + strings.Join(texts, "|") + ")$"
	if len(id) > max {
		return "", fmt.Errorf("build kernel id of %d functions: %d bytes, more than the %d of one filter", len(functions), len(id), max)
	}
	return id, nil
}

// PerLaunchConfig tells whether a version has --filter-mode per-launch-config.
func PerLaunchConfig(v tool.Version) bool { return v.IsZero() || v.AtLeast(2022, 4) }

// AppRange tells whether a version has --replay-mode app-range.
func AppRange(v tool.Version) bool { return v.IsZero() || v.AtLeast(2023, 1) }
