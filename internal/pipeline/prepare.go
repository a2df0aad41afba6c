package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	reports "github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// A BlockedError says why the run was not started.
type BlockedError struct{ Report doctor.Report }

func (e *BlockedError) Error() string {
	return "the machine cannot do what the configuration asks for"
}

// A MissingError says that a run cannot start without a program, whatever is to
// be ignored.
type MissingError struct {
	Name    string // of the program
	Instead string // what to do
	Told    bool   // what was looked for is among the blockers that were told
	Err     error
}

func (e *MissingError) Error() string {
	if e.Told {
		return fmt.Sprintf("the run cannot do without a working %s, also with --ignore-blockers; fix it, or %s", e.Name, e.Instead)
	}
	return fmt.Sprintf("%v; or %s", e.Err, e.Instead)
}

func (e *MissingError) Unwrap() error { return e.Err }

// prepare checks everything that can be checked before anything is started. A
// dry run is prepared to its end and then gets its BlockedError.
func prepare(ctx context.Context, j *job) error {
	report, err := j.examine(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, row := range report.Rows {
		if row.Status == doctor.Warning || row.Status == doctor.Blocker && j.IgnoreBlockers {
			for _, line := range reports.CheckLines(row) {
				j.Say(line)
			}
		}
	}
	if err := j.findPython(ctx, report); err != nil {
		return err
	}
	blocked := report.HasBlocker() && !j.IgnoreBlockers
	if !blocked || j.dry {
		err = prepareSteps(ctx, j)
	}
	if blocked && err == nil {
		return &BlockedError{report}
	}
	return err
}

// prepareSteps has each step find its tools and check its arguments.
func prepareSteps(ctx context.Context, j *job) error {
	for _, s := range j.steps {
		if s.prepare == nil || !s.enabled(j.plan) {
			continue
		}
		if err := s.prepare(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// findPython finds the interpreter of a shipped program.
func (j *job) findPython(ctx context.Context, report doctor.Report) error {
	if !workload.Shipped(j.plan) && !workload.ShipsServer(j.plan) {
		return nil
	}
	var err error
	j.python, err = workload.FindPython(ctx, j.program(j.plan.Pipeline.Workload.Python), j.finder.Find)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case j.dry || !j.IgnoreBlockers && report.HasBlocker():
		return nil // the report says so
	}
	return &MissingError{Name: tool.Python, Instead: "name another with pipeline.workload.python=PATH", Told: j.IgnoreBlockers, Err: err}
}

// find finds a profiler. A dry run goes on without it, under its bare name; that
// it is missing is one of the blockers.
func (j *job) find(ctx context.Context, name, path string) (tool.Tool, error) {
	t, err := j.finder.Find(ctx, tool.Spec{Name: name, Path: j.program(path)})
	switch {
	case err == nil || ctx.Err() != nil:
		return t, err
	case j.dry:
		return tool.Tool{Name: name, Path: name, Version: recent[name]}, nil
	}
	return t, &MissingError{Name: name, Instead: "turn its step off with pipeline." + name + ".enable=false", Told: j.IgnoreBlockers, Err: err}
}

func prepareNsys(ctx context.Context, j *job) (err error) {
	n := j.plan.Pipeline.Nsys
	if j.nsys, err = j.find(ctx, tool.Nsys, n.Path); err != nil {
		return err
	}
	if err := checkGate(n); err != nil {
		return err
	}
	if workload.Serves(j.plan) {
		if e, _ := j.serverLine(); e.StepMetric == "" && j.plan.Pipeline.Server.WindowSteps > 0 {
			return fmt.Errorf("pipeline.server.window_steps: the engine %s does not count its steps in /metrics; end windows with window_requests or window_s", e.Name)
		}
		_, err = sessionCommands(j)
		return err
	}
	_, err = nsysCommand(j)
	return err
}

// checkGate refuses what nsys takes without a word and never matches.
func checkGate(n plan.Nsys) error {
	if strings.Count(strings.ReplaceAll(n.NVTXCapture, `\@`, ""), "@") > 1 {
		return fmt.Errorf(`pipeline.nsys.nvtx_capture %q: a second "@"; the form is name or name@domain (write "\@" for the character)`, n.NVTXCapture)
	}
	return nil
}

// prepareNcu has ncu's arguments checked: those of the configuration, less what
// the choice of launches decides itself.
func prepareNcu(ctx context.Context, j *job) (err error) {
	if j.ncu, err = j.find(ctx, tool.Ncu, j.plan.Pipeline.Ncu.Path); err != nil {
		return err
	}
	var fellBack bool
	if j.plan.Pipeline.Ncu, fellBack = j.plan.Pipeline.Ncu.Fit(ncu.PerLaunchConfig(j.ncu.Version)); fellBack && !j.willChoose() {
		j.tell(noPerConfig, fact.Name("tool", j.ncu.String()), fact.Count("n", j.plan.Pipeline.Ncu.CLI.LaunchCount))
	}
	if filepath.IsAbs(j.ncu.Path) {
		if j.lists, err = tool.Probe(ctx, j.ncu, tool.System{}); err != nil {
			j.tell(sectionsUnlisted, fact.Name("tool", j.ncu.String()), fact.Error("error", err))
		}
	}
	target, err := j.target(plan.StepNcu)
	if err != nil {
		return err
	}
	o, err := pick.AsWritten(j.ncuOptions(target), j.plan.Pipeline.Ncu.CLI)
	if err != nil {
		return err
	}
	o.Output = j.place("ncu/run")
	if j.willChoose() {
		o.FilterMode = ""
	}
	if _, _, err = ncu.Args(o, j.ncu.Version); err != nil {
		return err
	}
	metrics := pick.Named(j.plan.Pipeline.Ncu.CLI.Metrics)
	if smi, err := j.finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil && j.lists != nil && len(metrics) > 0 {
		return j.lists.CheckMetrics(ctx, smi, "pipeline.ncu.ncu_cli.metrics", metrics)
	}
	return nil
}
