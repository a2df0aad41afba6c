package nsys

import (
	"slices"

	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// KernelsLost tells whether the damage may have taken kernels: what is left of
// their table, or of the list of tables, is not all there was.
// An empty list of damage, as of a sound file, has lost none.
func KernelsLost(damage []timeline.Damage) bool {
	return slices.ContainsFunc(damage, func(d timeline.Damage) bool {
		return d.Table == sqlite.Schema || d.Table == tableKernel || d.Table == tableGraphTrace
	})
}
