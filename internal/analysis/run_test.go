package analysis

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/runs"
)

const metricsText = `{"schema":1,"kind":"llm","stage":"STAGE","mode":"time","device":"cuda:0","clock":"cuda_events","complete":true,
 "model":{"name":"toy","family":"llama","parameters":1000,"weights_bytes":2000,"layers":2,"dtype":"bfloat16","attention":"sdpa","kv_cache":"dynamic","compile":false,"cuda_graphs":false,"config":{}},
 "software":{"python":"3.12","torch":"2.11"},
 "plan":{"batch_size":1,"prompt_length":64,"max_new_tokens":8,"epochs":1,"samples":1,"repeats":3,"warmup":1,"sync":true},
 "samples":[],
 "summary":{"prefill_ms":{"n":3,"mean":PREFILL,"std":0.01,"min":1,"p50":1,"p90":1,"p99":1,"max":1},"decode_ms":{"n":3,"mean":DECODE,"std":0.01,"min":1,"p50":1,"p90":1,"p99":1,"max":1},
  "tokens_per_s":{"n":3,"mean":55,"std":1,"min":54,"p50":55,"p90":56,"p99":56,"max":56},
  "substages_ms":{"projector":{"n":3,"mean":0.1},"sam":{"n":3,"mean":0.4},"clip":{"n":3,"mean":0.2}}}}`

const operatorsText = `{"schema":1,"activities":["cpu","cuda"],"operators":[
 {"name":"aten::linear","kind":"operator","calls":4,"cpu_self_us":1,"cpu_total_us":9,"device_self_us":0,"device_total_us":50},
 {"name":"aten::mm","kind":"operator","calls":4,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":50,"device_total_us":50},
 {"name":"aten::matmul","kind":"operator","calls":1,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":0,"device_total_us":0},
 {"name":"aten::view","kind":"operator","calls":9,"cpu_self_us":2,"cpu_total_us":2,"device_self_us":0,"device_total_us":0},
 {"name":"aten::empty","kind":"operator","calls":9,"cpu_self_us":3,"cpu_total_us":3,"device_self_us":0,"device_total_us":0},
 {"name":"aten::_local_scalar_dense","kind":"operator","calls":2,"cpu_self_us":1,"cpu_total_us":1,"device_self_us":0,"device_total_us":0},
 {"name":"gemm_tile","kind":"kernel","calls":4,"cpu_self_us":0,"cpu_total_us":0,"device_self_us":50,"device_total_us":50}]}`

// toyRun is a run directory around the recorded toy program.
func toyRun(t *testing.T, prefill, decode string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copyTo := func(name, fixture string) {
		data, err := os.ReadFile(unpacked(t, fixture))
		if err != nil {
			t.Fatal(err)
		}
		write(name, data)
	}
	copyTo("nsys/run.sqlite", toyTimeline)
	copyTo("ncu/run.ncu-rep", toyCounters)
	metrics := func(stage, prefill, decode string) {
		write("workload/"+stage+"/metrics.json", []byte(strings.NewReplacer("STAGE", stage, "PREFILL", prefill, "DECODE", decode).Replace(metricsText)))
	}
	metrics("baseline", prefill, decode)
	metrics("nsys", "1.5", "0.2")
	write("workload/torch_profiler/operators.json", []byte(operatorsText))
	write("workload/flops/flops.json", []byte(`{"stages":{"decode":{"flops":1e9}}}`))
	write("env.json", []byte(`{"schema":1,"host":{"name":"box","arch":"x86_64"},"driver":{"version":"580","cuda":"13.0"}}`))
	write("inputs.yaml", []byte("schema: 1\nworkload:\n  name: llm\n  command: [python3, main.py]\n"))
	return dir
}

