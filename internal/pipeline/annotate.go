package pipeline

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// annotation is what a step puts into the workload; nil for none. The sessions
// that ship with deepprof have stages of their own, so that modules are put into
// these.
func (j *job) annotation(step string) *workload.Annotation {
	if step == plan.StepNcu && workload.Serves(j.plan) {
		return nil // its launches are told apart by their configuration, and ranges slow them
	}
	p := j.plan.Pipeline
	mode := p.Annotate
	if mode == "auto" && workload.Shipped(j.plan) {
		mode = "modules"
	}
	off := mode == "" || mode == "none" || mode == "stages" && workload.Shipped(j.plan)
	if off || j.store != nil && exists(j.store.Path(runs.AnnotateOff)) {
		return nil
	}
	return &workload.Annotation{
		Mode: mode, Depth: p.AnnotateDepth, Limit: p.AnnotateLimit,
		Code: j.place(runs.AnnotateFolder), Out: j.place(runs.AnnotateFolder + "/" + step),
	}
}

// annotateEnv are the variables that annotation adds to those of a step.
func (j *job) annotateEnv(step string) []string { return j.annotateOver(j.env, step) }

// annotateOver is annotateEnv for another environment than that of the workload.
func (j *job) annotateOver(env []string, step string) []string {
	a := j.annotation(step)
	if a == nil {
		return nil
	}
	pythonPath := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PYTHONPATH="); ok {
			pythonPath = value
		}
	}
	var set []string
	for name, value := range a.Env(pythonPath) {
		set = append(set, name+"="+value)
	}
	slices.Sort(set)
	return set
}

// annotated runs a step with annotation. Where the workload fails with it, though
// it ran to its end without a profiler, the step is done again without it.
func annotated(ctx context.Context, j *job, step string, take func() (capture.Outcome, error)) (capture.Outcome, error) {
	a := j.annotation(step)
	if a == nil {
		return take()
	}
	if err := a.Install(); err != nil {
		return capture.Outcome{}, err
	}
	o, err := take()
	failed := o.Kind == capture.WorkloadFailed || o.Kind == capture.MissingData && !o.Usable // it ended before it did anything
	if err == nil && failed && j.unprofiledTime() > 0 && ctx.Err() == nil {
		j.tell(annotationFails, fact.Name("step", step))
		if err := os.WriteFile(j.store.Path(runs.AnnotateOff), []byte(step+": "+message.Verdict(string(o.Kind), o.What, o.Evidence)+"\n"), 0o644); err != nil {
			return o, err
		}
		if _, err := j.store.SetAside(step, step); err != nil {
			return o, err
		}
		o, err = take()
	}
	return o, errors.Join(err, j.store.AddFiles(ctx, step, annotateFiles(j, step)...))
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
	return runProgram(ctx, j, plan.StepAnnotateCost, runs.AnnotateFolder+"/"+plan.StepAnnotateCost, tool.Environ(j.env, j.annotateEnv(plan.StepAnnotateCost)...))
}
