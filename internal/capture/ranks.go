package capture

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

const (
	ranksKept      fact.Code = "ranks-kept"      // n, of
	rankUnreadable fact.Code = "rank-unreadable" // rank, error
)

// KeptRanks finds the timelines that ranks left before the step was cut off: by a
// time limit, a preemption, a lost node. Files are its reports and exports within
// the run; none where no rank left a timeline that can be read.
func KeptRanks(ctx context.Context, store *runs.Run, t tool.Tool, n plan.Nsys) (o Outcome, files []string, err error) {
	ranks, world := begunRanks(store, plan.StepNsys), 0
	o = Outcome{Kind: WithWarnings, Usable: true}
	for _, report := range tool.Match(store.Path(plan.StepNsys), "run.*.nsys-rep") {
		id := timeline.IdentityOfName(format.BaseName(report))
		if id.Rank == nil {
			continue
		}
		world = max(world, ranks[*id.Rank].World)
		if err := os.Remove(strings.TrimSuffix(report, ".nsys-rep") + ".sqlite"); err != nil && !os.IsNotExist(err) { // it may be half written
			return o, nil, fmt.Errorf("remove an earlier export: %w", err)
		}
		_, export, err := CheckTimeline(ctx, t, n, report, store.Path("nsys/cmd.txt"))
		if ctx.Err() != nil {
			return o, nil, ctx.Err()
		}
		if err != nil {
			o.Warnings = append(o.Warnings, Warning{Fact: fact.New(rankUnreadable, fact.Count("rank", *id.Rank), fact.Error("error", err))})
			continue
		}
		o.Reports = append(o.Reports, report)
		files = append(files, store.Within(report, export)...)
	}
	o.What = fact.New(ranksKept, fact.Count("n", len(o.Reports)), fact.Count("of", max(world, len(o.Reports))))
	return o, files, nil
}
