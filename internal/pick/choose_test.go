package pick

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// defaults is the choice of the default configuration.
func defaults() Policy {
	return Policy{
		TopN: 30, Coverage: 0.95, Budget: 120 * time.Second, Program: 25 * time.Second, ProgramSource: "baseline",
		Collect: Collect{Set: "roofline", Sections: []string{"LaunchStats", "Occupancy", "MemoryWorkloadAnalysis"}},
	}
}

func TestChooseDecode(t *testing.T) {
	l := load(t, "llm")
	p := defaults()
	p.Include = []string{"decode"}
	got, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	if got.Limits.Reached != "coverage" || got.Predicted.CoverageRegions < 0.95 || got.Predicted.CoverageRegions > 1 {
		t.Errorf("reached %s, coverage %.3f", got.Limits.Reached, got.Predicted.CoverageRegions)
	}
	if got.Predicted.Processes != 1 || got.Predicted.Seconds > 90 {
		t.Errorf("%d processes and %.0f s; one process is enough", got.Predicted.Processes, got.Predicted.Seconds)
	}
	if ratio := got.Predicted.EverySeconds / got.Predicted.Seconds; ratio < 20 {
		t.Errorf("counting every launch is only %.1f times as expensive", ratio)
	}
	if got.Predicted.OffTypical > 0.05 {
		t.Errorf("%.1f %% of the GPU time by launches that are not typical", 100*got.Predicted.OffTypical)
	}
	if got.Totals.RegionLaunches != 1496 || !slices.Equal(got.Include, []string{"decode/"}) {
		t.Errorf("%d launches in %q", got.Totals.RegionLaunches, got.Include)
	}
	last := int64(math.MaxInt64)
	for i, g := range got.Groups {
		if g.Reason.IsZero() || g.Typical.ID == 0 || g.Mangled == "" {
			t.Errorf("group %d lacks a reason, launch or name: %+v", i, g)
		}
		if g.Chosen && g.TotalNS > last {
			t.Errorf("group %d is not in the order of GPU time", i)
		}
		last = g.TotalNS
	}
	sum := int64(0)
	for _, g := range got.Groups {
		sum += g.TotalNS
	}
	for _, o := range got.LeftOut {
		if o.Reason.IsZero() {
			t.Error("something is left out without a reason")
		}
		if !o.Reason.Is(outsideRegions) {
			sum += o.NS
		}
	}
	if sum != got.Totals.RegionNS {
		t.Errorf("chosen and left out are %d ns together, the regions %d ns", sum, got.Totals.RegionNS)
	}
}

func TestChooseIsDeterministic(t *testing.T) {
	var first []byte
	for range 5 {
		l := load(t, "llm")
		got, err := Choose(l, Policy{Coverage: 0.99, Slowest: true})
		if err != nil {
			t.Fatal(err)
		}
		got.Timeline = ""
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		} else if string(text) != string(first) {
			t.Fatal("two choices over one timeline differ")
		}
	}
}

