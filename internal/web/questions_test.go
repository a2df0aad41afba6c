package web

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A question is one that a person asks about the recorded run, with the tool that
// answers it and the answer, which was read off the run's own reports.
type question struct {
	ask    string
	tool   string
	args   map[string]any
	answer func(reply) any
	want   any // a text is held exactly, a number to 0.1 %
}

// where finds the row whose values begin with those given; nil where none does.
func (r reply) where(pairs ...string) map[string]any {
	for _, row := range r.Rows {
		fits := true
		for i := 0; i < len(pairs); i += 2 {
			fits = fits && strings.HasPrefix(fmt.Sprint(row[pairs[i]]), pairs[i+1])
		}
		if fits {
			return row
		}
	}
	return nil
}

// first is a value of the first row.
func first(key string) func(reply) any {
	return func(r reply) any {
		if len(r.Rows) == 0 {
			return nil
		}
		return r.Rows[0][key]
	}
}

// of is a value of the row that has these values.
func of(key string, pairs ...string) func(reply) any {
	return func(r reply) any { return r.where(pairs...)[key] }
}

func llm(more ...any) map[string]any {
	args := map[string]any{"path": recorded.run}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

func llms() map[string]any { return map[string]any{"paths": []string{recorded.run}} }

// askedQuestions are answered by the tools alone.
func askedQuestions() []question {
	const run = "deepprof run model=llama_small infer.batch_size=1 infer.prompt_length=512 infer.max_new_tokens=32 "
	return []question{
		{"Which runs of llama on an H200 are there?", "runs", map[string]any{"model": "LLAMA", "gpu": "h200"}, first("id"), recorded.run},
		{"Did any run fail?", "runs", map[string]any{"status": []string{"failed"}}, func(r reply) any { return len(r.Rows) }, 0},
		{"What is wrong first?", "findings", llms(), first("code"), "launch-bound"},
		{"In which stage?", "findings", llms(), first("stage"), "decode"},
		{"How much would closing the launch gaps of decode save at most?", "findings", llms(), of("saves_ns", "id", "gaps-launch-decode"), 207566024},
		{"What is the evidence for it: how long is the GPU idle for host code?", "findings", llms(), func(r reply) any {
			return r.where("id", "gaps-launch-decode")["evidence"].([]any)[0].(map[string]any)["value"]
		}, 154.114162},
		{"Is prefill launch-bound too?", "stages", llms(), of("launch_bound", "stage", "prefill"), true},
		{"How long is decode without a profiler, in ms?", "stages", llms(), of("clean_ms", "stage", "decode"), 235.22864},
		{"How much does nsys slow decode down?", "stages", llms(), of("overhead", "stage", "decode"), 0.161768},
		{"What is the MFU of prefill?", "stages", llms(), of("mfu_analytic", "stage", "prefill"), 0.0459757},
		{"How many kernels does a step of decode launch?", "steps", llm(), of("launches", "stage", "decode"), 358},
		{"How long is the median step of decode, in ns?", "steps", llm("distribution", true), of("step_median_ns", "stage", "decode"), 8142159},
		{"And the slowest?", "steps", llm("distribution", true), of("step_max_ns", "stage", "decode"), 13250574},
		{"Is there a baseline to compare with?", "baselines", nil, func(r reply) any { return len(r.Rows) }, 0},
		{"Which kernel takes the most time?", "kernels", llm(), first("name"), "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"},
		{"What limits it?", "kernels", llm("top", 1), first("limiter"), "small"},
		{"What is the longest time without a kernel, in ns, and where?", "gaps", llm("top", 1, "all", true), first("nvtx"), "prefill"},
		{"What keeps the GPU waiting in decode?", "gaps", llm(), of("cause", "nvtx", "decode/step"), "host"},
		{"How many launches has decode?", "regions", llm(), of("kernel_calls", "path", "decode"), 11098},
		{"How many launches of reduction kernels are there in a step?", "launches", llm("kernel", "native::reduce_kernel", "region", "decode/step/", "top", 1), func(r reply) any {
			return math.Round(float64(len(r.Rows)+r.LeftOut) / 31)
		}, 18},
		{"How far below its roof is the largest kernel?", "roofline", llms(), of("attained", "memory", "dram"), 0.5205886},
		{"Which operator takes the most time on the GPU itself?", "operators", llms(), of("share", "name", "aten::mm"), 0.46828},
		{"How much of the work of prefill is in the MLPs?", "flops", llm(), of("share", "stage", "prefill", "component", "mlp"), 0.745368},
		{"How many bytes does the first counted launch move from DRAM a second?", "metrics", llm("metric", "^dram__bytes.avg.per_second$", "top", 1), first("value"), 8789421157.68},
		{"What should I run next?", "next", llms(), first("run"), run + "infer.cuda_graphs=true infer.kv_cache=static"},
		{"What would tell why the kernels are limited?", "next", llms(), of("run", "from", "causes-untold"), run + "pipeline/ncu=causes"},
		{"Is a second run of the same faster?", "compare", map[string]any{"base": []string{recorded.run}, "new": []string{recorded.run}, "of": "stage"}, of("verdict", "name", "decode", "metric", "time"), "cannot-tell"},
		{"Which GPU was it?", "info", llm(), func(r reply) any { return strings.Split(fmt.Sprint(r.where("section", "GPU")["value"]), ",")[0] }, "NVIDIA H200"},
		{"What is the command for a capture whose program is unknown?", "next", map[string]any{"paths": []string{recorded.timeline}}, first("run"), nil},
	}
}

func TestQuestions(t *testing.T) {
	c, all := connect(t, options(t)), askedQuestions()
	if len(all) < 20 {
		t.Errorf("only %d questions", len(all))
	}
	for _, q := range all {
		r, failed := ask(t, c, q.tool, q.args)
		if failed != "" {
			t.Errorf("%s\n%s: %s", q.ask, q.tool, failed)
			continue
		}
		if got := q.answer(r); !agree(got, q.want) {
			t.Errorf("%s\n%s answers %v, want %v", q.ask, q.tool, got, q.want)
		}
	}
}

func agree(got, want any) bool {
	x, isNumber := toNumber(got)
	y, wanted := toNumber(want)
	if isNumber && wanted {
		return math.Abs(x-y) <= 1e-3*math.Abs(y)
	}
	return got == want
}

func toNumber(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	}
	return 0, false
}
