package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/pick"
)

// A launch is a kernel as ncu counted it.
type launch struct {
	report string
	res    *ncurep.Result
	// values are by the name of the counter, in base units; texts those that are no
	// numbers. Neither has a name that was not measured.
	values map[string]float64
	texts  map[string]string
	// did is computed from values, which do not change after newLaunch and
	// dropImpossible.
	did *done // of counts; nil before its first call

	medianNS float64    // of its kernel in the timeline, 0 without one
	lastsNS  float64    // it, or launches like it, in the timeline; 0 where that is not known
	typical  bool       // it is the one that was planned to be
	doubt    *fact.Fact // why it may not be what the timeline has
	foreign  bool       // it is of another program than the timeline
	alike    int        // kernels of the timeline that its name fits, where they are several
}

// counters are the launches that ncu counted, joined to the kernels of a result by
// their index, and what they sum up to in regions. No step changes them.
type counters struct {
	counted []*launch // of the program of the timeline
	ranges  []*launch // results of range replay
	foreign int       // launches of another program
	// launches and launchOf are by the index of a kernel in Result.Kernels, which is
	// fixed once all reports are read.
	launches map[int][]*launch // of each kernel, also those of another program
	launchOf map[int]*launch   // the one that speaks for a kernel
	chosen   map[string]bool   // kernels of the plan, by ID

	// regions sums counters up by region; only pick knows how launches stand for
	// others.
	regions   *pick.RegionReport // nil where nothing was counted in a region
	partsOnly bool               // regions have counters by process and device, not over all of them
}

// value of a counter; false where it was not measured.
func (l *launch) value(name string) (float64, bool) {
	v, ok := l.values[name]
	return v, ok
}

// first measured of several names.
func (l *launch) first(names ...string) (string, float64, bool) {
	for _, n := range names {
		if v, ok := l.values[n]; ok {
			return n, v, true
		}
	}
	return "", 0, false
}

// wanted leaves out what no decision and no page uses: the ends of a
// distribution over units, and counts by instruction or place.
func wanted(name string) bool {
	if slices.Contains(causeCounters, name) {
		return true
	}
	if attribute, ok := strings.CutPrefix(name, "device__attribute_"); ok {
		switch attribute {
		case "clock_rate", "compute_capability_major", "compute_capability_minor", "display_name":
			return true
		}
		return false
	}
	return !strings.Contains(name, ".min.") && !strings.Contains(name, ".max.") &&
		!strings.HasSuffix(name, ".min") && !strings.HasSuffix(name, ".max") &&
		!strings.HasPrefix(name, "breakdown:") && !strings.Contains(name, "Triage") &&
		!strings.HasPrefix(name, "smsp__pcsamp") && !strings.HasPrefix(name, "pmsampling:")
}

// takeReport joins the results of one report to kernels. Name is the file as notes name
// it. A report of another program gives kernels of its own.
func (cr *counterReader) takeReport(name string, rep *ncurep.Report) {
	cr.describeReport(rep)
	if cr.fitReport(name, rep) == otherProgram {
		cr.takeForeign(name, rep)
		return
	}
	impossible := map[string]int{} // launches by counter
	for _, res := range rep.Results {
		l := newLaunch(name, res)
		for _, counter := range l.dropImpossible() {
			impossible[counter]++
		}
		if res.Kind != ncurep.Kernel {
			cr.ranges = append(cr.ranges, l)
			continue
		}
		cr.counted = append(cr.counted, l)
		i := cr.kernelOf(l)
		cr.launches[i] = append(cr.launches[i], l)
	}
	for _, counter := range slices.Sorted(maps.Keys(impossible)) {
		cr.notes.warn(counterImpossible, fact.Metric("counter", counter), fact.Count("n", impossible[counter]), fact.File("file", name))
	}
}

