package nvtx

import (
	"cmp"
	"strings"
)

var pathEscapes = strings.NewReplacer(`\`, `\\`, `/`, `\/`)

// Path writes a stack of ranges, outermost first, as region paths are written
// everywhere: names joined by slashes, after the domain and an @ where it is
// not the default one. Slashes within names are escaped, and a range without a
// name reads <unnamed>.
func Path(stack []Range) string {
	if len(stack) == 0 {
		return ""
	}
	names := make([]string, len(stack))
	for i, r := range stack {
		names[i] = cmp.Or(pathEscapes.Replace(r.Name), "<unnamed>")
	}
	path := strings.Join(names, "/")
	if domain := stack[0].Domain; domain != "" {
		return pathEscapes.Replace(domain) + "@" + path
	}
	return path
}

// SplitPath parts a region path at the slashes between names. The parts are as
// they stand in the path, with their escapes; the first has the domain.
func SplitPath(path string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++ // what is escaped belongs to the name
		case '/':
			parts = append(parts, path[start:i])
			start = i + 1
		}
	}
	return append(parts, path[start:])
}

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
