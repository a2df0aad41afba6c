package analysis

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"
)

// An action is what the host does next in a made-up or recorded program.
type action struct {
	what  string // launch, code, call, sync, alloc, load, host, copy
	ns    int64  // of a launch or copy the time on the GPU, else on the host
	cost  int64  // of a launch, copy or synchronization on the host
	queue uint32
	name  string // of a kernel
}

var callNames = map[string]string{"launch": "cudaLaunchKernel", "call": "cudaEventRecord", "sync": "cudaDeviceSynchronize", "alloc": "cudaMalloc", "load": "cuLibraryLoadData", "copy": "cudaMemcpy"}

// simulate plays a program on a host of one thread and a GPU whose streams run
// their work in order. It gives what a profiler would record.
func simulate(program []action) scene {
	var s scene
	var host int64
	free := map[uint32]int64{} // when a stream has done its work
	for _, a := range program {
		begin := host
		start := max(begin+a.cost, free[a.queue])
		switch a.what {
		case "launch":
			host += a.cost
			s.kernels = append(s.kernels, sceneKernel{start, start + a.ns, a.name, len(s.calls), a.queue})
			free[a.queue] = start + a.ns
		case "copy":
			s.copies = append(s.copies, sceneKernel{start, start + a.ns, "", len(s.calls), a.queue})
			free[a.queue] = start + a.ns
			host = start + a.ns
		case "sync":
			for _, t := range free {
				host = max(host, t)
			}
			host += a.cost
		default:
			host += a.ns
		}
		if name := callNames[a.what]; name != "" {
			s.calls = append(s.calls, sceneCall{begin, host, name, 0})
		}
	}
	s.end = host
	for _, t := range free {
		s.end = max(s.end, t)
	}
	s.ranges = [][2]int64{{0, s.end}}
	return s
}

