package timeline

import "math"

// flowUses is the work of the ranges of a flow, by their place in liveRanges.
type flowUses struct {
	a    *Attribution
	uses []use
}

// begin makes room for a range, which may have the place of another.
func (u *flowUses) begin(r uint32) {
	if int(r) == len(u.uses) {
		u.uses = append(u.uses, use{})
	}
	u.uses[r] = use{}
}

// credit takes a piece of work and the innermost range of each stack around its launch.
func (u *flowUses) credit(op *Op, stacks []uint32) {
	bytes := u.a.t.opBytes(op)
	for _, r := range stacks {
		for own := true; r != None; r, own = u.a.rangeParent[r], false {
			u.uses[r].add(op, bytes, own)
		}
	}
}

// get is nil for a range without GPU work.
func (u *flowUses) get(r uint32) *use {
	if !u.uses[r].anything {
		return nil
	}
	return &u.uses[r]
}

// flowBusy is busyRanges for the ranges of a flow, by their place in liveRanges: it holds
// each until work begins after its end.
type flowBusy struct {
	t      *Timeline
	live   *liveRanges
	cuts   minHeap[cut] // that work did not reach yet
	sums   []busySum    // by process
	before []uint64     // busy time before the start of each range
	within []int64      // in each range, ns
}

// begin takes a range that was opened.
func (b *flowBusy) begin(r uint32) {
	if int(r) == len(b.within) {
		b.before, b.within = append(b.before, 0), append(b.within, 0)
	}
	b.within[r] = 0
	rng := &b.t.Ranges[r]
	if p := b.t.ThreadProcess(rng.Thread); int(p) >= len(b.t.Processes) || rng.End <= rng.Start {
		return
	}
	b.live.hold(r)
	b.cuts.less = func(x, y *cut) bool { return x.at < y.at }
	b.cuts.push(cut{rng.Start, r, true})
	b.cuts.push(cut{rng.End, r, false})
}

// add takes one piece of work, which come by start. All ranges that start by then are open.
func (b *flowBusy) add(op *Op) {
	p := b.t.Queues[op.Queue].Process
	if int(p) >= len(b.t.Processes) || op.End <= op.Start {
		return
	}
	b.take(op.Start)
	b.sum(p).add(op.Start, op.End)
}

func (b *flowBusy) sum(process uint32) *busySum {
	for int(process) >= len(b.sums) {
		b.sums = append(b.sums, busySum{})
	}
	return &b.sums[process]
}

// take goes through the ends of ranges until a moment.
func (b *flowBusy) take(until int64) {
	for len(b.cuts.list) > 0 && b.cuts.list[0].at <= until {
		c := b.cuts.pop()
		covered := b.sum(b.t.ThreadProcess(b.t.Ranges[c.of].Thread)).until(c.at)
		if c.begins {
			b.before[c.of] = covered
			continue
		}
		b.within[c.of] = int64(min(covered-b.before[c.of], math.MaxInt64))
		b.live.release(c.of)
	}
}

// finish comes after all work.
func (b *flowBusy) finish() { b.take(math.MaxInt64) }
