package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// The typical span is not the first, which warms up, but the one nearest to the median.
func TestTypical(t *testing.T) {
	spans := []moment{{0, 900}, {1000, 1120}, {2000, 2100}, {3000, 3101}, {4000, 4010}}
	if got, ok := typical(spans); !ok || got != (moment{3000, 3101}) {
		t.Errorf("%v, %v", got, ok)
	}
	if got, ok := typical([]moment{{0, 10}, {20, 40}}); !ok || got != (moment{0, 10}) {
		t.Errorf("two spans equally near: %v, %v", got, ok)
	}
	if _, ok := typical(nil); ok {
		t.Error("a span out of none")
	}
}

// The verdict is made of the first thing that is known.
func TestVerdictOfWhatIsKnown(t *testing.T) {
	for code, want := range map[string]string{"kernel-limited": string(codeVerdictKernel), "region-limited": string(codeVerdictKernel), "limited-most-often": string(codeVerdictLimit), "largest-category": string(codeVerdictPart), "no-kernels-seen": string(codeVerdictNoWork)} {
		r := &Result{Findings: []Finding{{Fact: fact.New(fact.Code(code))}}}
		if got := r.Verdict().Code; string(got) != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}
