package engine

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for command, want := range map[string]string{
		"vllm serve MODEL --port 8000":                            VLLM,
		"/opt/bin/vllm serve MODEL":                               VLLM,
		"python3 -m vllm.entrypoints.openai.api_server --model M": VLLM,
		"python3 -m sglang.launch_server --model-path M":          SGLang,
		"trtllm-serve M":                                          TRTLLM,
		"python3 -m dynamo.vllm --model M":                        Dynamo,
		"./llama-server -m model.gguf":                            LlamaCpp,
		"python3 -m llm_server --model tiny":                      LLMServer,
		"python3 my_server.py":                                    Plain,
		"python3 my_server.py --like vllm":                        Plain,
		"python3 /srv/vllm":                                       VLLM,
	} {
		if got := Find(Auto, strings.Fields(command)); got.Name != want {
			t.Errorf("%s is of %s, want %s", command, got.Name, want)
		}
	}
	if got := Find(SGLang, []string{"vllm"}); got.Name != SGLang {
		t.Errorf("a name that is given gives %s", got.Name)
	}
}

func TestCommand(t *testing.T) {
	e := Find(VLLM, nil)
	if got := e.Command([]string{"vllm", "serve"}); !slices.Contains(got, "--profiler-config.profiler=cuda") {
		t.Errorf("got %v", got)
	}
	for _, own := range []string{"--profiler-config.profiler=torch", "--profiler-config", `--profiler-config={"profiler":"cuda"}`} {
		if got := e.Command([]string{"vllm", "serve", own}); len(got) != 3 {
			t.Errorf("%s: got %v", own, got)
		}
	}
	if got := e.Environ([]string{"VLLM_WORKER_MULTIPROC_METHOD=fork"}); !slices.Equal(got, []string{"VLLM_NVTX_SCOPES_FOR_PROFILING=1"}) {
		t.Errorf("got %v", got)
	}
}

