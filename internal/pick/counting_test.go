package pick

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/timeline"
)

func TestExpectedLaunches(t *testing.T) {
	tl := &timeline.Timeline{
		Names:     []string{"", "k", "k<1>", "k<2>"},
		Functions: []timeline.Function{{Demangled: 2, Short: 1, Mangled: 2}, {Demangled: 3, Short: 1, Mangled: 3}},
		Configs:   []timeline.LaunchConfig{{Grid: [3]int32{1, 1, 1}}, {Grid: [3]int32{2, 1, 1}}},
		Queues:    []timeline.Queue{{}},
		Kernels:   []timeline.Kernel{{Config: 0}, {Config: 0, Function: 1}, {Config: 0}, {Config: 1}},
	}
	base := plan.NcuCLI{ReplayMode: plan.ReplayKernel, FilterMode: "global", TargetProcesses: "all", ProfileFromStart: true}
	for _, c := range []struct {
		name   string
		change func(*plan.Nsys, *plan.NcuCLI)
		want   int
	}{
		{"all", func(*plan.Nsys, *plan.NcuCLI) {}, 4},
		{"skip and count", func(_ *plan.Nsys, c *plan.NcuCLI) { c.LaunchSkip, c.LaunchCount = 1, 2 }, 2},
		{"one of each", func(_ *plan.Nsys, c *plan.NcuCLI) { c.FilterMode, c.LaunchCount = "per-launch-config", 1 }, 3},
		{"a rule of ncu's", func(_ *plan.Nsys, c *plan.NcuCLI) { c.KernelName = "k" }, 0},
		{"a part of the program", func(n *plan.Nsys, _ *plan.NcuCLI) { n.CaptureRange = plan.CaptureNVTX }, 0},
		{"ranges", func(_ *plan.Nsys, c *plan.NcuCLI) { c.ReplayMode = plan.ReplayRange }, 0},
	} {
		p := &plan.Plan{}
		p.Pipeline.Nsys.CaptureRange = plan.CaptureNone
		p.Pipeline.Ncu.CLI = base
		c.change(&p.Pipeline.Nsys, &p.Pipeline.Ncu.CLI)
		got := (&Counting{Nsys: p.Pipeline.Nsys, Ncu: p.Pipeline.Ncu, Timeline: Load(tl.Attribute())}).expectedLaunches()
		if got != c.want {
			t.Errorf("%s: %d launches, want %d", c.name, got, c.want)
		}
	}
}

// TestMissedLaunches: a planned launch of a kernel that has another one counted is
// named; that something was counted another way is said only where it was.
func TestMissedLaunches(t *testing.T) {
	c := &chosen{Counting: &Counting{Say: func(string) {}}, outcomes: []capture.Outcome{
		{Usable: true, Kind: capture.Captured, Reports: []string{"run.ncu-rep"}},
		{Kind: capture.NothingMatched, What: fact.New("tool-not-started", fact.Name("tool", "ncu"))},
	}}
	c.targets = &Targets{Groups: []Group{{ID: "a", Kernel: "gemm_tile<32>"}}, Runs: []Run{{Report: "ncu/run.ncu-rep"}, {}}, Verification: &Verification{
		Groups: 1, MissingLaunches: []Planned{{Group: "a", Role: RoleOther, Launch: Launch{DurationNS: 18_720}}},
	}}
	said := func(code fact.Code) fact.Fact {
		o := c.outcome()
		if !o.Usable || o.Kind != capture.WithWarnings {
			t.Errorf("%+v", o)
		}
		for _, w := range o.Warnings {
			if w.Is(code) {
				return w.Fact
			}
		}
		return fact.Fact{}
	}
	missed := said(missedLaunches).Params["launches"].Facts
	if len(missed) != 1 || missed[0].Text("kernel") != "gemm_tile<32>" || missed[0].Number("time") != 18_720 || missed[0].Text("role") != "role:"+RoleOther {
		t.Errorf("missed launches: %v", missed)
	}
	if said(countedNothing).IsZero() || !said(countedOtherway).IsZero() {
		t.Error("a process that counted nothing is not told as what it is")
	}
	c.targets.Runs = append(c.targets.Runs, Run{Retry: true, Report: "ncu/run3/run.ncu-rep"})
	if said(countedOtherway).IsZero() || !said(countedNothing).IsZero() {
		t.Error("that it was counted another way is not told")
	}
}

// TestAnnounceCollectives: kernels that wait for a peer are named before ncu starts.
func TestAnnounceCollectives(t *testing.T) {
	var said []string
	c := &chosen{Counting: &Counting{Say: func(line string) { said = append(said, line) }}, targets: &Targets{LeftOut: []LeftOut{
		{Reason: because(waitsForPeer), Collective: true, Launches: 1, Share: 0.25, Kernels: []LeftRow{{Kernel: "ncclDevKernel_AllReduce", Share: 0.25}}},
		{Reason: because(limitTopN, fact.Count("n", 1)), Cut: true, Launches: 2, Kernels: []LeftRow{{Kernel: "small"}}},
	}}}
	c.announce()
	if all := strings.Join(said, "\n"); !strings.Contains(all, "1 launch, 25 % of the GPU time in the regions: ncclDevKernel_AllReduce (25 %)") || strings.Contains(all, "small") {
		t.Errorf("said %q", said)
	}
}

// A configured name may stand for several metrics: by regular expression, or for
// all roll-ups.
func TestMetricListFollowsTheConfiguration(t *testing.T) {
	l := newMetricList([]string{"sm__cycles_active", "regex:^lts__cycles", "group:smsp__pcsamp", "dram__bytes.sum"})
	r := &ncurep.Result{}
	for _, name := range []string{"sm__cycles_active.sum", "sm__cycles_active_other.sum", "lts__cycles_active.avg", "dram__bytes.sum", "fe__cycles.sum"} {
		r.Metrics = append(r.Metrics, ncurep.Metric{Name: name, Value: metric.Float64(1)})
	}
	l.add(r)
	if got := strings.Join(l.list(), " "); got != "dram__bytes.sum sm__cycles_active.sum lts__cycles_active.avg" {
		t.Error(got)
	}
}
