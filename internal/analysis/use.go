package analysis

import (
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/gpu"
)

// Work is what one counted launch executed and moved. FLOPs and Bytes are absent
// where they were not counted.
type Work struct {
	FLOPs map[string]float64 `json:"flops,omitempty"` // by data type, as peaks name it; empty where it executed none
	Bytes *float64           `json:"dram_bytes,omitempty"`
}

// work is nil where nothing of it was counted.
func (l *launch) work() *Work {
	d := l.counts()
	var w Work
	if d.computed() {
		w.FLOPs = map[string]float64{}
		for dtype, n := range d.flops {
			w.FLOPs[string(dtype)] = n
		}
	}
	if n, ok := d.bytes[levelDRAM]; ok {
		w.Bytes = &n
	}
	if w.FLOPs == nil && w.Bytes == nil {
		return nil
	}
	return &w
}

// LaunchSum is launches of one kernel, grid and block in some place of a program; NS is their
// GPU time.
type LaunchSum struct {
	Name        string
	Grid, Block [3]int64
	Calls, NS   int64
}

// Use is what counters tell of some launches. Every launch of a kernel, grid and
// block counts as the one that was counted.
type Use struct {
	// FLOPs and Bytes are of the launches that were counted; HFU and MBU hold them
	// against the peaks, over the GPU time of these launches. FLOPs and HFU are of
	// the data type with the most. Absent where less than half of the time was
	// counted.
	FLOPs *float64 `json:"flops,omitempty"`
	Bytes *float64 `json:"bytes,omitempty"`
	HFU   *float64 `json:"mfu_counters,omitempty"`
	MBU   *float64 `json:"mbu_counters,omitempty"`
	// Limiter is the code of the limiter of most of the counted time.
	Limiter string `json:"limiter,omitempty"`
	// Coverage is the share of the GPU time whose launches were counted, 0 to 1.
	Coverage *float64 `json:"coverage,omitempty"`
}

// Uses gives what the counters of the result tell of launches.
// The function may be called often: kernels are indexed once.
func (r *Result) Uses() func([]LaunchSum) Use {
	kernels := map[kernelKey]*Kernel{}
	for i := range r.Kernels {
		if k := &r.Kernels[i]; k.Counted != nil && k.Calls > 0 {
			kernels[k.key()] = k
		}
	}
	return func(list []LaunchSum) Use {
		var s useSum
		for _, l := range list {
			s.add(kernels[kernelKey{l.Name, l.Grid, l.Block}], l)
		}
		return s.use(r)
	}
}

// A useSum adds up launches. Times are GPU time in nanoseconds; the maps are made with the first
// launch that was counted.
type useSum struct {
	flops                        map[string]float64
	bytes                        float64
	all, counted, opsNS, bytesNS int64
	limiters                     map[string]int64
}

// add takes launches of a counted kernel, nil for one that was not.
func (s *useSum) add(k *Kernel, l LaunchSum) {
	s.all += l.NS
	if k == nil {
		return
	}
	s.counted += l.NS
	if s.limiters == nil {
		s.limiters, s.flops = map[string]int64{}, map[string]float64{}
	}
	if kind := string(k.Limiter.Kind); kind != "" {
		s.limiters[kind] += l.NS
	}
	w := k.Counted.Work
	if w == nil {
		return
	}
	if w.FLOPs != nil {
		s.opsNS += l.NS
		for dtype, n := range w.FLOPs {
			s.flops[dtype] += n * float64(l.Calls)
		}
	}
	if w.Bytes != nil {
		s.bytesNS += l.NS
		s.bytes += *w.Bytes * float64(l.Calls)
	}
}

// most is the key with the largest value, the first by name of equal ones.
// It is "" where there is none.
func most[K ~string, V int64 | float64](sums map[K]V) (best K) {
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		if best == "" || sums[key] > sums[best] {
			best = key
		}
	}
	return best
}

// use leaves a number absent where launches of less than half of the GPU time were
// counted: what is missing could be anything.
func (s *useSum) use(r *Result) (u Use) {
	if s.counted == 0 || s.all == 0 {
		return u
	}
	u.Coverage, u.Limiter = new(float64(s.counted)/float64(s.all)), most(s.limiters)
	if 2*s.opsNS >= s.all {
		dtype := most(s.flops)
		n := s.flops[dtype]
		u.FLOPs = &n
		if n > 0 {
			u.HFU = r.ofPeak(n, s.opsNS, dtype)
		}
	}
	if 2*s.bytesNS >= s.all {
		u.Bytes = &s.bytes
		u.MBU = r.ofPeak(s.bytes, s.bytesNS, levelDRAM)
	}
	return u
}

// ofPeak holds work over a time against the peak of the first GPU; nil where the
// peak is not known, or where the GPU cannot have done that.
func (r *Result) ofPeak(amount float64, ns int64, id string) *float64 {
	if len(r.Environment.GPUs) == 0 || ns <= 0 {
		return nil
	}
	g := &r.Environment.GPUs[0]
	highest, ok := g.peak(id)
	rate := amount / float64(ns) * 1e9
	if !ok || highest.Value <= 0 || rate > highest.Value {
		return nil
	}
	return new(rate / g.published(highest).Value)
}

// MFU holds the FLOPs that a model asks for in a data type, as torch or a config
// names it, against the peak of the first GPU; nil where the peak is not known, or
// where the GPU cannot have done that.
func (r *Result) MFU(flops float64, ns int64, dtype string) *float64 {
	id, ok := gpu.Parse(dtype)
	if !ok {
		return nil
	}
	return r.ofPeak(flops, ns, string(id))
}
