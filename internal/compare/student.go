package compare

import (
	"math"

	"github.com/aclements/go-moremath/mathx"
)

// studentTail is the probability that |T| exceeds t, for Student's distribution
// with df degrees of freedom, which need not be whole.
func studentTail(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return mathx.BetaInc(df/(df+t*t), df/2, 0.5)
}

// studentQuantile is the t that |T| exceeds with probability tail.
func studentQuantile(tail, df float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, df) > tail {
		high *= 2
	}
	for range 50 {
		mid := (low + high) / 2
		if studentTail(mid, df) > tail {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
