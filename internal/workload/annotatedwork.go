package workload

import (
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// An AnnotatedPath is the ranges around a place of a program, outermost first.
type AnnotatedPath struct {
	Names []string `json:"names"`
	// which of them the program opened itself: those have * for numbers
	Own []int `json:"own,omitempty"`
}

var numbers = regexp.MustCompile(`\d+`)

// key is equal for paths that differ in numbers alone.
func (p AnnotatedPath) key() string { return keyOf(p.Names) }

// keyOf is a path with every number replaced by a star: steps and layers share one.
func keyOf(parts []string) string {
	stack := make([]nvtx.Range, len(parts))
	for i, part := range parts {
		stack[i].Name = numbers.ReplaceAllString(part, "*")
	}
	return nvtx.Path(stack)
}

// covers compares names; those that the program opened itself without their numbers.
// Both have the same number of parts: callers compare their keys first.
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

// ModuleWork is what the matrix products, convolutions and attention of the modules at
// one place did, by the shapes of their weights and inputs.
type ModuleWork struct {
	Path  AnnotatedPath `json:"path"`
	FLOPs float64       `json:"flops"`
	Calls int64         `json:"calls"` // of the modules, without those that a CUDA graph captured
	DType string        `json:"dtype"` // as torch names it; tf32 where it may be used for float32
	// Captured has the FLOPs of each call that a CUDA graph captured, in that order: it
	// runs when the graph is replayed.
	Captured []float64 `json:"captured,omitempty"`
}

// Compiled tells of a region by its path whether it is a compiled module.
func (a Annotated) Compiled() func(path string) bool {
	return anyPath(a.Processes, func(p *AnnotatedProcess) []AnnotatedPath { return p.Compiled })
}

// Injected tells of a region by its path whether deepprof opened it.
func (a Annotated) Injected() func(path string) bool {
	return anyPath(a.Processes, func(p *AnnotatedProcess) []AnnotatedPath { return p.Paths })
}

// anyPath tells whether a path is among those of any process.
func anyPath(processes []AnnotatedProcess, of func(*AnnotatedProcess) []AnnotatedPath) func(path string) bool {
	byKey := map[string][]AnnotatedPath{}
	for i := range processes {
		for _, path := range of(&processes[i]) {
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
// nil where annotation noted nothing at that path.
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
