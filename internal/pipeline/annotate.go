package pipeline

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// annotation is what a step puts into the workload; nil for none.
func (j *job) annotation(step string) *workload.Annotation {
	if j.store != nil && exists(j.store.Path(runs.AnnotateOff)) {
		return nil
	}
	return workload.AnnotationOf(j.plan, step, j.place(runs.AnnotateFolder), j.place(runs.AnnotateFolder+"/"+step))
}

// annotateOver are the variables that annotation adds to an environment of a step.
func (j *job) annotateOver(env []string, step string) []string {
	return j.annotation(step).Variables(env)
}

// annotated runs a step with annotation. Where the step fails with it, though the
// workload ran to its end without a profiler, it is done again without it. Only
// if that helps is annotation the cause, and off for the rest of the run.
func annotated(ctx context.Context, j *job, step string, take func() (capture.Outcome, error)) (capture.Outcome, error) {
	a := j.annotation(step)
	if a == nil {
		return take()
	}
	if err := a.Install(); err != nil {
		return capture.Outcome{}, err
	}
	o, err := take()
	if err == nil && cameToNothing(o) && j.unprofiledTime() > 0 && ctx.Err() == nil {
		j.tell(annotationFails, fact.Name("step", step))
		if err := os.WriteFile(j.store.Path(runs.AnnotateOff), []byte(step+": "+message.Verdict(string(o.Kind), o.What, o.Evidence)+"\n"), 0o644); err != nil {
			return o, err
		}
		if _, err := j.store.SetAside(step, step); err != nil {
			return o, err
		}
		if o, err = take(); err == nil && cameToNothing(o) {
			err = os.Remove(j.store.Path(runs.AnnotateOff))
		}
	}
	return o, errors.Join(err, j.store.AddFiles(ctx, step, annotateFiles(j, step)...))
}

// cameToNothing reports whether the workload failed, or ended before it did
// anything that was asked for.
func cameToNothing(o capture.Outcome) bool {
	return o.Kind == capture.WorkloadFailed || o.Kind == capture.MissingData && !o.Usable
}

// annotateFiles are the side files of a step.
func annotateFiles(j *job, step string) []string {
	folder := path.Join(runs.AnnotateFolder, step)
	entries, _ := os.ReadDir(j.store.Path(folder)) // absent where no process imported torch
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, path.Join(folder, e.Name()))
		}
	}
	if exists(j.store.Path(runs.AnnotateOff)) {
		files = append(files, runs.AnnotateOff)
	}
	return files
}

// measureAnnotation runs the workload annotated and without a profiler, as often
// as it ran without annotation.
func measureAnnotation(ctx context.Context, j *job) (made, error) {
	a := j.annotation(plan.StepAnnotateCost)
	if a == nil {
		return made{Outcome: capture.Outcome{Kind: capture.Captured, Usable: true}}, nil
	}
	if err := a.Install(); err != nil {
		return made{}, err
	}
	return runProgram(ctx, j, plan.StepAnnotateCost, runs.AnnotateFolder+"/"+plan.StepAnnotateCost, tool.Environ(j.env, j.annotateOver(j.env, plan.StepAnnotateCost)...))
}
