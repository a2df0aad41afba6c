package analysis

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// maxAcross bounds Across.Kernels.
const maxAcross = 200

// A recording is what is kept of a timeline after it was read: its row, and what
// relates it to the others.
type recording struct {
	row  Part
	path string
	// command and program are "" where the capture does not tell, or they were
	// redacted.
	command string
	tool    string // version of nsys
	epoch   int64  // see timeline.Session
	clock   int64
	lo, hi  int64 // first and last event
	// kernels are by name over the whole timeline; nil of a part that is lost.
	kernels map[string]*callTime

	program   string // base name, and script of an interpreter
	exchanges exchangeLog
	source    string // of the exchanges: kernels or ranges
	kinds     map[string]*Communication
	drawn     *drawnRank // nil where it has no events
}

// utc is a time of the part in nanoseconds since 1970.
func (p *recording) utc(t int64) int64 { return p.epoch + t - p.clock }

// likeness is the share of the kernels of both, by name, that both have; 1 where
// neither has any.
func (p *recording) likeness(other *recording) float64 {
	both := 0
	for name := range p.kernels {
		if other.kernels[name] != nil {
			both++
		}
	}
	all := len(p.kernels) + len(other.kernels) - both
	if all == 0 {
		return 1
	}
	return float64(both) / float64(all)
}

// A jobReader sums up several timelines, or processes of one.
type jobReader struct {
	*timelineReader // of the first timeline, which was read
	jobParts
}

// jobParts are what a jobReader makes. Parts, Across and Job are nil of a single part.
type jobParts struct {
	parts  []Part
	across *Across
	job    *Job
	// steps are also there of a single part; found, lanes and names are not.
	steps []timeline.StepRow // of a serving engine, of all timelines
	found []Finding          // about the ranks
	lanes []RankLane         // of the overview
	names []string           // of boxes in lanes
}

// read reads the timelines beside the first, one at a time, and sums up all of them.
func (jb *jobReader) read(ctx context.Context) (jobParts, error) {
	if jb.tl == nil {
		return jobParts{}, nil
	}
	jb.steps = jb.tl.engine
	if len(jb.in.Timelines)+len(jb.in.lost) < 2 {
		parts, err := jb.jobProcesses(ctx)
		if len(parts) > 1 {
			jb.takeParts(parts)
		}
		return jb.jobParts, err
	}
	parts := []*recording{jb.part(jb.in.timeline(), len(jb.in.Timelines))}
	parts[0].row.Details = true
	for _, path := range jb.in.Timelines[1:] {
		p, err := jb.survey(ctx, path)
		if ctx.Err() != nil {
			return jobParts{}, ctx.Err()
		}
		if err != nil {
			jb.notes.lose(path, inputUnreadable, fact.Error("error", err))
			p = jb.lostPart(path, err)
		}
		parts = append(parts, p)
	}
	for _, l := range jb.in.lost {
		parts = append(parts, jb.lostPart(l.path, l.err))
	}
	jb.fitTimelines(parts)
	jb.notes.warn(severalTimelines, fact.Count("n", len(parts)), fact.File("file", jb.in.rel(jb.in.timeline())))
	jb.takeParts(parts)
	return jb.jobParts, nil
}

// takeParts sums parts up.
func (jb *jobReader) takeParts(parts []*recording) {
	numberParts(parts)
	slices.SortStableFunc(parts, func(x, y *recording) int { return x.row.Of.Compare(y.row.Of) })
	jb.across = jb.sumAcross(parts)
	for _, p := range parts {
		p.row.hold(jb.across)
		jb.parts = append(jb.parts, p.row)
	}
	jb.judgeJob(parts)
}

// hold compares a part with the median of all.
func (p *Part) hold(x *Across) {
	over := func(ns int64, d *Distribution) *float64 {
		if d.N < 2 || d.MedianNS <= 0 || p.Lost != nil {
			return nil
		}
		return new(float64(ns)/float64(d.MedianNS) - 1)
	}
	for i := range x.Times {
		if x.Times[i].Name == "wall" {
			p.OverMedian = over(p.WallNS, &x.Times[i])
		}
	}
	for i := range p.Stages {
		for j := range x.Stages {
			if s := &p.Stages[i]; s.Stage == x.Stages[j].Name && s.Passes > 0 {
				s.OverMedian = over(s.PassNS, &x.Stages[j])
			}
		}
	}
}

// lostPart is the row of a timeline that cannot be read: it has its identity, and why.
func (jb *jobReader) lostPart(path string, err error) *recording {
	return &recording{path: path, row: Part{
		File: jb.in.rel(path), Of: jb.in.Identity(path), Stages: []PartStage{}, Lost: new(fact.New(inputUnreadable, fact.File("file", jb.in.rel(path)), fact.Error("error", err))),
	}}
}

