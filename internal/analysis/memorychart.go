package analysis

// A MemoryChart is what the counted launch moved between levels of memory.
type MemoryChart struct {
	Flows []MemoryFlow `json:"flows"`
	L1Hit *float64     `json:"l1_hit_share,omitempty"` // of sectors
	L2Hit *float64     `json:"l2_hit_share,omitempty"`
}

// A MemoryFlow is what went from one level to another. Levels are sm (the threads),
// l1, l2 and dram.
type MemoryFlow struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Bytes   float64 `json:"moved_bytes"`
	Counter string  `json:"counter"`
	// Both: the counter does not tell the directions apart.
	Both bool `json:"both,omitempty"`
}

// memoryCounters are the flows with the counters that tell them.
var memoryCounters = []struct {
	from, to, counter string
	bytes             float64 // of one count
}{
	{"l1", "sm", counterLoadSectors, sectorBytes},
	{"sm", "l1", counterStoreSectors, sectorBytes},
	{"l2", "l1", counterL2Reads, sectorBytes},
	{"l1", "l2", "lts__t_sectors_srcunit_tex_op_write.sum", sectorBytes},
	{"dram", "l2", counterDRAMRead, 1},
	{"l2", "dram", "dram__bytes_write.sum", 1},
}

// memory is nil where no flow was counted.
func (l *launch) memory() *MemoryChart {
	var c MemoryChart
	seen := map[string]bool{}
	for _, m := range memoryCounters {
		if v, ok := l.value(m.counter); ok {
			c.Flows = append(c.Flows, MemoryFlow{From: m.from, To: m.to, Bytes: v * m.bytes, Counter: m.counter})
			seen[m.from+m.to] = true
		}
	}
	seconds := l.durationNS() / 1e9
	for _, m := range []struct{ from, to, counter string }{
		{"l2", "l1", "derived__lts__lts2xbar_bytes.sum.per_second"}, {"dram", "l2", "dram__bytes.sum.per_second"},
	} {
		if rate, ok := l.value(m.counter); ok && !seen[m.from+m.to] && seconds > 0 {
			c.Flows = append(c.Flows, MemoryFlow{From: m.from, To: m.to, Bytes: rate * seconds, Counter: m.counter, Both: m.from == "dram"})
		}
	}
	if len(c.Flows) == 0 {
		return nil
	}
	c.L1Hit, c.L2Hit = l.shareOf("l1tex__t_sector_hit_rate.pct"), l.shareOf("lts__t_sector_hit_rate.pct")
	return &c
}

// shareOf is a counter of percent as a share; nil where it was not counted.
func (l *launch) shareOf(counter string) *float64 {
	v, ok := l.value(counter)
	if !ok {
		return nil
	}
	v /= 100
	return &v
}

// A Stall is what the warps of the counted launch waited for.
type Stall struct {
	Reason string  `json:"reason"` // as ncu names it
	Share  float64 `json:"share"`  // of a warp's time
}

// leastStall is the share from which a stall is listed.
const leastStall = 0.005

// stallReasons leaves out what rounds to nothing, so that shares may add up to less
// than 1.
func (l *launch) stallReasons() (out []Stall) {
	for _, s := range l.stalls() {
		if s.share >= leastStall {
			out = append(out, Stall{s.reason, s.share})
		}
	}
	return out
}
