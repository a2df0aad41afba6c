package timeline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// Phases are what repeats in the launches of one process, found without any
// range of the program: a sequence of kernels that comes again and again, and
// what comes before and after it.
type Phases struct {
	Process uint32 // the one with most kernels
	// Period is the number of kernels of the sequence, the median over its
	// repetitions; 0 where nothing repeats.
	Period      int
	Repetitions []Repetition
	// Before, Between and After are the kernels of the process outside the
	// repetitions.
	Before, Between, After int
	kernels                []uint32 // of the process, in the order of their launches
}

// A Repetition is one time through the sequence.
type Repetition struct {
	First, Last int   // indexes into the launches of the process; Last belongs to it
	Start, End  int64 // from its first kernel to the first of the next one, or to the end of its last
	inner       []piece
}

// Inner is how many times a shorter sequence repeats inside, and its length in
// kernels; 0 where none does.
func (r *Repetition) Inner() (times, kernels int) {
	if len(r.inner) == 0 {
		return 0, 0
	}
	return len(r.inner), r.inner[len(r.inner)/2].to - r.inner[len(r.inner)/2].from
}

// What counts as a repetition.
const (
	minRepetitions = 3
	minMatch       = 0.85 // of the kernels of a sequence that are the same one period later
	minCovered     = 0.5  // of the launches lie in repetitions, or nothing is said to repeat
	minShifted     = 0.1  // the same before kernels that were put in or left out are allowed for
	maxCandidates  = 24
	periodSlack    = 0.2 // a repetition may be this much longer or shorter than the period
	sampleLaunches = 1 << 17
)

// detectPhases finds the longest sequence of kernels, by name and launch
// configuration, that a program repeats, and what repeats inside it. Its cost is
// linear in the launches.
func (t *Timeline) detectPhases() Phases {
	p := Phases{Process: t.mainProcess()}
	if p.Process == None {
		return p
	}
	p.kernels = t.launchesOf(p.Process)
	symbols := t.symbols(p.kernels)
	pieces, by := repeated(symbols)
	if by.period <= maxLoop { // it may be a loop inside another one
		if loops := repeatedLoops(symbols); launchesIn(loops) > launchesIn(pieces) {
			pieces = loops
		}
	}
	if len(pieces) == 0 {
		return p
	}
	p.Repetitions = make([]Repetition, 0, len(pieces))
	for i, c := range pieces {
		r := Repetition{First: c.from, Last: c.to - 1, Start: t.Kernels[p.kernels[c.from]].Start, End: t.Kernels[p.kernels[c.to-1]].End}
		if i+1 < len(pieces) && pieces[i+1].from == c.to {
			r.End = max(r.Start, t.Kernels[p.kernels[c.to]].Start)
		}
		p.Repetitions = append(p.Repetitions, r)
	}
	t.findInner(&p, symbols)
	p.count()
	return p
}

// findInner looks for a shorter sequence in a typical repetition and then cuts
// all of them by it. What one call launched, a CUDA graph, is not cut.
func (t *Timeline) findInner(p *Phases, symbols []uint32) {
	typical := p.Repetitions[len(p.Repetitions)/2]
	_, by := repeated(symbols[typical.First : typical.Last+1])
	if by.model == nil {
		return
	}
	for i := range p.Repetitions {
		r := &p.Repetitions[i]
		for _, c := range by.cut(symbols[r.First : r.Last+1]) {
			r.inner = append(r.inner, piece{r.First + c.from, r.First + c.to})
		}
		for j := 1; j < len(r.inner); j++ {
			if t.Kernels[p.kernels[r.inner[j].from]].Correlation == t.Kernels[p.kernels[r.inner[j-1].from]].Correlation {
				r.inner = nil
				break
			}
		}
	}
}

// A piece is a stretch of launches; to does not belong to it.
type piece struct{ from, to int }

// A cutter knows a sequence: the kernel that begins it and all its kernels.
type cutter struct {
	anchor uint32
	model  []uint32
	period int
}