// alwaysPositive are the counters that no launch on any GPU can have at 0 or
// below.
var alwaysPositive = []string{
	counterSMs, counterMajor, counterClockRate, "gpu__time_duration.sum",
	"sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second",
	"dram__cycles_elapsed.avg.per_second", "lts__cycles_elapsed.avg.per_second",
}

// dropImpossible takes out what cannot be, as if it had not been measured, and
// names it.
func (l *launch) dropImpossible() []string {
	var dropped []string
	for _, name := range alwaysPositive {
		if v, ok := l.values[name]; ok && v <= 0 {
			delete(l.values, name)
			dropped = append(dropped, name)
		}
	}
	return dropped
}

// newLaunch reads the values of a launch or range.
// Of a counter that a report lists twice the first value counts.
func newLaunch(report string, res *ncurep.Result) *launch {
	l := &launch{report: report, res: res, values: map[string]float64{}, texts: map[string]string{}}
	for i := range res.Metrics {
		m := &res.Metrics[i]
		if x, ok := m.Value.Float64(); ok {
			if !finite(x) { // as if it had not been measured
				continue
			}
			if _, seen := l.values[m.Name]; !seen {
				l.values[m.Name] = x
			}
		} else if text := m.Value.Text(); text != "" {
			l.texts[m.Name] = text
		}
	}
	l.fromDetails()
	return l
}

// describeReport fills in what neither the run nor the timeline told of the machine and
// the program.
func (cr *counterReader) describeReport(rep *ncurep.Report) {
	env, s := &cr.made.Environment, &rep.Info.Session
	for _, v := range s.Versions {
		if strings.Contains(v.Name, "Nsight Compute") || strings.EqualFold(v.Name, "profiler") || strings.Contains(strings.ToLower(v.Name), "ncu") {
			setText(&env.Ncu, v.Value)
		}
	}
	setText(&env.OS, s.Target.OS)
	setText(&env.CPU, s.Target.Processor)
	if len(cr.made.Workload.Command) == 0 && s.Executable != "" {
		cr.made.Workload.Command = append([]string{s.Executable}, strings.Fields(s.Arguments)...)
	}
}

// finite tells numbers that JSON can hold.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// dims of an extent.
func dims(d ncurep.Dim3) [3]int64 { return [3]int64{int64(d.X), int64(d.Y), int64(d.Z)} }

// chooseTypical lets one counted launch speak for each kernel.
func (cr *counterReader) chooseTypical() {
	for i := range cr.made.Kernels {
		if list := cr.launches[i]; len(list) > 0 {
			cr.attach(i, typicalLaunch(list, cr.made.Kernels[i].MedianNS), len(list)-1)
		}
	}
}

// typicalLaunch is the launch that speaks for those of a duration: of those with the
// most of what decisions use, and nearest to the duration in the timeline, one
// that was planned as typical, else the one of median duration, so that a first
// or disturbed launch does not. Launches in doubt speak only where all are.
func typicalLaunch(list []*launch, ns float64) *launch {
	order := only(list, func(l *launch) bool { return l.doubt == nil })
	most := 0
	for _, l := range order {
		most = max(most, l.richness())
	}
	order = only(order, func(l *launch) bool { return l.richness() == most })
	order = only(typicalOf(order, ns), func(l *launch) bool { return l.typical })
	order = slices.SortedStableFunc(slices.Values(order), func(x, y *launch) int {
		return cmp.Compare(x.durationNS(), y.durationNS())
	})
	return order[(len(order)-1)/2]
}

// only keeps what fits, and all where nothing does.
func only(list []*launch, fits func(*launch) bool) []*launch {
	if out := slices.DeleteFunc(slices.Clone(list), func(l *launch) bool { return !fits(l) }); len(out) > 0 {
		return out
	}
	return list
}

