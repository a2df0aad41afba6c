package analysis

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/runs"
)

func writeTargets(t *testing.T, dir string, targets *pick.Targets) {
	t.Helper()
	text, err := targets.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "targets.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func analyzedRun(t *testing.T, dir string) *Result {
	t.Helper()
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return analyzed(t, in)
}

// untold finds a note by its code and the value of a parameter.
func untold(r *Result, code fact.Code, key, value string) *Note {
	for i, n := range r.Missing {
		if n.Code == code && n.Text(key) == value {
			return &r.Missing[i]
		}
	}
	return nil
}

// TestNothingMatched: where a typo kept ncu from starting, the report names the
// typo and does not advise to turn on what is on.
func TestNothingMatched(t *testing.T) {
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: "nsys"}, {Name: "ncu"}}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(unpacked(t, toyTimeline))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile("nsys/run.sqlite", data); err != nil {
		t.Fatal(err)
	}
	failed := runs.Outcome{Kind: "nothing matched", Text: "ncu was not started: no region is left", Next: "name a range that exists"}
	for _, err := range []error{
		store.StartStep("ncu"), store.StartAttempt("ncu", ""), store.EndAttempt("ncu", runs.Result{Outcome: failed}),
		store.EndStep("ncu", runs.StateFailed, failed.Text),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	writeTargets(t, store.Dir(), &pick.Targets{Schema: pick.Schema, Unmatched: []pick.Unmatched{{Key: "nvtx_include", Expr: "decod", Why: "no such range", Near: []string{"decode"}}}})
	r := analyzedRun(t, store.Dir())
	if n := untold(r, Unmatched, "expr", "decod"); n == nil || n.Text("key") != "nvtx_include" || !slices.Contains(n.Params["near"].List, "decode") {
		t.Errorf("missing %+v", r.Missing)
	}
	if n := untold(r, CountersFailed, "why", failed.Text); n == nil || n.Text("next") != failed.Next {
		t.Errorf("missing %+v", r.Missing)
	}
}

// TestRegionPatterns: patterns of the region reports that match nothing are
// named, and so are the kernels that were not counted.
func TestRegionPatterns(t *testing.T) {
	dir := toyRun(t, "1.0", "0.125")
	writeTargets(t, dir, &pick.Targets{
		Schema: pick.Schema, Regions: &pick.RegionOptions{Aggregate: true, KernelInclude: []string{"saxpy", "saxpi"}, KernelExclude: []string{"regex:nosuch"}},
		LeftOut: []pick.LeftOut{
			{Reason: "waits for a peer", Launches: 3, Share: 0.25, Kernels: []pick.LeftRow{{Kernel: "ncclDevKernel_AllReduce", Share: 0.2}, {Kernel: "ncclDevKernel_Broadcast", Share: 0.05}}},
			{Reason: "top_n: the limit was reached", Cut: true, Launches: 16853, Share: 0.02624, Kernels: []pick.LeftRow{{Kernel: "small", Share: 0.00004}}, More: 2},
		},
	})
	r := analyzedRun(t, dir)
	if n := untold(r, Unmatched, "expr", "saxpi"); n == nil || !slices.Contains(n.Params["near"].List, "saxpy") {
		t.Errorf("missing %+v", r.Missing)
	}
	if untold(r, Unmatched, "expr", "regex:nosuch") == nil {
		t.Errorf("missing %+v", r.Missing)
	}
	p := r.Method.Picked
	if len(p.LeftOut) != 1 || !strings.Contains(p.LeftOut[0], "ncclDevKernel_AllReduce (20.0 %), ncclDevKernel_Broadcast (5.0 %)") {
		t.Errorf("left out %q", p.LeftOut)
	}
	if len(p.CutOff) != 1 || !strings.Contains(p.CutOff[0], ": 16,853 launches, 2.6 % of GPU time: small (0.0040 %), 2 more") {
		t.Errorf("cut off %q", p.CutOff)
	}
}