func TestTargetsReadBack(t *testing.T) {
	got, err := Choose(load(t, "toy"), Policy{Include: []string{"prefill"}, Slowest: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseTargets(text)
	if err != nil || !reflect.DeepEqual(got, back) {
		t.Errorf("targets.json reads back differently: %v", err)
	}
	if _, err := ParseTargets([]byte(`{"schema": 99}`)); err == nil || !strings.Contains(err.Error(), "schema 99") {
		t.Errorf("an unknown schema gives %v", err)
	}
}

// TestPlansHold is the property that carries everything: whatever the timeline
// and the policy, ncu counts exactly the launches that the plan names.
func TestPlansHold(t *testing.T) {
	policies := []Policy{
		{}, {TopN: 2}, {Coverage: 0.6}, {Slowest: true}, {Include: []string{"decode"}}, {Include: []string{"prefill;async"}, Exclude: []string{"attn"}},
		{Partial: true}, {Version: tool.Version{Major: 2022, Minor: 3}}, {Version: tool.Version{Major: 2022, Minor: 3}, Partial: true},
		{Budget: 12 * time.Second}, {Program: time.Minute}, {MaxFilter: 40}, {KernelExclude: []string{"regex:^a"}},
		{Include: []string{"prefill", "decode", "mlp"}, Coverage: 0.7}, {Include: []string{"prefill", "decode"}, Coverage: 0.9, TopN: 5, Slowest: true},
		{Alike: 0.95}, {Alike: 0.9, Include: []string{"prefill", "decode"}, Coverage: 0.8}, {Alike: 0.99, Slowest: true}, {Alike: 0.95, Budget: 20 * time.Second},
	}
	ways := map[string]int{}
	for seed := range uint64(500) {
		l := random(rand.New(rand.NewPCG(seed, 7)))
		p := policies[seed%uint64(len(policies))]
		got, err := Choose(l, p)
		var nothing *NothingError
		if errors.As(err, &nothing) || err != nil && strings.Contains(err.Error(), "selects no range") {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, r := range got.Runs {
			ways[r.Way]++
			if r.Way == WayPerConfig && p.Version.Major == 2022 {
				t.Errorf("seed %d: ncu 2022.3 has no per-launch-config", seed)
			}
			if r.Way == WayNumbers && p.Partial {
				t.Errorf("seed %d: launches of part of a program cannot be numbered", seed)
			}
			if p.MaxFilter > 0 && (len(r.KernelName) > p.MaxFilter || len(r.KernelID) > p.MaxFilter) {
				t.Errorf("seed %d: a filter of %d bytes", seed, len(r.KernelName)+len(r.KernelID))
			}
		}
		checkPlan(t, l, got)
		checkVerify(t, l, got)
		for _, r := range got.Predicted.CoverageByRegion {
			if got.Limits.Reached == "coverage" && r.NS > 0 && r.Coverage < p.Coverage {
				t.Errorf("%s is covered to %g of %g", r.Expr, r.Coverage, p.Coverage)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, policy %+v", seed, p)
		}
	}
	for _, way := range []string{WayPerConfig, WayNumbers, WayFirst} {
		if ways[way] < 10 {
			t.Errorf("%d runs by %s: the property was hardly tested", ways[way], way)
		}
	}
}

func TestLimits(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	for i, ns := range []int64{60000, 30000, 6000, 4000} {
		b.launch(thread, queue, b.function("_Z"+string(rune('a'+i)), string(rune('a'+i))+"()", string(rune('a'+i))), b.config([3]int32{1, 1, 1}, [3]int32{32, 1, 1}, 0), ns)
	}
	l := b.load()
	for _, test := range []struct {
		name    string
		policy  Policy
		chosen  int
		reached string
	}{
		{"all", Policy{}, 4, "all"},
		{"top_n", Policy{TopN: 3}, 3, "top_n"},
		{"coverage", Policy{Coverage: 0.9}, 2, "coverage"},
		{"coverage of everything", Policy{Coverage: 1}, 4, "all"},
		{"budget for two", Policy{Budget: 9000 * time.Millisecond}, 2, "budget_s"},
		{"budget for none", Policy{Budget: time.Second}, 1, "budget_s"},
		{"the first limit counts", Policy{TopN: 3, Coverage: 0.5}, 1, "coverage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Choose(l, test.policy)
			if err != nil {
				t.Fatal(err)
			}
			if got.Limits.Reached != test.reached || len(got.Groups) != test.chosen {
				t.Errorf("%d groups, %s; want %d, %s", len(got.Groups), got.Limits.Reached, test.chosen, test.reached)
			}
			if test.policy.Budget > 2*time.Second && got.Predicted.Seconds > test.policy.Budget.Seconds() {
				t.Errorf("%.1f s over the budget", got.Predicted.Seconds)
			}
		})
	}
	if got, _ := Choose(l, Policy{Budget: time.Second}); len(got.Warnings) == 0 {
		t.Error("a budget that pays for nothing is not named")
	}
}

func TestTypicalAndSlowest(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 1)
	queue, k, c := b.queue(0, 0, 7), b.function("_Zk", "k()", "k"), b.config([3]int32{1, 1, 1}, [3]int32{32, 1, 1}, 0)
	for _, ns := range []int64{90000, 10000, 10100, 50000, 10200} {
		b.launch(thread, queue, k, c, ns)
	}
	l := b.load()
	got, err := Choose(l, Policy{Slowest: true})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	g := got.Groups[0]
	if g.Typical.DurationNS != 10200 || g.Slowest.DurationNS != 90000 || g.Typical.Number != 5 || g.Slowest.Number != 1 {
		t.Errorf("typical %+v, slowest %+v", g.Typical, g.Slowest)
	}
	roles := map[string]int{}
	for _, p := range got.Runs[0].Planned {
		roles[p.Role]++
	}
	if roles[RoleTypical] != 1 || roles[RoleSlowest] != 1 || len(got.Runs) != 1 {
		t.Errorf("roles %v in %d runs", roles, len(got.Runs))
	}
}

func TestCollectivesAreLeftOutAndNamed(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 1)
	queue, c := b.queue(0, 0, 7), b.config([3]int32{1, 1, 1}, [3]int32{32, 1, 1}, 0)
	b.launch(thread, queue, b.function("_Zgemm", "gemm()", "gemm"), c, 6000)
	b.launch(thread, queue, b.function("_Z9ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), c, 3000)
	b.launch(thread, queue, b.function("_Zcdr", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>()", "cross_device_reduce_1stage"), c, 1000)
	l := b.load()
	got, err := Choose(l, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Groups) != 1 || len(got.LeftOut) != 1 || got.LeftOut[0].Launches != 2 || got.LeftOut[0].Share != 0.4 || !got.LeftOut[0].Reason.Is(waitsForPeer) {
		t.Errorf("%d groups, left out %+v", len(got.Groups), got.LeftOut)
	}
	if got.Predicted.CoverageRegions != 0.6 {
		t.Errorf("coverage %g counts what is left out", got.Predicted.CoverageRegions)
	}
	with, err := Choose(l, Policy{Collectives: true})
	if err != nil || len(with.Groups) != 3 {
		t.Errorf("%d groups with collectives: %v", len(with.Groups), err)
	}
}

// TestTemplates: by mangled names one launch of each template instance is
// enough; by function names they share a configuration, as was seen on the H200.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		mul, add string // mangled names
		policy   Policy
		base     string
		launches int
	}{
		{"_Zmul", "_Zadd", Policy{}, "mangled", 2},
		{"_Zmul", "_Zadd", Policy{Partial: true}, "mangled", 2},
		{"_Zmul", "_Zadd", Policy{Program: time.Minute}, "mangled", 2},
		{"", "", Policy{}, "function", 2},
		{"", "", Policy{Partial: true}, "function", 2},
		{"_Zmul", "", Policy{Partial: true}, "function", 2},
	} {
		l := templates(test.mul, test.add)
		got, err := Choose(l, test.policy)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, l, got)
		checkVerify(t, l, got)
		if got.Predicted.Processes != 1 || got.Predicted.Launches != test.launches || got.Runs[0].KernelNameBase != test.base {
			t.Errorf("%+v: %d launches in %d processes by %s names: %+v", test, got.Predicted.Launches, got.Predicted.Processes, got.Runs[0].KernelNameBase, got.Trade)
		}
	}
}

// templates is a timeline of two instances of a template with one grid.
func templates(mul, add string) *Launches {
	b := newBuilder()
	thread := b.process(10, 1)
	queue, c := b.queue(0, 0, 7), b.config([3]int32{8, 1, 1}, [3]int32{128, 1, 1}, 0)
	first, second := b.function(mul, "elementwise_kernel<Mul>()", "elementwise_kernel"), b.function(add, "elementwise_kernel<Add>()", "elementwise_kernel")
	for range 10 {
		b.launch(thread, queue, first, c, 2000)
		b.launch(thread, queue, first, c, 2000)
		b.launch(thread, queue, second, c, 3000)
	}
	return b.load()
}

// TestThreadsAreNotNumbered: launches of several threads change places.
func TestThreadsAreNotNumbered(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 2)
	queue, k := b.queue(0, 0, 7), b.function("_Zk", "k()", "k")
	for i := range 8 {
		b.launch(thread+uint32(i%2), queue, k, b.config([3]int32{int32(1 + i%2), 1, 1}, [3]int32{32, 1, 1}, 0), 5000)
	}
	l := b.load()
	got, err := Choose(l, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	for _, r := range got.Runs {
		if r.Way == WayNumbers {
			t.Errorf("numbers are used: %+v", got.Trade)
		}
	}
	if got.Groups[1].Typical.Number != 0 && got.Groups[0].Typical.Number != 0 {
		t.Error("both threads' launches have a number")
	}
}

func TestProcessesAndDevices(t *testing.T) {
	b := newBuilder()
	k, c := b.function("_Zk", "k()", "k"), b.config([3]int32{4, 1, 1}, [3]int32{32, 1, 1}, 0)
	for p := range 2 {
		thread := b.process(100+p, 1)
		for device := range int32(2) {
			b.launch(thread, b.queue(uint32(p), device, 7), k, c, 5000)
		}
	}
	same := b.load()
	got, err := Choose(same, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, same, got)
	if len(got.Groups) != 1 || !slices.Equal(got.Groups[0].Processes, []int{100, 101}) || !slices.Equal(got.Groups[0].Devices, []int{0, 1}) {
		t.Errorf("processes and devices of one model are one group: %+v", got.Groups)
	}
	if got, err = Choose(same, Policy{RootOnly: true}); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.Warnings, func(w Reason) bool {
		return w.Is(rootOnly) && slices.Equal(w.Params["processes"].List, []string{"100", "101"})
	}) {
		t.Errorf("children that are not counted are not named: %v", got.Warnings)
	}
	b.t.GPUs = []timeline.GPU{{CUDADevice: 0, Name: "H200"}, {CUDADevice: 1, Name: "L4"}}
	mixed := b.load()
	if got, err = Choose(mixed, Policy{}); err != nil {
		t.Fatal(err)
	}
	checkPlan(t, mixed, got)
	if len(got.Groups) != 2 || got.Groups[0].GPU == got.Groups[1].GPU {
		t.Errorf("two models of GPU are two groups: %+v", got.Groups)
	}
}

func TestGraphs(t *testing.T) {
	l := load(t, "graph_node")
	got, err := Choose(l, Policy{Include: []string{"decode"}})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	if got.Totals.RegionLaunches != 40 || got.Groups[0].InGraphs != got.Groups[0].Launches {
		t.Errorf("%d launches in decode, %d of %d in graphs", got.Totals.RegionLaunches, got.Groups[0].InGraphs, got.Groups[0].Launches)
	}
	if !slices.ContainsFunc(got.Warnings, func(w Reason) bool { return w.Is(graphNodes) }) {
		t.Errorf("nothing is said of graphs: %v", got.Warnings)
	}
	_, err = Choose(load(t, "graph_whole"), Policy{Include: []string{"decode"}})
	var nothing *NothingError
	if !errors.As(err, &nothing) {
		t.Fatalf("graphs traced as a whole give %v", err)
	}
	whole, err := Choose(load(t, "graph_whole"), Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Totals.GraphNS == 0 || len(whole.Warnings) == 0 || whole.Predicted.CoverageRegions > 0.99 {
		t.Errorf("graphs as a whole are hidden: %+v, %v", whole.Totals, whole.Warnings)
	}
}
