package pick

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// annotatedLlama is a synthetic timeline of a small Llama with a range around each
// module, as annotation opens them: two passes without stages, then prefill and
// some steps. GEMMs of one grid differ in their work (down_proj sums over more), and
// so do copies of decode, which grow with the steps.
func annotatedLlama(layers, steps int) *Launches {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	launch := func(name string, grid int32, ns int64) {
		b.launch(thread, queue, b.function("_Z"+name, name+"()", name), b.config([3]int32{grid, 1, 1}, [3]int32{128, 1, 1}, 0), ns)
	}
	forward := func(tokens int32, step int64) {
		in := func(name string, do func()) {
			end := b.push(thread, name)
			do()
			end()
		}
		scale := int64(tokens)
		norm := func() {
			for i := range 6 {
				launch(fmt.Sprintf("norm%d", i), tokens, 1000+scale*20)
			}
		}
		linear := func(kernel string, ns int64) func() { return func() { launch(kernel, tokens, ns+scale*100) } }
		in("model", func() {
			in("embed", func() { launch("gather", tokens, 2000+scale*10) })
			for l := range layers {
				in(fmt.Sprintf("layers.%d", l), func() {
					in("input_layernorm", norm)
					in("self_attn", func() {
						in("q_proj", linear("gemm", 9000))
						in("k_proj", linear("gemm_small", 4000))
						in("v_proj", linear("gemm_small", 4000))
						for _, name := range []string{"mul", "neg", "cat", "mul", "add"} {
							launch(name, tokens, 1500)
							launch(name, tokens*2, 1600)
						}
						launch("copy", 64, 2000+step*400)
						launch("attention", tokens, 12000)
						in("o_proj", linear("gemm", 9000))
					})
					launch("add", tokens, 1500)
					in("post_attention_layernorm", norm)
					in("mlp", func() {
						in("gate_proj", linear("gemm_wide", 15000))
						in("up_proj", linear("gemm_wide", 15000))
						launch("silu", tokens, 1800)
						in("down_proj", linear("gemm", 20000))
					})
					launch("add", tokens, 1500)
				})
			}
			in("lm_head", linear("gemm_head", 30000))
		})
	}
	for range 2 {
		forward(512, 0)
	}
	end := b.push(thread, "prefill")
	forward(512, 0)
	end()
	end = b.push(thread, "decode")
	for step := range steps {
		in := b.push(thread, "step")
		forward(1, int64(step))
		in()
	}
	end()
	return b.load()
}

// Gates at the ranges of modules count everything in one process, and little that
// nobody asked for; without them it takes two processes or many more launches.
func TestGatesCountInOneProcess(t *testing.T) {
	l := annotatedLlama(4, 16)
	p := Policy{MainRegions: true, Coverage: 0.95, Alike: 0.97, Collect: Collect{Set: "roofline"}}
	without, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	p.Gates = true
	got, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	checkVerify(t, l, got)
	count, others := roles(got)
	wanted := count[RoleTypical] + count[RoleOther]
	t.Logf("without gates %d launches in %d processes, %.0f s; with %d in %d, %.0f s: %v, other durations %v",
		without.Predicted.Launches, without.Predicted.Processes, without.Predicted.Seconds, got.Predicted.Launches, got.Predicted.Processes, got.Predicted.Seconds, count, others)
	if len(got.Runs) != 1 || got.Runs[0].Way != WayGates || len(got.Runs[0].Gates) == 0 || len(others) == 0 {
		t.Fatalf("%d processes, %s, %d other durations", len(got.Runs), got.Runs[0].Way, len(others))
	}
	if got.Predicted.Launches > without.Predicted.Launches+5 {
		t.Errorf("%d launches for %d that are wanted, %d in %d processes", got.Predicted.Launches, wanted, without.Predicted.Launches, without.Predicted.Processes)
	}
	if got.Predicted.Seconds >= without.Predicted.Seconds {
		t.Errorf("%.1f s with gates, %.1f s without", got.Predicted.Seconds, without.Predicted.Seconds)
	}
	if got.Predicted.CoverageRegions < p.Coverage || len(got.Warnings) > len(without.Warnings) {
		t.Errorf("coverage %g, warnings %v", got.Predicted.CoverageRegions, got.Warnings)
	}
	for _, g := range got.Runs[0].Gates {
		if !slices.Contains([]string{"prefill", "decode"}, g.Path[0]) {
			t.Errorf("a gate at %v: how often that opens depends on the warm-up", g.Path)
		}
	}
}

// What gates let through is what is planned, whatever the timeline; where several
// threads launch, there are none.
func TestGatesOfRandomTimelines(t *testing.T) {
	gated := 0
	for seed := range 300 {
		l := random(rand.New(rand.NewPCG(uint64(seed), 7)))
		got, err := Choose(l, Policy{Alike: 0.9, Gates: true})
		if err != nil {
			continue // nothing was launched
		}
		checkPlan(t, l, got)
		for _, r := range got.Runs {
			if r.Way == WayGates {
				gated++
			}
		}
	}
	if gated == 0 {
		t.Error("no timeline had a plan with gates")
	}
}
