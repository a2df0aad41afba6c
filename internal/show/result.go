package show

import (
	"context"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
)

// ofResult is a table of the analysis of a run or of files. A run that has a
// result is not analyzed again.
func ofResult(name string, table func(*analysis.Result) report.Printable) func(context.Context, *Request) (*Answer, error) {
	return func(ctx context.Context, r *Request) (*Answer, error) {
		var result *analysis.Result
		var err error
		if len(r.Paths) == 1 {
			result, err = folder.Read(filepath.Join(r.Paths[0], folder.ResultFile))
		}
		if result == nil || err != nil {
			if result, err = r.Analyze(ctx, "show "+name, r.Paths); err != nil {
				return nil, err
			}
		}
		r.losses = append(r.losses, func() []string {
			var out []string
			for _, n := range result.Incomplete() {
				out = append(out, message.Text(n.Said()))
			}
			return out
		})
		t := table(result)
		if r.Top > 0 {
			t.First(r.Top)
		}
		return &Answer{Printable: t}, nil
	}
}