// repeated cuts symbols into the repetitions of the longest sequence that covers
// enough of them; none where nothing does.
func repeated(symbols []uint32) ([]piece, cutter) {
	for _, period := range slices.Backward(goodPeriods(symbols)) {
		by, ok := newCutter(symbols, period)
		if !ok {
			continue
		}
		pieces := by.cut(symbols)
		if len(pieces) >= minRepetitions && float64(launchesIn(pieces)) >= minCovered*float64(len(symbols)) {
			return pieces, by
		}
	}
	return nil, cutter{}
}

// mainProcess is the one with most kernels, None without any.
func (t *Timeline) mainProcess() uint32 {
	counts := make([]int, len(t.Processes))
	best := uint32(None)
	for i := range t.Kernels {
		p := t.Queues[t.Kernels[i].Queue].Process
		if int(p) >= len(counts) {
			continue
		}
		counts[p]++
		if best == None || counts[p] > counts[best] {
			best = p
		}
	}
	return best
}

// launchesOf lists the kernels of a process in the order of their launches.
// Correlation ids grow with each call; nodes of one graph launch share one.
func (t *Timeline) launchesOf(process uint32) []uint32 {
	list := make([]uint32, 0, len(t.Kernels))
	for i := range t.Kernels {
		if t.Queues[t.Kernels[i].Queue].Process == process {
			list = append(list, uint32(i))
		}
	}
	compare := func(a, b uint32) int {
		x, y := &t.Kernels[a], &t.Kernels[b]
		return cmp.Or(cmp.Compare(x.Correlation, y.Correlation), cmp.Compare(x.Start, y.Start))
	}
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(list, compare)
	}
	return list
}

// symbols number the kernels by name, grid and block.
func (t *Timeline) symbols(kernels []uint32) []uint32 {
	type shape struct {
		function    uint32
		grid, block [3]int32
	}
	byConfig := map[uint64]uint32{}
	byShape := map[shape]uint32{}
	list := make([]uint32, len(kernels))
	for i, at := range kernels {
		k := &t.Kernels[at]
		key := uint64(k.Function)<<32 | uint64(k.Config)
		id, ok := byConfig[key]
		if !ok {
			c := &t.Configs[k.Config]
			s := shape{k.Function, c.Grid, c.Block}
			if id, ok = byShape[s]; !ok {
				id = uint32(len(byShape))
				byShape[s] = id
			}
			byConfig[key] = id
		}
		list[i] = id
	}
	return list
}

// goodPeriods are those that may cover enough and are no multiple of a shorter one
// that covers as much, shortest first.
func goodPeriods(symbols []uint32) []int {
	var good []int
	shares := map[int]float64{}
	for _, p := range candidates(symbols) {
		share := covered(symbols, p)
		multiple := slices.ContainsFunc(good, func(g int) bool { return p%g == 0 && shares[g] >= share-0.02 })
		if share >= minShifted && !multiple {
			good = append(good, p)
			shares[p] = share
		}
	}
	return good
}

// candidates are distances between equal kernels that are common, shortest first.
// They are taken from samples at the end and in the middle of the launches.
func candidates(symbols []uint32) []int {
	votes := map[int]int{}
	n := len(symbols)
	for _, from := range []int{max(0, n-sampleLaunches), max(0, (n-sampleLaunches)/2)} {
		vote(votes, symbols[from:min(n, from+sampleLaunches)])
	}
	list := slices.SortedFunc(maps.Keys(votes), func(a, b int) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b)) })
	list = list[:min(len(list), maxCandidates)]
	slices.Sort(list)
	return list
}

// vote counts, for every kernel, the distance to the one of its kind before it.
// A long period shows in its rare kernels alone, so these count by the length
// that they stand for, and for several occurrences back.
func vote(votes map[int]int, symbols []uint32) {
	at := map[uint32][]int{}
	for i, s := range symbols {
		at[s] = append(at[s], i)
	}
	for _, places := range at {
		for back := 1; back <= 8 && back < len(places); back++ {
			if back > 1 && len(places) > len(symbols)/64+8 {
				break
			}
			for i := back; i < len(places); i++ {
				votes[places[i]-places[i-back]] += len(symbols) / len(places) / back
			}
		}
	}
}

