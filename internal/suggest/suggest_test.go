package suggest

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"kernels", "regions", "ranges", "launches", "metrics", "pipeline.nsys.enable", "x"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"kernel", []string{"kernels"}},
		{"Regions", []string{"regions"}},
		{"reginos", []string{"regions"}},
		{"nsys.enable", []string{"pipeline.nsys.enable"}},
		{"zzzzzz", nil},
		{"q", nil},
		{"", nil},
	} {
		if got := Nearest(c.name, names); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := DidYouMean("regins", []string{"region", "regions"}), "; did you mean 'regions' or 'region'?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := DidYouMean("zzz", []string{"regions"}); got != "" {
		t.Errorf("got %q for a name that resembles nothing", got)
	}
}
