package compare

import "math"

// studentTail is the probability that |T| exceeds t, for Student's distribution
// with df degrees of freedom, which need not be whole.
func studentTail(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return betaInc(df/2, 0.5, df/(df+t*t))
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

// betaInc is the regularized incomplete beta function, by its continued fraction.
func betaInc(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly, the mirror image does fast
		return 1 - betaInc(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny, enough = 1e-300, 1e-14
	f, c, d := 1.0, 1.0, 0.0
	for i := range 400 {
		m := float64(i / 2)
		var n float64
		switch {
		case i == 0:
			n = 1
		case i%2 == 0:
			n = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			n = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 / nonZero(1+n*d, tiny)
		c = nonZero(1+n/c, tiny)
		f *= c * d
		if math.Abs(c*d-1) < enough && i > 0 {
			break
		}
	}
	return front * (f - 1)
}

// nonZero keeps the continued fraction from dividing by 0.
func nonZero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
