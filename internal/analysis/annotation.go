package analysis

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// Codes of what annotation did to the workload under nsys.
const (
	annotatedProcess   fact.Code = "annotated"          // pid, regions, steps, file
	annotatedRanges    fact.Code = "annotated-ranges"   // n, of: ranges of the timeline that deepprof opened, and all
	annotationLimited  fact.Code = "annotation-limited" // pid, depth
	annotationNoNVTX   fact.Code = "annotation-no-nvtx" // pid
	annotationError    fact.Code = "annotation-error"   // pid, error
	annotationFailed   fact.Code = "annotation-failed"  // file
	annotationNothing  fact.Code = "annotation-nothing"
	annotationKeptOut  fact.Code = "annotation-kept-out"   // pid, process, launches
	annotationUntraced fact.Code = "annotation-not-traced" // pid
	annotationCost     fact.Code = "annotation-cost"       // cost, share and the times of both
	annotationInNoise  fact.Code = "annotation-cost-noise" // the times of both
	annotationCostOnce fact.Code = "annotation-cost-once"  // with, without
	annotationNoCost   fact.Code = "annotation-cost-unknown"
)

// annotationFolder holds the side files of the run under nsys, inside the run.
const annotationFolder = runs.AnnotateFolder + "/" + plan.StepNsys

// readAnnotation tells whether deepprof got into the workload, and where not; nothing without a
// run.
func (a *analyzer) readAnnotation(tl *timed) (told []Note) {
	if a.in.Run == "" {
		return nil
	}
	facts, err := AnnotationFacts(a.in.Run)
	if err != nil {
		a.notes.unreadable(err)
	}
	for _, f := range facts {
		if f.Is(annotationFailed, annotationError) {
			a.notes.add(Note{Fact: f, Step: plan.StepNsys})
		}
		told = append(told, Note{Fact: f})
	}
	if tl == nil || len(facts) == 0 {
		return told
	}
	// What only the timeline tells: how many ranges were injected, and which processes
	// ran PyTorch without being annotated.
	var n int64
	for _, r := range undivided(a.res.Regions) {
		if r.Source == sourceInjected {
			n += r.Instances
		}
	}
	if n > 0 {
		f := fact.New(annotatedRanges, fact.Count("n", n), fact.Count("of", tl.tape.RangeLen()))
		told = append(told, Note{Fact: f})
	}
	a.notes.findUnannotated(a.in.Run, tl, true)
	return told
}

// findUnannotated tells of the processes of a timeline, of which a run can have several,
// that ran PyTorch without being annotated. With all it also tells of processes that
// were annotated and of which the timeline of a whole program has nothing: nsys does
// not follow a fork without exec unless asked to, and then loses what a worker of
// multiprocessing did before its end, which is abrupt.
func (n *notes) findUnannotated(run string, tl *timed, all bool) {
	p, err := annotatedPlan(run)
	if err != nil || p == nil {
		return
	}
	told, err := workload.ReadAnnotated(filepath.Join(run, filepath.FromSlash(annotationFolder)))
	if err != nil {
		return // said already
	}
	if !exists(filepath.Join(run, filepath.FromSlash(runs.AnnotateOff))) {
		for _, f := range keptOut(tl.t, tl.tape.Kinds, told) {
			n.addMissing(Note{Fact: f, Step: plan.StepNsys})
		}
	}
	whole := p.Pipeline.Nsys.CaptureRange == plan.CaptureNone && p.Pipeline.Nsys.Delay == 0 && p.Pipeline.Nsys.Duration == 0
	if !all || !whole {
		return // only a part of the time was traced
	}
	for _, pid := range untraced(tl.t, told) {
		n.addMissing(Note{Fact: fact.New(annotationUntraced, pidParam(pid)), Step: plan.StepNsys})
	}
}

// untraced are the processes that opened ranges and are not in a timeline that has
// ranges of others. Where it has none of them, their numbers are those of another namespace.
func untraced(t *timeline.Timeline, told workload.Annotated) (pids []int) {
	traced := map[int]bool{}
	for _, p := range t.Processes {
		traced[p.PID] = true
	}
	known := false
	for i := range told.Processes {
		p := &told.Processes[i]
		known = known || traced[p.PID]
		if len(p.Paths) > 0 && !traced[p.PID] {
			pids = append(pids, p.PID)
		}
	}
	if !known {
		return nil
	}
	return pids
}

// annotatedPlan is the plan of a run that asked for annotation; nil of others, and
// without a run.
func annotatedPlan(run string) (*plan.Plan, error) {
	if run == "" {
		return nil, nil
	}
	p, err := runs.PlanOf(run)
	if err != nil || p == nil || p.Pipeline.Annotate == "" || p.Pipeline.Annotate == "none" {
		return nil, err
	}
	return p, nil
}

