package analysis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A scene is a small timeline in words: calls and kernels of one thread unless
// they say otherwise.
type scene struct {
	calls   []sceneCall
	kernels []sceneKernel
	copies  []sceneKernel
	ranges  [][2]int64
	end     int64
}

type sceneCall struct {
	start, end int64
	name       string
	thread     uint32
}

// sceneKernel is launched by the call of that index; -1 for none.
type sceneKernel struct {
	start, end int64
	name       string
	call       int
	stream     uint32
}

func (s scene) timeline() *timeline.Timeline {
	t := &timeline.Timeline{
		Names: []string{""}, Configs: []timeline.LaunchConfig{{Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}}},
		Processes: []timeline.Process{{Global: 1 << 24, PID: 1}},
		Threads:   []timeline.Thread{{Global: 1<<24 + 1, TID: 1}, {Global: 1<<24 + 2, TID: 2}},
		Queues:    []timeline.Queue{{Stream: 7}, {Stream: 8}, {Stream: 9}},
		Domains:   []timeline.Domain{{Process: timeline.None}},
		Session:   timeline.Session{LastNS: s.end},
	}
	name := func(s string) timeline.StringID {
		if i := slices.Index(t.Names, s); i >= 0 {
			return timeline.StringID(i)
		}
		t.Names = append(t.Names, s)
		return timeline.StringID(len(t.Names) - 1)
	}
	for i, c := range s.calls {
		t.Calls.Add(timeline.Call{Start: c.start, End: c.end, Name: name(c.name), Thread: c.thread, Correlation: uint32(i + 1)})
	}
	functions := map[string]uint32{}
	correlation := func(call int) uint32 {
		if call < 0 {
			return timeline.NoCorrelation
		}
		return uint32(call + 1)
	}
	for _, k := range s.kernels {
		f, ok := functions[k.name]
		if !ok {
			f = uint32(len(t.Functions))
			functions[k.name] = f
			t.Functions = append(t.Functions, timeline.Function{Demangled: name(k.name), Short: name(k.name)})
		}
		t.Kernels = append(t.Kernels, timeline.Kernel{Start: k.start, End: k.end, Function: f, Correlation: correlation(k.call), Queue: k.stream})
	}
	for _, c := range s.copies {
		t.Copies = append(t.Copies, timeline.Copy{Start: c.start, End: c.end, Kind: 1, Correlation: correlation(c.call), Queue: c.stream})
	}
	for i, r := range s.ranges {
		t.Ranges = append(t.Ranges, timeline.Range{Start: r[0], End: r[1], Name: name(fmt.Sprintf("r%d", i)), EndThread: timeline.None, Payload: timeline.None})
	}
	return t
}

