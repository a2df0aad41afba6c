package nsys

import (
	"slices"
	"strings"
)

// lost are how warnings of this package and of package sqlite begin or go on that
// tell of a file of which a part is gone.
var lost = []struct{ begins, holds string }{
	{"the file is cut: ", ""},
	{"the schema is damaged", ""},
	{"table ", " is damaged: "},
	{"table ", " cannot be read: "},
}

// Damage are those of the warnings of a file that tell of a part that is gone:
// what is not there may have been there.
func Damage(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		for _, l := range lost {
			if strings.HasPrefix(w, l.begins) && strings.Contains(w, l.holds) {
				return false
			}
		}
		return true
	})
}

// KernelsLost tells whether the damage may have taken kernels: what is left of
// their table, or of the list of tables, is not all there was.
func KernelsLost(damage []string) bool {
	return slices.ContainsFunc(damage, func(w string) bool {
		return strings.HasPrefix(w, "the schema is damaged") || strings.HasPrefix(w, "table "+tableKernel) || strings.HasPrefix(w, "table "+tableGraphTrace)
	})
}
