package compare

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
)

// job analyzes the synthetic ranks of testdata in an order of the files.
func job(t *testing.T, files ...string) Run {
	t.Helper()
	var in analysis.Input
	for _, name := range files {
		if err := in.Add("../../testdata/synthetic/ranks/" + name + ".sqlite.gz"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := analysis.Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return Run{Name: "job", Result: r}
}

// Ranks are matched by their number, whatever the order of files, and jobs of
// another size get no verdict.
func TestRanksMatchByIdentity(t *testing.T) {
	base := job(t, "rank0.n1", "rank1.n1", "rank2.n2", "rank3.n2")
	c := mustCompare(t, []Run{base}, []Run{job(t, "rank3.n2", "rank2.n2", "rank1.n1", "rank0.n1")})
	found := 0
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Kind == Rank {
			found++
			if r.Status != Common || *r.Base != *r.New {
				t.Errorf("%v: %s, %g against %g", r.Key, r.Status, *r.Base, *r.New)
			}
		}
	}
	if row := c.find(Key{Rank, "rank 2", GPUTime}); row == nil || *row.Base != 54639065 || found < 4*5 {
		t.Errorf("%d rows of ranks, rank 2 %+v", found, row)
	}
	smaller := mustCompare(t, []Run{base}, []Run{job(t, "rank1.n1", "rank0.n1")})
	if r := smaller.find(Key{Rank, "rank 1", Launches}); r == nil || r.Verdict != CannotTell || !r.Why.Is(Forbidden) {
		t.Errorf("a job of two ranks against one of four: %+v", r)
	}
}

// servers are starts of a server whose windows are made up: latencies with noise
// between the starts.
func servers(t *testing.T, seed uint64, n int, slower float64, concurrency int) (side []Run) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		r, by := llm(t), slower*(1+0.003*rng.NormFloat64())
		window := func(name string, kind load.WindowKind, more float64) analysis.ServingWindow {
			ttft, itl := load.Summary{N: 20, P50: 50e6 * by * more, P99: 80e6 * by * more}, load.Summary{N: 900, P50: 8e6 * by * more, P99: 9e6 * by * more}
			return analysis.ServingWindow{Start: "unprofiled", Window: load.Window{Name: name, Kind: kind, Stats: &load.Stats{Seconds: 2, Requests: 20, Tokens: 900, TTFT: ttft, ITL: itl, TokensPerSecond: 450 / by / more, RequestsPerSec: 10 / by / more}}}
		}
		r.Serving = &analysis.Serving{Shape: &load.Shape{Endpoint: "completions", Concurrency: concurrency, Prompt: "512", Output: "128"}, Windows: []analysis.ServingWindow{
			window("unprofiled", load.Unprofiled, 1), window("idle-1", load.Idle, 1.1), window("window-1", load.Profiled, 3), window("counted", load.Counted, 100),
		}}
		side = append(side, Run{Name: "server", Result: r})
	}
	return side
}

// Steps of a server are compared with their gap and use, and so are the counters that
// were sampled in them: more of those is neither faster nor slower.
func TestStepsAndSamples(t *testing.T) {
	side := func(seed uint64, gap, dram float64) []Run {
		rng := rand.New(rand.NewPCG(seed, 2))
		list := servers(t, seed, 5, 1, 8)
		for i := range list {
			by := 1 + 0.003*rng.NormFloat64()
			use := func(x float64) *analysis.Utilization { return &analysis.Utilization{Value: &x} }
			bound := use(0.2 * by)
			bound.AtLeast = true
			s := list[i].Result.Serving
			times := func(ns float64) load.Summary { return load.Summary{N: 50, Mean: ns * by, P50: ns * by} }
			s.Steps = []analysis.StepClass{
				{Kind: "decode", BatchMin: 8, BatchMax: 8, Steps: 50, Share: 0.9, Time: times(8e6), GPU: times(6e6), Gap: times(gap), MFU: use(0.02 * by), MBU: use(0.6 * by), Sampled: []analysis.Sampled{{Metric: "dram_read", Mean: dram * by, Samples: 90}}},
				{Kind: "mixed", BatchMin: 8, BatchMax: 8, Steps: 5, Share: 0.1, Time: times(30e6), MFU: bound},
			}
			memory, used := 18e9, 0.25*by
			s.Windows[0].Memory, s.Windows[0].CacheUse = &memory, &used
			list[i].Result.Sampled = []analysis.SampledRegion{{Path: "execute_context_0(0)_generation_8(8)", Metrics: []analysis.Sampled{{Metric: "dram_read", Mean: 0.5}}}}
		}
		return list
	}
	c := mustCompare(t, side(1, 1e6, 0.5), side(2, 1.5e6, 0.6))
	for key, want := range map[Key]Verdict{
		{Step, "decode batch 8-8", Gap}: Slower, {Step, "decode batch 8-8", Time}: NoChange, {MBU, "step decode batch 8-8", Share}: NoChange,
		{Sample, "decode batch 8-8", "dram_read"}: More, {Request, "memory_peak", Memory}: NoChange, {Request, "cache_use", Used}: NoChange,
	} {
		if r := c.find(key); r == nil || r.Verdict != want {
			t.Errorf("%v: %+v, want %s", key, r, want)
		}
	}
	if c.find(Key{MFU, "step mixed batch 8-8", Share}) != nil {
		t.Error("a lower bound is compared")
	}
	if c.find(Key{Sample, "execute_context_0(0)_generation_8(8)", "dram_read"}) != nil {
		t.Error("a step of a server is compared twice")
	}
	rule, err := parseRule("sample:decode batch 8-8.dram_read < +5%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply([]Rule{rule}); err != nil || c.Gate.Outcome != Fail {
		t.Errorf("%v %v", c.Gate, err)
	}
}

// A slower server is found by what its clients saw without a profiler, and rules
// hold it.
func TestRequests(t *testing.T) {
	c := mustCompare(t, servers(t, 1, 5, 1, 8), servers(t, 2, 5, 1.1, 8))
	r := c.find(Key{Request, "ttft_p50", Time})
	if r == nil || r.Clock != Unprofiled || r.Verdict != Slower || len(r.BaseSamples) != 5 || *r.Base < 49e6 || *r.Base > 51e6 {
		t.Errorf("time to the first token: %+v", r)
	}
	if r := c.find(Key{Request, "tokens", Rate}); r == nil || r.Verdict != Slower {
		t.Errorf("tokens per second: %+v", r)
	}
	if c.find(Key{Request, "e2e_p50", Time}) != nil {
		t.Error("a latency that no window has is compared")
	}
	rules := map[string]Outcome{"request:itl_p50.time < +5%": Fail, "request:requests.rate > -20%": Pass, "request:errors.errors <= 0": Pass}
	for text, want := range rules {
		rule, err := parseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply([]Rule{rule}); err != nil || c.Gate.Outcome != want {
			t.Errorf("%s: %v %v, want %s", text, c.Gate, err, want)
		}
	}
	other := mustCompare(t, servers(t, 1, 5, 1, 8), servers(t, 2, 5, 1.1, 64))
	if r := other.find(Key{Request, "ttft_p50", Time}); r.Verdict != CannotTell || !r.Why.Is(Forbidden) {
		t.Errorf("under another load: %+v", r)
	}
}