func TestURL(t *testing.T) {
	for command, want := range map[string]string{
		"vllm serve M":                                "http://127.0.0.1:8000",
		"vllm serve M --port 9000":                    "http://127.0.0.1:9000",
		"vllm serve M --port=9001":                    "http://127.0.0.1:9001",
		"python3 -m sglang.launch_server":             "http://127.0.0.1:30000",
		"python3 -m dynamo.frontend --http-port 8080": "http://127.0.0.1:8080",
	} {
		e := Find(Auto, strings.Fields(command))
		if got := e.URL(strings.Fields(command)); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
	for command, want := range map[string]string{"dynamo.sglang": `{"activities":["CUDA_PROFILER"]}`, "dynamo.vllm": "{}", "my.module": "{}"} {
		if e := Find(Dynamo, []string{"python3", "-m", command}); e.Name != Dynamo || e.Profile.Body != want {
			t.Errorf("%s is asked %s to start its profiler", command, e.Profile.Body)
		}
	}
	if e := Find(Auto, []string{"python3", "-m", "dynamo.trtllm"}); e.Name != Dynamo || e.Profile != nil {
		t.Errorf("workers of TensorRT-LLM are asked %+v", e.Profile)
	}
	worker := []string{"python3", "-m", "dynamo.vllm", "--model", "M"}
	v := Find(Auto, worker)
	if got := v.Command(worker); got[len(got)-1] != `--profiler-config={"profiler":"cuda"}` || len(v.Command(got)) != len(got) {
		t.Errorf("got %q", got)
	}
	e := Find(Dynamo, nil)
	if start, _, ok := e.ProfileURLs("http://127.0.0.1:8080"); !ok || start != "http://127.0.0.1:9090/engine/control/start_profile" {
		t.Errorf("got %s", start)
	}
	e = Find(LlamaCpp, nil)
	if _, _, ok := e.ProfileURLs("http://127.0.0.1:8080"); ok {
		t.Error("llama.cpp has no profiler")
	}
}

// TestParseStep reads names as the sources of the engines write them, and as the
// shipped server writes them in their style.
func TestParseStep(t *testing.T) {
	for name, want := range map[string]Step{
		"execute_context_2(513)_generation_7(7)":                                      {Mixed, 2, 513, 7, 7},
		"execute_context_0(0)_generation_32(32)":                                      {Decode, 0, 0, 32, 32},
		"execute_context_1(9)_generation_0(0)":                                        {Prefill, 1, 9, 0, 0},
		"execute_context_0(0)_generation_0(0)":                                        {Empty, 0, 0, 0, 0},
		"execute_77_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq2sk300sqsq1sqsk1)": {Mixed, 3, 128, 2, 2},
		"[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs":       {Decode, 0, 0, 32, 32},
		"[Executor] _forward_step 12: 1 ctx reqs, 3 gen reqs":                         {Mixed, 1, -1, 3, 3},
		"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs":                            {Prefill, 1, -1, 0, 0},
		"step[DECODE bs=16]":                                                          {Decode, 0, 0, 16, 16},
		"step[EXTEND bs=1 toks=107]":                                                  {Prefill, 1, 107, 0, 0},
		"step[MIXED bs=2 toks=9]":                                                     {Mixed, -1, -1, -1, -1},
		"scheduler.run_batch":                                                         {Unknown, -1, -1, -1, -1},
	} {
		got, ok := ParseStep(name)
		if !ok || got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"prefill", "step", "execute_context_1_generation_2", "step[DECODE]", "xexecute_context_0(0)_generation_1(1)"} {
		if got, ok := ParseStep(name); ok {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
	if s, _ := ParseStep("step[MIXED bs=2 toks=9]"); s.Batch() != -1 {
		t.Errorf("batch of %d", s.Batch())
	}
}

// TestStepFilter: what ncu looks for is in every name that is read as a step, and free
// of what NVTX filters take for an operator. Of one batch it is in names of that batch alone.
func TestStepFilter(t *testing.T) {
	for name, others := range map[string][]string{
		"execute_context_2(513)_generation_7(7)":                                      {"execute_context_2(51)_generation_7(7)", "execute_context_2(5130)_generation_7(7)", "execute_context_2(513)_generation_70(70)", "execute_context_12(513)_generation_7(7)"},
		"execute_77_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq2sk300sqsq1sqsk1)": {"execute_77_context_3(sq12sk256sqsq1sqsk1)_generation_2(sq2sk300sqsq1sqsk1)", "execute_77_context_3(sq128sk256sqsq1sqsk1)_generation_20(sq20sk300sqsq1sqsk1)"},
		"[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs":       {"[Executor] _forward_step 60000: 10 ctx reqs, 0 ctx tokens, 32 gen reqs", "[Executor] _forward_step 2: 0 ctx reqs, 0 ctx tokens, 2 gen reqs"},
		"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs":                            {"[Executor] _forward_step: 1 ctx reqs, 10 gen reqs"},
		"[Executor] _forward_step 9: 1 ctx reqs, 512 ctx tokens, 7 gen reqs":          {"[Executor] _forward_step 9: 1 ctx reqs, 51 ctx tokens, 7 gen reqs", "[Executor] _forward_step 9: 1 ctx reqs, 512 ctx tokens, 8 gen reqs"},
		"step[DECODE bs=16]":         {"step[DECODE bs=160]", "step[DECODE bs=1]", "step[EXTEND bs=16]"},
		"step[EXTEND bs=1 toks=107]": {"step[EXTEND bs=1 toks=1070]", "step[EXTEND bs=11 toks=107]"},
		"step[MIXED bs=2 toks=9]":    nil,
		"scheduler.run_batch":        nil,
	} {
		all, same, ok := StepFilter(name)
		one := regexp.MustCompile(same)
		if !ok || !regexp.MustCompile(all).MatchString(name) || !one.MatchString(name) || strings.ContainsAny(all+same, "@,[]/+") {
			t.Errorf("%s: %q, %q", name, all, same)
		}
		for _, other := range others {
			if _, ok := ParseStep(other); !ok || one.MatchString(other) || !regexp.MustCompile(all).MatchString(other) {
				t.Errorf("%q of %q is in %q, or that is no step", same, name, other)
			}
		}
	}
	if _, same, _ := StepFilter("[Executor] _forward_step 3: 1 ctx reqs, 512 ctx tokens, 7 gen reqs"); !regexp.MustCompile(same).MatchString("[Executor] _forward_step 4711: 1 ctx reqs, 512 ctx tokens, 7 gen reqs") {
		t.Errorf("%q depends on the number of the step", same)
	}
	if part, _, ok := StepFilter("prefill"); ok {
		t.Errorf("prefill: %q", part)
	}
}

func TestGaveUp(t *testing.T) {
	for line, want := range map[string]bool{
		"[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE)": true,
		"[2026-01-01 10:00:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300)":                                                 true,
		"TimeoutError: RPC call to execute_model timed out.":                                                                               true,
		"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.":                                                      true,
		"INFO: Uvicorn running on http://0.0.0.0:8000":                                                                                     false,
		"starting watchdog": false,
	} {
		if GaveUp(line) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
}