// take analyses a timeline that was made up.
func take(t testing.TB, tl *timeline.Timeline, th Thresholds) *Result {
	t.Helper()
	r, err := analyzeTimeline(tl, th)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func analyzeTimeline(tl *timeline.Timeline, th Thresholds) (*Result, error) {
	a := analyzerWith(Input{Thresholds: th})
	ctx := t0()
	if err := a.takeTimeline(ctx, tl); err != nil {
		return nil, err
	}
	return a.takeAll(ctx)
}

func parts(s *Split) map[string]int64 {
	m := map[string]int64{}
	for _, p := range slices.Concat(s.Busy, s.Idle) {
		m[p.ID] += p.NS
	}
	return m
}

// Each cause of idle time in a scene of its own.
func TestIdleCauses(t *testing.T) {
	for _, c := range []struct {
		name  string
		scene scene
		want  map[string]int64
	}{
		{"launch call, then latency", scene{
			calls:   []sceneCall{{100, 150, "cudaLaunchKernel_v7000", 0}},
			kernels: []sceneKernel{{170, 200, "gemm", 0, 0}}, end: 200,
		}, map[string]int64{"none": 100, "launch": 70, "gemm": 30}},
		{"host code between two calls", scene{
			calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {60, 70, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{12, 20, "gemm", 0, 0}, {72, 80, "relu", 1, 0}}, end: 80,
		}, map[string]int64{"launch": 24, "gemm": 8, "python": 40, "elementwise": 8}},
		{"synchronization before the next launch", scene{
			calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {10, 50, "cudaStreamSynchronize_v3020", 0}, {55, 60, "cuLaunchKernelEx", 0}},
			kernels: []sceneKernel{{10, 20, "gemm", 0, 0}, {60, 70, "gemm", 2, 0}}, end: 70,
		}, map[string]int64{"launch": 15, "gemm": 20, "sync": 30, "python": 5}},
		{"allocation, loading of code", scene{
			calls:   []sceneCall{{0, 40, "cudaMalloc", 0}, {40, 70, "cuLibraryLoadData", 0}, {70, 80, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{80, 90, "gemm", 2, 0}}, end: 90,
		}, map[string]int64{"alloc": 40, "call": 30, "launch": 10, "gemm": 10}},
		{"a copy runs alone, then beside a kernel", scene{
			calls:   []sceneCall{{0, 10, "cudaMemcpyAsync", 0}, {10, 20, "cudaLaunchKernel", 0}},
			copies:  []sceneKernel{{20, 60, "", 0, 0}},
			kernels: []sceneKernel{{40, 80, "gemm", 1, 1}}, end: 80,
		}, map[string]int64{"copy": 30, "launch": 10, "gemm": 40}},
		{"nothing follows", scene{
			calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {15, 30, "cudaDeviceSynchronize", 0}},
			kernels: []sceneKernel{{10, 20, "gemm", 0, 0}}, end: 100,
		}, map[string]int64{"launch": 10, "gemm": 10, "sync": 10, "none": 70}},
		{"a long host stretch outside every range is nothing to do, inside it is host code", scene{
			calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {5_010, 5_020, "cudaLaunchKernel", 0}, {12_020, 12_030, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{10, 20, "gemm", 0, 0}, {5_020, 5_030, "gemm", 1, 0}, {12_030, 12_040, "gemm", 2, 0}},
			ranges:  [][2]int64{{8_000, 12_100}}, end: 12_100,
		}, map[string]int64{"launch": 30, "gemm": 30, "none": 4_990 + 2_970 + 60, "host": 4_020}},
		{"of calls within calls the outer one counts", scene{
			calls:   []sceneCall{{0, 50, "cudaFree", 0}, {10, 20, "cuLibraryLoadData", 0}, {50, 60, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{60, 70, "gemm", 2, 0}}, end: 70,
		}, map[string]int64{"alloc": 50, "launch": 10, "gemm": 10}},
		{"the thread that launches next decides", scene{
			calls:   []sceneCall{{0, 90, "cudaDeviceSynchronize", 0}, {0, 5, "cudaEventRecord", 1}, {80, 90, "cudaLaunchKernel", 1}},
			kernels: []sceneKernel{{90, 100, "gemm", 2, 0}}, end: 100,
		}, map[string]int64{"call": 5, "python": 75, "launch": 10, "gemm": 10}},
		{"work without a launching call", scene{
			kernels: []sceneKernel{{50, 100, "gemm", -1, 0}}, end: 100,
		}, map[string]int64{"none": 50, "gemm": 50}},
		{"concurrent work is shared out", scene{
			calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{
				{0, 30, "gemm", 0, 0}, {0, 30, "relu", 0, 1}, {0, 30, "relu", 0, 2}, {30, 40, "gemm", 0, 0}, {30, 40, "gemm", 0, 1}, {40, 47, "gemm", 0, 0}, {40, 47, "relu", 0, 1},
			}, end: 47,
		}, map[string]int64{"gemm": 10 + 10 + 3, "elementwise": 20 + 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := take(t, c.scene.timeline(), Thresholds{HostGap: time.Microsecond})
			got := parts(r.Totals.Split)
			for id, want := range c.want {
				if got[id] != want {
					t.Errorf("%s: %d ns, want %d", id, got[id], want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("parts %v, want %v", got, c.want)
			}
			if r.Totals.Split.WallNS != c.scene.end {
				t.Errorf("wall %d, want %d", r.Totals.Split.WallNS, c.scene.end)
			}
		})
	}
}

func TestLaunchBound(t *testing.T) {
	// 10 kernels of 1 us every 10 us, with a range around.
	var s scene
	for i := range int64(10) {
		s.calls = append(s.calls, sceneCall{i * 10_000, i*10_000 + 3000, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{i*10_000 + 3000, i*10_000 + 4000, "gemm", int(i), 0})
	}
	s.ranges, s.end = [][2]int64{{0, 94_000}}, 94_000
	r := take(t, s.timeline(), Thresholds{})
	sp := r.Stages[0].Split
	if !sp.LaunchBound || sp.LaunchNS != 84_000 {
		t.Errorf("launch-bound %v, gain %d; want true, 84000", sp.LaunchBound, sp.LaunchNS)
	}
	if len(r.Findings) == 0 || r.Findings[0].ID != "launch-bound-r0" {
		t.Errorf("the first finding is not that the stage is launch-bound: %+v", r.Findings)
	}
	// The same kernels back to back.
	s = scene{}
	for i := range int64(10) {
		s.calls = append(s.calls, sceneCall{i * 100, i*100 + 50, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{1000 + i*1000, 2000 + i*1000, "gemm", int(i), 0})
	}
	s.end = 11_000
	if sp := take(t, s.timeline(), Thresholds{}).Totals.Split; sp.LaunchBound || sp.LaunchNS != 0 {
		t.Errorf("busy throughout and yet launch-bound: %+v", sp)
	}
}

// Whatever the timeline, every split adds up to its wall time, and that of
// regions to the sum of their instances.
func TestSplitsAddUp(t *testing.T) {
	names := []string{"gemm", "relu", "softmax", "who knows", "ncclDevKernel_AllReduce"}
	calls := []string{"cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaMalloc", "cudaEventRecord"}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var s scene
		s.end = 1 + rng.Int64N(5000)
		at := func() (int64, int64) {
			start := rng.Int64N(s.end + 1)
			return start, start + rng.Int64N(400) - 5 // some end before they start
		}
		for range rng.IntN(40) {
			start, end := at()
			s.calls = append(s.calls, sceneCall{start, end, calls[rng.IntN(len(calls))], uint32(rng.IntN(2))})
		}
		for range 1 + rng.IntN(40) { // without any GPU work nothing is divided
			start, end := at()
			k := sceneKernel{start, end, names[rng.IntN(len(names))], rng.IntN(len(s.calls)+1) - 1, uint32(rng.IntN(3))}
			if rng.IntN(4) == 0 {
				s.copies = append(s.copies, k)
			} else {
				s.kernels = append(s.kernels, k)
			}
		}
		for range rng.IntN(12) {
			start, end := at()
			s.ranges = append(s.ranges, [2]int64{start, max(start, end)})
		}
		tl := s.timeline()
		if seed%3 == 0 {
			tl.Queues[1].Device = 1
		}
		r, err := analyzeTimeline(tl, Thresholds{HostGap: 200})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkResult(t, fmt.Sprintf("seed %d", seed), r)
		if t.Failed() {
			return
		}
	}
}

// checkResult holds of every result.
func checkResult(t *testing.T, name string, r *Result) {
	t.Helper()
	split := func(where string, s *Split, wall int64) {
		t.Helper()
		var busy, idle int64
		for _, p := range s.Busy {
			busy += p.NS
			if p.NS <= 0 {
				t.Errorf("%s: %s: busy part %s of %d ns", name, where, p.ID, p.NS)
			}
		}
		for _, p := range s.Idle {
			idle += p.NS
			if p.NS <= 0 {
				t.Errorf("%s: %s: idle part %s of %d ns", name, where, p.ID, p.NS)
			}
		}
		if busy != s.BusyNS || idle != s.IdleNS || busy+idle != s.WallNS || s.WallNS != wall {
			t.Errorf("%s: %s: %d busy of parts %d, %d idle of parts %d, wall %d, want %d", name, where, s.BusyNS, busy, s.IdleNS, idle, s.WallNS, wall)
		}
		if s.LaunchNS > s.IdleNS || s.LaunchNS > 0 && !s.LaunchBound {
			t.Errorf("%s: %s: gain %d of %d idle, launch-bound %v", name, where, s.LaunchNS, s.IdleNS, s.LaunchBound)
		}
	}
	if r.Totals.Split != nil {
		split("totals", r.Totals.Split, r.Totals.WallNS)
	}
	for i := range r.Regions {
		g := &r.Regions[i]
		if r.Totals.Split != nil {
			wall := g.WallNS
			if g.Synchronous != nil && !*g.Synchronous { // the time of its work
				if wall = g.Split.WallNS; wall > g.ProjectedNS && g.ProjectedNS > 0 { // which leaves out whole graphs
					t.Errorf("%s: region %s: work of %d ns in spans of %d ns", name, g.Path, wall, g.ProjectedNS)
				}
			}
			split("region "+g.Path, &g.Split, wall)
		} else if g.Split.WallNS != 0 {
			t.Errorf("%s: region %s is divided, the whole is not", name, g.Path)
		}
		if g.Parent >= i || g.Parent >= 0 && r.Regions[g.Parent].Depth >= g.Depth {
			t.Errorf("%s: region %d has parent %d", name, i, g.Parent)
		}
		for _, k := range g.Top {
			if k.Kernel < 0 || k.Kernel >= len(r.Kernels) {
				t.Errorf("%s: region %s names kernel %d of %d", name, g.Path, k.Kernel, len(r.Kernels))
			}
		}
	}
	var kernels, categories, calls int64
	for i := range r.Kernels {
		kernels += r.Kernels[i].TotalNS
		calls += r.Kernels[i].Calls
		if h := r.Kernels[i].Histogram; h != nil {
			var n int64
			for _, c := range h.Counts {
				n += c
			}
			if n != r.Kernels[i].Calls || len(h.Bounds) != len(h.Counts)+1 {
				t.Errorf("%s: histogram of %s holds %d of %d calls", name, r.Kernels[i].Short, n, r.Kernels[i].Calls)
			}
		}
	}
	if r.Rest != nil {
		kernels += r.Rest.NS
		calls += r.Rest.Calls
	}
	for _, c := range r.Categories {
		categories += c.NS
	}
	launches := r.Totals.Launches
	if r.Scope != nil {
		launches = r.Scope.Launches
		split("scope", r.Scope.Split, r.Scope.WallNS)
	}
	if kernels != categories || calls != launches {
		t.Errorf("%s: kernels %d ns, categories %d ns; %d calls of %d launches", name, kernels, categories, calls, launches)
	}
	for _, o := range r.Opportunities {
		if o.Seconds <= 0 || o.Seconds > float64(r.Totals.WallNS)/1e9 || len(o.Assumes) == 0 || len(o.How) == 0 || o.Speedup != 0 && o.Speedup < 1 {
			t.Errorf("%s: opportunity %+v", name, o)
		}
	}
	for _, l := range r.Overview.Lanes {
		var n int64
		last := int64(-1 << 62)
		for _, b := range l.Boxes {
			n += max(1, b.Count)
			if b.Start < last || b.Name >= len(r.Overview.Names) || b.Len < 0 || b.Busy > b.Len {
				t.Errorf("%s: lane %v: box %+v after %d", name, l.Label, b, last)
			}
			last = b.Start
		}
		if n != l.Events {
			t.Errorf("%s: lane %v: boxes stand for %d of %d events", name, l.Label, n, l.Events)
		}
	}
}

// Where no GPU work was recorded, idle time is not told: CUDA may not have been
// traced.
func TestNothingRecordedOfTheGPU(t *testing.T) {
	var s scene
	s.ranges, s.end = [][2]int64{{0, 1000}}, 1000
	r := take(t, s.timeline(), Thresholds{})
	if r.Totals.Split != nil || len(r.Stages) != 0 || r.Regions[0].Split.WallNS != 0 || r.Regions[0].WallNS != 1000 {
		t.Errorf("divided: %+v, %+v, %+v", r.Totals.Split, r.Stages, r.Regions[0])
	}
}
