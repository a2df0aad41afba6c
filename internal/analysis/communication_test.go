package analysis

import "testing"

// Communication that overlaps with other kernels is not exposed, and durations of
// concurrent kernels are not added up.
func TestExchange(t *testing.T) {
	for _, c := range []struct {
		name              string
		events            [][3]int64 // 1 for communication, start, end; by start
		ns, both, otherNS int64
	}{
		{"apart", [][3]int64{{0, 0, 10}, {1, 10, 30}, {0, 30, 40}}, 20, 0, 20},
		{"inside", [][3]int64{{0, 0, 100}, {1, 10, 30}}, 20, 20, 100},
		{"around", [][3]int64{{1, 0, 100}, {0, 10, 30}, {0, 20, 40}}, 100, 30, 30},
		{"two at once", [][3]int64{{1, 0, 50}, {1, 10, 60}, {0, 40, 80}}, 60, 20, 40},
		{"same start", [][3]int64{{0, 0, 10}, {1, 0, 10}}, 10, 10, 10},
		{"chained", [][3]int64{{0, 0, 10}, {1, 5, 25}, {0, 10, 20}, {0, 24, 30}}, 20, 16, 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x exchange
			for _, e := range c.events {
				if e[0] == 1 {
					x.add(&x.comm, &x.other, e[1], e[2])
				} else {
					x.add(&x.other, &x.comm, e[1], e[2])
				}
			}
			if x.comm.ns != c.ns || x.both != c.both || x.other.ns != c.otherNS {
				t.Errorf("communication %d, of it overlapped %d, other %d; want %d, %d, %d", x.comm.ns, x.both, x.other.ns, c.ns, c.both, c.otherNS)
			}
		})
	}
}
