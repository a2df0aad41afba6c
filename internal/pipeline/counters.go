package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/export"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	reports "github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/serving"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// ncuOptions are those of the configuration, without output; those that choose launches
// are as they are written.
// Peers tells that ranks wait for each other, so that no launch of theirs is repeated.
func (j *job) ncuOptions(target []string) ncu.Options {
	n, _ := j.ncuPlan()
	o := ncu.Options{NcuCLI: n.CLI, Command: target, Peers: workload.HasRanks(target) && !n.Pick.Collectives}
	if o.ReplayMode == plan.ReplayAuto {
		o.ReplayMode = plan.ReplayKernel
	}
	if workload.Serves(j.plan) {
		e, _ := j.serverLine()
		o.ProfileFromStart, o.Kill = o.ProfileFromStart && e.Profile == nil, true
	}
	if j.lists != nil {
		o.KnownSets, o.KnownSections = j.lists.Sets, j.lists.Sections
	}
	return o
}

// ncuCommands are the counter capture as it is configured, before there is a
// timeline.
func ncuCommands(j *job) ([]tool.Command, error) {
	o, err := j.ncuWritten()
	if err != nil {
		return nil, err
	}
	command, err := j.ncuLine(o)
	return []tool.Command{command}, err
}

// ncuWritten are the options of ncu that the configuration writes out.
func (j *job) ncuWritten() (ncu.Options, error) {
	target, err := j.target(plan.StepNcu)
	if err != nil {
		return ncu.Options{}, err
	}
	o, err := pick.AsWritten(j.ncuOptions(target))
	o.Output = j.place(runs.NcuOutput(""))
	return o, err
}

// ncuPlan is what the plan says of ncu, less what this release cannot do.
// FellBack tells that a filter mode stands in for the one of "auto".
func (j *job) ncuPlan() (n plan.Ncu, fellBack bool) {
	return j.plan.Pipeline.Ncu.Fit(ncu.PerLaunchConfig(j.ncu.Version))
}

// ncuLine is ncu's command; set are further variables of the program.
// Variables that are set later win over earlier ones.
func (j *job) ncuLine(o ncu.Options, set ...string) (tool.Command, error) {
	launch, ranks := j.launch(o.Command)
	if ranks {
		o.Command = launch.Program
	}
	args, env, err := ncu.Args(o, j.ncu.Version)
	if err != nil {
		return tool.Command{}, err
	}
	base := j.env
	if workload.Serves(j.plan) {
		_, server := j.serverLine()
		base = server.Env
	}
	command := tool.Command{Path: j.ncu.Path, Args: args, Dir: j.dir, Env: tool.Environ(base, slices.Concat(env, j.annotateOver(base, plan.StepNcu), set)...)}
	if ranks {
		return j.behind(launch, command, "--export", plan.StepNcu, j.countedRank())
	}
	return command, nil
}

// captureCounters counts the launches that pick chooses from the timeline;
// where there is none, or the configuration names the launches itself, what the
// configuration says.
// The server of a serving run is counted by the busiest window of its timeline.
func captureCounters(ctx context.Context, j *job) (capture.Outcome, error) {
	o, err := profiled(ctx, j, plan.StepNcu, func(target []string) (capture.Outcome, error) {
		p := j.plan.Pipeline
		n, _ := j.ncuPlan()
		if workload.HasRanks(target) && p.Ncu.Pick.Collectives && ncu.PeersOption(j.lists) == "" {
			j.tell(noCommunicator, fact.Name("tool", j.ncu.String()))
		}
		name := j.store.Timeline()
		if workload.Serves(j.plan) {
			name = serving.WindowTimeline(j.store)
		}
		var t *pick.Launches
		if name != "" {
			var err error
			if t, err = pick.ReadTrace(ctx, j.store.Path(name)); err != nil {
				return capture.Outcome{}, err
			}
		}
		begins, err := j.beginning(t)
		if err != nil {
			return capture.Outcome{}, err
		}
		counting := pick.Counting{
			Nsys: p.Nsys, Ncu: n, Shown: p.Regions, Base: j.ncuOptions(target), Version: j.ncu.Version, Program: j.programTime(), BriefStart: workload.BriefWarmup(j.plan), Gates: j.gated(target),
			Timeline: t, TimelineName: name, Window: workload.Serves(j.plan), Ranges: begins.ranges, Begins: begins.why, Client: p.Server.Load.Kind == plan.LoadClient,
			Dir: j.store.Dir(), Say: j.Say,
			Count: func(ctx context.Context, r pick.Request) (capture.Outcome, error) {
				if !workload.Serves(j.plan) {
					return countWith(ctx, j, target, r, nil)
				}
				return countServer(ctx, j, target, r, begins)
			},
			Refused: func(o capture.Outcome) error { return capture.Refuse(j.store, plan.StepNcu, j.dir, o) },
			Save:    func(t *pick.Targets) error { return j.store.WriteJSON(runs.TargetsName, t) },
		}
		if begins.gate != "" {
			counting.Base.ProfileFromStart = false
		}
		o, err := counting.Do(ctx)
		if err != nil {
			return o, err
		}
		return o, j.store.AddFiles(ctx, plan.StepNcu, j.store.Present(".", runs.TargetsName)...)
	})
	if err == nil {
		err = listSections(ctx, j)
	}
	if err != nil || !j.plan.Pipeline.Ncu.RawCSV || !o.Usable {
		return o, err
	}
	made, problems := export.CountersCSV(j.store)
	return o, j.exported(ctx, plan.StepNcu, made, problems)
}

