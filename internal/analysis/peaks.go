package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
)

// A peakFinder says what GPUs can do.
type peakFinder struct {
	*counters
	run  *runRecord
	gpus []GPU  // of the timeline
	tl   *timed // nil without a timeline
}

// findPeaks gives each GPU its limits: from counters where a launch on it
// carries them, else from device properties or the table, and marked. It returns
// the GPUs, and the roofs of the counted launch that ran longest; none without one.
func (pf *peakFinder) findPeaks() ([]GPU, []Peak) {
	pf.gpusFromCounters()
	for i := range pf.gpus {
		pf.peaksOf(&pf.gpus[i])
	}
	if best := pf.bestLaunch(-1); best != nil {
		return pf.gpus, roofs(best)
	}
	return pf.gpus, []Peak{}
}

// bestLaunch is the counted launch of a device that ran longest among those
// with peaks: short ones measure their clock coarsely.
func (c *counters) bestLaunch(device int) *launch {
	peaks := func(l *launch) int {
		flops, bytes := l.limits()
		return len(flops) + len(bytes)
	}
	list := slices.DeleteFunc(slices.Clone(c.measured()), func(l *launch) bool {
		return device >= 0 && l.res.Device >= 0 && l.res.Device != device || peaks(l) == 0
	})
	if len(list) == 0 {
		return nil
	}
	const ns = "gpu__time_duration.sum"
	return slices.MaxFunc(list, func(x, y *launch) int {
		return cmp.Or(cmp.Compare(peaks(x), peaks(y)), cmp.Compare(x.values[ns], y.values[ns]))
	})
}

// gpusFromCounters describes the devices of reports where there is no timeline.
func (pf *peakFinder) gpusFromCounters() {
	if pf.tl != nil && len(pf.gpus) > 0 {
		return // numbers of devices differ between the tools where not all are visible
	}
	for _, l := range pf.measured() {
		device := max(0, l.res.Device)
		if slices.ContainsFunc(pf.gpus, func(g GPU) bool { return g.Device == device }) {
			continue
		}
		g := GPU{Device: device, Name: l.texts["device__attribute_display_name"], SMs: int(l.values[counterSMs]), Peaks: []Peak{}}
		if major, ok := l.value(counterMajor); ok {
			g.Compute = fmt.Sprintf("%d.%d", int(major), int(l.values["device__attribute_compute_capability_minor"]))
		}
		pf.gpus = append(pf.gpus, g)
	}
	slices.SortFunc(pf.gpus, func(x, y GPU) int { return cmp.Compare(x.Device, y.Device) })
}

// highestClock of a device in Hz, 0 where nothing says.
func (c *counters) highestClock(tl *timed, device int) float64 {
	if tl != nil {
		for _, g := range tl.t.GPUs {
			if g.CUDADevice == device && g.ClockHz > 0 {
				return float64(g.ClockHz)
			}
		}
	}
	for _, l := range c.measured() {
		if khz, ok := l.value(counterClockRate); ok && max(0, l.res.Device) == device {
			return khz * 1000
		}
	}
	return 0
}

// peaksOf lists what a GPU can do at its highest clock, which MFU and MBU are
// held against.
func (pf *peakFinder) peaksOf(g *GPU) {
	hz := pf.highestClock(pf.tl, g.Device)
	best := pf.bestLaunch(g.Device)
	var flops map[gpu.DType]limit
	var bytes map[string]limit
	if best != nil {
		flops, bytes = best.limits()
	}
	for _, level := range levels {
		if p, ok := bytes[level]; ok {
			g.Peaks = append(g.Peaks, p.memory(level))
		} else if level == levelDRAM {
			pf.memoryFromProperties(g)
		}
	}
	arch, known := gpu.Lookup(g.Compute)
	for _, dtype := range gpu.DTypes {
		peak := Peak{ID: string(dtype), Unit: "flop/s"}
		if p, ok := flops[dtype]; ok {
			peak = p.compute(dtype)
			if hz > 0 && p.perCycle > 0 {
				peak.Value, peak.ClockHz, peak.Clock = p.perCycle*hz, hz, clockFact(hz, highestClock)
				peak.Basis = fact.New(basisCounterClock, fact.Metric("counter", p.counter))
			}
		} else if v, ok := arch.Peak(dtype, g.SMs, hz); known && ok {
			peak.Value, peak.ClockHz, peak.Clock = v, hz, clockFact(hz, highestClock)
			peak.Basis = fact.New(basisTable, fact.ID("source", "publication", arch.Source))
		} else {
			continue
		}
		g.Peaks = append(g.Peaks, peak)
	}
}

