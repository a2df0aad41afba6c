package pick

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// servedTimeline is a window of a server by hand: steps of decode by a CUDA graph, a
// step with one prompt of 512 tokens beside them, and one with two.
func servedTimeline() *builder {
	b := newBuilder()
	thread := b.process(7, 1)
	queue := b.queue(0, 0, 7)
	graph, prompt, both := b.function("_Z5graphv", "graph()", "graph"), b.function("_Z6promptv", "prompt()", "prompt"), b.function("_Z4bothv", "both()", "both")
	block := [3]int32{128, 1, 1}
	one, two := b.config([3]int32{4, 1, 1}, block, 0), b.config([3]int32{8, 1, 1}, block, 0)
	step := func(name string, kernels ...func()) {
		end := b.push(thread, name)
		for _, k := range kernels {
			k()
		}
		end()
	}
	decode := func() {
		for range 3 {
			b.launch(thread, queue, graph, one, 50_000)
			b.t.Kernels[len(b.t.Kernels)-1].GraphNode = 1<<32 | 5
		}
	}
	run := func(f, c uint32, ns int64) func() { return func() { b.launch(thread, queue, f, c, ns) } }
	for range 6 {
		step("execute_context_0(0)_generation_8(8)", decode)
	}
	for range 2 {
		step("execute_context_1(512)_generation_7(7)", decode, run(prompt, one, 90_000), run(both, one, 10_000))
	}
	step("execute_context_2(1024)_generation_6(6)", decode, run(prompt, two, 20_000), run(both, one, 10_000))
	return b
}

