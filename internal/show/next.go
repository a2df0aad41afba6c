package show

import (
	"context"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/experiment"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// findingsView is the findings of a result.
func findingsView() View {
	return View{
		Name: "findings", Many: true, Short: "What matters most, with the evidence: findings, and changes by what they can save",
		Example: "  deepprof show findings latest\n  deepprof show findings report.sqlite report.ncu-rep --json",
		Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.FindingView}, answer: ofResult("findings", report.Findings),
	}
}

// nextView is what to run next.
func nextView() View {
	return View{
		Name: "next", Many: true, Short: "What to run next: the experiment that tries each change, and what would measure what is missing",
		Long: `Print the runs that are worth making next, each with its command line: changes by
what they can save, then measurements of what is missing. The command
line is that of the run with other settings; where it is not known, the JSON says
why.`,
		Example: "  deepprof show next latest\n  deepprof show next latest --json",
		Params:  []Param{topParam, partialParam}, Tables: []report.Declared{report.ExperimentView},
		answer: func(ctx context.Context, r *Request) (*Answer, error) {
			started := startedBy(ctx, r.Paths)
			return ofResult("next", func(result *analysis.Result) report.Printable {
				return report.Experiments(experiment.Next(result, started))
			})(ctx, r)
		},
	}
}

// startedBy is the command line that made a run or a packed run; nil for files.
// An error is taken for "not known": the view then prints no command lines.
// The first element is the program. The run is closed again before it returns.
func startedBy(ctx context.Context, paths []string) []string {
	if len(paths) != 1 {
		return nil
	}
	r, err := runs.OpenWith(ctx, paths[0], runs.UnpackOptions{Only: []runs.FileKind{runs.ProvenanceFile}})
	if err != nil {
		return nil
	}
	defer r.Close()
	return r.Manifest().Command
}