// launchFree is the program with its launches, and the code and other CUDA calls
// between them, at no cost: the best that a CUDA graph can do.
func launchFree(program []action) []action {
	out := append([]action{}, program...)
	first, last := -1, 0
	for i, a := range out {
		if a.what == "launch" {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	for i := range out {
		switch a := &out[i]; {
		case a.what == "launch":
			a.cost = 0
		case first < i && i < last && (a.what == "code" || a.what == "call"):
			a.ns = 0
		}
	}
	return out
}

// fused makes one kernel of each chain, as short as the share of its longest
// kernel that is asked for, and drops the other launches with the code before them.
func fused(program []action, share float64) []action {
	in := map[uint32]int{} // index in out of the kernel that the open chain of a stream became
	var out []action
	longest := map[int]int64{}
	for _, a := range program {
		if a.what != "launch" || !fusibleKernel(a.name) {
			if a.what == "launch" || a.what == "copy" {
				delete(in, a.queue)
			}
			out = append(out, a)
			continue
		}
		if at, ok := in[a.queue]; ok {
			longest[at] = max(longest[at], a.ns)
			out[at].ns = int64(share * float64(longest[at]))
			if n := len(out) - 1; n > at && out[n].what == "code" {
				out = out[:n]
			}
			continue
		}
		in[a.queue] = len(out)
		longest[len(out)] = a.ns
		out = append(out, a)
	}
	return out
}

func fusibleKernel(name string) bool {
	return name == "relu" || name == "gelu" || name == "reduce_kernel"
}

const simulatedGap = time.Microsecond

func randomProgram(rng *rand.Rand) []action {
	streams := 1 + rng.IntN(3)
	kinds := []string{"launch", "launch", "launch", "launch", "code", "call", "sync", "alloc", "load", "host", "copy"}
	kinds = kinds[:6+rng.IntN(6)] // fewer kinds make launch-bound programs
	size := int64(20 + rng.IntN(2000))
	var out []action
	for range 4 + rng.IntN(60) {
		a := action{what: kinds[rng.IntN(min(len(kinds), 11))], ns: 1 + rng.Int64N(size), cost: 1 + rng.Int64N(300), queue: uint32(rng.IntN(streams)), name: []string{"gemm", "relu", "gelu", "reduce_kernel"}[rng.IntN(4)]}
		switch {
		case a.what == "code" && len(out) > 0 && (out[len(out)-1].what == "code" || out[len(out)-1].what == "host"):
			continue // code without a call between is one stretch
		case a.what == "code":
			a.ns = 1 + rng.Int64N(900)
		case a.what == "host":
			a.ns = simulatedGap.Nanoseconds() + rng.Int64N(4000)
			if len(out) > 0 && out[len(out)-1].what == "code" {
				out = out[:len(out)-1]
			}
		}
		out = append(out, a)
	}
	return append(out, action{what: "launch", ns: 1 + rng.Int64N(size), cost: 10, name: "gemm"})
}

// analyzerOf is the state of an analysis whose timeline was read.
func analyzerOf(t *testing.T, categories *Categories, tl *timeline.Timeline) *state {
	t.Helper()
	th := Thresholds{HostGap: simulatedGap}
	a := analyzerWith(Input{Thresholds: th, Categories: categories})
	if err := a.takeTimeline(t0(), tl); err != nil {
		t.Fatal(err)
	}
	return a
}

// No program that follows the advice saves more than the bound: launches at no
// cost, chains of kernels as one, a kernel at its roof.
func TestBoundsHold(t *testing.T) {
	first := analyzerWith(Input{})
	const cases = 10_000
	var tight, tightFused int
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 13))
		program := randomProgram(rng)
		s := simulate(program)
		a := analyzerOf(t, first.categories, s.timeline())
		stage := &a.res.Stages[0]
		gain := a.clock().launchGain(stage).NS
		if saved := s.end - simulate(launchFree(program)).end; saved > gain {
			t.Fatalf("seed %d: launches at no cost save %d of %d ns, the bound is %d: %+v\n%+v", seed, saved, s.end, gain, stage.Split, program)
		} else if 10*saved > 9*gain {
			tight++
		}
		a.saved(func(sv *savings) { sv.fusionSavings(sv.chains()) })
		bound := 0.0
		if o := opportunityNamed(a.res, "fusion-elementwise"); o != nil {
			bound = o.Seconds * 1e9
		}
		for _, share := range []float64{0, rng.Float64()} {
			saved := float64(s.end - simulate(fused(program, share)).end)
			if saved > bound+1e-3 && saved > worth*float64(a.res.kernelNS()) {
				t.Fatalf("seed %d: fused kernels of %g of the longest save %g of %d ns, the bound is %g\n%+v", seed, share, saved, s.end, bound, program)
			}
			if bound > 0 && saved > 0.9*bound {
				tightFused++
			}
		}
		rest := rng.Float64()
		faster, reduced := append([]action{}, program...), int64(0)
		for i := range faster {
			if x := &faster[i]; x.what == "launch" && x.name == "gemm" {
				ns := int64(math.Ceil(rest * float64(x.ns)))
				reduced, x.ns = reduced+x.ns-ns, ns
			}
		}
		if saved := s.end - simulate(faster).end; saved > reduced {
			t.Fatalf("seed %d: kernels at their roof save %d, the bound is %d", seed, saved, reduced)
		}
	}
	if tight < cases/100 || tightFused < cases/1000 {
		t.Errorf("the bounds are loose: reached in %d and %d of %d cases", tight, tightFused, cases)
	}
}

