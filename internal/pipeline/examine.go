package pipeline

import (
	"context"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
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
	row := doctor.Row{Check: "captures", Status: doctor.OK, Seen: fact.New(doctor.CapturesFine)}
	if err = j.findPython(ctx, report); err == nil {
		err = prepareSteps(ctx, j)
	}
	if err != nil {
		row.Status, row.Seen = doctor.Blocker, fact.New(doctor.CapturesRefused, fact.Error("error", err))
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
	o := doctor.OptionsOf(j.plan, j.Dir)
	o.NsysPath, o.NcuPath, o.PythonPath = j.program(o.NsysPath), j.program(o.NcuPath), j.program(o.PythonPath)
	o.PythonEnv = j.env
	report := doctor.Check(ctx, o, doctor.Host{Find: j.finder.Find})
	dir := j.dir
	if j.plan.Pipeline.Workload.Chdir && j.store == nil { // the run is still to be made
		dir = j.start
	}
	report.Rows = append(report.Rows, doctor.WorkloadRows(j.plan, j.start, dir, j.env)...)
	j.counts, j.gpus = report.Counts(), report.GPUs
	return report, nil
}
