package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/terminal"
)

// doctorCommand makes the checks of run and ends with exitNo if one blocks.
func doctorCommand() command {
	var c configFlags
	return command{
		use: "doctor [OVERRIDE...] [-- COMMAND [ARG...]]", short: "Check the machine for everything that a run needs, with the fix beside each failure",
		long: `Perform every check that 'run' performs: tools and versions, importer libraries,
GPU and driver, permission to read counters, other profilers, locks, disk space,
Python and the packages that the workload needs, the program of a command, files
of the model and of the dataset, and the settings of the captures. One line a
check, with its evidence; exit code 1 if something that the configuration asks
for cannot work.`,
		example:  "  deepprof doctor -- python3 infer.py\n  deepprof doctor pipeline.ncu.enable=false --json",
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, args []string) error {
				p, err := c.plan(s, withCommand(f, args))
				if err != nil {
					return err
				}
				found, err := pipeline.Examine(ctx, pipeline.Options{Plan: p.Plan, Dir: p.Run.Path})
				if err != nil {
					return usage(err)
				}
				checks := report.NewExamination(found)
				err = printAs(s.out, *asJSON, checks, func(w io.Writer) error { return checks.Write(w, terminal.Width(s.out)) })
				if err != nil {
					return err
				}
				if checks.Blocked {
					fmt.Fprintln(s.err, terminal.Plural(found.Count(doctor.Blocker), "blocker"))
					return answerNo()
				}
				return nil
			}
		},
	}
}
