package workload

import (
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// An AnnotatedPath is the ranges around a place of a program, outermost first.
type AnnotatedPath struct {
	Names []string `json:"names"`
	Own   []int    `json:"own,omitempty"` // which of them the program opened itself: those have * for numbers
}

var numbers = regexp.MustCompile(`\d+`)

// key is equal for paths that differ in numbers alone.
func (p AnnotatedPath) key() string { return keyOf(p.Names) }

func keyOf(parts []string) string {
	stack := make([]nvtx.Range, len(parts))
	for i, part := range parts {
		stack[i].Name = numbers.ReplaceAllString(part, "*")
	}
	return nvtx.Path(stack)
}

func (p AnnotatedPath) covers(parts []string) bool {
	for i, name := range p.Names {
		got := parts[i]
		if slices.Contains(p.Own, i) {
			got = numbers.ReplaceAllString(got, "*")
		}
		if got != name {
			return false
		}
	}
	return len(parts) == len(p.Names)
}

// ModuleWork is what the matrix products and convolutions of the modules at one
// place did, by the shapes of their weights and inputs.
type ModuleWork struct {
	Path  AnnotatedPath `json:"path"`
	FLOPs float64       `json:"flops"`
	Calls int64         `json:"calls"` // of the modules
	DType string        `json:"dtype"` // as torch names it; tf32 where it may be used for float32
}

// Injected tells of a region by its path whether deepprof opened it.
func (a Annotated) Injected() func(path string) bool {
	byKey := map[string][]AnnotatedPath{}
	for _, p := range a.Processes {
		for _, path := range p.Paths {
			byKey[path.key()] = append(byKey[path.key()], path)
		}
	}
	return func(path string) bool {
		parts := nvtx.SplitPath(path)
		return slices.ContainsFunc(byKey[keyOf(parts)], func(p AnnotatedPath) bool { return p.covers(parts) })
	}
}

// Work gives the work of the modules of a region, of all processes, by the path of the
// region.
func (a Annotated) Work() func(path string) []ModuleWork {
	byKey := map[string][]ModuleWork{}
	for _, p := range a.Processes {
		for _, w := range p.Work {
			byKey[w.Path.key()] = append(byKey[w.Path.key()], w)
		}
	}
	return func(path string) (all []ModuleWork) {
		parts := nvtx.SplitPath(path)
		for _, w := range byKey[keyOf(parts)] {
			if w.Path.covers(parts) {
				all = append(all, w)
			}
		}
		return all
	}
}
