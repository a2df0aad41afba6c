package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// stepsTimeline has one kernel in a range of that name.
func stepsTimeline(name string) *pick.Launches {
	t := &timeline.Timeline{Names: []string{"", "_Z1fv", "f()", "f", name}}
	t.Processes = []timeline.Process{{PID: 7}}
	t.Threads = []timeline.Thread{{TID: 8}}
	t.Queues = []timeline.Queue{{Context: 1, Stream: 7}}
	t.Domains = []timeline.Domain{{Process: timeline.None}}
	t.Functions = []timeline.Function{{Mangled: 1, Demangled: 2, Short: 3}}
	t.Configs = []timeline.LaunchConfig{{Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}}}
	t.Calls.Add(timeline.Call{Start: 110, End: 120, Correlation: 1})
	t.Kernels = []timeline.Kernel{{Start: 130, End: 190, Correlation: 1}}
	t.Ranges = []timeline.Range{{Start: 100, End: 200, Name: 4, EndThread: timeline.None, Payload: timeline.None, Kind: timeline.PushPop}}
	return pick.Load(t.Attribute())
}

// TestBeginning: a server is counted from where its own profiler is switched on, else in
// the steps that it names, else at modules of annotated processes, else from its start.
func TestBeginning(t *testing.T) {
	const step = "[Executor] _forward_step 4: 0 ctx reqs, 0 ctx tokens, 8 gen reqs"
	for name, test := range map[string]struct {
		engine, step string
		annotate     string
		side         string // what a process of the server told under nsys
		include      []string
		want         fact.Code
	}{
		"endpoints":      {engine.VLLM, step, "auto", `{"on":"auto"}`, nil, beginsByURL},
		"named steps":    {engine.TRTLLM, step, "auto", `{"on":"auto"}`, nil, beginsInSteps},
		"annotated":      {engine.Plain, "Llama", "auto", `{"on":"auto"}`, nil, beginsAtModules},
		"own filter":     {engine.TRTLLM, step, "auto", `{"on":"auto"}`, []string{"x"}, beginsAtModules},
		"torch off":      {engine.Plain, "Llama", "auto", `{"off":"no-nvtx"}`, nil, beginsAtStart},
		"not annotated":  {engine.LlamaCpp, "x", "auto", "", nil, beginsAtStart},
		"annotation off": {engine.Plain, "Llama", "none", `{"on":"auto"}`, nil, beginsAtStart},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := counting(t, func(p *plan.Pipeline) {
				p.Workload.Kind = plan.WorkloadServer
				p.Server.Engine, p.Annotate, p.Ncu.CLI.NVTXInclude = test.engine, test.annotate, test.include
			}, "toy_full")
			if test.side != "" {
				if err := j.store.WriteFile(runs.AnnotationOf(plan.StepNsys)+"/7.jsonl", []byte(test.side+"\n")); err != nil {
					t.Fatal(err)
				}
			}
			b, err := j.beginning(stepsTimeline(test.step))
			if err != nil || !b.why.Is(test.want) {
				t.Fatalf("begins %q: %v", b.why.Code, err)
			}
			if (len(b.ranges) > 0) != (test.want == beginsInSteps) || (b.gate != "") != (test.want == beginsAtModules) || b.from != (test.want == beginsAtStart) {
				t.Errorf("got %+v", b)
			}
		})
	}
}

// TestServerGate: the program under ncu is told the file that opens the gate, and annotated
// no deeper than that needs; ncu waits for it.
func TestServerGate(t *testing.T) {
	j, dir := counting(t, func(p *plan.Pipeline) { p.Workload.Kind, p.Annotate = plan.WorkloadServer, "auto" },
		"cp \"$DEEPPROF_ANNOTATE_GATES\" \"$here/gates\"; env > \"$here/env\"\n")
	if err := os.WriteFile(filepath.Join(dir, "1.ncu-rep"), recordedCounters(t, "toy_full"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := j.store.WriteFile(runs.AnnotationOf(plan.StepNsys)+"/7.jsonl", []byte(`{"on":"auto"}`+"\n")); err != nil {
		t.Fatal(err)
	}
	b, err := j.beginning(nil)
	if err != nil {
		t.Fatal(err)
	}
	options := j.ncuOptions([]string{"/bin/true"})
	options.ProfileFromStart = false
	o, err := countWith(context.Background(), j, options.Command, pick.Request{Options: options, Output: runs.NcuOutput("")}, &driven{gate: b.gate, set: b.annex.Variables(nil)})
	if err != nil || !o.Usable {
		t.Fatalf("%v: %s", err, inWords(o))
	}
	var got map[string]string
	if text, err := os.ReadFile(filepath.Join(dir, "gates")); err != nil || json.Unmarshal(text, &got) != nil || got["while"] != j.store.Path("ncu/gate.open") {
		t.Errorf("%v: the program reads %+v", err, got)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || !strings.Contains(string(env), "DEEPPROF_ANNOTATE_DEPTH=1\n") || !strings.Contains(string(env), "PYTHONPATH="+j.store.Path(runs.AnnotateFolder)+"\n") {
		t.Errorf("%v: environment\n%s", err, env)
	}
	if args := argsOf(t, dir, 1); !slices.Contains(args, "--profile-from-start=off") {
		t.Errorf("arguments %q", args)
	}
}
