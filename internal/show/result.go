package show

import (
	"context"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// ofResult is a table of the analysis of a run or of files. A run that has a
// result is not analyzed again.
func ofResult(name string, table func(*analysis.Result) report.Printable) func(context.Context, *Request) (*Answer, error) {
	return func(ctx context.Context, r *Request) (*Answer, error) {
		result, err := r.result(ctx, "show "+name)
		if err != nil {
			return nil, err
		}
		return &Answer{Printable: first(table(result), r.Top)}, nil
	}
}

// result reads or makes the result of the paths, and notes what it lacks.
// A result.json of another schema, or a damaged one, is made anew from the captures.
// Analyze must be set unless the only path is a folder with a result that can be read.
func (r *Request) result(ctx context.Context, command string) (*analysis.Result, error) {
	var result *analysis.Result
	var err error
	if len(r.Paths) == 1 {
		result, err = folder.Read(filepath.Join(r.Paths[0], runs.ResultName))
	}
	if result == nil || err != nil {
		if result, err = r.Analyze(ctx, command, r.Paths); err != nil {
			return nil, err
		}
	}
	r.noteLosses(result)
	return result, nil
}

// noteLosses lets After fail where captures behind a result lost something.
func (r *Request) noteLosses(result *analysis.Result) {
	r.losses = append(r.losses, func() []string {
		var out []string
		for _, n := range result.Incomplete() {
			out = append(out, message.Text(n.AsFact()))
		}
		return out
	})
}