// exported records what was made of a capture on request. The capture stays good
// where that fails: the failure is told.
func (j *job) exported(ctx context.Context, step string, made []string, problems []error) error {
	for _, err := range problems {
		j.tellError("note", err)
	}
	return j.store.AddFiles(ctx, step, made...)
}

// gated tells that annotation can open and close gates while ncu runs the workload:
// it got in under nsys, and the workload is one process.
// Without side files of nsys it never got in, and gates would stay shut.
func (j *job) gated(target []string) bool {
	_, ranks := j.launch(target)
	return !ranks && !workload.Serves(j.plan) && j.plan.Pipeline.Ncu.CLI.ProfileFromStart && j.annotation(plan.StepNcu) != nil && len(annotateFiles(j, plan.StepNsys)) > 0
}

// countWith starts one process of ncu and records it. Server is what a server is
// counted with; nil for another program.
func countWith(ctx context.Context, j *job, target []string, r pick.Request, server *driven) (capture.Outcome, error) {
	cli := j.plan.Pipeline.Ncu.CLI
	r.Options.Output = j.store.Path(r.Output)
	var set, gates []string
	writeGates := func(list any) error {
		file := path.Join(path.Dir(r.Output), runs.GatesName)
		gates = []string{j.store.Path(file)}
		set = append(set, workload.GatesVariable+"="+gates[0])
		return j.store.WriteJSON(file, list)
	}
	switch {
	case len(r.Gates) > 0:
		if err := writeGates(r.Gates); err != nil {
			return capture.Outcome{}, err
		}
	case server != nil && server.gate != "":
		set = server.set
		if err := writeGates(map[string]string{"while": server.gate}); err != nil {
			return capture.Outcome{}, err
		}
	}
	command, err := j.ncuLine(r.Options, set...)
	if err != nil {
		return capture.Outcome{}, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Options.Output), 0o777); err != nil {
		return capture.Outcome{}, fmt.Errorf("make the folder of a report: %w", err)
	}
	j.display.expected = r.Expected // the live line counts from the start of a process
	c := j.capture(capture.Ncu, command, target, r.Output, j.plan.Pipeline.Ncu.Timeout)
	if server != nil {
		c.Retries, c.Counted = 0, server.counted // who drives the server does so once
	}
	c.Expect.Tables = pick.Named(cli.Metrics)
	c.Expect.Launches = r.Launches
	got := map[string]int64{}
	c.Check = func(_ context.Context, report string) (*capture.Content, error) {
		content, err := capture.CheckCounters(report)
		content.AddTo(got)
		return content, err
	}
	result := capture.Run(ctx, c)
	asked := c.Expect.Tables
	if cli.Set != "" || len(cli.Sections) > 0 || len(asked) < len(cli.Metrics) || len(asked) == 0 {
		asked = []string{capture.DataResults}
	}
	result.JudgeMissing(asked, got)
	return result.Outcome, result.Store(ctx, j.store, path.Dir(r.Output), j.dir, slices.Concat(result.Reports, result.Kept, gates))
}

// listSections writes the sets and sections of ncu with their cost into the run,
// where ncu could list them.
// That it cannot be written is told and costs nothing else.
func listSections(ctx context.Context, j *job) error {
	if j.lists == nil {
		return nil
	}
	err := j.store.WriteBy(runs.SectionsFile, func(w io.Writer) error {
		return reports.WriteSections(w, j.ncu.String(), pick.SectionCosts(j.lists.Sets, j.lists.Sections, j.lists.SetMetrics))
	})
	if err != nil {
		j.tellError("note", err)
		return nil
	}
	return j.store.AddFiles(ctx, plan.StepNcu, runs.SectionsFile)
}
