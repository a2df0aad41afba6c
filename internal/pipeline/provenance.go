package pipeline

import (
	"context"
	"fmt"
	"maps"
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

// envKey is the setting that gives the workload variables of its own.
const envKey = "pipeline.workload.env"

// secretEnv are the variables of the configuration whose values are not
// recorded.
func (j *job) secretEnv() []string {
	var env []string
	for name, value := range j.plan.Pipeline.Workload.Env {
		env = append(env, name+"="+value)
	}
	return redact.SecretNames(env)
}

// secrets are the values that the run must not show: of the environment, the
// command line, the configuration and the variables of the workload.
func (j *job) secrets() *redact.Values {
	v := redact.NewValues(append(os.Environ(), j.env...))
	v.LearnArgs(j.Argv)
	v.LearnArgs(j.plan.Pipeline.Workload.Command)
	v.LearnConfig(j.Config)
	for name, value := range j.plan.Pipeline.Workload.Env {
		v.LearnVar(name, value)
	}
	return v
}

// recordOfPlan is what a run has from its first moment: the configuration as it
// was composed, and the typed plan, without the values of secrets.
func (j *job) recordOfPlan() (map[string][]byte, error) {
	secret := j.secretEnv()
	config, err := redact.YAML(j.Config, envKey, secret)
	if err != nil {
		return nil, err
	}
	p := *j.plan
	p.Pipeline.Workload.Env = maps.Clone(p.Pipeline.Workload.Env)
	for _, name := range secret {
		p.Pipeline.Workload.Env[name] = redact.Mark
	}
	typed, err := plan.Marshal(&p)
	return map[string][]byte{runs.ConfigName: config, runs.PlanName: typed}, err
}

// writeFiles writes the further files of the run, without the values of
// secrets.
func (j *job) writeFiles() error {
	for name, text := range j.Files {
		clean := redact.Overrides([]string{string(text)}, envKey, j.plan.Pipeline.Workload.Env, j.secretEnv())[0]
		if err := j.store.WriteFile(name, []byte(clean)); err != nil {
			return err
		}
	}
	return nil
}

// writeProvenance records the machine and the inputs.
func writeProvenance(ctx context.Context, j *job) (made, error) {
	c := runs.Collector{Output: output}
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

// output runs a program for what it prints.
func output(ctx context.Context, path string, args ...string) ([]byte, error) {
	stdout, stderr, exit, err := tool.Output(ctx, tool.Command{Path: path, Args: args})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %s", exit, strings.TrimSpace(string(stderr)))
	}
	return stdout, err
}

// shellLine is a command to paste into a shell, without the values of secrets:
// what the configuration sets of them is left out.
func shellLine(c tool.Command) string {
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return redact.Secret(name, value)
	})
	return c.Line(os.Environ())
}

// commandFile is cmd.txt of a program that runs without a profiler.
func commandFile(c tool.Command) []byte {
	return []byte(capture.Unrecorded(c.Env, redact.Secret) + shellLine(c) + "\n")
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
