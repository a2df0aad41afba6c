package capture

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
)

// TestSampleRate: readings of all GPUs over all windows keep within 100 MB.
func TestSampleRate(t *testing.T) {
	for _, test := range []struct {
		length time.Duration
		gpus   int
	}{{0, 1}, {time.Second, 1}, {4 * time.Second, 1}, {4 * time.Second, 8}, {20 * time.Second, 1}, {20 * time.Second, 8}, {time.Hour, 1}} {
		p := &plan.Plan{Device: "all"}
		p.Pipeline.Nsys.GPUMetrics, p.Pipeline.Nsys.GPUMetricsHz, p.Pipeline.Nsys.Duration = "on", 10_000, test.length
		hz, _ := Sampling{Plan: p, GPUs: test.gpus}.Rate()
		bytes := float64(hz*test.gpus) * test.length.Seconds() * bytesPerReading
		full := 10_000 * float64(test.gpus) * test.length.Seconds() * bytesPerReading
		switch {
		case test.length == 0: // may be anything
			if hz != 0 {
				t.Errorf("%d Hz over a time that is not known", hz)
			}
		case bytes > maxSampleBytes:
			t.Errorf("%s of %d GPUs at %d Hz: %.0f bytes", test.length, test.gpus, hz, bytes)
		case full <= maxSampleBytes && hz != 10_000:
			t.Errorf("%s of %d GPUs at %d Hz, though all of 10 kHz has room", test.length, test.gpus, hz)
		case hz == 0 && 1000*full/10_000 < maxSampleBytes*0.99:
			t.Errorf("%s of %d GPUs: not at all", test.length, test.gpus)
		case hz != 0 && hz < minSampleHz:
			t.Errorf("%s of %d GPUs at %d Hz", test.length, test.gpus, hz)
		}
	}
}

// TestSampledSpan: what bounds the time of sampling, and a program is slower under nsys.
func TestSampledSpan(t *testing.T) {
	for name, c := range map[string]struct {
		nsys    plan.Nsys
		program time.Duration
		want    time.Duration
	}{
		"unknown":              {plan.Nsys{}, 0, 0},
		"a gate":               {plan.Nsys{CaptureRange: plan.CaptureNVTX}, 0, 0},
		"timed":                {plan.Nsys{}, 4 * time.Second, 5 * time.Second},
		"timed, with a gate":   {plan.Nsys{CaptureRange: plan.CaptureNVTX}, 4 * time.Second, 5 * time.Second},
		"a window":             {plan.Nsys{Duration: 2 * time.Second}, 0, 2 * time.Second},
		"a window of the rest": {plan.Nsys{Delay: 3 * time.Second, Duration: time.Minute}, 4 * time.Second, 2 * time.Second},
		"a late start":         {plan.Nsys{Delay: time.Minute}, 4 * time.Second, time.Second},
	} {
		p := &plan.Plan{}
		p.Pipeline.Nsys = c.nsys
		if got := (Sampling{Plan: p, Program: c.program}).span(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSamplesOverBound: an export with more samples than it is to have says so.
func TestSamplesOverBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples.sqlite")
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(rows int) {
		t.Helper()
		for _, sql := range []string{
			"CREATE TABLE IF NOT EXISTS META_DATA_EXPORT (name TEXT, value TEXT)", "DROP TABLE IF EXISTS GPU_METRICS",
			"CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL)",
			fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) INSERT INTO GPU_METRICS SELECT i, i, 1, 1, 50 FROM n", rows),
		} {
			if err := db.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer db.Close()
	for rows, want := range map[int]bool{1000: false, 1001: true} {
		fill(rows)
		f, err := nsys.OpenSQLite(path)
		if err != nil {
			t.Fatal(err)
		}
		over, err := checkSamples(t.Context(), f, 1000*bytesPerSample)
		if err != nil || (len(over) == 1) != want || want && !over[0].Is(samplesOver) {
			t.Errorf("%d rows: %v, %v", rows, over, err)
		}
		f.Close()
	}
}
