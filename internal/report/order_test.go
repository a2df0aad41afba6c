package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/compare"
)

// TestTablesOfTheSummarySayTheirOrder holds it at every width and in a log.
func TestTablesOfTheSummarySayTheirOrder(t *testing.T) {
	options := []SummaryOptions{{Log: true}, {Log: true, Width: 60}}
	for width := 60; width <= 220; width += 5 {
		options = append(options, SummaryOptions{Width: width, Height: 60})
	}
	for _, o := range options {
		for name, r := range cases(t) {
			var b bytes.Buffer
			if err := Summary(&b, r, o); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(b.String()), " ")
			if len(r.Stages) > 0 && !strings.Contains(text, "stage, in order") && !strings.Contains(text, "stages in the order of the program") {
				t.Errorf("%s at %+v does not say how stages are sorted:\n%s", name, o, b.String())
			}
			if strings.Contains(text, "launches limiter") && !strings.Contains(text, "kernel, by GPU time") {
				t.Errorf("%s at %+v does not say how kernels are sorted:\n%s", name, o, b.String())
			}
		}
	}
}

// TestGateBeginsWithFailures holds the order of its table, and that it is said.
func TestGateBeginsWithFailures(t *testing.T) {
	g := &compare.Gate{Outcome: compare.Fail}
	for _, o := range []compare.Outcome{compare.Pass, compare.Unknown, compare.Fail, compare.Unknown} {
		g.Rules = append(g.Rules, compare.RuleResult{Rule: "r", Outcome: o, Checks: []compare.Check{{Key: compare.Key{Name: "x"}, Outcome: o}}})
	}
	var got []compare.Outcome
	for _, l := range gateLines(g) {
		got = append(got, l.Outcome)
	}
	if want := []compare.Outcome{compare.Fail, compare.Unknown, compare.Unknown, compare.Pass}; len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[3] != want[3] {
		t.Errorf("%v, want %v", got, want)
	}
	var b bytes.Buffer
	side := compare.Side{Runs: []compare.RunInfo{{Name: "a"}}}
	if err := CompareText(&b, &compare.Comparison{Base: side, New: side, Gate: g}, CompareOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if _, gate, _ := strings.Cut(b.String(), "gate: "); !strings.Contains(gate, gateView.orderWords()) || gateView.orderWords() == "" {
		t.Errorf("the order is not said:\n%s", b.String())
	}
}

// TestTimesAreReadable has times from nanoseconds to seconds in columns: none is
// written with thousands of its unit, and none with a single digit.
func TestTimesAreReadable(t *testing.T) {
	for _, c := range []struct {
		ns   []float64
		head string
		want []string
	}{
		{[]float64{6865455, 954686}, "total (ms)", []string{"6.865", "0.955"}},
		{[]float64{6865455, 736, 0}, "total", []string{"6.865 ms", "736 ns", "0"}},
		{[]float64{2.23e9, 16.891e6, 12.5e3}, "total", []string{"2.230 s", "16.891 ms", "12.500 µs"}},
		{[]float64{950, 12}, "total (ns)", []string{"950.0", "12.0"}},
		{[]float64{999.5e3, -40e3}, "total (µs)", []string{"999.500", "-40.000"}},
	} {
		column := []Column[float64]{{Key: "total_ns", Unit: Nanoseconds, Value: func(x *float64) any { return *x }}}
		headers, cells, _ := layout(column, pointers(c.ns), textCell)
		if headers[0] != c.head || strings.Join(cells[0], "|") != strings.Join(c.want, "|") {
			t.Errorf("%v: %q %q, want %q %q", c.ns, headers[0], cells[0], c.head, c.want)
		}
	}
}
