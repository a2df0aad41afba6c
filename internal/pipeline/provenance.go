package pipeline

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// provenance records the machine, the configuration and the inputs.
func (r *run) provenance(ctx context.Context) error {
	const stage = "provenance"
	if err := r.store.StartStep(stage); err != nil {
		return err
	}
	if err := r.store.StartAttempt(stage, ""); err != nil {
		return err
	}
	if err := r.writeProvenance(ctx); err != nil {
		return err
	}
	files, err := r.store.HashFiles(ctx, runs.EnvName, runs.ConfigName, runs.InputsName)
	if err != nil {
		return err
	}
	written := runs.Outcome{Kind: "written", Usable: true, Text: "environment, configuration and inputs are recorded"}
	if err := r.store.EndAttempt(stage, runs.Result{Outcome: written, Files: files}); err != nil {
		return err
	}
	return r.store.EndStep(stage, runs.StateDone, "")
}

func (r *run) writeProvenance(ctx context.Context) error {
	c := runs.Collector{Output: output}
	for _, t := range []tool.Tool{r.nsys, r.ncu} {
		if t.Path != "" {
			c.Tools = append(c.Tools, runs.ToolInfo{Name: t.Name, Path: t.Path, Version: t.Version.String(), Missing: t.Problem})
		}
	}
	if t, err := r.tools.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil {
		c.NvidiaSMI = t.Path
	}
	if t, err := r.tools.Find(ctx, tool.Spec{Name: tool.Python, Path: workload.PythonPath(r.Plan.Pipeline.Workload.Python)}); err == nil {
		c.Python = t.Path
	}
	if git, err := exec.LookPath("git"); err == nil {
		c.Git = git
	}
	if err := r.store.WriteEnv(c.Collect(ctx)); err != nil {
		return err
	}
	config, err := redactConfig(r.Config, r.secretEnv())
	if err != nil {
		return err
	}
	if err := r.store.WriteConfig(config); err != nil {
		return err
	}
	return r.store.WriteInputs(r.inputs(ctx))
}

// inputs describes what the workload reads, as far as the configuration names
// it. What cannot be described is named as missing: it does not stop a run.
func (r *run) inputs(ctx context.Context) runs.Inputs {
	w, model, data := r.Plan.Pipeline.Workload, r.Plan.Model, r.Plan.Dataset
	command := w.Command
	if r.shipped() { // that of a stage differs in its spec alone
		_, command, _ = r.build(plan.StepUnprofiled, "workload/"+plan.StepUnprofiled)
	}
	in := runs.Inputs{Workload: runs.WorkloadInput{Command: command, Dir: r.dir, Start: r.start}, Missing: map[string]string{}}
	if model.Path != "" {
		m, err := runs.IdentifyModel(ctx, model.Path)
		if err != nil {
			in.Missing["model"] = err.Error()
		} else {
			m.Name, m.Dtype = model.Name, model.DType
			in.Model = &m
		}
	}
	paths := []string{data.SubsetFilelist, data.Root}
	for _, path := range slices.DeleteFunc(paths, func(p string) bool { return p == "" }) {
		files, err := runs.DescribeFiles(ctx, path)
		if err != nil {
			in.Missing["dataset "+path] = err.Error()
			continue
		}
		in.Datasets = append(in.Datasets, files...)
	}
	return in
}

// output runs a program for what it prints.
func output(ctx context.Context, path string, args ...string) ([]byte, error) {
	stdout, stderr, exit, err := tool.Output(ctx, tool.Command{Path: path, Args: args})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %s", exit, strings.TrimSpace(string(stderr)))
	}
	return stdout, err
}

// workloadEnv is the environment of the program: that of this process, the
// variables of the configuration, and the device.
func workloadEnv(p *plan.Plan) ([]string, error) {
	var set []string
	for name, value := range p.Pipeline.Workload.Env {
		set = append(set, name+"="+value)
	}
	switch device, numbered := strings.CutPrefix(p.Device, "cuda:"); {
	case p.Device == "all":
	case p.Device == "cpu":
		set = append(set, "CUDA_VISIBLE_DEVICES=")
	case !numbered:
		set = append(set, "CUDA_VISIBLE_DEVICES="+p.Device)
	default:
		visible, err := visibleDevice(os.Getenv("CUDA_VISIBLE_DEVICES"), device)
		if err != nil {
			return nil, err
		}
		set = append(set, "CUDA_VISIBLE_DEVICES="+visible)
	}
	return tool.Environ(os.Environ(), set...), nil
}

// visibleDevice gives the device of that index among those that are visible
// already.
func visibleDevice(visible, index string) (string, error) {
	if visible == "" {
		return index, nil
	}
	list := strings.Split(visible, ",")
	var n int
	if _, err := fmt.Sscanf(index, "%d", &n); err != nil || n < 0 || n >= len(list) {
		return "", fmt.Errorf("device cuda:%s: CUDA_VISIBLE_DEVICES=%s shows %d devices", index, visible, len(list))
	}
	return strings.TrimSpace(list[n]), nil
}
