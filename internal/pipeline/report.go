package pipeline

import (
	"context"
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
)

// captured tells whether a run holds anything to analyze.
func captured(dir string) bool {
	in, err := analysis.FromRun(dir)
	return err == nil && !in.Empty()
}

// firstFindings are how many findings of the first answer the screen shows.
const firstFindings = 3

// firstAnswer reports on the timeline before counters are taken: who stops the
// run after that has a whole report. That it could not be made costs nothing.
func firstAnswer(ctx context.Context, j *job) (made, error) {
	none := capture.Outcome{Kind: capture.WithWarnings, What: fact.New(noFirstAnswer), Usable: true}
	if !holdsTimeline(j.store.Manifest()) {
		return made{Outcome: none}, nil
	}
	m, err := writeReport(ctx, j, plan.StepFirstAnswer)
	if err != nil || m.result == nil {
		none.Evidence = m.Evidence
		return made{Outcome: none}, err
	}
	j.tell(firstAnswerIs, fact.NS("time", time.Since(j.store.Manifest().Created).Nanoseconds()), fact.File("file", j.store.Path(folder.PageFile)))
	for i, f := range m.result.Findings[:min(firstFindings, len(m.result.Findings))] {
		j.tell(firstAnswerItem, fact.Count("n", i+1), fact.Because("finding", f.Fact))
	}
	for _, n := range m.result.FirstNotes() {
		j.tell(firstAnswerNote, fact.Because("note", n.Fact))
	}
	return m, nil
}

// holdsTimeline tells whether nsys left something to answer from.
func holdsTimeline(m runs.Manifest) bool {
	s := m.Step(plan.StepNsys)
	return s != nil && slices.ContainsFunc(s.Files(), func(f runs.File) bool { return filepath.Ext(f.Path) == ".sqlite" })
}

// report is the last step: it needs files only.
func report(ctx context.Context, j *job) (made, error) {
	return writeReport(ctx, j, plan.StepReport)
}

// writeReport analyzes what a run holds and writes the reports, as a step.
func writeReport(ctx context.Context, j *job, step string) (made, error) {
	dir := j.store.Dir()
	in, err := analysis.FromRun(dir)
	if err != nil {
		return made{}, err
	}
	in.Version, in.Recorded, in.Status = j.Version, j.played, string(statusSoFar(j.store.Manifest()))
	in.Categories, in.DefaultScope, in.Preliminary = j.Categories, true, step == plan.StepFirstAnswer
	j.display.line(message.Phrase("report-reading"))
	result, err := analysis.Analyze(ctx, in)
	if ctx.Err() != nil {
		return made{}, ctx.Err()
	}
	if err != nil {
		return made{Outcome: failedReport(noReport, dir, err)}, nil
	}
	j.display.line(message.Phrase("report-writing"))
	files, err := folder.Write(dir, result)
	switch {
	case runs.IsDiskFull(err):
		return made{}, err
	case err != nil && len(files) == 0, err != nil && filepath.Base(files[0]) != folder.ResultFile:
		return made{Outcome: failedReport(reportsUnwritten, dir, err)}, nil
	}
	o := capture.Outcome{Kind: capture.Captured, What: fact.New(reportsWritten), Usable: true}
	if err != nil {
		o.Kind, o.Evidence = capture.WithWarnings, errorFact(err)
	}
	if err := recordReport(ctx, j, step, o, files); err != nil {
		return made{}, err
	}
	return made{Outcome: o, result: result}, nil
}

func failedReport(what fact.Code, dir string, err error) capture.Outcome {
	return capture.Outcome{Kind: capture.Unknown, What: fact.New(what), Evidence: errorFact(err), Cause: fact.New(causeOfReport, fact.File("dir", dir))}
}

// statusSoFar is how a run will end by the steps that are done, if nothing goes
// wrong any more.
func statusSoFar(m runs.Manifest) runs.Status {
	for i := range m.Steps {
		if m.Steps[i].State == runs.StateFailed {
			return runs.StatusFailed
		}
	}
	return runs.StatusDone
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
