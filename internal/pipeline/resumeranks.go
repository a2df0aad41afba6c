package pipeline

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// keptRanks goes on with the timelines that ranks left before the step was cut
// off: by a time limit, a preemption, a lost node. The job is not started again
// for the other ranks, since timelines of two jobs cannot be held against each
// other. Nil where no rank left a timeline that can be read.
func keptRanks(ctx context.Context, j *job, s step) (*rankFiles, error) {
	if s.name != plan.StepNsys || !j.behindLauncher() {
		return nil, nil
	}
	ranks := capture.BegunRanks(j.store, s.name)
	exports, world := map[string]string{}, 0
	o := capture.Outcome{Kind: capture.WithWarnings, Usable: true}
	var files []string
	for _, report := range tool.Match(j.store.Path(s.name), "run.*.nsys-rep") {
		id := timeline.IdentityOfName(format.BaseName(report))
		if id.Rank == nil {
			continue
		}
		world = max(world, ranks[*id.Rank].World)
		if err := removeExport(report); err != nil {
			return nil, err
		}
		if _, err := checkTimeline(ctx, j, report, exports); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(rankUnreadable, fact.Count("rank", *id.Rank), fact.Error("error", err))})
			continue
		}
		o.Reports = append(o.Reports, report)
		files = append(files, report, exports[report])
	}
	if len(o.Reports) == 0 {
		return nil, nil
	}
	o.What = fact.New(ranksKept, fact.Count("n", len(o.Reports)), fact.Count("of", max(world, len(o.Reports))))
	j.tell(ranksStand, fact.Because("what", o.What))
	return &rankFiles{o, j.store.Within(files...)}, nil
}

// rankFiles are what ranks left, and the verdict on them.
type rankFiles struct {
	capture.Outcome
	paths []string // within the run
}

// behindLauncher tells that profilers go behind a launcher.
func (j *job) behindLauncher() bool {
	target, err := j.target(plan.StepNsys)
	if err != nil {
		return false
	}
	_, ranks := j.launch(target)
	return ranks
}

// removeExport takes an export away that may be half written.
func removeExport(report string) error {
	err := os.Remove(strings.TrimSuffix(report, ".nsys-rep") + ".sqlite")
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove an earlier export: %w", err)
	}
	return nil
}

// recordRanks records files of ranks as an attempt that started nothing.
func recordRanks(ctx context.Context, store *runs.Run, name string, ranks rankFiles) error {
	files, err := store.HashFiles(context.WithoutCancel(ctx), ranks.paths...)
	if err != nil {
		return err
	}
	capture.Identify(store, name, files)
	if err := store.StartAttempt(name, ""); err != nil {
		return err
	}
	return store.EndAttempt(name, runs.Result{Outcome: ranks.Outcome.Stored(), Files: files})
}
