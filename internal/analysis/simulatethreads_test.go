package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A job is a made-up program of several host threads, each with streams of its own
// on one GPU or more. A synchronization waits for what its thread launched.
type job struct {
	threads [][]action
	device  []int32 // of each stream
}

const streamsOfThread = 2

// run plays the job: the thread whose clock is least goes on. It gives what a
// profiler would record, and when each thread and its work have ended.
func (j job) run() (scene, []int64) {
	var s scene
	host, next, ends := make([]int64, len(j.threads)), make([]int, len(j.threads)), make([]int64, len(j.threads))
	free := make([]int64, len(j.device))
	for {
		t := -1
		for i := range j.threads {
			if next[i] < len(j.threads[i]) && (t < 0 || host[i] < host[t]) {
				t = i
			}
		}
		if t < 0 {
			break
		}
		a := j.threads[t][next[t]]
		next[t]++
		begin := host[t]
		start := max(begin+a.cost, free[a.queue])
		switch a.what {
		case "launch":
			host[t] += a.cost
			s.kernels = append(s.kernels, sceneKernel{start, start + a.ns, a.name, len(s.calls), a.queue})
			free[a.queue] = start + a.ns
		case "copy":
			s.copies = append(s.copies, sceneKernel{start, start + a.ns, "", len(s.calls), a.queue})
			free[a.queue] = start + a.ns
			host[t] = start + a.ns
		case "sync":
			for q := t * streamsOfThread; q < (t+1)*streamsOfThread; q++ {
				host[t] = max(host[t], free[q])
			}
			host[t] += a.cost
		default:
			host[t] += a.ns
		}
		if name := callNames[a.what]; name != "" {
			s.calls = append(s.calls, sceneCall{begin, host[t], name, uint32(t)})
		}
	}
	for t := range ends {
		ends[t] = host[t]
		for q := t * streamsOfThread; q < (t+1)*streamsOfThread; q++ {
			ends[t] = max(ends[t], free[q])
		}
		s.end = max(s.end, ends[t])
	}
	return s, ends
}

func (j job) end() int64 {
	s, _ := j.run()
	return s.end
}

// each applies a change to every thread.
func (j job) each(change func([]action) []action) job {
	out := job{device: j.device}
	for _, t := range j.threads {
		out.threads = append(out.threads, change(t))
	}
	return out
}

// timeline is the recording of the job. Marked, each thread keeps a range of one
// name open until its work has ended; else there is no range.
func (j job) timeline(marked bool) *timeline.Timeline {
	s, ends := j.run()
	if marked {
		for _, end := range ends {
			s.ranges = append(s.ranges, [2]int64{0, end})
		}
	}
	t := s.timeline()
	t.Threads, t.Queues = nil, nil
	for i := range j.threads {
		t.Threads = append(t.Threads, timeline.Thread{Global: 1<<24 + int64(i) + 1, TID: i + 1})
	}
	for q, device := range j.device {
		t.Queues = append(t.Queues, timeline.Queue{Stream: int32(7 + q), Device: device})
	}
	for i := range t.Ranges {
		t.Ranges[i].Name, t.Ranges[i].Thread = t.Ranges[0].Name, uint32(i)
	}
	return t
}

// sparseProgram launches little between long stretches of host code, so that what
// threads keep doing lies side by side once launches cost nothing.
func sparseProgram(rng *rand.Rand) []action {
	var out []action
	for range 1 + rng.IntN(4) {
		for range 1 + rng.IntN(4) {
			out = append(out, action{what: "launch", ns: 1 + rng.Int64N(40), cost: 1 + rng.Int64N(300), name: "gemm"}, action{what: "code", ns: 1 + rng.Int64N(900)})
		}
		out[len(out)-1] = action{what: "host", ns: simulatedGap.Nanoseconds() + rng.Int64N(4000)}
	}
	return append(out, action{what: "launch", ns: 1 + rng.Int64N(40), cost: 10, name: "relu"})
}