// exists takes a file that cannot be looked at for one that is not there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// keptOut are the processes that launched kernels of PyTorch and left no side file.
// Where no side file is of a process of the timeline, their numbers are those of
// another namespace and tell nothing.
func keptOut(t *timeline.Timeline, kinds []timeline.WorkKind, told workload.Annotated) (facts []fact.Fact) {
	known := func(pid int) bool {
		return slices.ContainsFunc(told.Processes, func(p workload.AnnotatedProcess) bool { return p.PID == pid })
	}
	if len(told.Processes) > 0 && !slices.ContainsFunc(t.Processes, func(p timeline.Process) bool { return known(p.PID) }) {
		return nil
	}
	launches := make([]int64, len(t.Processes))
	for i := range kinds {
		k := &kinds[i]
		process := t.Queues[k.Queue].Process
		if k.Kind == timeline.OpKernel && int(process) < len(launches) && ofTorch(t.Name(t.Functions[k.Function].Demangled)) {
			launches[process] += k.Launches
		}
	}
	for i, n := range launches {
		if p := &t.Processes[i]; n > 0 && !known(p.PID) {
			facts = append(facts, fact.New(annotationKeptOut, pidParam(p.PID), fact.Name("process", path.Base(t.Name(p.Name))), fact.Count("launches", n)))
		}
	}
	return facts
}

// pidParam is a name, because a count would be written with thousands.
func pidParam(pid int) fact.Param { return fact.Name("pid", strconv.Itoa(pid)) }

// AnnotationFacts is what the files of a run tell of annotation: none where it was
// not asked for.
func AnnotationFacts(run string) ([]fact.Fact, error) {
	p, err := annotatedPlan(run)
	if err != nil || p == nil {
		return nil, err
	}
	m, err := runs.ReadManifest(run)
	if err != nil {
		return nil, err
	}
	told, err := workload.ReadAnnotated(filepath.Join(run, filepath.FromSlash(annotationFolder)))
	var facts []fact.Fact
	for i := range told.Processes {
		facts = append(facts, processFacts(&told.Processes[i])...)
	}
	switch {
	case exists(filepath.Join(run, filepath.FromSlash(runs.AnnotateOff))):
		facts = append(facts, fact.New(annotationFailed, fact.File("file", runs.AnnotateOff)))
	case len(facts) == 0 && err == nil && stepOf(&m, plan.StepNsys).State == runs.StateDone:
		facts = append(facts, fact.New(annotationNothing))
	}
	return append(facts, costFacts(&m)...), err
}

// processFacts are what the side file of one process tells. One that was not annotated
// has a single fact, the reason.
func processFacts(p *workload.AnnotatedProcess) (facts []fact.Fact) {
	pid := pidParam(p.PID)
	switch {
	case p.Off == "no-nvtx":
		return []fact.Fact{fact.New(annotationNoNVTX, pid)}
	case p.Off != "":
		return []fact.Fact{fact.New(annotationError, pid, fact.ErrorText("error", p.Error))}
	}
	params := []fact.Param{pid, fact.Count("regions", len(p.Paths)), fact.File("file", annotationFolder+"/"+strconv.Itoa(p.PID)+".jsonl")}
	if n := len(p.Steps); n > 0 {
		params = append(params, fact.Count("steps", n))
	}
	facts = append(facts, fact.New(annotatedProcess, params...))
	if p.Error != "" {
		facts = append(facts, fact.New(annotationError, pid, fact.ErrorText("error", p.Error)))
	}
	if p.Depth > 0 {
		facts = append(facts, fact.New(annotationLimited, pid, fact.Count("depth", p.Depth)))
	}
	return facts
}

// stepOf is empty where the run does not have the step.
func stepOf(m *runs.Manifest, name string) runs.Step {
	i := slices.IndexFunc(m.Steps, func(s runs.Step) bool { return s.Name == name })
	if i < 0 {
		return runs.Step{}
	}
	return m.Steps[i]
}

// costFacts hold the annotated program against the unprofiled one, each by the
// times of all its runs.
func costFacts(m *runs.Manifest) []fact.Fact {
	with := stepOf(m, plan.StepAnnotateCost)
	if len(with.Attempts) == 0 {
		return nil
	}
	x, y := secondsOf(with.Attempts), secondsOf(stepOf(m, plan.StepUnprofiled).Attempts)
	if len(x) == 0 || len(y) == 0 {
		return []fact.Fact{fact.New(annotationNoCost)}
	}
	params := []fact.Param{
		fact.Count("n", len(x)), fact.Seconds("with", mean(x)), fact.Seconds("with_low", slices.Min(x)), fact.Seconds("with_high", slices.Max(x)),
		fact.Count("of", len(y)), fact.Seconds("without", mean(y)), fact.Seconds("without_low", slices.Min(y)), fact.Seconds("without_high", slices.Max(y)),
	}
	switch {
	case len(x) < 2 || len(y) < 2:
		return []fact.Fact{fact.New(annotationCostOnce, fact.Seconds("with", mean(x)), fact.Seconds("without", mean(y)))}
	case slices.Min(x) <= slices.Max(y) && slices.Min(y) <= slices.Max(x):
		return []fact.Fact{fact.New(annotationInNoise, params...)}
	}
	return []fact.Fact{fact.New(annotationCost, append(params, fact.Seconds("cost", mean(x)-mean(y)), fact.Share("share", mean(x)/mean(y)-1))...)}
}
