package timeline

// An Op is one piece of GPU work.
type Op struct {
	Kind        OpKind
	Index       int // in the slice of its kind
	Start, End  int64
	Queue       uint32
	Correlation uint32
}

// OpKind says which slice of the timeline an Op lies in.
type OpKind uint8

// The kinds of GPU work.
const (
	OpKernel OpKind = iota
	OpCopy
	OpSet
	OpGraph
)

func (t *Timeline) eachOp(f func(Op)) {
	for i := range t.Kernels {
		k := &t.Kernels[i]
		f(Op{OpKernel, i, k.Start, k.End, k.Queue, k.Correlation})
	}
	for i := range t.Copies {
		c := &t.Copies[i]
		f(Op{OpCopy, i, c.Start, c.End, c.Queue, c.Correlation})
	}
	for i := range t.Sets {
		s := &t.Sets[i]
		f(Op{OpSet, i, s.Start, s.End, s.Queue, s.Correlation})
	}
	for i := range t.Graphs {
		g := &t.Graphs[i]
		f(Op{OpGraph, i, g.Start, g.End, g.Queue, g.Correlation})
	}
}

// An opRef stands for an Op in a list that is sorted by start.
type opRef struct {
	start int64
	ref   uint64 // kind and index
}

func (t *Timeline) op(r opRef) Op {
	i := int(r.ref & (1<<56 - 1))
	switch kind := OpKind(r.ref >> 56); kind {
	case OpKernel:
		k := &t.Kernels[i]
		return Op{OpKernel, i, k.Start, k.End, k.Queue, k.Correlation}
	case OpCopy:
		c := &t.Copies[i]
		return Op{OpCopy, i, c.Start, c.End, c.Queue, c.Correlation}
	case OpSet:
		s := &t.Sets[i]
		return Op{OpSet, i, s.Start, s.End, s.Queue, s.Correlation}
	default:
		g := &t.Graphs[i]
		return Op{OpGraph, i, g.Start, g.End, g.Queue, g.Correlation}
	}
}

// opOrder lists the work that keep accepts by start; work that starts at once
// stays in the order of kinds and of the file.
func (t *Timeline) opOrder(keep func(Op) bool) []opRef {
	refs := make([]opRef, 0, len(t.Kernels)+len(t.Copies)+len(t.Sets)+len(t.Graphs))
	t.eachOp(func(op Op) {
		if keep(op) {
			refs = append(refs, opRef{op.Start, uint64(op.Kind)<<56 | uint64(op.Index)})
		}
	})
	sortByStart(refs)
	return refs
}

// sortByStart is a stable radix sort: captures hold millions of events that
// are nearly, but not quite, in order.
func sortByStart(refs []opRef) {
	if len(refs) == 0 {
		return
	}
	low, high, sorted := refs[0].start, refs[0].start, true
	for i := range refs {
		sorted = sorted && (i == 0 || refs[i-1].start <= refs[i].start)
		low, high = min(low, refs[i].start), max(high, refs[i].start)
	}
	if sorted {
		return
	}
	const digit = 11
	from, to := refs, make([]opRef, len(refs))
	width := uint64(high) - uint64(low)
	passes := 0
	for shift := uint(0); shift == 0 || width>>shift != 0; shift += digit {
		var count [1 << digit]int
		for i := range from {
			count[(uint64(from[i].start)-uint64(low))>>shift%(1<<digit)]++
		}
		sum := 0
		for d := range count {
			count[d], sum = sum, sum+count[d]
		}
		for i := range from {
			d := (uint64(from[i].start) - uint64(low)) >> shift % (1 << digit)
			to[count[d]] = from[i]
			count[d]++
		}
		from, to = to, from
		passes++
		if shift+digit >= 64 {
			break
		}
	}
	if passes%2 == 1 {
		copy(refs, from)
	}
}
