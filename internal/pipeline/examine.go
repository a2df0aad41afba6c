package pipeline

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/workload"
)

// Examine makes every check that a run of the plan makes before it starts, and
// starts nothing.
func Examine(ctx context.Context, o Options) (doctor.Report, error) {
	o.Say = func(string) {}
	j, err := newJob(o, "")
	if err != nil {
		return doctor.Report{}, err
	}
	report, err := j.examine(ctx)
	if err != nil || report.HasBlocker() {
		return report, err
	}
	row := doctor.Row{Check: "captures", Status: doctor.OK, Seen: fact.New(capturesFine)}
	if err = j.findPython(ctx, report); err == nil {
		err = prepareSteps(ctx, j)
	}
	if err != nil {
		row.Status, row.Seen = doctor.Blocker, fact.New(capturesRefused, fact.Error("error", err))
	}
	report.Rows = append(report.Rows, row)
	return report, ctx.Err()
}

// examine looks at the machine, and at the files that the configuration names.
func (j *job) examine(ctx context.Context) (doctor.Report, error) {
	var err error
	if j.env, err = workload.Environ(j.plan); err != nil {
		return doctor.Report{}, err
	}
	o := checks(j.plan, j.Dir)
	o.NsysPath, o.NcuPath, o.PythonPath = j.program(o.NsysPath), j.program(o.NcuPath), j.program(o.PythonPath)
	o.PythonEnv = j.env
	report := doctor.Check(ctx, o, doctor.Host{Find: j.finder.Find})
	report.Rows = append(report.Rows, j.commandRow())
	report.Rows = append(report.Rows, j.inputRows()...)
	j.counts = slices.ContainsFunc(report.Rows, func(row doctor.Row) bool { return row.Check == checkCounters && row.Status == doctor.OK })
	return report, nil
}

// Checks of what the configuration gives to the workload: its program, files
// and a device.
const (
	checkCommand  = "command"
	checkModel    = "model"
	checkDataset  = "dataset"
	checkCounters = "counters" // of the doctor
	checkDevice   = "gpus"     // of the doctor: a blocker where the index does not exist
)

// Codes of what these checks saw. internal/message has their words; a comment
// names the parameters.
const (
	capturesFine    fact.Code = "captures-fine"    //
	capturesRefused fact.Code = "captures-refused" // error
	cwdUnusable     fact.Code = "cwd-unusable"     // error
	programShipped  fact.Code = "program-shipped"  //
	programFound    fact.Code = "program-found"    // file
	programMissing  fact.Code = "program-missing"  // what, why
	weightsRandom   fact.Code = "weights-random"   //
	inputsGenerated fact.Code = "inputs-generated" //
	inputsFound     fact.Code = "inputs-found"     // file
)

// commandRow is the check of the program of the workload and of the folder that
// it starts in, as the system will look for them.
func (j *job) commandRow() doctor.Row {
	row := doctor.Row{Check: checkCommand, Status: doctor.OK}
	dir := j.dir
	if j.plan.Pipeline.Workload.Chdir && j.store == nil { // the run is still to be made
		dir = j.start
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "stat", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		row.Status, row.Seen = doctor.Blocker, fact.New(cwdUnusable, fact.Error("error", err))
		return row
	}
	if workload.Shipped(j.plan) || workload.ShipsServer(j.plan) {
		row.Status, row.Seen = doctor.NotApplicable, fact.New(programShipped)
		return row
	}
	program, missing := capture.FindTarget(j.plan.Pipeline.Workload.Command, dir, j.env)
	row.Seen = fact.New(programFound, fact.File("file", program))
	if missing != nil {
		row.Status, row.Seen = doctor.Blocker, fact.New(programMissing, fact.Because("what", missing.Evidence), fact.Because("why", missing.Cause))
	}
	return row
}

// inputRows are the checks of model and dataset.
func (j *job) inputRows() []doctor.Row {
	if !workload.Shipped(j.plan) {
		return nil
	}
	model, dataset := fact.New(weightsRandom), fact.New(inputsGenerated)
	if m := j.plan.Model; m.Path != "" || m.Config.File != "" {
		model = fact.New(inputsFound, fact.File("file", j.abs(m.Path+m.Config.File)))
	}
	if root := j.plan.Dataset.Root; root != "" {
		dataset = fact.New(inputsFound, fact.File("file", j.abs(root)))
	}
	problems := workload.CheckInputs(j.plan, j.start)
	return []doctor.Row{inputRow(checkModel, model, problems.Model), inputRow(checkDataset, dataset, problems.Dataset)}
}

func inputRow(check string, fine, problem fact.Fact) doctor.Row {
	if problem.IsZero() {
		return doctor.Row{Check: check, Status: doctor.OK, Seen: fine}
	}
	return doctor.Row{Check: check, Status: doctor.Blocker, Seen: problem}
}

// checks says what the machine must be able to do for a plan.
func checks(p *plan.Plan, runDir string) doctor.Options {
	nsys, ncu, shipped := p.Pipeline.Nsys, p.Pipeline.Ncu, workload.Shipped(p) || workload.ShipsServer(p)
	parent, _ := plan.SplitRunDir(runDir)
	cuda := slices.ContainsFunc(nsys.Trace, func(api string) bool { return strings.HasPrefix(api, "cuda") })
	return doctor.Options{
		Timeline: nsys.Enable, Counters: ncu.Enable, Sampled: nsys.Enable && nsys.SamplesCounters(), Sample: nsys.Sample,
		CUDA:  ncu.Enable || nsys.Enable && cuda || shipped && p.Device != "cpu" && (!workload.ShipsServer(p) || p.Pipeline.Server.LLMServer.Device != "cpu"),
		Torch: shipped, Packages: workload.Needs(p), Device: p.Device,
		NsysPath: nsys.Path, NcuPath: ncu.Path, PythonPath: workload.PythonPath(p.Pipeline.Workload.Python), RunDir: parent,
	}
}

// OfTools tells whether a program is in the way that the run cannot do without.
func (e *BlockedError) OfTools() bool {
	return slices.ContainsFunc(e.Report.Rows, func(row doctor.Row) bool {
		return row.Status == doctor.Blocker && slices.Contains([]string{"nsys", "ncu", "python"}, row.Check)
	})
}

// OfWorkload tells whether nothing but what the configuration gives to the
// workload is in the way: its program or files, or the index of its device.
func (e *BlockedError) OfWorkload() bool {
	return !slices.ContainsFunc(e.Report.Rows, func(row doctor.Row) bool {
		return row.Status == doctor.Blocker && !slices.Contains([]string{checkCommand, checkModel, checkDataset, checkDevice}, row.Check)
	})
}
