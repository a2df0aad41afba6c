package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/columns"
)

// withTapes analyzes a file in each of the ways that its events can take to the tape, and into
// memory or a file.
func withTapes(t *testing.T, path string, o func(*Input)) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, way := range []string{"flow", "memory", "file"} {
		in, err := fromFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		in.Events = true
		o(&in)
		old := columns.MostMemory
		if way == "file" {
			columns.MostMemory = 0
		}
		noFlow = way == "memory"
		r, err := Analyze(t0(), in)
		columns.MostMemory, noFlow = old, false
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := json.Marshal(r.Overview.Detail)
		if err != nil {
			t.Fatal(err)
		}
		out[way] = string(text) + "\n" + string(detail)
	}
	return out
}

// Changes of a timeline (SQL) that are synthetic: no capture at hand is like this.
var oddTimelines = map[string]string{
	"endless call":         `UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = -9000000000000000000, end = 9000000000000000000 WHERE rowid = 1`,
	"endless kernel":       `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9000000000000000000, end = 9000000000000000000 WHERE rowid = 1`,
	"endless range":        `UPDATE NVTX_EVENTS SET start = -9000000000000000000, end = 9000000000000000000 WHERE rowid = (SELECT min(rowid) FROM NVTX_EVENTS WHERE eventType = 59)`,
	"range ends early":     `UPDATE NVTX_EVENTS SET end = start - 5 WHERE rowid = (SELECT max(rowid) FROM NVTX_EVENTS WHERE eventType = 59)`,
	"kernel ends early":    `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 5 WHERE rowid = 100`,
	"nodes nobody created": `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = rowid WHERE rowid % 2 = 0`,
	"kernel without call":  `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 4000000000 WHERE rowid = 100`,
	"two calls of an id":   `UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 7) WHERE rowid = 8`,
	"start/end range":      `UPDATE NVTX_EVENTS SET eventType = 60 WHERE rowid = (SELECT max(rowid) FROM NVTX_EVENTS WHERE eventType = 59)`,
	"open range":           `UPDATE NVTX_EVENTS SET end = NULL WHERE rowid = (SELECT min(rowid) FROM NVTX_EVENTS WHERE eventType = 59)`,
	"two devices":          `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE rowid > 2000`,
	"calls at one moment":  `UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = (SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 7) WHERE rowid = 8`,
	"no kernel":            `DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL`,
	"call of a program":    `INSERT INTO PROCESSES SELECT globalPid + 16777216, pid + 1, 'other' FROM PROCESSES; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + 16777216 WHERE rowid = 1`,
	"call of a thread":     `UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + 1 WHERE rowid = 1`,
	"two streams":          `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = streamId + rowid % 3`,
}

// changed is a copy of a file that SQLite itself has changed.
func changed(t *testing.T, path, name, change string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), strings.NewReplacer(" ", "_", "/", "_").Replace(name)+".sqlite")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite3.Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(change); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if conn.Changes() == 0 {
		t.Fatalf("%s: nothing changed", name)
	}
	return copied
}

// TestWaysToTape: the result is the same whether a timeline comes to the tape in a flow or from
// memory, and wherever the tape lies.
func TestWaysToTape(t *testing.T) {
	list, err := filepath.Glob("../nsys/testdata/exports/*.sqlite.gz")
	if err != nil || len(list) < 10 {
		t.Fatal(list, err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var paths []string
	for _, fixture := range append(list, llmTimeline) {
		paths = append(paths, unpacked(t, fixture))
	}
	for name, change := range oddTimelines {
		paths = append(paths, changed(t, paths[len(list)], name, change)) // the session of an LLM
	}
	for _, path := range paths {
		for name, o := range map[string]func(*Input){"default": func(*Input) {}, "whole": func(in *Input) { in.DefaultScope = false }} {
			got := withTapes(t, path, o)
			for _, way := range []string{"memory", "file"} {
				if got[way] == got["flow"] {
					continue
				}
				x, y := strings.Split(got["flow"], ","), strings.Split(got[way], ",")
				for i := range min(len(x), len(y)) {
					if x[i] != y[i] {
						t.Errorf("%s, %s: a flow gives %s after %s, %s %s", filepath.Base(path), name, x[i], strings.Join(x[max(0, i-8):i], ","), way, y[i])
						break
					}
				}
			}
		}
	}
}

// TestPayloadsOfRanges: what is attached to ranges is there, whichever way a timeline comes to tape.
func TestPayloadsOfRanges(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := changed(t, unpacked(t, llmTimeline), "range with a payload", `UPDATE NVTX_EVENTS SET int64Value = 42 WHERE rowid = (SELECT max(rowid) FROM NVTX_EVENTS WHERE eventType = 59)`)
	in, err := fromFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	tr := &timelineReader{in: &in, notes: &notes{in: &in}}
	taped, _, err := tr.openTimeline(t0())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	var values []string
	for r := range uint32(taped.tape.RangeLen()) {
		if p := taped.tape.Payload(taped.t, r); p.Value != "" {
			values = append(values, p.Value)
		}
	}
	if len(values) != 1 || values[0] != "42" {
		t.Errorf("payloads %q", values)
	}
}

// TestDamagedStartup: a window over the start of a server that cannot be read takes nothing else
// with it.
func TestDamagedStartup(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	run := t.TempDir()
	if err := os.Mkdir(filepath.Join(run, "nsys"), 0o700); err != nil {
		t.Fatal(err)
	}
	startup := filepath.Join(run, "nsys", "startup.sqlite")
	if err := os.WriteFile(startup, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := startups(run); len(got) != 1 || got[0] != startup {
		t.Fatalf("windows over the start %q", got)
	}
	r, err := Analyze(t0(), Input{Run: run, Timelines: []string{unpacked(t, "../nsys/testdata/exports/graph_node.sqlite.gz")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kernels) == 0 || r.Totals.Launches == 0 {
		t.Errorf("%d kernels, %d launches", len(r.Kernels), r.Totals.Launches)
	}
	lost := r.warningsOf(inputUnreadable)
	if len(lost) != 1 || !strings.Contains(lost[0].Text("file"), "startup.sqlite") {
		t.Errorf("unreadable: %+v", lost)
	}
}

// TestStagesOfOneName: each has its own launches.
func TestStagesOfOneName(t *testing.T) {
	first, second := &Stage{Name: "step", ids: []uint32{1}}, &Stage{Name: "step", ids: []uint32{2}}
	tl := &timed{ahead: &lookAhead{haveStages: make(chan struct{}), stages: []stageLaunches{{of: first, use: streamUse{threads: 1}}, {of: second, use: streamUse{threads: 2}}}}}
	close(tl.ahead.haveStages)
	for want, s := range map[int]*Stage{1: first, 2: second} {
		if found := tl.lookedAt(s); found == nil || found.use.threads != want {
			t.Errorf("stage of regions %v: %+v, want %d threads", s.ids, found, want)
		}
	}
	if found := tl.lookedAt(&Stage{Name: "step", ids: []uint32{3}}); found != nil {
		t.Errorf("a stage that nobody looked at has %+v", found)
	}
}