func randomJob(rng *rand.Rand) job {
	var j job
	gpus := 1 + rng.IntN(2)
	for t := range 1 + rng.IntN(3) {
		program := randomProgram(rng)
		if rng.IntN(3) == 0 {
			program = sparseProgram(rng)
		}
		for i := range program {
			program[i].queue = uint32(t*streamsOfThread + int(program[i].queue)%streamsOfThread)
		}
		j.threads = append(j.threads, program)
		for range streamsOfThread {
			j.device = append(j.device, int32(rng.IntN(gpus)))
		}
	}
	return j
}

// atRoof has the kernels of a name run in a share of their time.
func atRoof(name string, rest float64) func([]action) []action {
	return func(program []action) []action {
		out := append([]action{}, program...)
		for i := range out {
			if a := &out[i]; a.what == "launch" && a.name == name {
				a.ns = int64(math.Ceil(rest * float64(a.ns)))
			}
		}
		return out
	}
}

// countedAs gives a kernel the counters of one that is limited by DRAM or, where it
// reuses data, by L2, so that a share of its time is left at the next roof.
func countedAs(k *Kernel, reuses bool, rest float64) *launch {
	k.Category = "gemm"
	if !reuses {
		k.Attained, k.AttainedOf, k.Limiter = &rest, levelDRAM, Limiter{Kind: limitDRAM}
		return synthetic(nil)
	}
	half := 0.5
	k.Attained, k.AttainedOf, k.Limiter = &half, levelL2, Limiter{Kind: limitL2}
	return computing(1e-3, rest)
}

// No job of several threads, streams and GPUs that follows the advice saves more
// than the bound of it: launches at no cost, chains of kernels as one, a kernel at
// the roof that its advice leaves.
func TestBoundsHoldForThreadsAndGPUs(t *testing.T) {
	first := analyzerWith(Input{})
	const cases = 10_000
	var several, tight, roofs, chains int
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 26))
		j := randomJob(rng)
		marked, end := rng.IntN(2) == 0, j.end()
		a := analyzerOf(t, first.categories, j.timeline(marked))
		gain := a.clock().launchGain(&a.res.Stages[0]).NS
		saved := end - j.each(launchFree).end()
		if saved > gain {
			t.Fatalf("seed %d: launches at no cost save %d of %d ns, the bound is %d: %+v\n%+v", seed, saved, end, gain, a.res.Stages[0].Split, j)
		}
		if len(j.threads) > 1 {
			several++
			if 10*saved > 8*gain {
				tight++
			}
		}
		rest, reuses := rng.Float64(), rng.IntN(2) == 0
		for i := range a.res.Kernels {
			if k := &a.res.Kernels[i]; k.Name == "gemm" {
				a.launchOf[i] = countedAs(k, reuses, rest)
			}
		}
		a.saved((*savings).roofSavings)
		for _, o := range a.res.Opportunities {
			roofs++
			if saved := float64(end - j.each(atRoof("gemm", rest)).end()); o.Estimated || saved > o.Seconds*1e9+1e-3 {
				t.Fatalf("seed %d: kernels at their roof save %g of %d ns, the bound is %g: %+v", seed, saved, end, o.Seconds*1e9, o)
			}
		}
		a.res.Opportunities = nil
		a.saved(func(sv *savings) { sv.fusionSavings(sv.chains()) })
		if o := opportunityNamed(a.res, "fusion-elementwise"); o != nil {
			chains++
			share := rng.Float64() * float64(rng.IntN(2))
			if saved := float64(end - j.each(func(p []action) []action { return fused(p, share) }).end()); saved > o.Seconds*1e9+1e-3 {
				t.Fatalf("seed %d: fused kernels of %g of the longest save %g of %d ns, the bound is %g\n%+v", seed, share, saved, end, o.Seconds*1e9, j)
			}
		}
	}
	if several < cases/2 || roofs < cases/2 || chains < cases/2 || tight == 0 {
		t.Errorf("of %d cases %d have several threads, in %d of them the bound is near; %d kernels at a roof, %d with chains", cases, several, tight, roofs, chains)
	}
}
