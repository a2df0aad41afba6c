package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// A Claim is something that a difference of circumstances forbids to conclude.
type Claim string

// Claims. Cause forbids no verdict: the change is real, but the program need not
// be what made it.
const (
	claimCause   Claim = "cause"
	claimTimes   Claim = "times"   // every verdict on a time or rate
	claimWall    Claim = "wall"    // on wall times under nsys
	claimTotals  Claim = "totals"  // on what adds up over the whole: kernels, layers, operators
	claimRegions Claim = "regions" // on regions, layers and steps
	claimKernels Claim = "kernels" // on kernels and launches
	claimRanks   Claim = "ranks"   // on ranks
)

// Differ are the circumstances in which the sides differ.
type Differ []Difference

// A Difference is one of them.
type Difference struct {
	fact.Fact
	Forbids []Claim `json:"forbids"`
}

// forbids is the difference that forbids a verdict on a row; zero where none does.
func (d Differ) forbids(r *Row) fact.Fact {
	for _, x := range d {
		if slices.ContainsFunc(x.Forbids, func(c Claim) bool { return c.covers(r) }) {
			return fact.New(Forbidden, fact.Because("why", x.Fact))
		}
	}
	return fact.Fact{}
}

// covers tells whether a verdict on the row is a claim of this sort.
func (c Claim) covers(r *Row) bool {
	switch c {
	case claimTimes:
		return !metrics[r.Metric].counted
	case claimWall:
		return r.Clock == UnderNsys || r.Clock == SpanNsys
	case claimTotals:
		whole := r.Kind == Total || r.Kind == Kernel && r.Metric != LaunchTime || r.Kind == Layer || r.Kind == Operator || r.Kind == Region && r.Metric == Launches || r.Kind == Step && r.Metric == Launches
		return whole && r.Clock != Unprofiled
	case claimRegions:
		return r.Kind == Region || r.Kind == Layer || r.Kind == Step || r.Kind == Sample
	case claimRanks:
		return r.Kind == Rank
	case claimKernels:
		return r.Kind == Kernel || r.Kind != Rank && (r.Metric == Launches || r.Metric == Kernels)
	}
	return false
}

// throttledShare is the share of samples in which clocks were held down from which
// times no longer tell.
const throttledShare = 0.1

// clockApart is by how much the clocks of two sides may differ, relative.
const clockApart = 0.02

// circumstances are what has to be the same on both sides, with what it forbids
// where it is not. What a run does not tell is no difference.
var circumstances = []struct {
	code    fact.Code
	of      func(*Run) string
	forbids []Claim
	// told names what every run should tell: where one side does and a run of the other
	// does not, nobody knows whether they differ. The GPU is asked of both. "" for others.
	told string
}{
	{otherGPU, gpuNames, []Claim{claimCause}, toldGPU},
	{otherDriver, func(r *Run) string { return r.Result.Environment.Driver }, []Claim{claimCause}, "driver"},
	{otherCUDA, func(r *Run) string { return r.Result.Environment.CUDA }, []Claim{claimCause}, "cuda"},
	{otherCPU, func(r *Run) string { return r.Result.Environment.CPU }, []Claim{claimCause}, ""},
	{otherNsys, func(r *Run) string { return r.Result.Environment.Nsys }, []Claim{claimWall}, "nsys"},
	{otherNcu, func(r *Run) string { return r.Result.Environment.Ncu }, nil, ""},
	{otherSoftware, func(r *Run) string { return factList(r.Result.Environment.Software) }, []Claim{claimCause}, ""},
	{otherModel, modelOf, []Claim{claimTimes, claimTotals}, "model"},
	{otherInputs, shapeOf, []Claim{claimTimes, claimTotals}, "inputs"},
	{otherAnnotation, annotation, []Claim{claimRegions, claimWall}, ""},
	{otherScope, scopeOf, []Claim{claimTotals}, ""},
	{otherPasses, passesOf, []Claim{claimTotals}, ""},
	{otherLoad, loadOf, []Claim{claimTimes, claimTotals}, ""},
	{otherWorld, worldOf, []Claim{claimTotals, claimRanks}, ""},
	{otherRank, detailedRank, []Claim{claimTotals, claimRegions, claimKernels}, ""},
	{otherTrace, func(r *Run) string { return r.Config["pipeline.nsys.cuda_graph_trace"] }, []Claim{claimKernels, claimTotals}, ""},
}

// toldGPU is the circumstance without which no other matters.
const toldGPU = "gpu"

// differ lists what differs between the sides, and within one.
func differ(base, fresh []Run) Differ {
	d := Differ{}
	for _, c := range circumstances {
		a, b := values(base, c.of), values(fresh, c.of)
		if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
			d = append(d, Difference{fact.New(c.code, fact.Names("base", fact.KindName, a), fact.Names("new", fact.KindName, b)), c.forbids})
		}
	}
	return slices.Concat(d, unknown(base, fresh), sharedProcesses(base, fresh), configDiffer(base, fresh), conditionsDiffer(base, fresh))
}

