package analysis

import (
	"math"
	"sort"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A painting gives every nanosecond of a stretch of time exactly one label: the
// category of the kernel that ran, or why none did. Any part of it therefore
// splits without a rest.
type painting struct {
	labels int
	blocks []*block // of pieces, which follow each other without holes
	end    int64
	// sums holds, for every block, the time of each label before it.
	sums []int64
	// calls names the pieces in which the host was in a CUDA call that has no
	// cause of its own; these have the label call, and each is one call.
	calls []timeline.StringID
	call  uint8
}

const stride = 128

// A block has up to stride pieces. There are several for each kernel, so that they
// are kept small: a piece begins at an offset from the block.
type block struct {
	start int64
	calls int // named before the block
	n     int
	at    [stride]uint32
	label [stride]uint8
}

func (b *block) startOf(i int) int64 { return b.start + int64(b.at[i]) }

// add begins a piece, unless the label stays. A piece of no length gives way.
func (p *painting) add(start int64, label uint8) {
	p.dropEmpty(start)
	if b := p.last(); b == nil || b.label[b.n-1] != label {
		p.begin(start, label)
	}
}

func (p *painting) addCall(start int64, name timeline.StringID) {
	p.dropEmpty(start)
	p.begin(start, p.call)
	p.calls = append(p.calls, name)
}

func (p *painting) last() *block {
	if len(p.blocks) == 0 {
		return nil
	}
	return p.blocks[len(p.blocks)-1]
}

func (p *painting) dropEmpty(start int64) {
	b := p.last()
	if b == nil || b.startOf(b.n-1) != start {
		return
	}
	b.n--
	if b.label[b.n] == p.call {
		p.calls = p.calls[:len(p.calls)-1]
	}
	if b.n == 0 {
		p.blocks = p.blocks[:len(p.blocks)-1]
	}
}

func (p *painting) begin(start int64, label uint8) {
	b := p.last()
	if b == nil || b.n == stride || timeline.Since(b.start, start) > math.MaxUint32 {
		b = &block{start: start, calls: len(p.calls)}
		p.blocks = append(p.blocks, b)
	}
	b.at[b.n], b.label[b.n] = uint32(start-b.start), label
	b.n++
}

func (p *painting) sum() {
	running := make([]int64, p.labels)
	p.sums = make([]int64, 0, len(p.blocks)*p.labels)
	for i, b := range p.blocks {
		p.sums = append(p.sums, running...)
		for j := range b.n {
			running[b.label[j]] += p.pieceEnd(i, j) - b.startOf(j)
		}
	}
}

// pieceEnd is the end of a piece of a block.
func (p *painting) pieceEnd(block, i int) int64 {
	switch b := p.blocks[block]; {
	case i+1 < b.n:
		return b.startOf(i + 1)
	case block+1 < len(p.blocks):
		return p.blocks[block+1].start
	}
	return p.end
}

// find is the block that holds a moment; -1 before the first.
func (p *painting) find(at int64) int {
	return sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].start > at }) - 1
}

// split adds the time of each label between start and end to into. What lies
// outside the painting has the last label.
func (p *painting) split(start, end int64, into []int64) {
	if end <= start {
		return
	}
	if len(p.blocks) == 0 {
		into[p.labels-1] += end - start
		return
	}
	first, last := p.blocks[0].start, p.end
	into[p.labels-1] += max(0, min(end, first)-start) + max(0, end-max(start, last))
	start, end = max(start, first), min(end, last)
	if end <= start {
		return
	}
	p.before(end, into, 1)
	p.before(start, into, -1)
}

// before adds, times sign, the time of each label before a moment within the
// painting.
func (p *painting) before(at int64, into []int64, sign int64) {
	i := p.find(at)
	if i < 0 {
		return
	}
	for l, ns := range p.sums[i*p.labels : (i+1)*p.labels] {
		into[l] += sign * ns
	}
	b := p.blocks[i]
	for j := 0; j < b.n && b.startOf(j) < at; j++ {
		into[b.label[j]] += sign * (min(at, p.pieceEnd(i, j)) - b.startOf(j))
	}
}