// typicalOf keeps the launches that last about as long as the one nearest to a
// duration of the timeline; all where there is none.
func typicalOf(list []*launch, ns float64) []*launch {
	if ns <= 0 || len(list) == 0 {
		return list
	}
	near := slices.MinFunc(list, func(x, y *launch) int {
		return cmp.Compare(math.Abs(x.lasts()-ns), math.Abs(y.lasts()-ns))
	}).lasts()
	return only(list, func(l *launch) bool { return alike(l.lasts(), near) })
}

// alike tells durations in nanoseconds that stand for each other, by the rule of package pick.
func alike(ns, other float64) bool { return pick.Alike(int64(ns), int64(other)) }

// lasts is the time of the launch in the timeline; where that is not known, under
// ncu, whose timer adds a microsecond or two.
func (l *launch) lasts() float64 { return cmp.Or(l.lastsNS, l.durationNS()) }

// richness is how much of what decisions use a launch carries.
func (l *launch) richness() int {
	n := 0
	for _, name := range decisive {
		if _, ok := l.values[name]; ok {
			n++
		}
	}
	if d := l.counts(); d.computed() {
		n++
	}
	if _, _, _, ok := l.stall(); ok {
		n++
	}
	return n
}

// rankCounted orders the kernels of counters without a timeline by the time of
// their launches under ncu, and names their categories.
func (cr *counterReader) rankCounted() {
	if len(cr.made.Kernels) == 0 {
		return
	}
	sums := make([]float64, len(cr.made.Kernels))
	order := make([]int, len(sums))
	for i := range sums {
		order[i] = i
		for _, l := range cr.launches[i] {
			sums[i] += l.durationNS()
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(sums[y], sums[x]) })
	kernels, launches, place := make([]Kernel, len(order)), map[int][]*launch{}, make([]int, len(order))
	for to, from := range order {
		kernels[to], launches[to], place[from] = cr.made.Kernels[from], cr.launches[from], to
	}
	for key, i := range cr.byKey {
		cr.byKey[key] = place[i]
	}
	cr.made.Kernels, cr.launches = kernels, launches
	for _, c := range cr.categories.List {
		if slices.ContainsFunc(kernels, func(k Kernel) bool { return k.Category == c.ID }) {
			cr.made.Categories = append(cr.made.Categories, CategoryTime{ID: c.ID, Label: c.Label})
		}
	}
	cr.notes.lack(ncuTimes, cr.underNcu(cr.made.Method.Commands)...)
}

// durationNS is the time of the launch under ncu, 0 where it was not measured.
func (l *launch) durationNS() float64 {
	_, ns, _ := l.first("gpu__time_duration.sum", "gpu__time_duration.avg")
	return ns
}

// attach writes what a counted launch says onto its kernel.
func (cr *counterReader) attach(i int, l *launch, others int) {
	k := &cr.made.Kernels[i]
	cr.launchOf[i] = l
	k.Counted = l.counted()
	k.Counted.Others, k.Counted.TimelineNS, k.Counted.ClockHz = others, l.lastsNS, cr.clockOf(l)
	k.Untimed = k.Calls == 0
	if k.Untimed && cr.tl != nil {
		k.Counted.Verified = false
		note := fact.New(countedNotInTimeline)
		if cr.tl.scope != nil {
			note = fact.New(countedNotInScope)
		}
		if l.foreign {
			note = fact.New(countedOtherProgram, fact.File("file", l.report))
		}
		if l.alike > 1 {
			note = fact.New(countedAmbiguous, fact.Count("n", l.alike))
		}
		k.Counted.Note = []fact.Fact{note}
	}
	if w, ok := l.value("launch__waves_per_multiprocessor"); ok {
		k.Waves = w
	}
	if cr.tl == nil {
		k.Registers = int32(l.values["launch__registers_per_thread"])
		k.StaticShared = int32(l.values["launch__shared_mem_per_block_static"])
		k.DynamicShared = int32(l.values["launch__shared_mem_per_block_dynamic"])
	}
}