// unknown lists what a side does not tell of its circumstances.
func unknown(base, fresh []Run) (d Differ) {
	for _, side := range []struct {
		name        string
		runs, other []Run
	}{{"base", base, fresh}, {"new", fresh, base}} {
		var missing []string
		for _, c := range circumstances {
			silent := c.told != "" && slices.ContainsFunc(side.runs, func(r Run) bool { return r.Result != nil && c.of(&r) == "" })
			if silent && (c.told == toldGPU || len(values(side.other, c.of)) > 0) {
				missing = append(missing, c.told)
			}
		}
		if len(missing) > 0 {
			d = append(d, Difference{fact.New(notKnown, fact.ID("side", "compare.side", side.name), fact.IDs("of", "compare.circumstance", missing)), []Claim{claimCause}})
		}
	}
	return d
}

// notMeasured marks rows of kinds of which a side measured nothing: what it lacks
// need not be gone. It returns these kinds as differences.
func notMeasured(rows []Row) (d Differ) {
	for _, kind := range []Kind{Sample, Step, Layer, Region, Operator, Kernel} {
		base, fresh := map[Clock]bool{}, map[Clock]bool{}
		for i := range rows {
			if r := &rows[i]; r.Kind == kind && len(r.BaseSamples) > 0 {
				base[cmp.Or(r.BaseClock, r.Clock)] = true
			}
			if r := &rows[i]; r.Kind == kind && len(r.NewSamples) > 0 {
				fresh[r.Clock] = true
			}
		}
		side := map[bool]string{true: "base", false: "new"}[len(base) == 0]
		common := false
		for clock := range base {
			common = common || fresh[clock]
		}
		if common || len(base)+len(fresh) == 0 {
			continue
		}
		for i := range rows {
			if r := &rows[i]; r.Kind == kind && !r.both() {
				r.Status = NotMeasured
			}
		}
		if len(base) == 0 || len(fresh) == 0 {
			d = append(d, Difference{fact.New(sideLacks, fact.ID("side", "compare.side", side), fact.ID("kind", "compare.kind", string(kind))), []Claim{}})
		}
	}
	return d
}

