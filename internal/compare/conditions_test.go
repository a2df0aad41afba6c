package compare

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// Reasons come from the mask of each sample at work; idle clocks are no reason, and samples of
// an idle GPU and of counting are left out.
func TestThrottlingBySamples(t *testing.T) {
	got := Summarize([]runs.Condition{
		{Step: plan.StepNsys, Utilization: 90, Reasons: 0x04 | 0x80},
		{Step: plan.StepNsys, Utilization: 90, Reasons: 0x04},
		{Step: plan.StepNsys, Utilization: 90, Reasons: 0x01},
		{Step: plan.StepNsys, Utilization: 0, Reasons: 0x08},
		{Step: plan.StepNcu, Utilization: 90, Reasons: 0x40},
	})
	want := []string{"hardware power brake", "software power cap"}
	if got == nil || got.Samples != 3 || got.Throttled != 2 || !slices.Equal(got.Reasons, want) {
		t.Errorf("got %+v, want 2 of 3 samples throttled by %q", got, want)
	}
}