// covered is the share of the launches in stretches of at least three periods in
// which most kernels are the same as one period later.
func covered(symbols []uint32, p int) float64 {
	n, total, run := len(symbols), 0, 0
	if p <= 0 || n < minRepetitions*p {
		return 0
	}
	flush := func() {
		if run >= minRepetitions-1 {
			total += (run + 1) * p
		}
		run = 0
	}
	for from := n % p; from+2*p <= n; from += p { // in step with the end: what repeats comes last
		same := 0
		for i := from; i < from+p; i++ {
			if symbols[i] == symbols[i+p] {
				same++
			}
		}
		if float64(same) >= minMatch*float64(p) {
			run++
		} else {
			flush()
		}
	}
	flush()
	return min(1, float64(total)/float64(n))
}

func newCutter(symbols []uint32, period int) (cutter, bool) {
	anchor, ok := findAnchor(symbols, period)
	if !ok {
		return cutter{}, false
	}
	by := cutter{anchor: anchor, period: period}
	by.model = modelPiece(symbols, by.cuts(symbols), period)
	return by, by.model != nil
}

func (by cutter) cuts(symbols []uint32) []int {
	var cuts []int
	for i, s := range symbols {
		if s == by.anchor {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

// cut parts the launches at the anchor and keeps the pieces that are about as
// long as the period and much like the model.
func (by cutter) cut(symbols []uint32) []piece {
	cuts := by.cuts(symbols)
	var list []piece
	for i, from := range cuts {
		to := min(len(symbols), from+by.period)
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		if alike(symbols[from:to], by.model) {
			list = append(list, piece{from, to})
		}
	}
	return list
}

// findAnchor is a kernel that occurs about once a period: the most regular one,
// and of several the one that comes first.
func findAnchor(symbols []uint32, period int) (uint32, bool) {
	type seen struct{ first, last, regular, count int }
	all := make([]seen, slices.Max(symbols)+1) // symbols are numbered from 0
	low, high := int((1-periodSlack)*float64(period)), int((1+periodSlack)*float64(period))
	for i, s := range symbols {
		x := &all[s]
		if x.count == 0 {
			x.first = i
		} else if d := i - x.last; d >= low && d <= high {
			x.regular++
		}
		x.last = i
		x.count++
	}
	best := -1
	for s := range all {
		x := &all[s]
		if x.regular < minRepetitions-1 || 2*x.regular < x.count-1 {
			continue
		}
		if best < 0 || x.regular > all[best].regular || x.regular == all[best].regular && x.first < all[best].first {
			best = s
		}
	}
	return uint32(max(best, 0)), best >= 0
}

// modelPiece is the commonest piece of the length of the period, as it stands
// first.
func modelPiece(symbols []uint32, cuts []int, period int) []uint32 {
	counts := map[uint64]int{}
	first := map[uint64][]uint32{}
	var best uint64
	for i := 0; i+1 < len(cuts); i++ {
		piece := symbols[cuts[i]:cuts[i+1]]
		if len(piece) != period {
			continue
		}
		h := uint64(14695981039346656037)
		for _, s := range piece {
			h = (h ^ uint64(s)) * 1099511628211
		}
		counts[h]++
		if first[h] == nil {
			first[h] = piece
		}
		if counts[h] > counts[best] {
			best = h
		}
	}
	return first[best]
}

// alike tells whether a piece is a repetition of the model: of about its length,
// and with the same kernels but for a few. Kernels may have been put in or left
// out, so it is their numbers that are held against each other.
func alike(piece, model []uint32) bool {
	n := float64(len(model))
	if n == 0 || float64(len(piece)) > (1+periodSlack)*n || float64(len(piece)) < (1-periodSlack)*n {
		return false
	}
	if slices.Equal(piece, model) {
		return true
	}
	counts := make(map[uint32]int, 64)
	for _, s := range model {
		counts[s]++
	}
	same := 0
	for _, s := range piece {
		if counts[s] > 0 {
			counts[s]--
			same++
		}
	}
	return float64(same) >= minMatch*n
}

// count fills the numbers that follow from the repetitions.
func (p *Phases) count() {
	n := len(p.Repetitions)
	if n == 0 {
		return
	}
	lengths := make([]int, n)
	covered := 0
	for i, r := range p.Repetitions {
		lengths[i] = r.Last - r.First + 1
		covered += lengths[i]
	}
	slices.Sort(lengths)
	p.Period = lengths[n/2]
	p.Before = p.Repetitions[0].First
	p.After = len(p.kernels) - 1 - p.Repetitions[n-1].Last
	p.Between = len(p.kernels) - covered - p.Before - p.After
}

// Fact says what was detected: the kernels before, the repetitions, their
// kernels, and how long one takes. There is a repetition.
func (p *Phases) Fact() fact.Fact {
	var ns []int64
	for i := range p.Repetitions {
		ns = append(ns, Since(p.Repetitions[i].Start, p.Repetitions[i].End))
	}
	slices.Sort(ns)
	return fact.New(CodePhases, fact.Count("before", p.Before), fact.Count("n", len(ns)), fact.Count("kernels", p.Period),
		fact.NS("median", middle(ns)), fact.NS("min", ns[0]), fact.NS("max", ns[len(ns)-1]))
}

// Names of the ranges that stand for what was detected, and their domain, which
// no program uses.
const (
	DetectedDomain = "deepprof.detected"
	DetectedSetUp  = "set-up"
	DetectedRepeat = "repetition"
	DetectedInner  = "part" // of a repetition: the shorter sequence that repeats inside
	DetectedRest   = "rest"
)

// WithPhases is the timeline with a range for each phase that was detected, so
// that every view has regions. It is t itself where nothing repeats.
func (t *Timeline) WithPhases() (*Timeline, Phases) {
	p := t.detectPhases()
	if p.Period == 0 {
		return t, p
	}
	made := *t
	b := phaseRanges{t: &made, calls: t.Correlate(), process: p.Process}
	made.Names = slices.Clone(t.Names)
	made.Domains = append(slices.Clone(t.Domains), Domain{Name: b.name(DetectedDomain), Process: p.Process, ID: -1})
	made.Ranges = slices.Grow(slices.Clone(t.Ranges), len(p.Repetitions)+2)
	setUp, repeat, inner, rest := b.name(DetectedSetUp), b.name(DetectedRepeat), b.name(DetectedInner), b.name(DetectedRest)
	at := 0
	for i, r := range p.Repetitions {
		if name := rest; r.First > at {
			if i == 0 {
				name = setUp
			}
			b.add(name, p.kernels[at:r.First])
		}
		b.add(repeat, p.kernels[r.First:r.Last+1])
		for _, c := range r.inner {
			b.add(inner, p.kernels[c.from:c.to])
		}
		at = r.Last + 1
	}
	b.add(rest, p.kernels[at:])
	return &made, p
}

// phaseRanges adds ranges to a timeline.
type phaseRanges struct {
	t       *Timeline
	calls   *Correlations
	process uint32
	spans   []Range // of the phase that is added, one a thread; kept for the next one
}

func (b *phaseRanges) name(s string) StringID {
	b.t.Names = append(b.t.Names, s)
	return StringID(len(b.t.Names) - 1)
}

// add opens a range on every thread that launched one of the kernels, from its
// first to its last launch.
func (b *phaseRanges) add(name StringID, kernels []uint32) {
	b.spans = b.spans[:0]
	for _, i := range kernels {
		c := b.calls.Call(b.process, b.t.Kernels[i].Correlation)
		if c == None {
			continue
		}
		call := b.t.Calls.At(c)
		at := slices.IndexFunc(b.spans, func(r Range) bool { return r.Thread == call.Thread })
		if at < 0 {
			at = len(b.spans)
			b.spans = append(b.spans, Range{Start: call.Start, End: call.End, Name: name, Domain: uint32(len(b.t.Domains) - 1), Thread: call.Thread, EndThread: None, Payload: None, Kind: PushPop})
		}
		r := &b.spans[at]
		r.Start, r.End = min(r.Start, call.Start), max(r.End, call.End)
	}
	slices.SortFunc(b.spans, func(x, y Range) int { return cmp.Compare(x.Thread, y.Thread) })
	b.t.Ranges = append(b.t.Ranges, b.spans...)
}
