package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
)

// stageCounts are the counts of the launches in a stage, by the counted ones
// that stand for them. Nothing is added for kernels that were not counted.
type stageCounts struct {
	// ops and bytes are of all passes: operations by type, and bytes of DRAM.
	ops   map[gpu.DType]float64
	bytes float64
	// Shares of the kernel time whose FLOPs, and whose bytes, were counted.
	opsCover, bytesCover float64
	// What of them is of launches unlike any counted one, by their time.
	opsScaled, bytesScaled float64
}

// countStage is nil where nothing was counted.
func (ut *utilizer) countStage(stage int) *stageCounts {
	if len(ut.launchOf) == 0 || ut.tl == nil || ut.stages[stage].Passes == 0 {
		return nil
	}
	out := &stageCounts{ops: map[gpu.DType]float64{}}
	var withOps, withBytes, total int64
	for _, id := range ut.stages[stage].ids { // kernels that have no row
		if c := ut.tl.inRegion[regionGroup{id, noKernel}]; c != nil {
			total += c.ns
		}
	}
	stands := ut.representatives(stage)
	for k := range ut.kernels {
		calls, ns := inStage(&ut.stages[stage], &ut.kernels[k], k, ut.tl.inRegion)
		total += ns
		l := ut.launchOf[k]
		if l == nil || calls == 0 {
			continue
		}
		spoken := l.counts()
		_, moved := spoken.bytes[levelDRAM]
		if spoken.computed() {
			withOps += ns
		}
		if moved {
			withBytes += ns
		}
		if stands[k] == nil {
			out.add(spoken, spoken, representative{amount: float64(calls)})
		}
		for _, s := range stands[k] {
			out.add(s.launch.counts(), spoken, s)
		}
	}
	if total == 0 {
		return nil
	}
	out.opsCover, out.bytesCover = float64(withOps)/float64(total), float64(withBytes)/float64(total)
	return out
}

// add counts a launch for those that it stands for; what it lacks is taken from
// the one that speaks for its kernel.
func (c *stageCounts) add(d, spoken *done, s representative) {
	ops, moved := d, d
	if !ops.computed() {
		ops = spoken
	}
	if _, ok := moved.bytes[levelDRAM]; !ok {
		moved = spoken
	}
	if ops.computed() {
		for dtype, n := range ops.flops {
			c.ops[dtype] += n * s.amount
			c.opsScaled += n * s.scaled
		}
	}
	c.bytes += moved.bytes[levelDRAM] * s.amount
	c.bytesScaled += moved.bytes[levelDRAM] * s.scaled
}

// allOps adds up types, whatever an operation of each costs.
func (c *stageCounts) allOps() float64 {
	sum := 0.0
	for _, n := range c.ops {
		sum += n
	}
	return sum
}

// A representative is a counted launch and how many launches of a stage it stands for,
// with those of another duration, which are taken in proportion to their time.
type representative struct {
	launch         *launch
	amount, scaled float64 // scaled is part of amount
}

// representatives tells for each kernel which counted launches stand for it in a stage.
// It has nothing without a report of regions.
func (ut *utilizer) representatives(stage int) map[int][]representative {
	if ut.regions == nil {
		return nil
	}
	out := map[int][]representative{}
	add := func(k int, l *launch, amount float64, scaled bool) {
		i := slices.IndexFunc(out[k], func(s representative) bool { return s.launch == l })
		if i < 0 {
			i = len(out[k])
			out[k] = append(out[k], representative{launch: l})
		}
		out[k][i].amount += amount
		if scaled {
			out[k][i].scaled += amount
		}
	}
	take := func(kind uint32, ns int64, path string) {
		k := int(ut.tl.rowOf[kind])
		found := false
		ut.regions.Stand(kind, ns, path, func(result int, amount float64, scaled bool) {
			if result < len(ut.counted) {
				found = true
				add(k, ut.counted[result], amount, scaled)
			}
		})
		if !found {
			add(k, ut.launchOf[k], 1, false)
		}
	}
	paths := ut.pathsIn(stage)
	for w := ut.tl.tape.Work(); w.Next(); {
		kind := w.Kind()
		for _, path := range paths[kind] {
			take(kind, w.NS(), path)
		}
	}
	return out
}

// pathsIn are, by kind of work, the regions of a stage that kernels with a counted launch are in;
// "" for the whole program.
func (ut *utilizer) pathsIn(stage int) [][]string {
	ids, places := ut.stages[stage].ids, ut.tl.at.Places()
	out := make([][]string, len(ut.tl.tape.Kinds))
	for i := range out {
		k, row := &ut.tl.tape.Kinds[i], ut.tl.rowOf[i]
		if row == noKernel || ut.launchOf[int(row)] == nil {
			continue
		}
		if len(ids) == 0 && ut.tl.counts(k) {
			out[i] = []string{""}
		}
		for _, id := range places[k.Place].All {
			if slices.Contains(ids, id) {
				out[i] = append(out[i], ut.tl.regions[id-1].Path)
			}
		}
	}
	return out
}

// worthTelling is the share, 0 to 1, from which it is told that counts go by time.
const worthTelling = 0.01

// noteScaled tells of each region how much of its counters is taken by time.
func (ut *utilizer) noteScaled() {
	if ut.regions == nil {
		return
	}
	for i := range ut.regionRows {
		r := &ut.regionRows[i]
		if r.Counters == nil || r.Counters.Method != "kernel" {
			continue
		}
		if p := ut.regions.Part(r.Path, r.Style, r.Domain, r.Process, r.Device); p != nil {
			if scaled, all := float64(p.Inclusive.ScaledNS), float64(p.Inclusive.KernelNS); all > 0 && scaled/all >= worthTelling {
				r.Counters.Note = append([]fact.Fact{fact.New(scaledTime, fact.Share("share", scaled/all))}, r.Counters.Note...)
			}
		}
	}
}