// memoryFromProperties is for a GPU without counters: the driver tells the bandwidth of
// its memory. The clock is told only where the bandwidth was computed from it.
func (pf *peakFinder) memoryFromProperties(g *GPU) {
	if pf.tl == nil {
		return
	}
	for _, have := range pf.tl.t.GPUs {
		if have.CUDADevice == g.Device && have.MemoryBandwidth > 0 {
			hz := pf.run.memoryHz[have.UUID]
			if hz > 0 && have.MemoryBandwidth%hz != 0 { // not the clock that the bandwidth was computed from
				hz = 0
			}
			g.Peaks = append(g.Peaks, Peak{
				ID: levelDRAM, Value: float64(have.MemoryBandwidth), Unit: "byte/s",
				ClockHz: float64(hz), Clock: clockFact(float64(hz), highestMemory), Basis: fact.New(basisProperties),
			})
		}
	}
}

// peak of a GPU by its ID, at its highest clock; false where nothing tells it.
func (g *GPU) peak(id string) (Peak, bool) {
	for _, p := range g.Peaks {
		if p.ID == id {
			return p, true
		}
	}
	return Peak{}, false
}

// published is the dense peak that the data sheet of the GPU states, which
// published MFU is of; the peak itself where no data sheet is known.
// An MFU of such a peak can exceed 1 on a GPU that clocks higher than its data sheet
// says.
func (g *GPU) published(p Peak) Peak {
	sheet, ok := gpu.Sheet(g.Name)
	v := sheet.Dense[gpu.DType(p.ID)]
	if !ok || v <= 0 {
		return p
	}
	return Peak{ID: p.ID, Value: v, Unit: p.Unit, Published: true, Basis: fact.New(basisSheet, fact.ID("source", "publication", sheet.Source))}
}

// roofs are the limits beside a launch, at the clock that it ran at; memory levels first. The
// list is never nil.
func roofs(l *launch) []Peak {
	flops, bytes := l.limits()
	out := []Peak{}
	for _, level := range levels {
		if p, ok := bytes[level]; ok {
			out = append(out, p.memory(level))
		}
	}
	for _, dtype := range gpu.DTypes {
		if p, ok := flops[dtype]; ok {
			out = append(out, p.compute(dtype))
		}
	}
	return out
}

// The clocks that a peak may hold at.
const (
	highestClock  fact.Code = "clock-highest"         // hz
	countingClock fact.Code = "clock-counting"        // hz
	memoryClock   fact.Code = "clock-memory-counting" // hz
	highestMemory fact.Code = "clock-memory-highest"  // hz
)

// What a peak rests on.
const (
	basisCounter      fact.Code = "peak-counter"       // formula
	basisCounterClock fact.Code = "peak-counter-clock" // counter
	basisTable        fact.Code = "peak-table"         // source
	basisSheet        fact.Code = "peak-sheet"         // source
	basisProperties   fact.Code = "peak-properties"
)

// clockFact is zero where the clock is not known.
func clockFact(hz float64, which fact.Code) fact.Fact {
	if hz <= 0 {
		return fact.Fact{}
	}
	return fact.New(which, fact.Num("hz", fact.KindHertz, hz))
}

// memory is the limit as the peak of a memory level, at the clock while it was
// counted.
func (p limit) memory(level string) Peak {
	which := countingClock
	if level == levelDRAM {
		which = memoryClock
	}
	return Peak{ID: level, Value: p.rate, Unit: "byte/s", ClockHz: p.hz, Clock: clockFact(p.hz, which), Measured: true, Basis: fact.New(basisCounter, fact.Metric("formula", p.basis))}
}

// compute is the limit as the peak of a type, at the clock while it was counted.
func (p limit) compute(dtype gpu.DType) Peak {
	return Peak{ID: string(dtype), Value: p.rate, Unit: "flop/s", ClockHz: p.hz, Clock: clockFact(p.hz, countingClock), Measured: true, Basis: fact.New(basisCounter, fact.Metric("formula", p.basis))}
}