// TestServing: each chosen group asks for a step that has it, unless steps that
// decode or that are asked for already do; the price has the nodes of graphs that are
// not counted.
func TestServing(t *testing.T) {
	at := servedTimeline().t.Attribute()
	served, err := Choose(Load(at), Policy{Served: true, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	want := &Serving{Prompts: []Prompts{{1, 512, 7}, {2, 1024, 6}}, Batch: 8, GraphNodes: 3, mixes: true}
	if !reflect.DeepEqual(served.Serving, want) {
		t.Errorf("got %+v, want %+v", served.Serving, want)
	}
	if got := served.Serving.Lengths(); !reflect.DeepEqual(got, [][]int{{512}, {512, 512}}) {
		t.Errorf("prompts of %v", got)
	}
	if got := (Serving{Prompts: []Prompts{{3, 100, 0}}}).Lengths(); !reflect.DeepEqual(got, [][]int{{33, 33, 34}}) {
		t.Errorf("prompts of %v", got)
	}
	plain, err := Choose(Load(at), Policy{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	if plain.Serving != nil {
		t.Errorf("a program that does not serve: %+v", plain.Serving)
	}
	if got := want.seconds(); math.Abs(got-3*(newNodeSeconds+3*nodeSeconds)) > 1e-9 {
		t.Errorf("%v s for the nodes of four steps", got)
	}
	var regions []string
	for _, r := range served.Predicted.CoverageByRegion {
		regions = append(regions, r.Expr)
	}
	if !slices.Equal(regions, []string{"decode", "mixed"}) {
		t.Errorf("coverage of %q", regions)
	}
}

// TestStepRanges: the steps of an engine, by an expression that ncu takes and that
// selects all of them and nothing else.
func TestStepRanges(t *testing.T) {
	b := servedTimeline()
	traced := Load(b.t.Attribute())
	ranges := traced.StepRanges()
	if !slices.Equal(ranges, []string{"regex:context_.*_generation_"}) {
		t.Fatalf("got %q", ranges)
	}
	f, err := ResolveFilters(ranges, nil, traced.ranges())
	if err != nil || !slices.Equal(f.Include, []string{"regex:context_.*_generation_/"}) {
		t.Errorf("got %q, %v", f.Include, err)
	}
	targets, err := Choose(traced, Policy{Include: ranges, Served: true, Partial: true})
	if err != nil || targets.Totals.RegionLaunches != targets.Totals.Launches {
		t.Errorf("of %d launches %d are in steps: %v", targets.Totals.Launches, targets.Totals.RegionLaunches, err)
	}
	b.t.Ranges = nil
	if got := Load(b.t.Attribute()).StepRanges(); got != nil {
		t.Errorf("without steps %q", got)
	}
	domain := servedTimeline()
	domain.t.Domains = append(domain.t.Domains, timeline.Domain{Name: domain.name("TensorRT-LLM")})
	for i := range domain.t.Ranges {
		domain.t.Ranges[i].Domain, domain.t.Ranges[i].Name = 1, domain.name("[Executor] _forward_step 3: 0 ctx reqs, 8 gen reqs")
	}
	traced = Load(domain.t.Attribute())
	if f, err = ResolveFilters(traced.StepRanges(), nil, traced.ranges()); err != nil || !slices.Equal(f.Include, []string{"regex:TensorRT-LLM@_forward_step.* gen reqs/"}) {
		t.Errorf("got %q, %v", f.Include, err)
	}
}

// TestStepsMade: ncu sees the steps alone that the client makes, so that no launch of
// another batch is counted in the place of a chosen one; what only those have is left out.
func TestStepsMade(t *testing.T) {
	b := servedTimeline()
	thread, queue := b.t.Ranges[0].Thread, b.t.Kernels[0].Queue
	block := [3]int32{128, 1, 1}
	small := b.config([3]int32{2, 1, 1}, block, 0)
	graph, rare := b.function("_Z5graphv", "graph()", "graph"), b.function("_Z4rarev", "rare()", "rare")
	end := b.push(thread, "execute_context_0(0)_generation_3(3)") // clients come and go
	b.launch(thread, queue, graph, small, 5_000)
	b.launch(thread, queue, rare, small, 5_000)
	end()
	traced := Load(b.t.Attribute())
	c := &Counting{
		Ncu:      plan.Ncu{CLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel, TargetProcesses: "all", ProfileFromStart: true}, Pick: plan.Pick{Enable: true}},
		Timeline: traced, Window: true, Ranges: traced.StepRanges(), Client: true, Say: func(string) {},
	}
	var got Request
	var targets *Targets
	c.Count = func(_ context.Context, r Request) (capture.Outcome, error) {
		got = r
		return capture.Outcome{Kind: capture.NothingMatched}, nil
	}
	c.Save = func(x *Targets) error { targets = x; return nil }
	if _, err := c.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "regex:(context_0.(sq)?0(sk.*)?._generation_8.(sq)?8(sk.*)?.$|context_1.(sq)?512(sk.*)?._generation_7.(sq)?7(sk.*)?.$|context_2.(sq)?1024(sk.*)?._generation_6.(sq)?6(sk.*)?.$)/"
	if !slices.Equal(got.Options.NVTXInclude, []string{want}) || !got.Narrow || !slices.Equal(targets.Include, []string{"regex:context_.*_generation_/"}) {
		t.Errorf("ncu sees %q, chosen in %q", got.Options.NVTXInclude, targets.Include)
	}
	// graph (4 blocks), prompt (4 and 8), both; not graph (2 blocks).
	if !reflect.DeepEqual(got.Kernels, map[string]int{"_Z5graphv": 1, "_Z6promptv": 2, "_Z4bothv": 1}) || got.Launches != 4 {
		t.Errorf("counts %v, %d launches", got.Kernels, got.Launches)
	}
	if len(targets.LeftOut) == 0 || !targets.LeftOut[0].Reason.Is(stepNotMade) || targets.LeftOut[0].Launches != 2 {
		t.Errorf("left out %+v", targets.LeftOut)
	}
	if targets.Totals.RegionLaunches != targets.Totals.Launches {
		t.Errorf("shares go by %d of %d launches", targets.Totals.RegionLaunches, targets.Totals.Launches)
	}
	c.Client = false // a load of the user's: steps of any batch
	if _, err := c.Do(t.Context()); err != nil || got.Narrow || !slices.Equal(got.Options.NVTXInclude, []string{"regex:context_.*_generation_/"}) {
		t.Errorf("ncu sees %q: %v", got.Options.NVTXInclude, err)
	}
}

// TestCountedInSteps: a server without profile endpoints is counted inside its steps,
// by configuration in any replay mode; with one count of all launches ncu ends it.
func TestCountedInSteps(t *testing.T) {
	b := servedTimeline()
	traced := Load(b.t.Attribute())
	count := func(n plan.Ncu) (got Request, regions *RegionOptions) {
		base := ncu.Options{NcuCLI: n.CLI, Command: []string{"true"}, Output: "run", Kill: true}
		base.ReplayMode = plan.ReplayKernel
		c := &Counting{
			Ncu: n, Base: base, Timeline: traced, Window: true, Ranges: traced.StepRanges(), Say: func(string) {},
			Count: func(_ context.Context, r Request) (capture.Outcome, error) {
				got = r
				return capture.Outcome{Kind: capture.NothingMatched}, nil
			},
			Save: func(x *Targets) error { regions = x.Regions; return nil },
		}
		if _, err := c.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Options.NVTXInclude, []string{"regex:context_.*_generation_/"}) || regions == nil || len(regions.Include) > 0 {
			t.Errorf("counted in %q, reports show %+v", got.Options.NVTXInclude, regions)
		}
		return got, regions
	}
	kill := func(r Request) bool {
		args, _, err := ncu.Args(r.Options, tool.Version{Major: 2025, Minor: 3})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(args, "--kill=on")
	}
	cli := plan.NcuCLI{ReplayMode: plan.ReplayAuto, TargetProcesses: "all", ProfileFromStart: true}
	chosen, _ := count(plan.Ncu{CLI: cli, Pick: plan.Pick{Enable: true}})
	if chosen.Options.FilterMode != "per-launch-config" || len(chosen.Serving.Prompts) == 0 || kill(chosen) {
		t.Errorf("chosen launches: %+v", chosen)
	}
	cli.LaunchCount, cli.FilterMode = 5, "global"
	if written, _ := count(plan.Ncu{CLI: cli}); written.Options.LaunchCount != 5 || !kill(written) {
		t.Errorf("as written: %+v", written)
	}
}