func TestRunDirectory(t *testing.T) {
	dir := toyRun(t, "1.0", "0.125")
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	// 2 x 1024^3 x 7 products by hand would be the program's; the numbers here
	// are chosen so that the answers can be checked in the head.
	in.Work = []StageWork{{Stage: "prefill", FLOPs: 535.2576e9, Bytes: 2.4e9, DType: "bfloat16"}}
	r := analyzed(t, in)
	checkResult(t, "run", r)
	if r.Source.Run != filepath.Base(dir) || r.Environment.Host != "box" || r.Workload.Kind != "llm" || r.Workload.Model.Layers != 2 || r.Workload.Command[0] != "python3" {
		t.Errorf("source %+v, environment %+v, workload %+v", r.Source, r.Environment, r.Workload)
	}
	if len(r.Source.Files) != 6 {
		t.Errorf("files %+v", r.Source.Files)
	}
	p := stageNamed(t, r, "prefill")
	if *p.CleanMS != 1 || *p.NsysMS != 1.5 || *p.Overhead != 0.5 || p.Passes != 2 {
		t.Errorf("prefill: clean %v, nsys %v, overhead %v, passes %d", *p.CleanMS, *p.NsysMS, *p.Overhead, p.Passes)
	}
	if len(p.Sub) != 3 || p.Sub[0].Name != "sam" || p.Sub[2].Name != "projector" {
		t.Errorf("substages %+v", p.Sub)
	}
	// 535.2576e12 FLOP/s of the 989.4e12 of the data sheet; of the roof at the clock of
	// the counters beside it.
	if u := p.MFU[0]; u.Method != "analytic" || u.Value == nil || math.Abs(*u.Value-0.541) > 1e-4 || u.Peak.ID != "tensor_bf16" || !u.Peak.Published || u.OfRoof == nil || math.Abs(*u.OfRoof*u.Roof.Value-u.Achieved) > 1 || u.Seconds != 1e-3 {
		t.Errorf("MFU %+v", u)
	}
	if u := p.MBU[0]; u.Value == nil || math.Abs(*u.Value-0.5) > 0.01 {
		t.Errorf("MBU %+v", u)
	}
	if u := p.HFU[0]; u.Method != "counters" || u.Value == nil || *u.Coverage != 1 || u.Peak.ID != "fp32" {
		t.Errorf("HFU %+v", u)
	}
	if d := stageNamed(t, r, "decode"); d.TokensPS == nil || *d.TokensPS != 55 || d.FLOPs == nil || *d.FLOPs != 1e9 {
		t.Errorf("decode %+v", d)
	}
	if !hasNote(r.Warnings, OverheadHigh) {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func hasNote(notes []Note, code fact.Code) bool {
	for _, n := range notes {
		if n.Code == code {
			return true
		}
	}
	return false
}

// An unprofiled run of another shape says nothing of the overhead, and counters are
// not divided by its time.
func TestShapesDiffer(t *testing.T) {
	dir := toyRun(t, "1.0", "0.125")
	path := filepath.Join(dir, "workload", "nsys", "metrics.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"prompt_length":64`, `"prompt_length":128`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	p := stageNamed(t, r, "prefill")
	if p.Overhead != nil || !hasNote(r.Warnings, "shapes-differ") {
		t.Errorf("overhead %v, warnings %+v", p.Overhead, r.Warnings)
	}
	if u := p.HFU[0]; u.Method != "counters" || math.Abs(u.Seconds-1.0405e-3) > 1e-6 || !hasFact(u.Why, codeOverNsysShape) {
		t.Errorf("%+v", u)
	}
}

// More than the peak is a contradiction and never a value.
func TestContradiction(t *testing.T) {
	in, err := FromRun(toyRun(t, "0.001", "0.125"))
	if err != nil {
		t.Fatal(err)
	}
	in.Work = []StageWork{{Stage: "prefill", FLOPs: 1e13, Bytes: 1e11, DType: "bf16"}, {Stage: "decode", FLOPs: 1, DType: "int4"}}
	r := analyzed(t, in)
	p := stageNamed(t, r, "prefill")
	for _, u := range append(p.MFU[:1:1], p.MBU[0]) {
		if !u.Contradiction || u.Value != nil || u.Raw == nil || *u.Raw < 1 || !hasFact(u.Why, codeOverPeak) {
			t.Errorf("%+v", u)
		}
	}
	ids := map[string]bool{}
	for _, f := range r.Findings {
		if ids[f.ID] {
			t.Errorf("two findings are called %s", f.ID)
		}
		ids[f.ID] = true
	}
	if r.Findings[0].ID != "contradiction-prefill-MFU-analytic" || !ids["contradiction-prefill-MBU-analytic"] || r.Findings[0].Weight != weightHigh {
		t.Errorf("first finding %+v", r.Findings[0])
	}
	if u := stageNamed(t, r, "decode").MFU[0]; u.Value != nil || !hasFact(u.Why, codeNoTypePeak) {
		t.Errorf("a type without a peak: %+v", u)
	}
}

func TestOperators(t *testing.T) {
	in, err := FromRun(toyRun(t, "1", "1"))
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	if len(r.Operators) != 6 || r.Operators[0].Name != "aten::mm" || !r.Operators[0].Why.IsZero() {
		t.Fatalf("operators %+v", r.Operators)
	}
	for name, want := range map[string]fact.Code{
		"aten::linear": operatorCalls, "aten::matmul": operatorOtherNames, "aten::view": operatorView,
		"aten::empty": operatorAllocates, "aten::_local_scalar_dense": operatorOnHost,
	} {
		for _, o := range r.Operators {
			if o.Name == name && !o.Why.Is(want) {
				t.Errorf("%s: %v, want %q", name, o.Why, want)
			}
			if o.Name == "aten::matmul" && (len(o.Kernels) == 0 || !strings.Contains(o.Kernels[0], "gemm_tile")) {
				t.Errorf("aten::matmul is explained through %v", o.Kernels)
			}
		}
	}
}

// The commands and the state of a real run directory are taken over.
func TestManifest(t *testing.T) {
	run, err := runs.Create(t.TempDir(), runs.CreateOptions{Command: []string{"deepprof", "run"}, Steps: []runs.Step{{Name: "nsys"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Update(func(m *runs.Manifest) error {
		s := 2.5
		m.Steps[0].Attempts = []runs.Attempt{{Command: []string{"nsys", "profile", "a b"}, Started: m.Created, Seconds: &s, Outcome: &runs.Outcome{Kind: "captured", Usable: true, Text: fact.FromText("nsys ended")}}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	in := Input{Run: run.Dir(), Timelines: []string{unpacked(t, toyTimeline)}}
	r := analyzed(t, in)
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if c := r.Method.Commands; len(c) != 1 || c[0].Command != "nsys profile 'a b'" || c[0].Seconds != 2.5 || c[0].Outcome != "captured" || r.Source.Created == "" {
		t.Errorf("commands %+v, source %+v", c, r.Source)
	}
}

// A workload that failed under a profiler is the first thing that is told, with
// how much is missing where that is known.
func TestCutShort(t *testing.T) {
	for _, c := range []struct {
		kind string
		ran  float64
		want fact.Code
	}{
		{"workload failed", 2, cutShortTimed}, {"workload crashed", 9, cutShort}, {"disk full", 2, cutByDisk}, {"captured with warnings", 2, ""},
	} {
		run, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: "unprofiled"}, {Name: "nsys"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Update(func(m *runs.Manifest) error {
			alone := 8.0
			m.Warnings = []fact.Stored{{Fact: fact.FromText("another")}}
			m.Steps[0].State = runs.StateDone
			m.Steps[0].Attempts = []runs.Attempt{{Started: m.Created, Seconds: &alone, Outcome: &runs.Outcome{Kind: "captured", Usable: true}}}
			m.Steps[1].Attempts = []runs.Attempt{{Started: m.Created, Seconds: &c.ran, Outcome: &runs.Outcome{Kind: c.kind, Usable: true, Evidence: fact.New("exit-code", fact.Count("code", 1))}}}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r := analyzed(t, Input{Run: run.Dir(), Timelines: []string{unpacked(t, toyTimeline)}})
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		first := r.Warnings[0].Fact
		if c.want == "" && first.Is(cutShort, cutShortTimed, cutByDisk) || c.want != "" && !first.Is(c.want) {
			t.Errorf("%s: first warning %+v", c.kind, first)
		}
		if c.want == cutShortTimed && (first.Number("ran") != 2e9 || first.Number("unprofiled") != 8e9) {
			t.Errorf("%s: %+v", c.kind, first)
		}
	}
}

// The time of a capture tells a report that was copied in.
func TestOtherCapture(t *testing.T) {
	info, err := time.Parse("2006-01-02T15:04:05", toyBegan)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		started time.Time
		want    bool
	}{{info.Add(-5 * time.Second), false}, {info.Add(time.Hour), true}, {info.Add(-time.Hour), true}} {
		run, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: "nsys"}}})
		if err != nil {
			t.Fatal(err)
		}
		seconds := 30.0
		if err := run.Update(func(m *runs.Manifest) error {
			m.Steps[0].Attempts = []runs.Attempt{{Started: c.started, Seconds: &seconds, Outcome: &runs.Outcome{Kind: "captured", Usable: true}}}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r := analyzed(t, Input{Run: run.Dir(), Timelines: []string{unpacked(t, toyTimeline)}})
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		if hasNote(r.Warnings, OtherCapture) != c.want {
			t.Errorf("nsys ran at %s, the capture began at %s: warnings %+v", c.started, info, r.Warnings)
		}
	}
}

// A capture of several windows leaves a timeline each: the result says which one
// it is about.
func TestRepeatedCapture(t *testing.T) {
	dir := toyRun(t, "1", "1")
	data, err := os.ReadFile(filepath.Join(dir, "nsys", "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.1.sqlite", "run.2.sqlite"} {
		if err := os.WriteFile(filepath.Join(dir, "nsys", name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "nsys", "run.sqlite")); err != nil {
		t.Fatal(err)
	}
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Analyze(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(in.timeline()) != "run.1.sqlite" || !hasNote(r.Warnings, "timelines") {
		t.Errorf("%s is read, warnings %+v", in.Timelines, r.Warnings)
	}
}
