package pipeline

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// writeProvenance records the machine and the inputs.
func writeProvenance(ctx context.Context, j *job) (made, error) {
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
	if err := j.store.WriteEnv(c.Collect(ctx)); err != nil {
		return made{}, err
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
		return made{}, err
	}
	o := capture.Outcome{Kind: capture.Captured, Usable: true, What: fact.New(provenanceRecorded)}
	wrote := slices.DeleteFunc([]string{runs.EnvName, runs.ConfigName, runs.PlanName, runs.InputsName}, func(name string) bool { return !exists(j.store.Path(name)) })
	return made{Outcome: o}, capture.StoreWork(ctx, j.store, plan.StepProvenance, o, wrote...)
}

// noteSecrets says that a report cannot be given away: nsys stores the
// environment of every process it sees, and cleaning that of the workload does
// not help against it.
func (j *job) noteSecrets(report string) {
	found := redact.SecretNames(append(os.Environ(), j.env...))
	if len(found) == 0 {
		return
	}
	const most = 5
	params := []fact.Param{fact.File("file", filepath.Base(report)), fact.Name("names", strings.Join(found[:min(most, len(found))], ", "))}
	if len(found) > most {
		params = append(params, fact.Count("more", len(found)-most))
	}
	j.tell(reportSecrets, params...)
}
