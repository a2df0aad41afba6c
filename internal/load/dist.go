package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A Dist is a distribution of lengths in tokens.
type Dist struct {
	kind string // "fixed", "uniform", "normal" or "lognormal"
	a, b float64
}

// DistForm says what ParseDist takes.
const DistForm = "N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"

// ParseDist reads a distribution in DistForm. Lengths are at least 1.
// The zero Dist is not valid; draw needs one from here.
func ParseDist(text string) (Dist, error) {
	kind, rest, named := strings.Cut(text, ":")
	var d Dist
	var parts []string
	switch {
	case named:
		d.kind, parts = kind, strings.Split(rest, ":")
	case strings.Contains(text, "-"):
		d.kind, parts = "uniform", strings.Split(text, "-")
	default:
		d.kind, parts = "fixed", []string{text, "0"}
	}
	if d.kind != "fixed" && d.kind != "uniform" && d.kind != "normal" && d.kind != "lognormal" || len(parts) != 2 {
		return Dist{}, fmt.Errorf("length %q: want %s", text, DistForm)
	}
	for i, into := range []*float64{&d.a, &d.b} {
		v, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1e7 {
			return Dist{}, fmt.Errorf("length %q: %q is not a length; want %s", text, parts[i], DistForm)
		}
		*into = v
	}
	if d.a < 1 || d.kind == "uniform" && d.b < d.a || d.kind == "lognormal" && d.b > 10 {
		return Dist{}, fmt.Errorf("length %q: want at least one token, and the larger bound last", text)
	}
	return d, nil
}

// Mean is the mean length.
// It is in tokens, before lengths below 1 are raised to 1.
func (d Dist) Mean() float64 {
	switch d.kind {
	case "uniform":
		return (d.a + d.b) / 2
	case "lognormal":
		return d.a * math.Exp(d.b*d.b/2)
	}
	return d.a
}

// draw takes one length.
func (d Dist) draw(r *rand.Rand) int {
	v := d.a
	switch d.kind {
	case "uniform":
		return int(d.a) + r.IntN(int(d.b)-int(d.a)+1)
	case "normal":
		v += d.b * r.NormFloat64()
	case "lognormal":
		v *= math.Exp(d.b * r.NormFloat64())
	}
	return int(max(1, math.Round(v)))
}
