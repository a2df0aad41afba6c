package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
	"github.com/deepprof/deepprof/workloads"
)

// programFolder is where the shipped programs lie in a run.
const programFolder = "workload/program"

// sessionFolders are where the stages of a shipped program leave their files.
var sessionFolders = map[string][]string{
	"unprofiled": {"workload/unprofiled"}, "direct_inference": {"workload/direct_inference"}, "torch_profiler": {"workload/torch_profiler"},
	"torch_flops": {"workload/torch_flops"}, "nsys": {"nsys", "workload/nsys"}, "ncu": {"ncu", "workload/ncu"},
}

// shipped tells whether the workload is a program of our own.
func (r *run) shipped() bool { return workload.Shipped(r.Plan) }

// label says what a run measures.
func (r *run) label() string {
	if r.shipped() {
		return r.Plan.Pipeline.Workload.Kind + " " + r.Plan.Model.Name
	}
	return commandLabel(r.Plan.Pipeline.Workload.Command)
}

var pythonName = regexp.MustCompile(`^python[0-9.]*$`)

// commandLabel names a program, with the script or module of Python, which
// alone tells one workload from another.
func commandLabel(command []string) string {
	name := filepath.Base(command[0])
	if !pythonName.MatchString(name) {
		return name
	}
	for i := 1; i < len(command); i++ {
		switch arg := command[i]; {
		case arg == "-m" && i+1 < len(command):
			return name + " -m " + command[i+1]
		case arg == "-c" || arg == "-":
			return name + " " + arg
		case arg == "-X" || arg == "-W":
			i++ // with a value
		case !strings.HasPrefix(arg, "-"):
			return name + " " + filepath.Base(arg)
		}
	}
	return name
}

// preparePrograms finds the interpreter of a shipped program.
func (r *run) preparePrograms(ctx context.Context, report doctor.Report) error {
	if !r.shipped() {
		return nil
	}
	r.fixSeed()
	var err error
	r.python, err = workload.FindPython(ctx, r.Plan.Pipeline.Workload.Python, r.tools.Find)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case r.dry || !r.IgnoreBlockers && report.HasBlocker():
		return nil // the report says so
	}
	return &MissingError{Name: tool.Python, Instead: "name another with pipeline.workload.python=PATH", Told: r.IgnoreBlockers, Err: err}
}

// fixSeed gives every stage the same shuffle where the configuration leaves the
// seed open; a run that goes on takes the one it had. The specs record it.
func (r *run) fixSeed() {
	sampling := &r.Plan.Dataset.Sampling
	if !sampling.Randomize || sampling.Seed != nil {
		return
	}
	seed := rand.IntN(1 << 31)
	if r.store != nil {
		for _, path := range runs.Files(r.store.Dir(), runs.SpecFile) {
			var spec workload.Spec
			if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &spec) == nil && spec.Dataset.Sampling.Seed != nil {
				seed = *spec.Dataset.Sampling.Seed
				break
			}
		}
	}
	sampling.Seed = &seed
}

// build is what a stage of a shipped program is told and started with.
func (r *run) build(stage, folder string) (workload.Spec, []string, error) {
	python := r.python.Path
	if python == "" {
		python = r.Plan.Pipeline.Workload.Python
	}
	spec, argv, _, err := workload.Build(r.Plan, stage, workload.Places{Python: python, Program: r.place(programFolder), Out: r.place(folder), Start: r.start})
	return spec, argv, err
}

// aim makes a stage of a shipped program the command to profile; a command of
// the user's stays what it is.
func (r *run) aim(stage string) error {
	if !r.shipped() {
		return nil
	}
	_, argv, err := r.build(stage, "workload/"+stage)
	if err != nil {
		return err
	}
	r.Plan.Pipeline.Workload.Command = argv
	return nil
}

// ready writes what a stage of a shipped program needs and returns its command.
func (r *run) ready(stage, folder string) ([]string, error) {
	spec, argv, err := r.build(stage, folder)
	if err != nil {
		return nil, err
	}
	if err := workload.Unpack(workloads.FS, r.store.Path(programFolder)); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the spec of %s: %w", stage, err)
	}
	if err := r.store.WriteFile(path.Join(folder, workload.SpecName), append(text, '\n')); err != nil {
		return nil, err
	}
	return argv, r.writeDeviations()
}

// deviationsName records what the stages change of the configuration.
const deviationsName = "workload/deviations.json"

