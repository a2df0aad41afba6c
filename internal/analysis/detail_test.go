package analysis

import "testing"

// Where even the scope has too many events, the page has single events of its middle,
// within the limit, and boxes around it.
func TestDetailOfALargeScope(t *testing.T) {
	const n = 4 * maxBoxes
	for name, c := range map[string]struct {
		scope moment
		limit int
		cut   bool
	}{
		"all fit":         {moment{0, n}, n, false},
		"the scope fits":  {moment{n / 2, n/2 + 1000}, n - 1, false},
		"scope too large": {moment{0, n}, 2 * maxBoxes, true},
		"no scope":        {moment{}, 2 * maxBoxes, true},
	} {
		l := &lane{laneEvents: listed(n, func(i int) moment { return moment{int64(i), int64(i) + 1} }, nil, nil)}
		d := newDetailer([]*lane{l}, moment{0, n + 1}, c.scope, c.limit)
		listed := countWithin([]*lane{l}, d.scope)
		if d.scope == (moment{}) {
			listed = n
		}
		if cut := d.Cut != (moment{}); cut != c.cut || listed == 0 || listed > c.limit || cut && listed < (c.limit-maxBoxes)/2 {
			t.Errorf("%s: %d of %d events are listed, cut is %v", name, listed, n, d.Cut)
		}
	}
}
