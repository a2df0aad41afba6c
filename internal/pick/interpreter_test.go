package pick

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// interpret applies the options of a run to a timeline as ncu does, from what
// was seen of ncu 2025.3.1 on an H200: launches are taken in the order of their
// calls; the NVTX filter comes first; --kernel-id numbers the launches of a name
// in a process among those that pass it; skip and count go over all processes
// together, with per-launch-config for each name, grid, block and shared memory.
// The name is that of --kernel-name-base, by default the function. It gives the
// places of the launches in the timeline, from 1. TestAsSeen holds it against
// what ncu did.
func interpret(t *testing.T, tl *timeline.Timeline, targets *Targets, r *Run) []int {
	t.Helper()
	at := tl.Attribute()
	parse := func(list []string) []*nvtx.Expr {
		var out []*nvtx.Expr
		for _, text := range list {
			e, err := nvtx.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e.As(nvtx.StartEnd))
		}
		return out
	}
	in, ex := parse(targets.Include), parse(targets.Exclude)
	passes := at.KernelMatcher(func(s nvtx.State) bool {
		hit := func(e *nvtx.Expr) bool { return e.Match(s) }
		return (len(in) == 0 || slices.ContainsFunc(in, hit)) && !slices.ContainsFunc(ex, hit)
	})
	order := make([]int, len(tl.Kernels))
	called := make([]int64, len(order))
	for i := range order {
		order[i], called[i] = i, tl.Kernels[i].Start
		if c, ok := at.KernelCall(i); ok {
			called[i] = c.Start
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(called[x], called[y]), cmp.Compare(tl.Kernels[x].Start, tl.Kernels[y].Start))
	})
	name := func(i int) string {
		f := tl.Functions[tl.Kernels[i].Function]
		switch r.KernelNameBase {
		case "", "function":
			return tl.Name(f.Short)
		case "mangled":
			return tl.Name(f.Mangled)
		}
		t.Fatalf("kernel name base %q", r.KernelNameBase)
		return ""
	}
	matches := func(pattern, text string) bool {
		if expr, ok := strings.CutPrefix(pattern, "regex:"); ok {
			return regexp.MustCompile(expr).MatchString(text)
		}
		return pattern == text
	}
	type config struct {
		name        string
		grid, block [3]int32
		shared      int32
	}
	type named struct {
		process uint32
		name    string
	}
	gate := openGate(tl, r.Gates)
	numbers, seen := map[named]int{}, map[config]int{}
	var out []int
	for _, i := range order {
		k := &tl.Kernels[i]
		if !passes(i) || len(r.Gates) > 0 && !gate(called[i]) {
			continue
		}
		process := tl.Queues[k.Queue].Process
		numbers[named{process, name(i)}]++
		if r.KernelName != "" && !matches(r.KernelName, name(i)) {
			continue
		}
		if r.KernelID != "" {
			rest := strings.TrimPrefix(r.KernelID, "::regex:")
			cut := strings.LastIndex(rest, ":")
			if cut < 0 || rest == r.KernelID {
				t.Fatalf("kernel id %q", r.KernelID)
			}
			number := numbers[named{process, name(i)}]
			if !matches("regex:"+rest[:cut], name(i)) || !regexp.MustCompile(rest[cut+1:]).MatchString(fmtInt(number)) {
				continue
			}
		}
		var key config
		if r.FilterMode == "per-launch-config" {
			c := &tl.Configs[k.Config]
			key = config{name(i), c.Grid, c.Block, c.DynamicShared}
		}
		seen[key]++
		if n := seen[key]; n <= r.LaunchSkip || r.LaunchCount > 0 && n > r.LaunchSkip+r.LaunchCount {
			continue
		}
		out = append(out, i+1)
	}
	slices.Sort(out)
	return out
}

