package nsys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

func TestBadKernels(t *testing.T) {
	path := makeFile(t, makeStrings, makeKernels,
		`INSERT INTO StringIds VALUES (1, 'good'), (2, 'with' || char(0) || 'nul' || char(10) || 'and | pipe'), (3, CAST(x'66ff6f' AS TEXT))`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
			(10, 20, 0, 1, 7, 1, 16777216, 1, 1, 1, 1, 1),
			(50, 20, 0, 1, 7, 2, 16777216, 1, 1, 1, 1, 1),
			(0, 9223372036854775807, 0, 1, 7, 3, 16777216, 2, 2, 1, 1, 1),
			(10, 25, 0, 1, 7, -5, 16777216, 3, 3, 1, 1, 1),
			(10, 26, 0, 1, 7, 99999999999, 16777216, 777, 777, 99999999999, 1, 1),
			('never', 5, 0, 1, 7, 4, 16777216, 1, 1, 1, 1, 1),
			(1, x'00', 0, 1, 7, 4, 16777216, 1, 1, 1, 1, 1)`)
	ctx := context.Background()
	for _, q := range []timeline.Query{{}, {By: timeline.ByProcess}, {Region: func(nvtx.State) bool { return true }}} {
		rows, err := openFile(t, path).KernelRows(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, r := range rows.Rows {
			got[r.Name] = r.TotalNS
		}
		want := map[string]int64{"good": -20, "with\x00nul\nand | pipe": 1<<63 - 1, "f\xffo": 15, "#777": 16}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		wantWarning(t, rows.Warnings, timeline.CodeRowsSkipped, "2")
		wantWarning(t, rows.Warnings, timeline.CodeEndsEarly)
		wantWarning(t, rows.Warnings, timeline.CodeNamesMissing)
	}
}

func TestBadRangesAndCalls(t *testing.T) {
	path := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX,
		`INSERT INTO StringIds VALUES (1, 'k')`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 1, 16777216, 1, 1, 1, 1, 1), (30, 40, 0, 1, 7, 2, NULL, 1, 1, 1, 1, 1)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 16777217, 1, 55, 0), (7, 8, NULL, NULL, 1, 0), (9, 8, 16777217, 2, 1, 0)`,
		`INSERT INTO NVTX_EVENTS VALUES
			(0, 100, 59, 'a', 16777217, NULL, NULL, 0),
			(100, 0, 59, 'backwards', 16777217, NULL, NULL, 0),
			(2, NULL, 59, NULL, 16777217, NULL, 404, 9),
			(3, NULL, 60, 'open', 16777217, NULL, NULL, 0),
			(4, 50, 60, 'no thread', NULL, NULL, NULL, 0),
			('x', 5, 59, 'no start', 16777217, NULL, NULL, 0),
			(1, 2, 4711, 'of no known kind', 16777217, NULL, NULL, 0)`)
	rows, err := openFile(t, path).RegionRows(context.Background(), timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows.Rows {
		got[r.Path] = fmt.Sprintf("n=%d range=%d kernels=%d unclosed=%d", r.Instances, r.RangeNS, r.KernelCalls, r.Unclosed)
	}
	want := map[string]string{
		"a":           "n=1 range=100 kernels=1 unclosed=0",
		"a/backwards": "n=1 range=-100 kernels=0 unclosed=0",
		"#404":        "n=1 range=98 kernels=1 unclosed=1",
		"open":        "n=1 range=97 kernels=1 unclosed=1",
		"no thread":   "n=1 range=46 kernels=0 unclosed=0",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, w := range []fact.Code{timeline.CodeRowsSkipped, timeline.CodeUnclosed, timeline.CodeNoLaunchCall, timeline.CodeNamesMissing} {
		wantWarning(t, rows.Warnings, w)
	}
}

// TestNamesThatLeadNowhere: kernels whose names cannot be told are told apart.
func TestNamesThatLeadNowhere(t *testing.T) {
	path := makeFile(t, makeKernels, makeNVTX,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 1, 16777216, 5, 6, 1, 1, 1), (30, 50, 0, 1, 7, 2, 16777216, 7, 6, 1, 1, 1),
			(60, 90, 0, 1, 7, 3, 16777216, 7, 6, 1, 1, 1)`,
		`INSERT INTO NVTX_EVENTS VALUES (0, 1, 59, NULL, 16777217, NULL, 8, 0), (2, 3, 59, 'text', 16777217, NULL, 9, 0)`)
	ctx := context.Background()
	f := openFile(t, path)
	for _, q := range []timeline.Query{{}, {By: timeline.ByRegion}} {
		rows, err := f.KernelRows(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows.Rows {
			got = append(got, fmt.Sprint(r.Name, " ", r.ShortName, " ", r.Calls))
		}
		if want := []string{"#7 #6 2", "#5 #6 1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		wantWarning(t, rows.Warnings, timeline.CodeNamesMissing)
	}
	regions, err := f.RegionRows(ctx, timeline.Query{})
	if err != nil || len(regions.Rows) != 2 || regions.Rows[0].Path != "#8" || regions.Rows[1].Path != "text" {
		t.Errorf("regions %+v, %v", regions.Rows, err)
	}
}

// TestTimesBeyondTheClock: every view counts impossible times alike, and a sum
// that does not fit says so instead of turning into another number.
func TestTimesBeyondTheClock(t *testing.T) {
	const most, least = 1<<63 - 1, -1 << 63
	path := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX,
		`INSERT INTO StringIds VALUES (1, 'k'), (2, 'late'), (3, 'endless')`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
			(-9223372036854775808, 9223372036854775807, 0, 1, 7, 1, 16777216, 3, 3, 1, 1, 1),
			(50, 20, 0, 1, 7, 2, 16777216, 2, 2, 1, 1, 1),
			(0, 9223372036854775807, 0, 1, 7, 3, 16777216, 1, 1, 1, 1, 1),
			(0, 9223372036854775807, 0, 1, 7, 4, 16777216, 1, 1, 1, 1, 1)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 16777217, 1, 1, 0), (3, 4, 16777217, 2, 1, 0), (5, 6, 16777217, 3, 1, 0), (7, 8, 16777217, 4, 1, 0)`,
		`INSERT INTO NVTX_EVENTS VALUES (0, 100, 59, 'a', 16777217, NULL, NULL, 0)`)
	ctx := context.Background()
	f := func() *File { return openFile(t, path) }
	check := func(view string, warnings []fact.Fact) {
		t.Helper()
		for _, want := range []fact.Code{timeline.CodeEndsEarly, timeline.CodeEndless} {
			what := "events"
			if view == "kernels" {
				what = view
			}
			wantWarning(t, warnings, want, "1", what)
		}
	}
	const over = timeline.CodeOverflow
	for _, q := range []timeline.Query{{}, {By: timeline.ByProcess}} {
		kernels, err := f().KernelRows(ctx, q)
		if err != nil || len(kernels.Rows) != 3 {
			t.Fatalf("%+v, %v", kernels.Rows, err)
		}
		for i, want := range []int64{most, most, -30} {
			if r := kernels.Rows[i]; r.TotalNS != want {
				t.Errorf("%s: %d ns, want %d", r.Name, r.TotalNS, want)
			}
		}
		check("kernels", kernels.Warnings)
		wantWarning(t, kernels.Warnings, over)
	}
	regions, err := f().RegionRows(ctx, timeline.Query{})
	if err != nil || len(regions.Rows) != 1 {
		t.Fatalf("%+v, %v", regions.Rows, err)
	}
	if r := regions.Rows[0]; r.InclusiveNS != most || r.ProjectedNS != most || r.BusyNS != most || r.IdleNS != 0 || r.RangeNS != 100 || r.WallBusyNS != 100 {
		t.Errorf("region %+v", r)
	}
	check("regions", regions.Warnings)
	wantWarning(t, regions.Warnings, over)
	launches := launchRows(t, f(), timeline.Query{})
	if len(launches.Rows) != 4 || launches.Rows[0].DurationNS != most || launches.Rows[0].StartNS != least {
		t.Fatalf("%+v", launches.Rows)
	}
	check("launches", launches.Warnings)
	gaps := gapRows(t, f(), timeline.Query{})
	check("gaps", gaps.Warnings)
	info, err := f().Info(ctx)
	if err != nil || info.Devices[0].KernelNS != most || info.Devices[0].BusyNS != most {
		t.Errorf("%+v, %v", info.Devices, err)
	}
	wantWarning(t, info.Warnings, over)
}

func TestTruncatedExport(t *testing.T) {
	data, err := os.ReadFile(export(t, "toy"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.sqlite")
	for _, part := range []int{90, 70, 50, 20} {
		if err := os.WriteFile(path, data[:len(data)*part/100], 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := OpenSQLite(path)
		if err != nil {
			continue // the schema itself is cut off
		}
		tl, err := f.Timeline(context.Background(), Everything)
		if err != nil {
			t.Fatal(err)
		}
		wantWarning(t, tl.Warnings, "sqlite-cut")
		f.Close()
	}
}
