package export

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// served is three steps of the shipped server on an H200 with sampled counters; the
// windows of its clients are synthetic.
func served(t *testing.T) *Source {
	t.Helper()
	windows := filepath.Join(t.TempDir(), "nsys", "windows.json")
	if err := os.MkdirAll(filepath.Dir(windows), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"schema":1,"engine":"llm_server","load":"client","windows":[
		{"name":"idle-1","kind":"idle","stats":{"seconds":2,"requests":8,"errors":1,"tokens":600,"tokens_per_s":300,"requests_per_s":4,"goodput_per_s":3.5,"ttft_ns":{"n":8,"p50":2e7,"p99":5e7},"itl_ns":{"n":500,"p50":8e6,"p99":9e6}}},
		{"name":"window-1","kind":"profiled","cache_use":0.25,"memory_peak_bytes":18e9,"stats":{"seconds":2,"tokens":500,"tokens_per_s":250}}]}`
	if err := os.WriteFile(windows, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := source("server_window")
	in := analysis.Input{Windows: []string{windows}}
	if err := in.Add(s.Timelines[0]); err != nil {
		t.Fatal(err)
	}
	s.Result = func(ctx context.Context) (*analysis.Result, error) { return analysis.Analyze(ctx, in) }
	return s
}

// OpenMetrics and benchmarks have what clients saw, the steps by kind and batch size,
// and the counters that were sampled in them.
func TestServingInTexts(t *testing.T) {
	s := served(t)
	for format, want := range map[string][]string{
		"openmetrics": {
			`deepprof_request_ttft_seconds{run="server_window",window="idle-1",kind="idle",quantile="0.5"} 0.02`,
			`deepprof_request_good_per_second{run="server_window",window="idle-1",kind="idle"} 3.5`,
			`deepprof_request_errors{run="server_window",window="idle-1",kind="idle"} 1`,
			`deepprof_kv_cache_used_ratio{run="server_window",window="window-1",kind="profiled"} 0.25`,
			`deepprof_gpu_memory_peak_bytes{run="server_window",window="window-1",kind="profiled"} 1.8e+10`,
			`deepprof_step_count{run="server_window",kind="mixed",batch="8"} 1`,
			`deepprof_step_seconds{run="server_window",kind="decode",batch="7",quantile="0.99"} 0.01025`,
			`deepprof_step_gap_seconds{run="server_window",kind="mixed",batch="8",quantile="0.5"} 0.000`,
			`deepprof_next_token_seconds{run="server_window",part="mixed"} 0.0142`,
			`deepprof_sampled_ratio{run="server_window",of="steps",kind="decode",batch="8",metric="dram_read"} 0.3`,
			`deepprof_sampled_readings{run="server_window",of="steps",kind="mixed",batch="8",metric="tensor_active"} 426`,
			`deepprof_sampled_error_ratio{run="server_window",of="region",region="mixed/Llama",metric="tensor_active"} 0.0`,
		},
		"bench": {
			"BenchmarkRequests/kind=idle/window=idle-1 8 300 tokens/s 4 requests/s 3.5 good-requests/s 2e+07 ttft-p50-ns 5e+07 ttft-p99-ns",
			"BenchmarkRequests/kind=profiled/window=window-1 1 250 tokens/s",
			"BenchmarkStep/kind=mixed/batch=8 1 4.26", " gap-ns/op", " launches/op",
			"BenchmarkSampled/of=steps/kind=decode/batch=8 100 ", " tensor_active ",
			"BenchmarkSampled/of=region/region=mixed_Llama ",
		},
	} {
		got := string(exported(t, format, s))
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s lacks %q", format, w)
			}
		}
		if t.Failed() {
			t.Log(got[:min(len(got), 20000)])
		}
	}
}

// The steps of a serving engine are a track of their own, with what they compute.
func TestPerfettoHasSteps(t *testing.T) {
	got := view(t, exported(t, "perfetto", source("server_window")))
	found := map[string]int{}
	for _, v := range got.slices {
		if strings.Contains(v.name, ", batch ") {
			found[v.name]++
		}
	}
	if len(found) != 3 || found["mixed, batch 8"] != 1 || found["decode, batch 7"] != 1 || found["decode, batch 8"] != 1 {
		t.Errorf("steps: %v", found)
	}
	if len(got.counters) == 0 {
		t.Error("no sampled counters")
	}
}

// The tables have a row for each step, and for each reading of each metric.
func TestServingTables(t *testing.T) {
	s := source("server_window")
	for table, want := range map[string]int{"steps": 3, "samples": 0} {
		var b strings.Builder
		if _, err := formatNamed(t, "csv").WriteTable(context.Background(), s, table, &b); err != nil {
			t.Fatal(err)
		}
		rows := strings.Count(b.String(), "\n") - 1
		if want > 0 && rows != want || rows < 1 {
			t.Errorf("%s has %d rows, want %d", table, rows, want)
		}
	}
}
