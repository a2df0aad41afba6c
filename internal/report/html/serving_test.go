package html

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
)

// withServing is the sample as of a server: windows, steps of three kinds, and their
// intervals. It is synthetic.
func withServing() *analysis.Result {
	r := sample()
	times := func(ns float64) load.Summary {
		return load.Summary{N: 20, Mean: ns, P50: ns, P90: 1.1 * ns, P95: 1.2 * ns, P99: 1.5 * ns, Max: 2 * ns}
	}
	window := func(start, name string, kind load.WindowKind, slower float64) analysis.ServingWindow {
		good := 3.5
		return analysis.ServingWindow{Start: start, Window: load.Window{
			Name: name, Kind: kind, CacheUse: ptr(0.25), Memory: ptr(18e9),
			Stats: &load.Stats{
				Seconds: 2, Requests: 7, TTFT: times(30e6 * slower), TPOT: times(8e6 * slower), ITL: times(7e6 * slower), EndToEnd: times(900e6 * slower),
				Tokens: 2400, TokensPerSecond: 1200 / slower, GoodPerSecond: &good,
			},
		}}
	}
	histogram := func(from float64) *analysis.Histogram {
		return &analysis.Histogram{Bounds: []float64{from, 1.2 * from, 1.4 * from, 1.6 * from}, Counts: []int64{12, 6, 2}}
	}
	class := func(kind engine.StepKind, batch int, prompt, decode, ns, share float64) analysis.StepClass {
		return analysis.StepClass{
			Kind: kind, BatchMin: batch, BatchMax: batch, Steps: 20, ContextTokens: &prompt, GenerationTokens: &decode,
			Time: times(ns), Busy: times(0.8 * ns), Gap: times(0.1 * ns), GPU: times(0.8 * ns), Launches: 300, Share: share,
			TimeHistogram: histogram(ns), BusyHistogram: histogram(0.8 * ns), GapHistogram: histogram(0.1 * ns),
			MFU: &analysis.Utilization{Method: "analytic", Value: ptr(0.02)}, MBU: &analysis.Utilization{Method: "analytic", Value: ptr(0.61)}, Roof: "dram",
			Sampled: []analysis.Sampled{{Metric: "tensor_active", Mean: 0.03, Error: 0.01, Samples: 90}, {Metric: "dram_read", Mean: 0.6, Error: 0.01, Samples: 90}},
			Kernels: []analysis.StepPart{{Name: "gemm", Launches: 40, NS: 9_000_000, Share: 0.9}}, Layers: []analysis.StepPart{{Name: "model.layers.*.mlp", Launches: 40, NS: 9_000_000, Share: 0.9}},
		}
	}
	mixed := class(engine.Mixed, 8, 512, 7, 30e6, 0.3)
	mixed.MFU.AtLeast, mixed.MFU.Why = true, []fact.Fact{fact.New("step-prompts-in-cache")}
	prefill := class(engine.Prefill, 1, 512, 0, 25e6, 0.1)
	prefill.MFU, prefill.MBU, prefill.Roof = &analysis.Utilization{Why: []fact.Fact{fact.New("step-untold")}}, &analysis.Utilization{Why: []fact.Fact{fact.New("step-untold")}}, ""
	more := 0.013
	r.Serving = &analysis.Serving{
		Engine: "vllm", Load: "client", Steady: true, Shape: &load.Shape{Endpoint: "completions", Concurrency: 8, Prompt: "512", Output: "64-192"},
		Windows:    []analysis.ServingWindow{window("unprofiled", "unprofiled", load.Unprofiled, 1), window("nsys", "idle-1", load.Idle, 1.01), window("nsys", "window-1", load.Profiled, 1.1)},
		Collecting: &analysis.ServingCost{Throughput: &more, PerToken: &more},
		Steps:      []analysis.StepClass{class(engine.Decode, 8, 0, 8, 8e6, 0.6), mixed, prefill},
		NextToken:  &analysis.NextToken{Steps: 40, PeriodNS: 10e6, BusyNS: 5e6, IdleNS: 1e6, MixedNS: 2e6, PromptNS: 1e6, GapNS: 1e6},
		OverTime: []analysis.StepsAt{
			{Window: 1, LengthNS: 1e8, Steps: 10, DecodeTokens: 80, StepNS: 8e6, BusyShare: 0.8, GapNS: 8e5}, {Window: 1, StartNS: 1e8, LengthNS: 1e8, Steps: 5, PromptTokens: 1024, DecodeTokens: 35, StepNS: 16e6, BusyShare: 0.9, GapNS: 9e5},
			{Window: 2, LengthNS: 1e8, Steps: 10, DecodeTokens: 80, StepNS: 8e6, BusyShare: 0.7, GapNS: 4e5},
		},
	}
	return r
}

// The page of a server has what its clients saw in each kind of window, where the
// next token's time goes, and its steps: by kind and batch size, as distributions,
// over time, and by kernel and layer.
func TestServing(t *testing.T) {
	p := open(t, withServing())
	text := func(selector string) string {
		return strings.ReplaceAll(p.text(selector), "\u00a0", " ")
	}
	for selector, want := range map[string][]string{
		"#requests-table thead":   {"TTFT p50", "Tokens/s", "Good requests/s", "KV cache used", "GPU memory, peak"},
		"#requests-table tbody":   {"unprofiled unprofiled", "idle-1 idle", "window-1 profiled", "1,200", "3.50", "25.0", "18.0"},
		"#request-notes":          {"8 clients", "1.3 %"},
		"#requests":               {"10.0 ms", "50.0 %"},
		"#engine_steps-table":     {"decode 8", "mixed 8", "61.0", "512", "memory", "n/a"},
		"#step_kernels-table":     {"gemm"},
		"#step_layers-table":      {"model.layers.*.mlp"},
		`[data-measure="busy"]`:   {"90.0 %"},
		`[data-measure="tokens"]`: {"window 2"},
		"#steps .step-kind":       {"decode, batch 8"},
	} {
		got := text(selector)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s does not say %q: %s", selector, w, got)
			}
		}
	}
	for what, want := range map[string]int{
		`#next-token .part`: 5, `#steps .step-kind`: 3, `#steps .step-kind svg`: 9, `.over-time svg`: 4, `[data-measure="tokens"] .bar`: 3, `#steps-table`: 0,
	} {
		if got := eval[int](p, `document.querySelectorAll('`+what+`').length`); got != want {
			t.Errorf("%d of %s, want %d", got, what, want)
		}
	}
	// The note of MFU stands below the table, with the row that it is about.
	if got := text("#steps .notes"); !strings.Contains(got, "mixed, MFU %") || !strings.Contains(got, "prefill, MFU %") {
		t.Errorf("notes of steps: %s", got)
	}
	if order := eval[string](p, `[...document.querySelectorAll("main section[id]")].map((s) => s.id).join(" ")`); !strings.HasPrefix(order, "findings requests time") {
		t.Errorf("sections: %s", order)
	}
	eval[chromedp.Void](p, `location.hash = "#requests"`)
	p.wait(`Math.abs(document.querySelector("#requests").getBoundingClientRect().top) < 120`)

	if p := open(t, sample()); eval[bool](p, `!!document.querySelector("#requests")`) {
		t.Error("requests that do not exist")
	}
}
