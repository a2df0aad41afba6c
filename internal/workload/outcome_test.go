package workload

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

func exitOf(err error) tool.Exit {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return tool.Exit{Code: e.ExitCode()}
	}
	return tool.Exit{Code: -1}
}

const goodMetrics = `{"schema": 1, "complete": true, "kind": "llm", "stage": "baseline", "clock": "cuda_events",
 "model": {"name": "m", "family": "llama", "parameters": 9007199254740993, "config": {"hidden_size": 4096}},
 "software": {"torch": "2.9", "gpu": null}, "plan": {"order": [[0]], "order_seed": null},
 "samples": [{"tokens_in": 8, "tokens_out": 4, "prompt_tokens": 8, "new_tokens": 4, "prefill_ms": 2.5, "decode_ms": null, "token_ms": [1, 2]}],
 "summary": {"prefill_ms": {"n": 1, "mean": 2.5, "std": null}, "substages_ms": {"sam": {"n": 1, "mean": 1}}}}`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadMetrics(t *testing.T) {
	m, err := ReadMetrics(folder(t, map[string]string{runs.MetricsName: goodMetrics}))
	if err != nil {
		t.Fatal(err)
	}
	if m.Model.Parameters != 9007199254740993 || *m.Samples[0].PrefillMS != 2.5 || m.Samples[0].DecodeMS != nil || m.Software.GPU != "" {
		t.Errorf("%+v", m)
	}
	if d := m.Summary.Measures["prefill_ms"]; d.N != 1 || d.Std != nil || *m.Summary.Substages["sam"].Mean != 1 {
		t.Errorf("%+v", m.Summary)
	}
	for text, want := range map[string]string{
		``:                             "EOF",
		`[]`:                           "cannot unmarshal",
		`{"schema": 2, "kind": "llm"}`: "schema 2, this version reads 1",
		`{"schema": 1}`:                "no kind",
		`{"schema": 1, "kind": "llm", "samples": [{"prefill_ms": -1}]}`:      "a time of -1 ms",
		`{"schema": 1, "kind": "llm", "samples": [{"tokens_out": -1}]}`:      "-1 out",
		`{"schema": 1, "kind": "llm", "summary": {"prefill_ms": 7}}`:         "summary.prefill_ms",
		`{"schema": 1, "kind": "llm", "summary": {"prefill_ms": {"n": -7}}}`: "over -7 values",
	} {
		if _, err := ReadMetrics(folder(t, map[string]string{runs.MetricsName: text})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ReadMetrics(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestReadOperators(t *testing.T) {
	o, err := ReadOperators(folder(t, map[string]string{runs.OperatorsName: `{"schema": 1, "activities": ["cpu"], "group_by_input_shape": true,
		"operators": [{"name": "aten::mm", "kind": "operator", "calls": 3, "cpu_self_us": 1.5, "shapes": [[1, 2], []]}]}`}))
	if err != nil || len(o.Operators) != 1 || o.Operators[0].Calls != 3 || o.Operators[0].CPUSelfUS != 1.5 || !o.ByShape {
		t.Errorf("%+v, %v", o, err)
	}
	for _, text := range []string{`{"schema": 1, "operators": [{"calls": 1}]}`, `{"schema": 1, "operators": [{"name": "x", "calls": -1}]}`, `{}`} {
		if _, err := ReadOperators(folder(t, map[string]string{runs.OperatorsName: text})); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// The links here are synthetic.
func TestReadOperatorLinks(t *testing.T) {
	many := strings.Repeat(`{"name": "k", "calls": 1, "us": 1},`, maxLinks) + `{"name": "k", "calls": 1, "us": 1}`
	for _, c := range []struct {
		name, row string
		links     int // -1: the recording has none
		more      bool
		lost      int
	}{
		{"an older recording", ``, -1, false, 0},
		{"ran none", `, "kernels": []`, 0, false, 0},
		{"linked", `, "kernels": [{"name": "k", "calls": 2, "us": 1.5, "own": false, "by": "aten::mm"}], "kernels_more": {"kernels": 1, "calls": 3, "us": 2}`, 1, true, 0},
		{"cannot be", `, "kernels": [{"name": "k", "calls": 2, "us": -1.5}, {"calls": 1, "us": 1}, {"name": "j", "calls": 1, "us": 1}], "kernels_more": {"kernels": -1}`, 1, false, 3},
		{"too many", `, "kernels": [` + many + `]`, maxLinks, false, 1},
	} {
		o, err := ReadOperators(folder(t, map[string]string{runs.OperatorsName: `{"schema": 1, "unlaunched": {"calls": 7, "us": 9.5, "graph_launches": 1, "note": "n"},
			"operators": [{"name": "aten::linear", "kind": "operator", "calls": 3` + c.row + `}]}`}))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		op := o.Operators[0]
		if (op.Kernels == nil) != (c.links < 0) || len(op.Kernels) != max(0, c.links) || (op.KernelsMore != nil) != c.more || (c.lost == 0) != (len(o.Notes) == 0) || c.lost > 0 && (!o.Notes[0].Is(linksLost) || o.Notes[0].Number("n") != float64(c.lost)) {
			t.Errorf("%s: %+v, notes %+v", c.name, op, o.Notes)
		}
		if c.more && (op.Kernels[0] != OperatorKernel{Name: "k", Calls: 2, US: 1.5, By: "aten::mm"} || op.KernelsMore.US != 2) {
			t.Errorf("%s: %+v, %+v", c.name, op.Kernels, op.KernelsMore)
		}
		if o.Unlaunched == nil || o.Unlaunched.Calls != 7 || o.Unlaunched.Note.Text("text") != "n" {
			t.Errorf("%s: %+v", c.name, o.Unlaunched)
		}
	}
}

func TestJudge(t *testing.T) {
	fails := func(kind string) string {
		return `{"schema": 1, "kind": "` + kind + `", "what": "it broke", "next": "fix it", "traceback": ["a", "b", "  c", "d", "Error: \u001b[31me"]}`
	}
	bad := tool.Exit{Code: 1}
	for _, c := range []struct {
		name  string
		exit  tool.Exit
		mode  string
		files map[string]string
		ok    bool
		kind  string
		says  fact.Code // of what, evidence or a warning
	}{
		{"good", tool.Exit{}, ModeTime, map[string]string{runs.MetricsName: goodMetrics}, true, "", sessionComplete},
		{"exception", bad, ModeTime, map[string]string{runs.ErrorName: fails("exception")}, false, exception, traceback},
		{"told in words", bad, ModeTime, map[string]string{runs.ErrorName: fails("gpu_index")}, false, "gpu_index", sessionFailed},
		{"failure with exit 0", tool.Exit{}, ModeTime, map[string]string{runs.ErrorName: fails("dataset"), runs.MetricsName: goodMetrics}, false, "dataset", sessionFailedQuietly},
		{"no word", bad, ModeTime, nil, false, "", sessionEnded},
		{"half a word", bad, ModeTime, map[string]string{runs.ErrorName: `{"sch`}, false, "", sessionErrorUnread},
		{"newer word", bad, ModeTime, map[string]string{runs.ErrorName: `{"schema": 7}`}, false, "", sessionErrorUnread},
		{"nothing", tool.Exit{}, ModeTime, nil, false, "", fileAbsent},
		{"cut off", tool.Exit{}, ModeTime, map[string]string{runs.MetricsName: strings.Replace(goodMetrics, "true", "false", 1)}, false, "", fileUnusable},
		{"no samples", tool.Exit{}, ModeProfile, map[string]string{runs.MetricsName: `{"schema": 1, "kind": "llm", "complete": true}`}, false, "", fileUnusable},
		{"no operators", tool.Exit{}, ModeTorchProfiler, map[string]string{runs.MetricsName: goodMetrics}, false, "", sessionLeftNothing},
		{"empty operators", tool.Exit{}, ModeTorchProfiler, map[string]string{runs.OperatorsName: `{"schema": 1}`}, false, "", fileUnusable},
		{"operators", tool.Exit{}, ModeTorchProfiler, map[string]string{runs.OperatorsName: `{"schema": 1, "notes": ["n"], "operators": [{"name": "x"}]}`}, true, "", sessionComplete},
		{"no decode", tool.Exit{}, ModeTime, map[string]string{runs.MetricsName: strings.Replace(goodMetrics, `"decode_ms": null`, `"decode_ms": null, "no_decode": "one token was asked for"`, 1)}, true, "", fact.Text},
		{"no flops", tool.Exit{}, ModeFlops, nil, false, "", sessionLeftNothing},
		{"flops", tool.Exit{}, ModeFlops, map[string]string{runs.FlopsName: "{}"}, true, "", sessionComplete},
	} {
		v := Judge(c.exit, folder(t, c.files), c.mode)
		if v.OK != c.ok || v.Kind != c.kind || !slices.ContainsFunc(append(v.Warnings, v.What, v.Evidence), func(f fact.Fact) bool { return f.Is(c.says) }) || strings.Contains(v.Evidence.Text("text"), "\x1b") || !v.OK && v.Next.IsZero() {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	// As workloads/session writes it now; the cases above are of earlier versions.
	now := `{"schema": 1, "kind": "gpu_index", "fact": {"code": "session-no-gpu", "params": {"device": {"name": "cuda:7"}, "n": {"count": 0}}}, "traceback": ["a"]}`
	if v := Judge(bad, folder(t, map[string]string{runs.ErrorName: now}), ModeTime); v.Kind != "gpu_index" || !v.Next.Is(sessionAdvice) || len(v.What.Params["why"].Facts) != 1 || v.What.Params["why"].Facts[0].Text("device") != "cuda:7" {
		t.Errorf("a fact: %+v", v)
	}
	if v := Judge(bad, folder(t, map[string]string{runs.MetricsName: goodMetrics, runs.ErrorName: fails("exception")}), ModeTime); !v.Partial {
		t.Error("what was measured before the failure is forgotten")
	}
}

func TestFindPython(t *testing.T) {
	root := t.TempDir()
	make := func(parts ...string) string {
		path := filepath.Join(append([]string{root}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho Python 3.11.1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	venv, other, conda := make("venv", "bin", "python3"), make("bin", "python3"), make("conda", "bin", "python3")
	path := "PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH")
	for _, c := range []struct {
		configured string
		env        []string
		want       string
	}{
		{defaultPython, []string{path}, other},
		{defaultPython, []string{path, "VIRTUAL_ENV=" + filepath.Join(root, "venv")}, venv},
		{defaultPython, []string{path, "CONDA_PREFIX=" + filepath.Join(root, "conda")}, conda},
		{other, []string{path, "VIRTUAL_ENV=" + filepath.Join(root, "venv")}, other},
		{"/nosuch/python", []string{path}, ""},
	} {
		got, err := FindPython(context.Background(), c.configured, func(ctx context.Context, s tool.Spec) (tool.Tool, error) {
			s.System = tool.System{Env: c.env, CacheDir: "off"}
			return tool.Find(ctx, s)
		})
		if got.Path != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s with %q: %s, %v", c.configured, c.env[1:], got.Path, err)
		}
		if err != nil && !strings.Contains(err.Error(), "pipeline.workload.python") {
			t.Errorf("%v does not name the setting", err)
		}
	}
}

func TestNeeds(t *testing.T) {
	for kind, want := range map[string]string{plan.WorkloadLLM: "transformers", plan.WorkloadVLM: "transformers", plan.WorkloadResNet: "", plan.WorkloadCommand: ""} {
		p := &plan.Plan{}
		p.Pipeline.Workload.Kind = kind
		if got := strings.Join(Needs(p), " "); got != want {
			t.Errorf("%s needs %q, want %q", kind, got, want)
		}
		p.Dataset.Root = "/data"
		if got := slices.Contains(Needs(p), "PIL"); got != (kind == plan.WorkloadVLM || kind == plan.WorkloadResNet) {
			t.Errorf("%s with files: Pillow %v", kind, got)
		}
	}
}

// FuzzDecode: whatever a session writes, it ends as a value that can be used or
// as an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(goodMetrics))
	f.Add([]byte(`{"schema": 1, "operators": [{"name": "x", "calls": 1}]}`))
	f.Add([]byte(`{"schema": 1, "kind": "exception", "what": "w", "next": "n", "traceback": ["a"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, o, e := &Metrics{}, &Operators{}, &Failure{}
		if decode(text, "x", m, &m.Schema) == nil && m.check() == nil {
			again, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := decode(again, "x", &Metrics{}, &m.Schema); err != nil {
				t.Errorf("written back: %v", err)
			}
		}
		_ = decode(text, "x", o, &o.Schema)
		if decode(text, "x", e, &e.Schema) == nil {
			if v := (Verdict{}).failed(*e, tool.Exit{Code: 1}); v.OK || v.Kind == "" || v.What.IsZero() {
				t.Errorf("%+v", v)
			}
		}
	})
}
