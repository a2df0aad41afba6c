package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
)

// resultView shows a table of the analysis of a run or of files. A run that has
// a result is not analysed again.
func resultView(name, short, example string, table func(*analysis.Result) report.Printable) command {
	return command{
		use: name + " PATH...", short: short, example: example, args: atLeast("PATH"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			var f showFlags
			f.registerFormats(fs)
			f.registerTop(fs)
			return func(ctx context.Context, args []string) error {
				if _, err := f.query(); err != nil {
					return err
				}
				if err := nameAll(args); err != nil {
					return err
				}
				if result, err := pipeline.ReadResult(filepath.Join(args[0], pipeline.ResultFile)); err == nil && len(args) == 1 {
					return f.print(s, f.first(table(result)))
				}
				in, err := openInput(ctx, "show "+name, args)
				if err != nil {
					return err
				}
				defer in.done()
				result, err := in.result(ctx)
				if err != nil {
					return err
				}
				return f.print(s, f.first(table(result)))
			}
		},
	}
}
