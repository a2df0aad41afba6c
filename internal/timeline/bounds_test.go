package timeline

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// TestDeepStack: ranges without end upon one another cost a bounded amount per
// range and per launch.
func TestDeepStack(t *testing.T) {
	const n = 400_000
	tl := parse(t, `call 1.1 launch 1000000 1000001 1
		kernel 1 k 1000010 1000020 1`)
	tl.Names = append(tl.Names, "r")
	name := StringID(len(tl.Names) - 1)
	for i := range int64(n) {
		tl.Ranges = append(tl.Ranges, Range{Start: i, End: 3_000_000 - i, Name: name, Thread: 0, EndThread: None, Payload: None})
	}
	rows := tl.RegionRows(Query{})
	if len(rows.Rows) != maxDepth+1 {
		t.Errorf("%d regions, want %d levels and one for the rest", len(rows.Rows), maxDepth)
	}
	var instances, exclusive int64
	for _, r := range rows.Rows {
		instances += r.Instances
		exclusive += r.ExclusiveNS
		if r.Depth == maxDepth && (r.Name != foldedName || r.Instances != n-maxDepth || r.ExclusiveNS != 10) {
			t.Errorf("the deepest region is %+v", r)
		}
	}
	if instances != n || exclusive != 10 {
		t.Errorf("%d instances, %d ns", instances, exclusive)
	}
	if !slices.ContainsFunc(rows.Warnings, func(w fact.Fact) bool { return w.Is(codeDeepRanges) && w.Number("most") == 256 }) {
		t.Errorf("warnings %v", rows.Warnings)
	}
}

// TestStaggered: every range begins before all earlier ones end, so that
// looking through the open ranges for each would take for ever.
func TestStaggered(t *testing.T) {
	const n = 300_000
	tl := parse(t, "")
	tl.Names = append(tl.Names, "r")
	tl.Processes = []Process{{PID: 1}}
	tl.Threads = []Thread{{}}
	for i := range int64(n) {
		tl.Ranges = append(tl.Ranges, Range{Start: i, End: i + 10*n, Name: 1, EndThread: None, Payload: None})
		tl.Ranges = append(tl.Ranges, Range{Start: i, End: i + 10*n, Name: 1, EndThread: None, Payload: None, Kind: StartEnd})
	}
	tl.Calls.Add(Call{Start: 5 * n, End: 5*n + 1, Correlation: 1})
	tl.Queues = []Queue{{}}
	tl.Functions, tl.Configs = []Function{{}}, []LaunchConfig{{}}
	tl.Kernels = []Kernel{{Start: 5 * n, End: 5*n + 7, Correlation: 1}}
	rows := tl.RegionRows(Query{})
	if len(rows.Rows) != 2 {
		t.Fatalf("%d regions", len(rows.Rows))
	}
	for _, r := range rows.Rows {
		if r.Instances != n || r.KernelCalls != 1 || r.InclusiveNS != 7 {
			t.Errorf("region %+v", r)
		}
	}
	if len(rows.Warnings) == 0 {
		t.Error("no warning that open ranges were left out")
	}
}

// TestScatteredCorrelations: ids at both ends of their range must not make a
// table as wide as that.
func TestScatteredCorrelations(t *testing.T) {
	tl := parse(t, `
		push 1.1 a 0 100
		call 1.1 launch 1 2 0
		call 1.1 launch 3 4 4294967294
		call 1.1 launch 5 6 2147483648
		call 1.1 launch 7 8 2147483648
		kernel 1 k 10 11 0
		kernel 1 k 20 22 4294967294
		kernel 1 k 30 34 2147483648
		kernel 1 k 40 48 5`)
	rows := tl.RegionRows(Query{})
	if len(rows.Rows) != 1 || rows.Rows[0].InclusiveNS != 7 {
		t.Errorf("got %+v", rows.Rows)
	}
	for _, want := range []fact.Code{CodeNoLaunchCall, codeSharedCalls} {
		if !slices.ContainsFunc(rows.Warnings, fact.New(want, fact.Count("n", 1)).Equal) {
			t.Errorf("warnings %v lack %s", rows.Warnings, want)
		}
	}
	if tl.Correlate().tables[0].bits != nil {
		t.Error("three ids take a table over all 32 bits")
	}
}
