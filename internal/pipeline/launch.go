package pipeline

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// launch is the launcher of the workload, behind which profilers are put. A
// workload without one, or whose program cannot be told, is captured as a tree of
// processes.
func (j *job) launch(target []string) (workload.Launch, bool) {
	if workload.Shipped(j.plan) || workload.Serves(j.plan) {
		return workload.Launch{}, false
	}
	return workload.FindLaunch(target)
}

// behind puts a profiler behind a launcher: the launcher starts a script in each
// rank, and that the profiler. The command of the profiler has the program at its
// end; ranks says which ranks get it. All of them write their own report, unless
// there is one rank only.
func (j *job) behind(l workload.Launch, profiler tool.Command, outputOption, step, ranks string) (tool.Command, error) {
	s := workload.Shim{Ranks: ranks, Folder: j.place(step), Profiler: []string{profiler.Path}, Single: step == plan.StepNcu}
	if step == plan.StepNcu && j.plan.Pipeline.Ncu.Pick.Collectives {
		s.Peers = ncu.PeersOption(j.lists)
	}
	for _, arg := range profiler.Args[:len(profiler.Args)-len(l.Program)] {
		if path, ok := strings.CutPrefix(arg, outputOption+"="); ok {
			s.Output = outputOption + "=" + shellescape.Quote(path)
			continue
		}
		s.Profiler = append(s.Profiler, arg)
	}
	for _, kv := range profiler.Env { // launchers do not always hand the environment on
		if !slices.Contains(j.env, kv) {
			s.Env = append(s.Env, kv)
		}
	}
	script := j.place(path.Join(step, workload.ShimName))
	if j.store != nil {
		if err := os.Remove(j.stopFile(step)); err != nil && !os.IsNotExist(err) {
			return tool.Command{}, fmt.Errorf("prepare the ranks: %w", err)
		}
		if err := j.store.WriteFile(path.Join(step, workload.ShimName), []byte(s.Script())); err != nil {
			return tool.Command{}, err
		}
		if err := os.Chmod(script, 0o755); err != nil {
			return tool.Command{}, fmt.Errorf("make the script of ranks: %w", err)
		}
	}
	words := slices.Concat(l.Head, []string{script}, l.Program)
	return tool.Command{Path: words[0], Args: words[1:], Dir: profiler.Dir, Env: l.Patient(profiler.Env)}, nil
}

// stopFile asks the ranks of a step to finish by being there.
func (j *job) stopFile(step string) string {
	return j.place(path.Join(step, workload.RanksFolder, workload.StopName))
}

// setBehind tells a capture that its command is a launcher, and how to stop what
// that starts.
func (j *job) setBehind(c *capture.Capture, step string, target []string) {
	if _, c.Behind = j.launch(target); !c.Behind {
		return
	}
	c.Stop = func() {
		if err := os.WriteFile(j.stopFile(step), nil, 0o666); err != nil {
			j.tell(ranksUnasked, fact.Error("error", err))
		}
	}
}

// countedRank is the rank that counters are taken of: the lowest with a timeline,
// else the first that the plan chooses.
func (j *job) countedRank() string {
	if j.store != nil {
		if of := j.store.RankTimeline(); of != nil && of.Of.Rank != nil {
			return strconv.Itoa(*of.Of.Rank)
		}
	}
	if list := j.plan.Pipeline.Ranks; len(list) > 0 {
		if _, err := strconv.Atoi(list[0]); err == nil {
			return list[0]
		}
	}
	return "0"
}

// keptRanks is a step that goes on with the timelines that ranks left before it
// was cut off; nil where there are none. The job is not started again for the other
// ranks, since timelines of two jobs cannot be held against each other.
func keptRanks(ctx context.Context, j *job, s step) (func(context.Context, *job) (made, error), error) {
	if s.name != plan.StepNsys {
		return nil, nil
	}
	target, err := j.target(plan.StepNsys)
	if _, ranks := j.launch(target); err != nil || !ranks {
		return nil, nil
	}
	o, files, err := capture.KeptRanks(ctx, j.store, j.nsys, j.plan.Pipeline.Nsys)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	j.tell(ranksStand, fact.Because("what", o.What))
	return func(ctx context.Context, j *job) (made, error) {
		return made{Outcome: o}, capture.StoreWork(ctx, j.store, s.name, o, files...)
	}, nil
}
