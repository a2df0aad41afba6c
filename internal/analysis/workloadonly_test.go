package analysis

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// What a workload measured of itself is enough for a result.
func TestWorkloadAlone(t *testing.T) {
	dir := toyRun(t, "2.5", "1.5")
	for _, name := range []string{"nsys", "ncu"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	run, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fromFiles(filepath.Join(dir, "workload/baseline/metrics.json"), filepath.Join(dir, "workload/torch_profiler/operators.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Input{"run": run, "files": files} {
		r := analyzed(t, in)
		if len(r.Stages) != 2 || r.Stages[0].Name != "prefill" || *r.Stages[0].CleanMS != 2.5 || r.Stages[0].Split.WallNS != 0 || len(r.Operators) != 6 || len(r.Totals.Aggregates) == 0 {
			t.Errorf("%s: stages %+v, %d operators, aggregates %+v", name, r.Stages, len(r.Operators), r.Totals.Aggregates)
		}
		if !hasNote(r.Missing, "no-timeline") || !hasNote(r.Missing, "no-counters") || r.Roofline.Why.IsZero() {
			t.Errorf("%s: what is absent has no reason: %+v", name, r.Missing)
		}
		if f := findingNamed(r, "clean-times"); f == nil || math.Abs(f.Number("total")-4e6) > 1 || len(f.Params["times"].Facts) != 2 {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if f := findingNamed(r, "largest-operator"); f == nil || f.Text("operator") != "aten::mm" || f.Text("where") != "where:gpu" {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		data, err := json.Marshal(r)
		if err != nil || strings.Contains(string(data), `"busy":null`) {
			t.Errorf("%s: %v, or a split without its lists", name, err)
		}
	}
}

// A profile of the CPU alone is ordered by CPU time and says that it is one.
func TestOperatorsOfTheCPU(t *testing.T) {
	path := filepath.Join(t.TempDir(), "operators.json")
	if err := os.WriteFile(path, []byte(`{"schema":1,"activities":["cpu"],"operators":[
 {"name":"aten::relu","kind":"operator","calls":1,"cpu_self_us":2,"cpu_total_us":3,"device_self_us":0,"device_total_us":0},
 {"name":"aten::conv2d","kind":"operator","calls":1,"cpu_self_us":2,"cpu_total_us":90,"device_self_us":0,"device_total_us":0},
 {"name":"aten::mm","kind":"operator","calls":3,"cpu_self_us":80,"cpu_total_us":80,"device_self_us":0,"device_total_us":0}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, Input{Operators: path})
	for i, name := range []string{"aten::mm", "aten::conv2d", "aten::relu"} {
		if o := r.Operators[i]; o.Name != name || !o.Why.Is(operatorCPUOnly) || o.TotalCPUUS == 0 {
			t.Errorf("row %d: %+v", i, o)
		}
	}
	if f := findingNamed(r, "largest-operator"); f == nil || f.Text("operator") != "aten::mm" || f.Text("where") != "where:cpu" || math.Abs(f.Number("ns")-80e3) > 1 || f.Number("n") != 3 {
		t.Errorf("%+v", r.Findings)
	}
}

// What the profiler does for itself is no operator, and the result says what the
// operators cover.
func TestOperatorsCover(t *testing.T) {
	prompt, tokens := fact.Count("prompt", 512), fact.Count("new", 16)
	const row = `{"name":"NAME","kind":"KIND","calls":1,"cpu_self_us":9,"cpu_total_us":9,"device_self_us":TIME,"device_total_us":TIME}`
	for _, c := range []struct {
		name, operator, kernel string
		want                   fact.Fact
		warned                 bool
	}{
		{"all of it", "50", "50", fact.New(profiledOperators, fact.NS("time", 50e3), fact.Share("share", 1), fact.NS("of", 50e3), prompt, tokens), false},
		{"graphs", "10", "100", fact.New(profiledOperators, fact.NS("time", 10e3), fact.Share("share", 0.1), fact.NS("of", 100e3), prompt, tokens), true},
		{"no kernels listed", "10", "0", fact.New(profiledOperators, fact.NS("time", 10e3), prompt, tokens), false},
		{"no device time", "0", "0", fact.New(profiledNoDevice), false},
	} {
		path := filepath.Join(t.TempDir(), "operators.json")
		var rows []string
		for _, r := range [][3]string{{"aten::mm", "operator", c.operator}, {"nvjet", "kernel", c.kernel}, {"INVALID", "operator", "0"}, {"Activity Buffer Request", "operator", "0"}} {
			rows = append(rows, strings.NewReplacer("NAME", r[0], "KIND", r[1], "TIME", r[2]).Replace(row))
		}
		if err := os.WriteFile(path, []byte(`{"schema":1,"activities":["cpu","cuda"],"prompt_tokens":512,"new_tokens":16,"operators":[`+strings.Join(rows, ",")+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r := analyzed(t, Input{Operators: path})
		if len(r.Operators) != 1 || r.Profiled == nil || !slices.EqualFunc(r.Profiled.Text, []fact.Fact{c.want}, fact.Fact.Equal) || hasNote(r.Warnings, "operators-cover") != c.warned {
			t.Errorf("%s: %d operators, %+v, warnings %+v", c.name, len(r.Operators), r.Profiled, r.Warnings)
		}
	}
}

// A report of counters that is cut within its first launch is said to be damaged,
// not to be empty.
func TestCutWithinTheFirstLaunch(t *testing.T) {
	whole, err := os.ReadFile(unpacked(t, llmCounters))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.ncu-rep")
	if err := os.WriteFile(cut, whole[:1_000_000], 0o600); err != nil {
		t.Fatal(err)
	}
	var empty *emptyError
	_, err = Analyze(t0(), Input{Counters: []string{cut}})
	if !errors.As(err, &empty) || !hasNote(empty.Warnings, inputLost) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
}

// Files that hold nothing are an error, also several of them.
func TestNothingInTheFiles(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "metrics.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := fromFiles(bad)
	if err != nil {
		t.Fatal(err)
	}
	var empty *emptyError
	if _, err := Analyze(t0(), in); !errors.As(err, &empty) || len(empty.Files) != 1 || len(empty.Warnings) == 0 {
		t.Errorf("%v", err)
	}
	for _, folder := range []string{"other", "nsys"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "metrics.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fromFiles(bad, filepath.Join(dir, "other", "metrics.json")); err == nil {
		t.Error("two files of one stage were accepted")
	}
	both, err := fromFiles(bad, filepath.Join(dir, "nsys", "metrics.json"))
	if err != nil || both.Metrics["nsys"] == "" || both.Metrics["unprofiled"] != bad {
		t.Errorf("%+v, %v", both.Metrics, err)
	}
}

func findingNamed(r *Result, id string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}