// recordedProgram is what the host did in a stretch of a recorded timeline: the
// thread with the most launches, its calls and the code between them.
func recordedProgram(a *state, t *timeline.Timeline, m moment) []action {
	kernels := map[uint32][]int{}
	for i := range t.Kernels {
		kernels[t.Kernels[i].Correlation] = append(kernels[t.Kernels[i].Correlation], i)
	}
	launches := map[uint32]int{}
	for i := range uint32(t.Calls.Len()) {
		c := t.Calls.At(i)
		if c.Start >= m.start && c.Start < m.end && len(kernels[c.Correlation]) > 0 {
			launches[c.Thread]++
		}
	}
	thread, most := uint32(0), 0
	for id, n := range launches {
		if n > most {
			thread, most = id, n
		}
	}
	var out []action
	at, gpuEnd := m.start, m.start
	stretch := func(until int64) {
		if ns := until - at; ns >= a.th.HostGap.Nanoseconds() {
			out = append(out, action{what: "host", ns: ns})
		} else if ns > 0 {
			out = append(out, action{what: "code", ns: ns})
		}
	}
	for i := range uint32(t.Calls.Len()) {
		c := t.Calls.At(i)
		if c.Thread != thread || c.Start < at || c.Start >= m.end {
			continue
		}
		stretch(c.Start)
		at = c.End
		list := kernels[c.Correlation]
		what := callKindOf(t.Names[c.Name], c.End-c.Start)
		switch {
		case len(list) > 0:
			for n, k := range list {
				name := "gemm"
				config := &t.Configs[t.Kernels[k].Config]
				row := kernelsByKey(a.res.Kernels)[kernelKey{fullName(t, t.Functions[t.Kernels[k].Function]), wide(config.Grid), wide(config.Block)}]
				if fusible[a.res.Kernels[row].Category] {
					name = "relu"
				}
				x := action{what: "launch", ns: t.Kernels[k].Duration(), queue: t.Kernels[k].Queue, name: name}
				if n == 0 {
					x.cost = c.End - c.Start
				}
				out = append(out, x)
				gpuEnd = max(gpuEnd, t.Kernels[k].End)
			}
		case what == "sync":
			out = append(out, action{what: what, cost: max(0, c.End-max(c.Start, gpuEnd))})
		default:
			out = append(out, action{what: what, ns: c.End - c.Start})
		}
	}
	stretch(m.end)
	if n := len(out); n > 0 && out[n-1].what == "code" {
		out[n-1].what = "host" // after the last launch nothing changes
	}
	return out
}

func callKindOf(name string, ns int64) string {
	switch {
	case strings.Contains(name, "Synchronize"):
		return "sync"
	case strings.Contains(name, "Malloc"), strings.Contains(name, "Free"), strings.Contains(name, "Mem"):
		return "alloc"
	case isLoad(name), strings.Contains(name, "Attribute") && ns >= longAttribute:
		return "load"
	}
	return "call"
}

// The same for recorded timelines of an H200.
func TestBoundsHoldForRecordings(t *testing.T) {
	n := 0
	for _, fixture := range []string{llmTimeline, toyTimeline} {
		in, err := fromFiles(unpacked(t, fixture))
		if err != nil {
			t.Fatal(err)
		}
		a := analyzerWith(in)
		if err = a.readTimeline(t0()); err != nil {
			t.Fatal(err)
		}
		recorded := inMemory(t, in.timeline())
		for i := range a.res.Stages {
			s := &a.res.Stages[i]
			var closed, fusedNS, wall int64
			for _, m := range a.tl.joined(s.ids, -1) {
				program := recordedProgram(a, recorded, m)
				wall += m.end - m.start
				closed += simulate(launchFree(program)).end
				fusedNS += simulate(program).end - simulate(fused(program, 0)).end
				n += len(program)
			}
			if gain := a.clock().launchGain(s).NS; wall-closed > gain || gain > s.Split.WallNS {
				t.Errorf("%s, %s: launches at no cost save %d of %d ns, the bound is %d", fixture, s.Name, wall-closed, wall, gain)
			}
			sums := (&savings{th: a.th, res: a.res, tl: a.tl}).chains().sums
			if x := sums[i]; x != nil && fusedNS > x.pathNS {
				t.Errorf("%s, %s: fused chains save %d ns, the bound is %d", fixture, s.Name, fusedNS, x.pathNS)
			}
		}
	}
	if n < 1_000 {
		t.Errorf("only %d actions were replayed", n)
	}
}