// survey reads a further timeline by the rules of the first: the same scope, the
// same stages. Of what it finds doubtful it tells nothing that the first told.
func (jb *jobReader) survey(ctx context.Context, path string) (*recording, error) {
	b := jb.further(path)
	defer b.close()
	p, lost, err := b.openTimeline(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkKernels(path, p.tape.Kernels+p.tape.Graphs, p.t.Damage); err != nil {
		return nil, err
	}
	jb.notes.use(path, "timeline")
	if len(lost) > 0 {
		jb.notes.lose(path, inputLost, fact.Because("lost", lost[0].What))
	}
	for _, w := range p.t.Warnings {
		w = asMessage(w)
		if !slices.ContainsFunc(jb.notes.warnings, func(n Note) bool { return n.Fact.Equal(w) }) {
			jb.notes.add(Note{Fact: w, File: jb.in.rel(path)})
		}
	}
	if err := b.takeTimeline(ctx, p); err != nil {
		return nil, err
	}
	jb.steps = append(jb.steps, b.tl.engine...)
	jb.notes.findUnannotated(jb.in.Run, b.tl, false)
	return b.part(path, len(jb.in.Timelines)), nil
}

// further reads a further timeline, or a part of one, into a result of its own.
func (jb *jobReader) further(path string) *timelineReader {
	in := *jb.in
	in.Timelines, in.Counters, in.lost = []string{path}, nil, nil
	return &timelineReader{rules: jb.rules, in: &in, run: &runRecord{}, self: selfTimes{unprofiled: jb.self.unprofiled}, made: newResult(in), notes: &notes{}, brief: true}
}

// part is what is kept of the timeline that was read, one of so many.
func (tr *timelineReader) part(path string, of int) *recording {
	t, tot := tr.tl.t, &tr.made.Totals
	p := &recording{
		path: path, command: t.Source.Command, tool: t.Source.Tool, epoch: t.Session.EpochNS, clock: t.Session.ClockNS, lo: tr.tl.lo, hi: tr.tl.hi,
		kernels: tr.tl.kernelTimes(),
		row: Part{
			File: tr.in.rel(path), Of: tr.in.identityOf(path, tr.tl), StartUTC: t.Session.StartUTC,
			WallNS: tot.WallNS, BusyNS: tot.BusyNS, KernelNS: tot.KernelNS, CopyNS: tot.CopyNS, Launches: tot.Launches, Communication: tot.Communication,
			Stages: []PartStage{}, Steps: timeline.GroupSteps(tr.tl.stepRows()),
		},
	}
	program := tr.tl.timedProgram()
	p.program = program.name()
	exchanges, source := tr.tl.exchanges()
	p.exchanges, p.source = logExchanges(exchanges), source
	p.kinds = tr.tl.kindTimes(exchanges, source)
	p.drawn = tr.drawRank(max(1, of))
	for i := range tr.made.Stages {
		p.row.Stages = append(p.row.Stages, tr.made.Stages[i].time())
	}
	return p
}

// time is that of all passes of the stage by the clock of the timeline.
func (s *Stage) time() PartStage {
	t := PartStage{Stage: s.Name, Passes: s.Passes, WallNS: s.Split.WallNS, Launches: s.Kernels}
	switch {
	case s.Split.WallNS > 0:
		t.BusyNS = &s.Split.BusyNS
	case s.HostMS != nil:
		t.WallNS = int64(math.Round(*s.HostMS * float64(s.Passes) * 1e6))
	}
	if t.Passes > 0 {
		t.PassNS = t.WallNS / int64(t.Passes)
	}
	return t
}

// kernelTimes sums the whole timeline by name of kernel, whatever the scope is.
func (tl *timed) kernelTimes() map[string]*callTime {
	t := tl.t
	byFunction := make([]callTime, len(t.Functions))
	for i := range tl.tape.Kinds {
		if k := &tl.tape.Kinds[i]; k.Kind == timeline.OpKernel {
			c := &byFunction[k.Function]
			c.calls, c.ns = c.calls+k.Launches, c.ns+k.NS
		}
	}
	all := map[string]*callTime{}
	for i, c := range byFunction {
		if c.calls == 0 {
			continue
		}
		sum := entry(all, fullName(t, t.Functions[i]))
		sum.calls, sum.ns = sum.calls+c.calls, sum.ns+c.ns
	}
	return all
}

// sumAcross sums up the parts that could be read; their order is that of
// Result.Parts.
func (jb *jobReader) sumAcross(parts []*recording) *Across {
	x := &Across{By: toldBy(parts), Times: []Distribution{}, Stages: []Distribution{}}
	for _, p := range parts {
		if p.row.Lost == nil {
			x.Parts++
		}
	}
	for _, m := range measures {
		if d, ok := distribution(m.name, parts, m.of); ok {
			x.Times = append(x.Times, d)
		}
	}
	for _, name := range stageNamesOf(parts) {
		d, _ := distribution(name, parts, func(p *Part) (int64, bool) { return p.passTime(name) })
		x.Stages = append(x.Stages, d)
	}
	x.Kernels = jb.kernelsAcross(parts)
	if n := len(x.Kernels) - maxAcross; n > 0 {
		x.Kernels, x.KernelsCut = x.Kernels[:maxAcross], n
	}
	return x
}

// measures are the numbers of a part that are summed up.
var measures = []struct {
	name string
	of   func(*Part) (int64, bool)
}{
	{"wall", func(p *Part) (int64, bool) { return p.WallNS, true }},
	{"busy", func(p *Part) (int64, bool) { return p.BusyNS, p.Launches > 0 || p.BusyNS > 0 }},
	{"kernels", func(p *Part) (int64, bool) { return p.KernelNS, p.Launches > 0 }},
	{"copies", func(p *Part) (int64, bool) { return p.CopyNS, p.CopyNS > 0 }},
	{"communication", func(p *Part) (int64, bool) { return p.exchanged().NS, p.Communication != nil }},
	{"exposed", func(p *Part) (int64, bool) { return p.exchanged().ExposedNS, p.Communication != nil }},
}

// exchanged is the communication of the part, all zeros where it has none.
func (p *Part) exchanged() Communication { return *cmp.Or(p.Communication, &Communication{}) }

// passTime is the mean time of one pass of a stage in nanoseconds; false where the part has
// none.
func (p *Part) passTime(stage string) (int64, bool) {
	for i := range p.Stages {
		if s := &p.Stages[i]; s.Stage == stage && s.Passes > 0 {
			return s.PassNS, true
		}
	}
	return 0, false
}

// stageNamesOf lists the stages of all parts, in the order of the first part that
// has them.
func stageNamesOf(parts []*recording) []string {
	var names []string
	for _, p := range parts {
		for _, s := range p.row.Stages {
			if s.Passes > 0 && !slices.Contains(names, s.Stage) {
				names = append(names, s.Stage)
			}
		}
	}
	return names
}

// distribution of a number, in nanoseconds, over the parts that have it; false where none has.
// Parts that are lost do not count.
func distribution(name string, parts []*recording, of func(*Part) (int64, bool)) (Distribution, bool) {
	d := Distribution{Name: name, MinNS: math.MaxInt64, MaxNS: math.MinInt64}
	var all []int64
	for i, p := range parts {
		if p.row.Lost != nil {
			continue
		}
		ns, ok := of(&p.row)
		if !ok {
			continue
		}
		all = append(all, ns)
		d.SumNS += ns
		if ns < d.MinNS {
			d.MinNS, d.Least = ns, i
		}
		if ns > d.MaxNS {
			d.MaxNS, d.Most = ns, i
		}
	}
	if d.N = len(all); d.N == 0 {
		return d, false
	}
	slices.Sort(all)
	d.MedianNS = (all[(d.N-1)/2] + all[d.N/2]) / 2
	d.StdNS = sampleStd(all, float64(d.SumNS)/float64(d.N))
	return d, true
}

// sampleStd divides by n-1; it is 0 for a single value.
func sampleStd(all []int64, mean float64) float64 {
	if len(all) < 2 {
		return 0
	}
	sum := 0.0
	for _, x := range all {
		sum += (float64(x) - mean) * (float64(x) - mean)
	}
	return math.Sqrt(sum / float64(len(all)-1))
}

// toldBy is what differs between parts, in the order in which they are told apart; never empty.
func toldBy(parts []*recording) []string {
	var by []string
	if len(parts) > 1 && parts[0].path == parts[1].path { // processes of one timeline
		return []string{"process"}
	}
	for _, d := range []struct {
		name string
		of   func(*timeline.Identity) int
	}{
		{"rank", func(id *timeline.Identity) int {
			if id.Rank == nil {
				return -1
			}
			return *id.Rank
		}},
		{"window", func(id *timeline.Identity) int { return id.Window }},
		{"repeat", func(id *timeline.Identity) int { return id.Repeat }},
	} {
		first := d.of(&parts[0].row.Of)
		if slices.ContainsFunc(parts, func(p *recording) bool { return d.of(&p.row.Of) != first }) {
			by = append(by, d.name)
		}
	}
	if len(by) == 0 {
		by = []string{"file"}
	}
	return by
}

// kernelsAcross sums kernels by name, those with the most time first.
func (jb *jobReader) kernelsAcross(parts []*recording) []KernelAcross {
	rows := map[string]*KernelAcross{}
	for i, p := range parts {
		for name, c := range p.kernels {
			k := rows[name]
			if k == nil {
				k = &KernelAcross{Name: name, Category: jb.categories.List[jb.kinds.of(name).category].ID, MinNS: c.ns, MaxNS: -1}
				rows[name] = k
			}
			k.Parts++
			k.Launches += c.calls
			k.SumNS += c.ns
			k.MinNS = min(k.MinNS, c.ns)
			if c.ns > k.MaxNS {
				k.MaxNS, k.Most = c.ns, i
			}
		}
	}
	list := make([]KernelAcross, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[name])
	}
	slices.SortStableFunc(list, func(x, y KernelAcross) int { return cmp.Compare(y.SumNS, x.SumNS) })
	return list
}
