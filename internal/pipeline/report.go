package pipeline

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// captured tells whether a run holds anything to analyze.
// A run that cannot be read holds nothing.
func captured(dir string) bool {
	in, err := analysis.FromRun(dir)
	return err == nil && !in.Empty()
}

// firstFindings are how many findings of the first answer the screen shows.
const firstFindings = 3

// firstAnswer reports on the timeline before counters are taken: who stops the
// run after that has a whole report. That it could not be made costs nothing.
// It is usable whatever happens: a later report does not stand on it.
func firstAnswer(ctx context.Context, j *job) (capture.Outcome, error) {
	none := capture.Outcome{Kind: capture.WithWarnings, What: fact.New(noFirstAnswer), Usable: true}
	if len(runs.Files(j.store.Dir(), runs.TimelineFile)) == 0 {
		return none, nil
	}
	o, err := writeReport(ctx, j, plan.StepFirstAnswer)
	if err != nil || !o.Usable {
		none.Evidence = o.Evidence
		return none, err
	}
	j.tell(firstAnswerIs, fact.NS("time", time.Since(j.store.Manifest().Created).Nanoseconds()), fact.File("file", j.store.Path(runs.PageName)))
	for i, f := range j.result.Findings[:min(firstFindings, len(j.result.Findings))] {
		j.tell(firstAnswerItem, fact.Count("n", i+1), fact.Because("finding", f.Fact))
	}
	for _, n := range j.result.FirstNotes() {
		j.tell(firstAnswerNote, fact.Because("note", n.Fact))
	}
	return o, nil
}

// report is the last step: it needs files only.
func report(ctx context.Context, j *job) (capture.Outcome, error) {
	return writeReport(ctx, j, plan.StepReport)
}

// writeReport analyzes what a run holds and writes the reports, as a step.
// Only the result.json must be written for the step to be good; pages that fail are a
// warning.
func writeReport(ctx context.Context, j *job, step string) (capture.Outcome, error) {
	dir := j.store.Dir()
	in, err := analysis.FromRun(dir)
	if err != nil {
		return capture.Outcome{}, err
	}
	in.Version, in.Recorded, in.Status = j.Version, j.played, string(runs.StatusDone) // unless a later step fails
	if slices.ContainsFunc(j.store.Manifest().Steps, func(s runs.Step) bool { return s.State == runs.StateFailed }) {
		in.Status = string(runs.StatusFailed)
	}
	in.Categories, in.DefaultScope, in.Preliminary = j.Categories, true, step == plan.StepFirstAnswer
	in.Events = true
	j.display.line(message.Phrase("report-reading"))
	result, err := analysis.Analyze(ctx, in)
	if ctx.Err() != nil {
		return capture.Outcome{}, ctx.Err()
	}
	if err != nil {
		return failedReport(noReport, dir, err), nil
	}
	j.display.line(message.Phrase("report-writing"))
	files, err := folder.Write(dir, result)
	switch {
	case runs.IsDiskFull(err):
		return capture.Outcome{}, err
	case err != nil && len(files) == 0, err != nil && filepath.Base(files[0]) != runs.ResultName:
		return failedReport(reportsUnwritten, dir, err), nil
	}
	o := capture.Outcome{Kind: capture.Captured, What: fact.New(reportsWritten), Usable: true}
	if err != nil {
		o.Kind, o.Evidence = capture.WithWarnings, capture.ErrorFact(err)
	}
	if err := recordReport(ctx, j, step, o, files); err != nil {
		return capture.Outcome{}, err
	}
	j.result = result
	return o, nil
}

// failedReport leaves the captures usable: the reports can be made again from them.
func failedReport(what fact.Code, dir string, err error) capture.Outcome {
	return capture.Outcome{Kind: capture.Unknown, What: fact.New(what), Evidence: capture.ErrorFact(err), Cause: fact.New(causeOfReport, fact.File("dir", dir))}
}

// recordReport enters what was written into the manifest. The files of the first
// answer are replaced by those of the report.
func recordReport(ctx context.Context, j *job, step string, o capture.Outcome, files []string) error {
	err := j.store.Update(func(m *runs.Manifest) error {
		if first := m.Step(plan.StepFirstAnswer); first != nil && step == plan.StepReport {
			for i := range first.Attempts {
				first.Attempts[i].Files = nil
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := j.store.StartAttempt(step, j.store.Dir(), "deepprof", "analyze", j.store.Dir()); err != nil {
		return err
	}
	hashed, err := j.store.HashFiles(context.WithoutCancel(ctx), j.store.Within(files...)...)
	if err != nil {
		return err
	}
	return j.store.EndAttempt(step, runs.Result{Outcome: o.Stored(), Files: hashed})
}

// writeProvenance records the machine and the inputs.
// What cannot be found out is noted as missing, and is no error.
func writeProvenance(ctx context.Context, j *job) (capture.Outcome, error) {
	c := runs.Collector{Output: tool.Text}
	for _, t := range []tool.Tool{j.nsys, j.ncu} {
		if t.Path != "" {
			c.Tools = append(c.Tools, runs.ToolInfo{Name: t.Name, Path: t.Path, Version: t.Version.String(), Missing: t.Problem})
		}
	}
	if t, err := j.finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil {
		c.NvidiaSMI = t.Path
	}
	if t, err := j.finder.Find(ctx, tool.Spec{Name: tool.Python, Path: j.program(workload.PythonPath(j.plan.Pipeline.Workload.Python))}); err == nil {
		c.Python = t.Path
	}
	if git, err := exec.LookPath("git"); err == nil {
		c.Git = git
	}
	if err := j.store.WriteJSON(runs.EnvName, c.Collect(ctx)); err != nil {
		return capture.Outcome{}, err
	}
	command, _ := j.target(plan.StepUnprofiled) // that of other steps differs in its spec alone
	w := runs.WorkloadInput{Command: command, Dir: j.dir, Start: j.start}
	if workload.Shipped(j.plan) {
		w.Name = runs.ShippedPrefix + j.plan.Pipeline.Workload.Kind
	}
	files, filesErr := workload.DatasetFiles(j.plan.Dataset, j.start)
	in := runs.DescribeInputs(ctx, w, j.plan, files)
	if filesErr != nil {
		in.Missing["dataset"] = filesErr.Error()
	}
	if err := j.store.WriteInputs(in); err != nil {
		return capture.Outcome{}, err
	}
	o := capture.Outcome{Kind: capture.Captured, Usable: true, What: fact.New(provenanceRecorded)}
	return o, capture.StoreWork(ctx, j.store, plan.StepProvenance, o, j.store.Present(".", runs.EnvName, runs.ConfigName, runs.PlanName, runs.InputsName)...)
}

// noteSecrets says that a report cannot be given away; see capture.SecretsInside.
func (j *job) noteSecrets(report string) {
	if f := capture.SecretsInside(report, append(os.Environ(), j.env...)); !f.IsZero() {
		j.Say(message.Text(f))
	}
}