// kernelOf finds the row of a counted launch, or makes one without times.
// Names differ between the tools: nsys prints types where ncu prints template
// parameters, so that the mangled name, then the short one, decide.
func (cr *counterReader) kernelOf(l *launch) int {
	key := kernelKey{l.res.Name(), dims(l.res.Grid), dims(l.res.Block)}
	if i, ok := cr.byKey[key]; ok {
		return i
	}
	if i, ok := cr.sameKernel(l, key); ok {
		cr.byKey[key] = i
		return i
	}
	row := cr.newKernel(key)
	row.Mangled = l.res.MangledName
	cr.made.Kernels = append(cr.made.Kernels, row)
	cr.byKey[key] = len(cr.made.Kernels) - 1
	return len(cr.made.Kernels) - 1
}

// sameKernel finds the row of a launch that its name alone does not find. It reports
// false, and leaves the number in l.alike, where several rows fit and nothing tells
// them apart: a wrong row would get the counters of another kernel.
func (cr *counterReader) sameKernel(l *launch, key kernelKey) (int, bool) {
	short := cr.kinds.of(key.name).short
	best, fits := -1, 0
	for i := range cr.made.Kernels {
		k := &cr.made.Kernels[i]
		if k.Grid != key.grid || k.Block != key.block || len(cr.launches[i]) > 0 && cr.launches[i][0].foreign {
			continue
		}
		if k.Mangled != "" && k.Mangled == l.res.MangledName {
			return i, true
		}
		if k.Short == short && (k.Mangled == "" || l.res.MangledName == "") {
			best = i
			fits++
		}
	}
	if fits > 1 { // nothing tells them apart
		l.alike = fits
		return -1, false
	}
	return best, fits == 1
}

// counted describes the measurement for people.
func (l *launch) counted() *Counted {
	c := &Counted{Report: l.report, Launch: l.res.ID, Verified: true, Metrics: []Metric{}}
	c.DurationNS = l.durationNS()
	if p, ok := l.value("profiler__replayer_passes"); ok {
		c.Passes = int(p)
	}
	c.Work, c.Memory, c.Stalls = l.work(), l.memory(), l.stallReasons()
	l.shownMetrics(c)
	for i := range l.res.Rules {
		c.Rules = append(c.Rules, ruleWords(&l.res.Rules[i])...)
	}
	return c
}

// shownMetrics are those in the header tables of the report's sections; with
// none, as in CSV, the ones that decisions use.
func (l *launch) shownMetrics(c *Counted) {
	seen := map[string]bool{}
	add := func(section, name, label string) {
		if seen[name] {
			return
		}
		m := Metric{Section: section, Name: name, Label: label, Unit: metric.Unit(name)}
		if v, ok := l.values[name]; ok {
			m.Value = v
		} else if text, ok := l.texts[name]; ok {
			m.Text = text
		} else {
			return
		}
		seen[name] = true
		c.Metrics = append(c.Metrics, m)
	}
	for _, s := range l.res.Sections {
		for _, m := range s.Header {
			add(s.DisplayName, m.Name, m.Label)
		}
	}
	for _, name := range decisive {
		add("", name, "")
	}
}

// ruleWords keeps what NVIDIA wrote as it is. Messages without type and text are
// dropped; an estimate that is no finite number is left out.
func ruleWords(r *ncurep.RuleResult) []RuleWords {
	var out []RuleWords
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Type == ncurep.MessageNone && m.Text == "" {
			continue
		}
		w := RuleWords{Rule: r.Identifier, Section: r.Section, Title: m.Title, Text: m.Plain(), Kind: m.Type.String()}
		if w.Title == "" {
			w.Title = r.DisplayName
		}
		if m.Speedup != nil && finite(m.Speedup.Value) {
			w.Speedup, w.Local = new(m.Speedup.Value), m.Speedup.Type == ncurep.SpeedupLocal
		}
		out = append(out, w)
	}
	return out
}
