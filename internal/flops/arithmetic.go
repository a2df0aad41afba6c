package flops

import "math"

// huge is where sums and products stop: nothing real comes near it, and a
// result that reaches it is refused instead of wrapping around.
const huge = 1 << 62

// mul multiplies counts, none of which is negative. It gives huge for more than that, and 1
// for no factors.
func mul(factors ...int64) int64 {
	out := int64(1)
	for _, f := range factors {
		if f == 0 {
			return 0
		}
		if out > huge/f {
			return huge
		}
		out *= f
	}
	return out
}

// sum adds counts, none of which is negative. It gives huge for more than that.
func sum(terms ...int64) int64 {
	out := int64(0)
	for _, t := range terms {
		if t >= huge-out {
			return huge
		}
		out += t
	}
	return out
}

// triangle is the number of pairs of a query and a key that a causal mask
// leaves of n queries, the first of which sees first keys, with at most window
// keys for each; a window of 0 is none.
func triangle(n, first, window int64) int64 {
	if n <= 0 {
		return 0
	}
	if window <= 0 || first+n-1 <= window {
		return sum(mul(n, first), mul(n, n-1)/2)
	}
	if first >= window {
		return mul(n, window)
	}
	grow := window - first // queries before the window is full
	return sum(mul(grow, first), mul(grow, max(grow-1, 0))/2, mul(n-grow, window))
}

// chunked is the number of pairs of n queries from the first on, each of which
// sees the keys since the last multiple of size.
func chunked(n, size int64) int64 {
	if n <= 0 {
		return 0
	}
	rest := n % size
	return sum(mul(n/size, triangle(size, 1, 0)), triangle(rest, 1, 0))
}

// touched is the expected number of experts that tokens reach, each choosing
// active of experts without preference. It is at most experts; routers that prefer some reach
// fewer.
func touched(experts, active, tokens int64) float64 {
	if experts <= 0 || active <= 0 || tokens <= 0 {
		return 0
	}
	missed := 1 - math.Min(1, float64(active)/float64(experts))
	return float64(experts) * (1 - math.Pow(missed, float64(tokens)))
}
