package timeline

import "testing"

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		sorted []int64
		want   int64
	}{{[]int64{7}, 7}, {[]int64{21_263, 25_096}, 23_180}, {[]int64{1, 2, 9}, 2}, {[]int64{1, 2, 4, 9}, 3}} {
		if got := middle(c.sorted); got != c.want {
			t.Errorf("the median of %v is %d, want %d", c.sorted, got, c.want)
		}
	}
}
