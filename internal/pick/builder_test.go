package pick

import (
	"math/rand/v2"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A builder makes timelines by hand: each launch is a call and a kernel.
type builder struct {
	t     timeline.Timeline
	names map[string]timeline.StringID
	now   int64
	ids   uint32
}

func newBuilder() *builder {
	b := &builder{names: map[string]timeline.StringID{"": 0}}
	b.t.Names = []string{""}
	b.t.Domains = []timeline.Domain{{Process: timeline.None}}
	b.t.Source.Path = "made.sqlite"
	return b
}

func (b *builder) name(s string) timeline.StringID {
	if id, ok := b.names[s]; ok {
		return id
	}
	id := timeline.StringID(len(b.t.Names))
	b.t.Names = append(b.t.Names, s)
	b.names[s] = id
	return id
}

// process adds a process with some threads and gives the index of the first.
func (b *builder) process(pid, threads int) uint32 {
	p := uint32(len(b.t.Processes))
	b.t.Processes = append(b.t.Processes, timeline.Process{Global: int64(pid) << 24, PID: pid})
	first := uint32(len(b.t.Threads))
	for i := range threads {
		b.t.Threads = append(b.t.Threads, timeline.Thread{Global: int64(pid)<<24 + int64(pid+i), Process: p, TID: pid + i})
	}
	return first
}

func (b *builder) queue(process uint32, device, stream int32) uint32 {
	q := timeline.Queue{Process: process, Device: device, Context: device + 1, Stream: stream}
	for i, have := range b.t.Queues {
		if have == q {
			return uint32(i)
		}
	}
	b.t.Queues = append(b.t.Queues, q)
	return uint32(len(b.t.Queues) - 1)
}

func (b *builder) function(mangled, demangled, short string) uint32 {
	f := timeline.Function{Demangled: b.name(demangled), Short: b.name(short), Mangled: b.name(mangled)}
	for i, have := range b.t.Functions {
		if have == f {
			return uint32(i)
		}
	}
	b.t.Functions = append(b.t.Functions, f)
	return uint32(len(b.t.Functions) - 1)
}

func (b *builder) config(grid, block [3]int32, shared int32) uint32 {
	c := timeline.LaunchConfig{Grid: grid, Block: block, DynamicShared: shared}
	for i, have := range b.t.Configs {
		if have == c {
			return uint32(i)
		}
	}
	b.t.Configs = append(b.t.Configs, c)
	return uint32(len(b.t.Configs) - 1)
}

// launch adds a call on a thread and the kernel that it launches.
func (b *builder) launch(thread, queue, function, config uint32, ns int64) {
	b.now += 100
	b.ids++
	b.t.Calls.Add(timeline.Call{Start: b.now, End: b.now + 10, Correlation: b.ids, Thread: thread})
	start := b.now + 50
	b.t.Kernels = append(b.t.Kernels, timeline.Kernel{Start: start, End: start + ns, Correlation: b.ids, Function: function, Config: config, Queue: queue})
}

// push opens a range and gives what closes it.
func (b *builder) push(thread uint32, name string) func() {
	return b.open(thread, name, timeline.PushPop)
}

func (b *builder) open(thread uint32, name string, kind timeline.RangeKind) func() {
	b.now += 10
	i := len(b.t.Ranges)
	b.t.Ranges = append(b.t.Ranges, timeline.Range{Start: b.now, Name: b.name(name), Thread: thread, EndThread: timeline.None, Payload: timeline.None, Kind: kind})
	return func() {
		b.now += 100
		b.t.Ranges[i].End = b.now
	}
}

func (b *builder) load() *Launches {
	b.t.Session = timeline.Session{DurationNS: 5e9}
	return Load(b.t.Attribute())
}

// random makes a timeline of some processes, threads, streams, devices and
// template instances with ranges around launches.
func random(rng *rand.Rand) *Launches {
	b := newBuilder()
	type kernel struct {
		function uint32
		configs  []uint32
		ns       int64
	}
	var kernels []kernel
	for f := range 1 + rng.IntN(5) {
		for v := range 1 + rng.IntN(3) {
			short := string(rune('a' + f))
			mangled := "_Z" + short + string(rune('0'+v))
			if rng.IntN(8) == 0 {
				mangled = "" // older exports lack some
			}
			k := kernel{function: b.function(mangled, short+"<"+string(rune('0'+v))+">(int)", short), ns: 500 + rng.Int64N(50000)}
			for range 1 + rng.IntN(3) {
				k.configs = append(k.configs, b.config([3]int32{1 + rng.Int32N(3), 1, 1}, [3]int32{128, 1, 1}, rng.Int32N(2)*1024))
			}
			kernels = append(kernels, k)
		}
	}
	for p := range 1 + rng.IntN(2) {
		threads := 1 + rng.IntN(2)
		first := b.process(100*(p+1), threads)
		process := b.t.Threads[first].Process
		for range 1 + rng.IntN(4) {
			thread := first + uint32(rng.IntN(threads))
			closeOuter := b.push(thread, []string{"prefill", "decode", "other"}[rng.IntN(3)])
			var closeOpen func()
			if rng.IntN(3) == 0 {
				closeOpen = b.open(thread, "async", timeline.StartEnd)
			}
			for range 1 + rng.IntN(8) {
				closeInner := b.push(thread, []string{"attn", "mlp"}[rng.IntN(2)])
				for range rng.IntN(6) {
					k := kernels[rng.IntN(len(kernels))]
					queue := b.queue(process, rng.Int32N(2), 7+rng.Int32N(2))
					b.launch(thread, queue, k.function, k.configs[rng.IntN(len(k.configs))], k.ns+rng.Int64N(k.ns))
				}
				closeInner()
			}
			if closeOpen != nil {
				closeOpen()
			}
			closeOuter()
		}
	}
	return b.load()
}
