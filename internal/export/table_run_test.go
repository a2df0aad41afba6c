package export

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/runs"
)

func writeConditionsFile(t *testing.T, dir string, samples []runs.Condition) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, runs.ConditionsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := csv.NewWriter(f)
	w.Write(runs.ConditionColumns)
	for i := range samples {
		w.Write(samples[i].Record())
	}
	if w.Flush(); w.Error() != nil {
		t.Fatal(w.Error())
	}
}

// TestRequestsJoinWindows places requests, synthetic ones, in the windows in which
// they ended, and leads from there to the timeline.
func TestRequestsJoinWindows(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, runs.ServerOf("nsys"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(load.Record{Schema: load.RecordSchema, Window: []load.Window{
		{Name: "startup", Kind: load.Startup, From: 0, To: 1000, Report: "nsys/startup"},
		{Name: "idle-1", Kind: load.Idle, From: 100, To: 200},
		{Name: "window-1", Kind: load.Profiled, From: 200, To: 300, Report: "nsys/window-1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, runs.WindowsName), record, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := load.WriteRequests(filepath.Join(folder, runs.RequestsName), []load.Request{
		{Sent: 10, Tokens: []int64{60, 150}, End: 160, Prompt: 512, Output: 2},
		{Sent: 110, Tokens: []int64{190}, End: 250, Prompt: 64, Output: 1},
		{Sent: 120, End: 400, Error: "timeout"},
		{Sent: 290},
	}); err != nil {
		t.Fatal(err)
	}
	s := &Source{Run: "server", Dir: dir, Timelines: []string{filepath.Join(dir, "nsys", "window-1.sqlite")}}
	want := []map[string]string{
		{"request": "1", "window": "idle-1", "timeline": "", "ttft_ns": "50", "tpot_ns": "90", "e2e_ns": "150", "prompt_tokens": "512", "error": ""},
		{"request": "2", "window": "window-1", "timeline": "nsys/window-1.sqlite", "ttft_ns": "80", "tpot_ns": "", "e2e_ns": "140"},
		{"request": "3", "window": "", "ttft_ns": "", "e2e_ns": "280", "error": "timeout"},
		{"request": "4", "window": "", "end_ns": "", "e2e_ns": ""},
	}
	rows := csvRows(t, s, "requests")
	if len(rows) != len(want) {
		t.Fatalf("%d requests, want %d", len(rows), len(want))
	}
	for i := range want {
		for key, value := range want[i] {
			if rows[i][key] != value {
				t.Errorf("request %d has %s %q, want %q", i+1, key, rows[i][key], value)
			}
		}
	}
}