// openGate does what workloads/annotate/deepprof_annotate_gates.py does while the
// program runs: it counts ranges by their path and switches the gate. It tells
// whether the gate is open at a time.
func openGate(tl *timeline.Timeline, gates []Gate) func(now int64) bool {
	type event struct {
		at   int64
		name string
		exit bool
	}
	var events []event
	for _, r := range tl.Ranges {
		if r.Kind == timeline.PushPop {
			events = append(events, event{r.Start, tl.Name(r.Name), false}, event{r.End, "", true})
		}
	}
	slices.SortStableFunc(events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	type place struct {
		path string
		exit bool
	}
	var stack []string
	var switched []event // exit is that the gate closed
	counts := map[place]int{}
	for _, e := range events {
		if !e.exit {
			stack = append(stack, e.name)
		}
		at := place{strings.Join(stack, "\n"), e.exit}
		counts[at]++
		for _, g := range gates {
			if g.N == counts[at] && g.Exit == e.exit && strings.Join(g.Path, "\n") == at.path {
				switched = append(switched, event{at: e.at, exit: !g.Open})
			}
		}
		if e.exit {
			stack = stack[:len(stack)-1]
		}
	}
	return func(now int64) bool {
		open := false
		for _, s := range switched {
			if s.at <= now {
				open = !s.exit
			}
		}
		return open
	}
}

func fmtInt(n int) string { return strconv.Itoa(n) }

// plannedIDs are the launches that a run says it will count.
func plannedIDs(r *Run) []int {
	var out []int
	for _, p := range r.Planned {
		out = append(out, p.ID)
	}
	slices.Sort(out)
	return out
}

// checkPlan holds a choice against the interpreter: the runs count exactly what
// they say, every chosen group is counted, and predictions add up.
func checkPlan(t *testing.T, l *Launches, targets *Targets) {
	t.Helper()
	got := map[string]bool{}
	for i := range targets.Runs {
		r := &targets.Runs[i]
		ids := interpret(t, l.t, targets, r)
		if want := plannedIDs(r); !slices.Equal(ids, want) {
			t.Fatalf("run %d (%s, skip %d, count %d, %s%s): ncu counts %v, planned %v", i, r.Way, r.LaunchSkip, r.LaunchCount, r.KernelID, r.KernelName, ids, want)
		}
		for _, id := range ids {
			for at := range l.len() {
				if l.kernel(at) == id-1 {
					got[l.groups[l.group(at)].id] = true
				}
			}
		}
	}
	for _, g := range targets.Groups {
		if g.Chosen && !got[g.ID] {
			t.Errorf("group %s %v %v is chosen and not counted", g.Kernel, g.Grid, g.Block)
		}
	}
	n := 0
	for _, r := range targets.Runs {
		n += len(r.Planned)
	}
	if n != targets.Predicted.Launches || len(targets.Runs) != targets.Predicted.Processes {
		t.Errorf("predicted %d launches in %d processes, planned %d in %d", targets.Predicted.Launches, targets.Predicted.Processes, n, len(targets.Runs))
	}
	sum := targets.Predicted.ProgramSeconds
	if targets.Predicted.Seconds < sum {
		t.Errorf("predicted %g s, less than one run of the program (%g s)", targets.Predicted.Seconds, sum)
	}
}

// resultsOf makes the results that ncu would give of launches of the timeline.
func resultsOf(l *Launches, ids []int) []Counted {
	regions := map[uint32]timeline.Region{}
	for _, r := range l.at.Regions() {
		regions[r.ID] = r
	}
	var out []Counted
	for i, id := range ids {
		k := &l.t.Kernels[id-1]
		f, c, q := l.t.Functions[k.Function], &l.t.Configs[k.Config], &l.t.Queues[k.Queue]
		got := Counted{
			ID: i, Mangled: l.t.Name(f.Mangled), Function: l.t.Name(f.Short), Demangled: l.t.Name(f.Demangled), Grid: c.Grid, Block: c.Block,
			Device: int(q.Device), HasState: true, DurationNS: k.Duration() * 5 / 4,
		}
		for _, node := range l.at.Places()[l.at.KernelPlace(id-1)].Own {
			if r := regions[node]; r.Kind == timeline.StartEnd {
				got.State.Open = append(got.State.Open, r.Stack...)
			} else {
				got.State.Stacks = append(got.State.Stacks, r.Stack)
			}
		}
		out = append(out, got)
	}
	return out
}

// checkVerify holds the verification against what ncu would count: all of it is
// sound and covers what was predicted.
func checkVerify(t *testing.T, l *Launches, targets *Targets) {
	t.Helper()
	var ids []int
	for i := range targets.Runs {
		ids = append(ids, interpret(t, l.t, targets, &targets.Runs[i])...)
	}
	v, err := Verify(targets, resultsOf(l, ids), l)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Missing)+len(v.MissingLaunches) > 0 || v.CoverageRegions != targets.Predicted.CoverageRegions {
		t.Errorf("missing %+v, launches missing %+v, coverage %g of %g", v.Missing, v.MissingLaunches, v.CoverageRegions, targets.Predicted.CoverageRegions)
	}
	if !slices.EqualFunc(v.CoverageByRegion, targets.Predicted.CoverageByRegion, func(x, y RegionCoverage) bool {
		x.Why, y.Why = nil, nil // the goal tells whether there is anything to explain
		return x == y
	}) {
		t.Errorf("regions are covered by %+v, predicted %+v", v.CoverageByRegion, targets.Predicted.CoverageByRegion)
	}
	for _, m := range v.Matches {
		if m.Verdict != Sound || !m.RegionInPlan {
			t.Errorf("%+v", m)
		}
	}
}
