package timeline

import "github.com/deepprof/deepprof/internal/nvtx"

// A LaunchPlace names where in the program work is launched.
type LaunchPlace struct {
	Stage  string // outermost range; "" outside all
	Module string // as LayerRow.Layer
}

// LaunchPlaces names each of the Places.
// The list is by number of the place. Place 0 is the zero value.
func (a *Attribution) LaunchPlaces() []LaunchPlace {
	layers := layersOfPlaces(a, false)
	out := make([]LaunchPlace, len(a.Places()))
	for place, p := range a.Places() {
		for _, id := range p.Own {
			if parts := nvtx.SplitPath(a.Path(id)); len(parts) > 0 {
				out[place] = LaunchPlace{Stage: parts[0], Module: layers[uint32(place)]}
				break
			}
		}
	}
	return out
}
