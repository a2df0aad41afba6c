package nvtx

import "strings"

// Paths writes the open ranges as show regions does: one path a stack, then the
// start/end ranges.
func (s State) Paths() string {
	var paths []string
	for _, stack := range s.Stacks {
		paths = append(paths, Path(stack))
	}
	for _, r := range s.Open {
		paths = append(paths, Path([]Range{r}))
	}
	return strings.Join(paths, "; ")
}
