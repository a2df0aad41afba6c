package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Quantiles of the tables in textbooks.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ tail, df, want float64 }{
		{0.05, 1, 12.706}, {0.05, 4, 2.776}, {0.01, 8, 3.355}, {0.001, 10, 4.587}, {0.05, 1e6, 1.960},
	} {
		if got := studentQuantile(c.tail, c.df); math.Abs(got-c.want) > 2e-3 {
			t.Errorf("quantile(%g, %g) = %.4f, want %.4f", c.tail, c.df, got, c.want)
		}
	}
}

func TestCorrect(t *testing.T) {
	got := correct([]float64{0.01, 0.04, 0.03, 0.5})
	for i, want := range []float64{0.04, 0.16 / 3, 0.16 / 3, 0.5} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("p %d: %g, want %g", i, got[i], want)
		}
	}
}

// Intervals hold the true change about as often as they say, also for few samples.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 5, 10} {
		held := 0
		const rounds = 400
		for range rounds {
			e := measure(noisy(rng, n, 100, 0.02), noisy(rng, n, 105, 0.02), Options{}, rng)
			if truth := math.Log(1.05); e.low <= truth && truth <= e.high {
				held++
			}
		}
		if share := float64(held) / rounds; share < 0.93 {
			t.Errorf("%d samples a side: %.1f %% of the intervals hold the true change", n, 100*share)
		}
	}
}

// noisy are samples of a normal distribution.
func noisy(rng *rand.Rand, n int, mean, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean * (1 + sd*rng.NormFloat64())
	}
	return out
}
