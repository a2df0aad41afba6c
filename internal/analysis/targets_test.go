package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/runs"
)

func writeTargets(t *testing.T, dir string, targets *pick.Targets) {
	t.Helper()
	text, err := json.Marshal(targets)
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
	failed := runs.Outcome{Kind: "nothing matched", Text: fact.New("no-region-selected"), Cause: fact.New("cause-no-range", fact.File("dir", "RUN"))}
	for _, err := range []error{
		store.StartStep("ncu"), store.StartAttempt("ncu", ""), store.EndAttempt("ncu", runs.Result{Outcome: failed}),
		store.EndStep("ncu", runs.StateFailed, failed.Text),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	writeTargets(t, store.Dir(), &pick.Targets{Schema: pick.Schema, Unmatched: []pick.Unmatched{{Key: "nvtx_include", Expr: "decod", Why: pick.Reason{Fact: fact.New("no-such-range")}, Near: []string{"decode"}}}})
	r := analyzedRun(t, store.Dir())
	if n := untold(r, "unmatched", "expr", "decod"); n == nil || n.Text("key") != "nvtx_include" || !slices.Contains(n.Params["near"].List, "decode") {
		t.Errorf("missing %+v", r.Missing)
	}
	n := slices.IndexFunc(r.Missing, func(n Note) bool { return n.Is(CountersFailed) })
	if n < 0 || !r.Missing[n].Params["why"].Facts[0].Equal(failed.Text) || message.Next(r.Missing[n].Fact) != message.Next(failed.Cause) {
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
			{Reason: pick.Reason{Fact: fact.New("waits-for-peer")}, Launches: 3, Share: 0.25, Kernels: []pick.LeftRow{{Kernel: "ncclDevKernel_AllReduce", Share: 0.2}, {Kernel: "ncclDevKernel_Broadcast", Share: 0.05}}},
			{Reason: pick.Reason{Fact: fact.New("limit-top-n", fact.Count("n", 1))}, Cut: true, Launches: 16853, Share: 0.02624, Kernels: []pick.LeftRow{{Kernel: "small", Share: 0.00004}}, More: 2},
		},
	})
	r := analyzedRun(t, dir)
	if n := untold(r, "unmatched", "expr", "saxpi"); n == nil || !slices.Contains(n.Params["near"].List, "saxpy") {
		t.Errorf("missing %+v", r.Missing)
	}
	if untold(r, "unmatched", "expr", "regex:nosuch") == nil {
		t.Errorf("missing %+v", r.Missing)
	}
	p := r.Method.Picked
	if len(p.LeftOut) != 1 || len(p.LeftOut[0].Params["kernels"].Facts) != 2 || p.LeftOut[0].Params["kernels"].Facts[0].Text("kernel") != "ncclDevKernel_AllReduce" {
		t.Errorf("left out %+v", p.LeftOut)
	}
	if len(p.CutOff) != 1 || p.CutOff[0].Number("launches") != 16853 || p.CutOff[0].Number("more") != 2 {
		t.Errorf("cut off %+v", p.CutOff)
	}
}
