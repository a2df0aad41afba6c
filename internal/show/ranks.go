package show

import (
	"context"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/report"
)

// rankTables are the tables of the view ranks, by what it is asked to be split
// by.
var rankTables = map[string]func(*analysis.Result) report.Printable{
	"": report.Ranks, "stage": report.RankStages, "measure": report.RankMeasures, "kernel": report.RankKernels,
	"collective": report.Collectives, "size": report.Messages, "host": report.Nodes,
}

// ranksView is several timelines side by side; --by chooses what a row is.
func ranksView() View {
	return View{
		Name: "ranks", Many: true, Short: "Several timelines side by side: ranks of a job, windows, repeats",
		Example: "  deepprof show ranks latest\n  deepprof show ranks rank*.sqlite --by stage\n  deepprof show ranks latest --by kernel --csv",
		Params:  []Param{topParam, byParam("stage, measure, kernel, collective, size, host"), partialParam},
		Tables:  []report.Declared{report.RankView, report.RankStageView, report.RankMeasureView, report.RankKernelView, report.CollectiveView, report.MessageView, report.NodeView},
		answer: func(ctx context.Context, r *Request) (*Answer, error) {
			table, ok := rankTables[r.By]
			if !ok {
				return nil, usagef("--by %q: ranks are split by stage, measure, kernel, collective, size or host", r.By)
			}
			return ofResult("ranks", table)(ctx, r)
		},
	}
}
