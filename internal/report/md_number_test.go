package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{significant(0), "0"}, {significant(0.00001234), "1.23e-05"}, {significant(0.012345), "0.0123"}, {significant(9.999), "10.0"}, {significant(99.96), "100"}, {significant(12345), "12345"}, {significant(math.NaN()), "n/a"},
		{rate(4.3e12, "byte/s"), "4.30 TB/s"}, {rate(789e12, "flop/s"), "789 TFLOP/s"}, {rate(999.7e9, "flop/s"), "1.00 TFLOP/s"}, {rate(2.79e12, "flop"), "2.79 TFLOP"},
		{elapsed(0), "0"}, {elapsed(999.6), "1.00 µs"}, {elapsed(12345678), "12.3 ms"}, {elapsed(75e9), "75.0 s"}, {elapsed(640), "640 ns"},
		{thousands(0), "0"}, {thousands(999), "999"}, {thousands(1234567), "1,234,567"}, {thousands(-1234), "-1,234"}, {thousands(-123456), "-123,456"},
		{percent(0.1234), "12.3 %"}, {percent(0.0001), "<0.1 %"}, {percent(0), "0.0 %"}, {percent(-0.0001), "0.0 %"}, {percent(-0.021), "-2.1 %"},
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

// printed reads a percentage back, in tenths.
func printed(t *testing.T, s string) int64 {
	t.Helper()
	if s == "<0.1" {
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(x * 10))
}

func TestPercentagesAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		split := analysis.Split{}
		for range rng.IntN(9) {
			split.Busy = append(split.Busy, analysis.TimePart{ID: strconv.Itoa(len(split.Busy)), NS: rng.Int64N(1 << rng.IntN(40))})
		}
		for range 1 + rng.IntN(8) {
			split.Idle = append(split.Idle, analysis.TimePart{ID: strconv.Itoa(len(split.Idle)), NS: 1 + rng.Int64N(1<<rng.IntN(40))})
		}
		for _, p := range split.Busy {
			split.BusyNS += p.NS
		}
		for _, p := range split.Idle {
			split.IdleNS += p.NS
		}
		split.WallNS = split.BusyNS + split.IdleNS
		rows := splitRows([]*analysis.Split{&split})
		pct := splitShares(rows, 0, split.WallNS)
		var parts, sums int64
		for i, row := range rows[:len(rows)-1] {
			n := printed(t, pct[i])
			if exact := float64(row.ns[0]) / float64(split.WallNS) * 1000; math.Abs(float64(n)-exact) > 1.5 {
				t.Fatalf("%v is printed as %s", exact/10, pct[i])
			}
			if !row.sum {
				parts += n
				continue
			}
			if parts != n {
				t.Fatalf("parts print as %d tenths, their sum as %d: %v", parts, n, pct)
			}
			sums, parts = sums+n, 0
		}
		if sums != 1000 {
			t.Fatalf("busy and idle print as %d tenths: %v", sums, pct)
		}
	}
}

func TestRestTakesWhatRoundingLeaves(t *testing.T) {
	got := rounded([]int64{333, 333, 334}, 1000, true)
	if want := []string{"33.3", "33.3", "33.4"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := rounded([]int64{1}, 0, false); got[0] != absent {
		t.Errorf("got %v", got)
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
