package ncurep

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/metric"
)

// pages lists what releases of ncu printed of the fixtures under LC_ALL=C.
// 2022.3 cannot open kernels of newer releases, only ranges.
func pages(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.csv.zst")
	if err != nil || len(files) < 10 {
		t.Fatalf("fixtures are missing: %v %v", files, err)
	}
	return files
}

func TestRawPageEqualsTheVendors(t *testing.T) {
	for _, file := range pages(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".zst")
		report, rest, _ := strings.Cut(strings.TrimSuffix(name, ".csv"), ".20")
		if report == "toy_full" && strings.HasPrefix(rest, "25") {
			continue // with separators: TestRawPageWithSeparators
		}
		t.Run(name, func(t *testing.T) {
			rep := readBytes(t, fixture(t, report+".ncu-rep"), Options{})
			c := &Check{Release: map[string]metric.Release{"22": metric.R2022, "24": metric.R2024, "25": metric.R2025}[rest[:2]]}
			units := map[bool]string{true: "base", false: "auto"}[strings.HasSuffix(rest, "base")]
			if err := c.compare(rep, fixture(t, name), units); err != nil {
				t.Fatal(err)
			}
			if made := report == "mixed" || report == "nvtx"; !made && c.Cells < 1000 {
				t.Errorf("compared only %d cells", c.Cells)
			}
			if c.Guessed == 0 && c.Release < metric.R2025 {
				var out bytes.Buffer
				if err := formatRawCSV(&out, rep, metric.Format{Release: c.Release, Base: units == "base"}); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(out.Bytes(), fixture(t, name)) {
					t.Error("the bytes of the page differ")
				}
			}
			for i, d := range c.Differences {
				if t.Errorf("%v", d); i > 9 {
					t.Fatalf("%d differences", len(c.Differences))
				}
			}
			if c.Guessed > 0 && c.Release == metric.R2025 {
				t.Errorf("%d units of the newest release were guessed", c.Guessed)
			}
		})
	}
}

// The same metric has another unit in a report without the metrics of --set
// full, whichever way the report is read.
func TestUnitsDependOnTheReport(t *testing.T) {
	const fma, spill = "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "sass__inst_executed_register_spilling_mem_local"
	for _, tt := range []struct{ report, metric, unit string }{
		{"whole", fma, "inst"}, {"toy_full", fma, "thread"},
		{"whole", spill, "byte"}, {"ncu_range", spill, "byte"}, {"toy_full", spill, "inst"},
	} {
		b := fixture(t, tt.report+".ncu-rep")
		only := Options{Metrics: func(name string) bool { return name == tt.metric }}
		for _, opts := range []Options{{}, only} {
			m, ok := readBytes(t, b, opts).Results[0].metric(tt.metric)
			if !ok || m.Unit() != tt.unit {
				t.Errorf("%s in %s: %v, unit %q, want %q", tt.metric, tt.report, ok, m.Unit(), tt.unit)
			}
		}
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), only)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := res.metric(tt.metric); !ok || m.Unit() != tt.unit {
			t.Errorf("%s in %s, streamed: want %q", tt.metric, tt.report, tt.unit)
		}
	}
}

// The vendor printed this page under en_US.
func TestRawPageWithSeparators(t *testing.T) {
	rep := readBytes(t, fixture(t, "toy_full.ncu-rep"), Options{})
	var got bytes.Buffer
	if err := formatRawCSV(&got, rep, metric.Format{Release: metric.R2025, Group: true}); err != nil {
		t.Fatal(err)
	}
	ours, theirs := rows(t, got.Bytes()), rows(t, fixture(t, "toy_full.2025.3.raw.csv"))
	if len(ours) != len(theirs) || len(ours) != 33 {
		t.Fatalf("%d rows, ncu has %d", len(ours), len(theirs))
	}
	cells := 0
	for i := range ours {
		for j := range ours[i] {
			if theirs[0][j] == "Kernel Name" && i > 0 {
				continue
			}
			cells++
			if ours[i][j] != theirs[i][j] {
				t.Errorf("row %d, %s: got %q, ncu %q", i, theirs[0][j], ours[i][j], theirs[i][j])
			}
		}
	}
	if cells < 73000 {
		t.Errorf("compared %d cells", cells)
	}
}

func rows(t *testing.T, b []byte) [][]string {
	t.Helper()
	r, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A wrong value or unit must not pass the comparison.
func TestCompareSeesDifferences(t *testing.T) {
	rep := readBytes(t, fixture(t, "toy_nest.ncu-rep"), Options{})
	page := fixture(t, "toy_nest.2024.1.raw.csv")
	for _, change := range [][2]string{{`"3.199417"`, `"3.199418"`}, {`"cycle/nsecond"`, `"cycle/usecond"`}, {"gpc__cycles_elapsed.max\"", "gpc__cycles_elapsed.mix\""}} {
		bad := bytes.Replace(page, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, page) {
			t.Fatalf("%s is not in the page", change[0])
		}
		c := &Check{Release: metric.R2024}
		if err := c.compare(rep, bad, "auto"); err != nil {
			t.Fatal(err)
		}
		if len(c.Differences) == 0 {
			t.Errorf("%s for %s was not seen", change[1], change[0])
		}
	}
}

func TestWriteRawCSVUnits(t *testing.T) {
	b := fixture(t, "toy_range.ncu-rep")
	for _, units := range []string{"auto", "base", "yards"} {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = WriteRawCSV(&out, r, units)
		if (err != nil) != (units == "yards") {
			t.Errorf("%s: error %v", units, err)
		}
		if err == nil && !bytes.Contains(out.Bytes(), []byte(map[string]string{"auto": `"Ghz"`, "base": `"hz"`}[units])) {
			t.Errorf("%s: unit is missing", units)
		}
	}
}