func (r *run) writeDeviations() error {
	p := r.Plan.Pipeline
	var stages []string
	for stage, on := range map[string]bool{
		plan.StepTorchProfiler: p.TorchProfiler.Enable, plan.StepTorchFlops: p.StaticAnalysis.TorchFlopCounter,
		plan.StepNsys: p.Nsys.Enable, plan.StepNcu: p.Ncu.Enable,
	} {
		if on {
			stages = append(stages, stage)
		}
	}
	slices.Sort(stages)
	list := workload.Deviations(r.Plan, stages...)
	if list == nil {
		list = []workload.Deviation{}
	}
	text, err := json.MarshalIndent(map[string]any{"schema": workload.Schema, "deviations": list}, "", "  ")
	if err != nil {
		return fmt.Errorf("write deviations: %w", err)
	}
	return r.store.WriteFile(deviationsName, append(text, '\n'))
}

// session is one run of a shipped program without a profiler.
type session struct {
	name    string // of the stage in the manifest
	stage   string // in the spec
	folder  string
	timeout time.Duration
	limit   string // the setting that bounds its time
}

func (r *run) session(ctx context.Context, s session) (capture.Outcome, error) {
	argv, err := r.ready(s.stage, s.folder)
	if err != nil {
		return capture.Outcome{}, err
	}
	command := tool.Command{Path: argv[0], Args: argv[1:], Dir: r.dir, Env: r.env}
	if err := r.store.WriteFile(s.folder+"/cmd.txt", r.commandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	out, errs, dir := s.folder+"/stdout.log", s.folder+"/stderr.log", r.store.Path(s.folder)
	return r.attempt(ctx, attempt{
		stage: s.name, command: command, shown: argv, stdout: out, stderr: errs, timeout: s.timeout,
		judge: func(ended tool.Ended, err error) capture.Outcome {
			o := judgeAlone(ended, err, r.store.Path(out), r.store.Path(errs), s.limit)
			if err == nil && ended.Stopped == tool.NotStopped {
				explain(&o, workload.Judge(ended.Exit, dir, modeOf(s.stage)), dir)
			}
			return o
		},
		files: func() []string { return append(r.left(s.folder), deviationsName) },
	})
}

func modeOf(stage string) string {
	switch stage {
	case plan.StepTorchProfiler:
		return workload.ModeTorchProfiler
	case plan.StepTorchFlops:
		return workload.ModeFlops
	}
	return workload.ModeTime
}

// explain puts what a session itself says of its end into the outcome.
func explain(o *capture.Outcome, v workload.Verdict, dir string) {
	for _, text := range v.Warnings {
		o.Warnings = append(o.Warnings, capture.Warning{ID: "session", Text: text})
		if o.Kind == capture.Captured {
			o.Kind = capture.WithWarnings
		}
	}
	if v.OK || v.Kind == "" && o.Kind == capture.WorkloadCrashed { // a signal says more than an exit code
		return
	}
	o.Kind, o.What, o.Usable = capture.WorkloadFailed, v.What, false
	if v.Evidence != "" {
		o.Evidence = v.Evidence
	}
	o.Cause, o.Next = "", v.Next
	if v.Kind != "" {
		o.Evidence = v.Evidence
		o.Cause = v.Kind
	}
	if v.Partial {
		o.Cause = joinNonEmpty(o.Cause, "what was measured before it is in "+filepath.Join(dir, workload.MetricsName))
	}
}

func joinNonEmpty(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// left are the files that a session wrote, as far as they are there.
func (r *run) left(folder string) []string {
	var out []string
	for _, name := range []string{
		workload.SpecName, "cmd.txt", workload.MetricsName, workload.OperatorsName, workload.FlopsName, workload.ErrorName,
		workload.PredictionsName, workload.TraceName,
	} {
		if exists(r.store.Path(folder + "/" + name)) {
			out = append(out, folder+"/"+name)
		}
	}
	return out
}

// baselineSession runs the shipped program as it is configured, and puts its
// metrics where they are looked for.
func (r *run) baselineSession(ctx context.Context) (capture.Outcome, error) {
	b := r.Plan.Pipeline.Unprofiled
	outcome, err := r.repeated(func(n int) (capture.Outcome, error) {
		folder := "workload/" + plan.StepUnprofiled
		if n > 1 {
			folder += fmt.Sprintf("/run-%d", n)
		}
		return r.session(ctx, session{"unprofiled", plan.StepUnprofiled, folder, b.Timeout, "pipeline.unprofiled.timeout_s"})
	})
	return outcome, errors.Join(err, r.publish(ctx, "unprofiled", "workload/"+plan.StepUnprofiled, workload.MetricsName))
}

// publish copies a file of a session to workload/ itself, where there is one.
func (r *run) publish(ctx context.Context, stage, folder, name string) error {
	text, err := os.ReadFile(r.store.Path(folder + "/" + name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if err := r.store.WriteFile("workload/"+name, text); err != nil {
		return err
	}
	return r.enter(ctx, stage, "workload/"+name)
}

func (r *run) directInference(ctx context.Context) (capture.Outcome, error) {
	d, folder := r.Plan.Pipeline.DirectInference, "workload/"+plan.StepDirectInference
	outcome, err := r.session(ctx, session{"direct_inference", plan.StepDirectInference, folder, d.Timeout, "pipeline.direct_inference.timeout_s"})
	names := []string{workload.PredictionsName}
	if !exists(r.store.Path("workload/" + workload.MetricsName)) {
		names = append(names, workload.MetricsName)
	}
	for _, name := range names {
		err = errors.Join(err, r.publish(ctx, "direct_inference", folder, name))
	}
	return outcome, err
}

func (r *run) torchProfiler(ctx context.Context) (capture.Outcome, error) {
	t := r.Plan.Pipeline.TorchProfiler
	return r.session(ctx, session{
		"torch_profiler", plan.StepTorchProfiler, "workload/" + plan.StepTorchProfiler, t.Timeout, "pipeline.torch_profiler.timeout_s",
	})
}

// profiled makes a capture run the shipped program, and lets the program's own
// words explain what came of it.
func (r *run) profiled(stage string, do func(context.Context) (capture.Outcome, error)) func(context.Context) (capture.Outcome, error) {
	if !r.shipped() {
		return do
	}
	return func(ctx context.Context) (capture.Outcome, error) {
		folder := "workload/" + stage
		argv, err := r.ready(stage, folder)
		if err != nil {
			return capture.Outcome{}, err
		}
		r.Plan.Pipeline.Workload.Command = argv
		outcome, err := do(ctx)
		if err != nil {
			return outcome, err
		}
		explainCapture(&outcome, r.store.Path(folder))
		return outcome, r.enter(ctx, stage, append(r.left(folder), deviationsName)...)
	}
}

// enter adds files to those of the last attempt of a stage.
func (r *run) enter(ctx context.Context, stage string, paths ...string) error {
	files, err := r.store.HashFiles(context.WithoutCancel(ctx), paths...)
	if err != nil {
		return err
	}
	return r.store.Update(func(m *runs.Manifest) error {
		if s := m.Step(stage); s != nil && len(s.Attempts) > 0 {
			last := &s.Attempts[len(s.Attempts)-1]
			last.Files = append(last.Files, files...)
		}
		return nil
	})
}

// explainCapture tells a session that failed under a profiler from a profiler
// that failed. A capture of a session that failed stays readable.
func explainCapture(o *capture.Outcome, dir string) {
	failure, err := workload.ReadFailure(dir)
	if err != nil || failure == nil || o.Kind == capture.Interrupted {
		return
	}
	usable, reports := o.Usable, o.Reports
	explain(o, workload.Judge(tool.Exit{Code: 1}, dir, workload.ModeProfile), dir)
	o.Usable, o.Reports = usable, reports
}

// alone are the commands of the stages without a profiler, for a dry run.
func (r *run) alone() ([]string, error) {
	p := r.Plan.Pipeline
	if !r.shipped() {
		if p.Unprofiled.Enable {
			return []string{r.line(r.workload())}, nil
		}
		return nil, nil
	}
	var lines []string
	for _, s := range []struct {
		enable bool
		stage  string
	}{
		{p.Unprofiled.Enable, plan.StepUnprofiled},
		{p.DirectInference.Enable, plan.StepDirectInference},
		{p.TorchProfiler.Enable, plan.StepTorchProfiler},
		{p.StaticAnalysis.TorchFlopCounter, plan.StepTorchFlops},
	} {
		if !s.enable {
			continue
		}
		_, argv, err := r.build(s.stage, "workload/"+s.stage)
		if err != nil {
			return nil, err
		}
		lines = append(lines, r.line(tool.Command{Path: argv[0], Args: argv[1:], Dir: r.dir, Env: r.env}))
	}
	return lines, nil
}