// values are those of a side without repetition, as far as they are known.
// The list is sorted; a run that does not tell adds nothing.
func values(side []Run, of func(*Run) string) []string {
	seen := map[string]bool{}
	for i := range side {
		if side[i].Result == nil {
			continue
		}
		if v := of(&side[i]); v != "" {
			seen[v] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// gpuNames does not depend on the order of the GPUs.
func gpuNames(r *Run) string {
	var names []string
	for _, g := range r.Result.Environment.GPUs {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// factList is "" for no facts.
func factList(list []analysis.Fact) string {
	var all []string
	for _, f := range list {
		all = append(all, f.Name+" "+f.Value)
	}
	return strings.Join(all, ", ")
}

// modelOf names what makes a model another one; how it is run is no part of it.
func modelOf(r *Run) string {
	m := r.Result.Workload.Model
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%s parameters=%d layers=%d", m.Name, m.Parameters, m.Layers)
}

// howRun are the facts of a shape that say how a model is run, not what it is given: to
// change them is what a comparison is for.
var howRun = []string{"repeats", "warmup_passes", "torch_compile", "cuda_graphs"}

// shapeOf is what the model was given: batch, lengths and the like.
func shapeOf(r *Run) string {
	return factList(slices.DeleteFunc(slices.Clone(r.Result.Workload.Shape), func(f analysis.Fact) bool { return slices.Contains(howRun, f.Name) }))
}

// annotation says who made the regions.
func annotation(r *Run) string {
	seen := map[string]bool{}
	for i := range r.Result.Regions {
		if s := r.Result.Regions[i].Source; s != "" {
			seen[s] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// scopeOf is "" for a result about the whole timeline.
func scopeOf(r *Run) string {
	if r.Result.Scope == nil {
		return ""
	}
	return strings.Join(r.Result.Scope.Names(), ", ")
}

// Stages are in the order of the workload. A server makes as many steps as it is
// asked for.
func passesOf(r *Run) string {
	var all []string
	for i := range r.Result.Stages {
		if st := &r.Result.Stages[i]; st.Passes > 0 && !st.Steps {
			all = append(all, fmt.Sprintf("%s %d", st.Name, st.Passes))
		}
	}
	return strings.Join(all, ", ")
}

// places of a configuration that differ between any two runs, or that no number
// depends on.
var ignored = []string{"hydra.", "pipeline.supervision.", "pipeline.unprofiled.timeout_s"}

// configDiffer lists the settings that differ. They forbid nothing: a changed
// setting is most often what the comparison is about.
func configDiffer(base, fresh []Run) Differ {
	if base[0].Config == nil || fresh[0].Config == nil {
		return nil
	}
	a, b := base[0].Config, fresh[0].Config
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var d Differ
	oneSided := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		x, inBase := a[k]
		y, inNew := b[k]
		switch {
		case x == y || slices.ContainsFunc(ignored, func(p string) bool { return strings.HasPrefix(k, p) }):
		case inBase && inNew:
			d = append(d, Difference{fact.New(otherSetting, fact.Key("key", k), fact.Name("base", cmp.Or(x, "-")), fact.Name("new", cmp.Or(y, "-"))), []Claim{}})
		default: // one version of this program has it, the other does not
			oneSided++
		}
	}
	if oneSided > 0 {
		d = append(d, Difference{fact.New(otherKeys, fact.Count("keys", oneSided)), []Claim{}})
	}
	return d
}

// conditionsDiffer tells of throttling, and of clocks that are apart.
func conditionsDiffer(base, fresh []Run) Differ {
	var d Differ
	for _, side := range []struct {
		name string
		runs []Run
	}{{"base", base}, {"new", fresh}} {
		if n, all, reasons := throttled(side.runs); all > 0 && float64(n) >= throttledShare*float64(all) {
			d = append(d, Difference{fact.New(Throttled, fact.ID("side", "compare.side", side.name), fact.Share("share", float64(n)/float64(all)), fact.Names("reasons", fact.KindName, reasons)), []Claim{claimTimes}})
		}
	}
	a, b := medianClock(base), medianClock(fresh)
	if a > 0 && b > 0 && math.Abs(b/a-1) > clockApart {
		d = append(d, Difference{fact.New(otherClocks, fact.Num("base", fact.KindHertz, a*1e6), fact.Num("new", fact.KindHertz, b*1e6)), []Claim{claimCause}})
	}
	return d
}

// n of all are samples of all runs of a side; reasons are sorted.
func throttled(side []Run) (n, all int, reasons []string) {
	seen := map[string]bool{}
	for _, r := range side {
		if c := r.Conditions; c != nil {
			n, all = n+c.Throttled, all+c.Samples
			for _, why := range c.Reasons {
				seen[why] = true
			}
		}
	}
	return n, all, slices.Sorted(maps.Keys(seen))
}

// medianClock is in MHz; 0 where no run has samples.
func medianClock(side []Run) float64 {
	var all []float64
	for _, r := range side {
		if r.Conditions != nil && r.Conditions.ClockMHz > 0 {
			all = append(all, r.Conditions.ClockMHz)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// comparable says why two sides cannot be compared at all.
func comparable(base, fresh []Run, o Options) error {
	if len(base) == 0 || len(fresh) == 0 {
		return errors.New("compare: a side holds no run")
	}
	for _, r := range slices.Concat(base, fresh) {
		if err := r.usable(o); err != nil {
			return err
		}
	}
	a, b := values(base, gpuNames), values(fresh, gpuNames)
	if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) && !o.AcrossGPUs {
		return fmt.Errorf("compare: the sides ran on different GPUs: %s and %s; take runs of one kind of GPU, or pass --across-gpus to compare the machines", strings.Join(a, "; "), strings.Join(b, "; "))
	}
	return nil
}

// usable says what is wrong with a run.
func (r *Run) usable(o Options) error {
	if r.Result == nil {
		if r.Wall > 0 {
			return nil
		}
		return fmt.Errorf("compare %s: nothing was measured", r.Name)
	}
	if s := r.Result.Source.Status; s != "" && s != "done" && !o.Partial {
		return fmt.Errorf("compare %s: the run is %s, not done; finish it with 'deepprof runs resume'; deepprof compare --partial takes what there is", r.Name, s)
	}
	if lost := r.Result.Incomplete(); len(lost) > 0 && !o.Partial {
		return fmt.Errorf("compare %s: a part of its captures is lost (%s); capture it again; deepprof compare --partial takes the rest", r.Name, lost[0].Code)
	}
	if r.Result.Totals.Launches == 0 && r.Result.Totals.WallNS == 0 && len(r.Result.Stages) == 0 {
		return fmt.Errorf("compare %s: it has no timeline and no times of the workload; counters alone say nothing about speed", r.Name)
	}
	return nil
}

// sound refuses values that no measurement gives, and sides with nothing in common.
func sound(rows []Row, pairs []pair) error {
	common := 0
	for i := range rows {
		r := &rows[i]
		for _, v := range slices.Concat(r.BaseSamples, r.NewSamples) {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return fmt.Errorf("compare: %s %s %s is %g in a run: the result is damaged; make it again with deepprof analyze", r.Kind, r.Name, r.Metric, v)
			}
		}
		if len(r.BaseSamples) > 0 && len(r.NewSamples) > 0 {
			common++
		}
	}
	both := slices.ContainsFunc(pairs, func(p pair) bool { return p.base != nil }) && slices.ContainsFunc(pairs, func(p pair) bool { return p.fresh != nil })
	if both && !slices.ContainsFunc(pairs, func(p pair) bool { return p.base != nil && p.fresh != nil && p.byName }) {
		return errors.New("compare: the sides have no kernel in common: they ran different programs")
	}
	if common == 0 {
		return errors.New("compare: the sides have nothing in common that was measured on both")
	}
	return nil
}
