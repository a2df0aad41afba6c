package doctor

import (
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/workload"
)

// Checks of what the configuration gives to the workload: its program, files
// and a device.
const (
	rowCommand  = "command"
	rowModel    = "model"
	rowDataset  = "dataset"
	rowCounters = "counters"
	rowDevice   = "gpus" // a blocker where the index does not exist
)

// Codes of what these checks saw. internal/message has their words; a comment
// names the parameters.
const (
	CapturesFine    fact.Code = "captures-fine"    //
	CapturesRefused fact.Code = "captures-refused" // error
	cwdUnusable     fact.Code = "cwd-unusable"     // error
	programShipped  fact.Code = "program-shipped"  //
	programFound    fact.Code = "program-found"    // file
	programMissing  fact.Code = "program-missing"  // what, why
	weightsRandom   fact.Code = "weights-random"   //
	inputsGenerated fact.Code = "inputs-generated" //
	inputsFound     fact.Code = "inputs-found"     // file
)

// OptionsOf says what the machine must be able to do for a plan.
// runDir is hydra.run.dir; plan.SplitRunDir says which part of it must be writable.
func OptionsOf(p *plan.Plan, runDir string) Options {
	nsys, ncu, shipped := p.Pipeline.Nsys, p.Pipeline.Ncu, workload.Shipped(p) || workload.ShipsServer(p)
	parent, _ := plan.SplitRunDir(runDir)
	return Options{
		Timeline: nsys.Enable, Counters: ncu.Enable, Sampled: nsys.Enable && nsys.SamplesCounters(), Sample: nsys.Sample,
		CUDA:  ncu.Enable || nsys.Enable && nsys.TracesCUDA() || shipped && p.Device != "cpu" && (!workload.ShipsServer(p) || p.Pipeline.Server.LLMServer.Device != "cpu"),
		Torch: shipped, Packages: workload.Needs(p), Device: p.Device,
		NsysPath: nsys.Path, NcuPath: ncu.Path, PythonPath: workload.PythonPath(p.Pipeline.Workload.Python), RunDir: parent,
	}
}

// commandRow is the check of the program of the workload and of the folder that
// it starts in, as the system will look for them.
// env is the whole environment of the workload, NAME=value each.
func commandRow(p *plan.Plan, dir string, env []string) Row {
	row := Row{Check: rowCommand, Status: OK}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "stat", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		row.Status, row.Seen = Blocker, fact.New(cwdUnusable, fact.Error("error", err))
		return row
	}
	if workload.Shipped(p) || workload.ShipsServer(p) {
		row.Status, row.Seen = NotApplicable, fact.New(programShipped)
		return row
	}
	program, missing := capture.FindTarget(p.Pipeline.Workload.Command, dir, env)
	row.Seen = fact.New(programFound, fact.File("file", program))
	if missing != nil {
		row.Status, row.Seen = Blocker, fact.New(programMissing, fact.Because("what", missing.Evidence), fact.Because("why", missing.Cause))
	}
	return row
}

// WorkloadRows are the checks of what a plan gives to its workload: the program, in
// the folder that it starts in and with its environment, and for a shipped session
// model and dataset, whose paths begin in start.
// The command comes first, then model and dataset. It starts nothing.
func WorkloadRows(p *plan.Plan, start, dir string, env []string) []Row {
	row := commandRow(p, dir, env)
	if !workload.Shipped(p) {
		return []Row{row}
	}
	model, dataset := fact.New(weightsRandom), fact.New(inputsGenerated)
	if m := p.Model; m.Path != "" || m.Config.File != "" {
		model = fact.New(inputsFound, fact.File("file", workload.Abs(m.Path+m.Config.File, start)))
	}
	if root := p.Dataset.Root; root != "" {
		dataset = fact.New(inputsFound, fact.File("file", workload.Abs(root, start)))
	}
	problems := workload.CheckInputs(p, start)
	return []Row{row, inputRow(rowModel, model, problems.Model), inputRow(rowDataset, dataset, problems.Dataset)}
}

// inputRow is fine unless there is a problem, which is always a blocker: the workload would fail.
func inputRow(check string, fine, problem fact.Fact) Row {
	if problem.IsZero() {
		return Row{Check: check, Status: OK, Seen: fine}
	}
	return Row{Check: check, Status: Blocker, Seen: problem}
}

// OfTools tells whether a program is in the way that the run cannot do without.
// --ignore-blockers does not help then.
func (r *Report) OfTools() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return row.Status == Blocker && slices.Contains([]string{"nsys", "ncu", "python"}, row.Check)
	})
}

// OfWorkload tells whether nothing but what the configuration gives to the
// workload is in the way: its program or files, or the index of its device.
// It is true as well for a report without blockers.
func (r *Report) OfWorkload() bool {
	return !slices.ContainsFunc(r.Rows, func(row Row) bool {
		return row.Status == Blocker && !slices.Contains([]string{rowCommand, rowModel, rowDataset, rowDevice}, row.Check)
	})
}

// Counts tells that the user may read counters of the GPU.
// It is false as well where that could not be told, or nobody asked.
func (r *Report) Counts() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Check == rowCounters && row.Status == OK })
}
