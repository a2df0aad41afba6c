package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{significant(0), "0"}, {significant(0.00001234), "1.23e-05"}, {significant(0.012345), "0.0123"}, {significant(9.999), "10.0"}, {significant(99.96), "100"}, {significant(12345), "12345"}, {significant(math.NaN()), "n/a"},
		{rate(4.3e12, "byte/s"), "4.30 TB/s"}, {rate(789e12, "flop/s"), "789 TFLOP/s"}, {rate(999.7e9, "flop/s"), "1.00 TFLOP/s"}, {rate(2.79e12, "flop"), "2.79 TFLOP"},
		{elapsed(0), "0"}, {elapsed(999.6), "1.00 µs"}, {elapsed(12345678), "12.3 ms"}, {elapsed(75e9), "75.0 s"}, {elapsed(640), "640 ns"},
		{thousands(0), "0"}, {thousands(999), "999"}, {thousands(1234567), "1,234,567"}, {thousands(-1234), "-1,234"}, {thousands(-123456), "-123,456"},
		{percent(0.1234), "12.3 %"}, {percent(0.0001), "0.010 %"}, {percent(0), "0.0 %"}, {percent(-0.000001), "0.0 %"}, {percent(-0.0001), "-0.010 %"}, {percent(0.00001), "0.0010 %"}, {percent(0.000084), "0.0084 %"}, {percent(0.000009), "<0.001 %"}, {percent(-0.021), "-2.1 %"},
		{spread(8.1234, 0.0213, "ms"), "8.12 ± 0.02 ms"}, {clock(1.59e9), "1.59 GHz"}, {byteSize(150_754_820_096), "151 GB"},
		{measured(61.25, "%"), "61.2 %"}, {measured(1.9e10, "byte"), "19.0 GB"}, {measured(0.4, "inst/cycle"), "0.400 inst/cycle"}, {measured(19_712_345, "inst"), "19,712,345 inst"}, {measured(88, ""), "88"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTimesShareAUnit(t *testing.T) {
	for _, c := range []struct {
		ns   []float64
		unit string
		want []string
	}{
		{[]float64{521_883_000, 8_670_000, 0, 1000, math.NaN()}, "ms", []string{"521.88", "8.67", "0", "<0.01", "n/a"}},
		{[]float64{8320, 2.5}, "µs", []string{"8.320", "0.003"}},
		{[]float64{0}, "ns", []string{"0"}},
		{nil, "ns", []string{}},
	} {
		unit, cells := times(c.ns)
		if unit != c.unit || !slices.Equal(cells, c.want) {
			t.Errorf("%v: got %s %v, want %s %v", c.ns, unit, cells, c.unit, c.want)
		}
	}
}

// A reader who divides the times again finds every printed share right: within
// half of its last digit, and with two digits below 1 %.
func TestSharesCanBeCheckedByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		whole := 1 + rng.Int64N(1<<40)
		part := rng.Int64N(whole + 1)
		if rng.IntN(2) == 0 {
			part >>= rng.IntN(40)
		}
		exact := float64(part) / float64(whole) * 100
		text := percentage(float64(part) / float64(whole) * 100)
		if text == "<0.001" {
			if part == 0 || exact >= 0.001 {
				t.Fatalf("%v is printed as %s", exact, text)
			}
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		_, decimals, _ := strings.Cut(text, ".")
		if math.Abs(x-exact) > 0.5*math.Pow(10, -float64(len(decimals)))*(1+1e-9) {
			t.Fatalf("%v is printed as %s", exact, text)
		}
		if x > 0 && x < 1 && len(strings.TrimLeft(text, "0.")) > 2 || part > 0 && x == 0 {
			t.Fatalf("%v is printed as %s", exact, text)
		}
	}
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{157, 29117, "0.54"}, {42, 13336, "0.31"}, {54, 100_000, "0.054"}, {9951, 1_000_000, "1.0"}, {994, 1_000_00, "0.99"}, {84, 1_000_000, "0.0084"}, {9, 1_000_000, "<0.001"}, {0, 5, "0.0"}, {5, 5, "100.0"}, {1, 0, absent},
	} {
		var share *float64
		if c.whole > 0 {
			share = new(float64(c.part) / float64(c.whole))
		}
		if got := strings.TrimSuffix(orAbsent(share), " %"); got != c.want {
			t.Errorf("%d of %d: got %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}

func TestProseStaysText(t *testing.T) {
	for in, want := range map[string]string{
		"a_b":         "a_b",
		"_a_":         `\_a\_`,
		"__init__":    `\_\_init\_\_`,
		"dram__bytes": "dram__bytes",
		"# x":         `\# x`,
		"a & b &lt;":  "a & b &amp;lt;",
		"x\ny":        "x y",
		"1. x":        `1\. x`,
		"1.5 ms":      "1.5 ms",
		"http://a.b":  "http:&#47;&#47;a.b",
		"<b>|`*[~$\\": "&lt;b&gt;&#124;\\`\\*\\[\\~\\$\\\\",
	} {
		if got := prose(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"f<int>(a*)": "`f<int>(a*)`",
		"a|b":        "<code>a&#124;b</code>",
		"a`b":        "<code>a&#96;b</code>",
		"":           "(no name)",
	} {
		if got := code(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
