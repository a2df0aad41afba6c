package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/tool"
)

func selfcheckCommand() command {
	return command{
		use: "selfcheck PATH", short: "Lay our numbers beside those of nsys or ncu and print every difference",
		long: `Run the vendor's tool on a report and compare what it prints with what deepprof
computes: for a timeline the reports cuda_gpu_kern_sum, nvtx_sum,
nvtx_gpu_proj_sum and nvtx_kern_sum of 'nsys stats', for counters every cell of
'ncu --import PATH --page raw --csv', as text, in the units and digits of the
release that is asked ('show metrics --raw' has those of 2025.3). What cannot be
compared so is counted: kernel names that ncu shortens, and units that an older
ncu guesses. Of a run its timeline and all its counters are compared. Exit code 1
where they differ, 2 where the vendor's tool is missing, cannot read the report or
gave nothing to compare with.`,
		example: `  deepprof selfcheck report.sqlite
  deepprof selfcheck report.ncu-rep --ncu /opt/nvidia/nsight-compute/2025.3.1/ncu`,
		args: exactly("PATH"),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			nsysPath := f.String("nsys", "", "the nsys to compare with; the newest that is found if empty")
			ncuPath := f.String("ncu", "", "the ncu to compare with; the newest that is found if empty")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, args []string) error {
				path, err := named(args[0])
				if err != nil {
					return err
				}
				kind, err := sniff(path)
				if err != nil {
					return err
				}
				if kind == inputCSV {
					if err := noReport("selfcheck", path); err != nil {
						return err
					}
					return usagef("selfcheck %s: CSV is what the vendor printed; name the report that it was printed from", path)
				}
				vendors, checks, err := selfcheck(ctx, path, kind, *nsysPath, *ncuPath)
				var ours *unreadError
				var absent *tool.NotFoundError
				switch {
				case errors.As(err, &ours) && !errors.As(err, &absent):
					return err
				case err != nil && !errors.Is(err, context.Canceled):
					return usagef("selfcheck %s: cannot tell: %w", path, err)
				case err != nil:
					return err
				}
				for _, v := range vendors {
					fmt.Fprintf(s.err, "compared with %s\n", v)
				}
				if err := showFormat(*asJSON).print(s, report.Checks(checks)); err != nil {
					return err
				}
				for _, c := range checks {
					if c.Differences > 0 {
						return answerNo()
					}
				}
				if !slices.ContainsFunc(checks, func(c report.Check) bool { return c.Skipped == "" }) {
					return usagef("selfcheck %s: cannot tell: %s gave nothing to compare with", path, vendors[0].Name)
				}
				return nil
			}
		},
	}
}

// An unreadError is a report that deepprof itself could not read.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

// selfcheck compares a report, or all reports of a run.
func selfcheck(ctx context.Context, path string, kind inputKind, nsysPath, ncuPath string) ([]tool.Tool, []report.Check, error) {
	if kind == inputCounters {
		vendor, check, err := checkCounters(ctx, path, ncuPath)
		return []tool.Tool{vendor}, []report.Check{check}, err
	}
	f, src, err := openTimeline(ctx, path, "selfcheck")
	if err != nil {
		if counters, cerr := locate(ctx, path, inputCounters); cerr == nil && counters.dir != "" { // a run without a timeline
			defer counters.done()
			return checkReports(ctx, counters, ncuPath)
		}
		return nil, nil, &unreadError{err}
	}
	defer src.done()
	vendor, checks, err := checkTimeline(ctx, f, nsysPath)
	vendors := []tool.Tool{vendor}
	if err != nil || src.dir == "" {
		return vendors, checks, err
	}
	counters, err := find(src.dir, path, inputCounters)
	if err != nil {
		return vendors, checks, nil // a run may have none
	}
	more, reports, err := checkReports(ctx, &source{dir: src.dir, files: counters}, ncuPath)
	if errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	return append(vendors, more...), append(checks, reports...), nil
}

// checkReports compares the counters of a run. A report that cannot be compared
// is skipped; it is an error where that are all.
func checkReports(ctx context.Context, src *source, ncuPath string) (vendors []tool.Tool, checks []report.Check, err error) {
	for _, file := range src.files {
		vendor, check, cerr := checkCounters(ctx, file, ncuPath)
		if errors.Is(cerr, context.Canceled) {
			return nil, nil, cerr
		}
		if cerr != nil {
			check.Skipped, err = cerr.Error(), cerr
		} else if len(vendors) == 0 {
			vendors = append(vendors, vendor)
		}
		check.What += " of " + within(src.dir, file)
		checks = append(checks, check)
	}
	if len(vendors) > 0 {
		err = nil
	}
	return vendors, checks, err
}

func checkTimeline(ctx context.Context, f *nsys.File, nsysPath string) (tool.Tool, []report.Check, error) {
	vendor, err := tool.Find(ctx, tool.Spec{Name: tool.Nsys, Path: nsysPath})
	if err != nil {
		return vendor, nil, err
	}
	found, err := f.SelfCheck(ctx, vendor)
	if err != nil {
		return vendor, nil, err
	}
	var checks []report.Check
	for _, c := range found {
		checks = append(checks, report.Check{What: c.Report, Compared: c.Rows, Skipped: c.Skipped, Differences: len(c.Differences), Details: texts(c.Differences)})
	}
	return vendor, checks, nil
}

func checkCounters(ctx context.Context, path, ncuPath string) (tool.Tool, report.Check, error) {
	check := report.Check{What: "raw page"}
	r, err := ncurep.Open(path, ncurep.Options{})
	if err != nil {
		return tool.Tool{}, check, &unreadError{err}
	}
	r.Close()
	vendor, err := tool.Find(ctx, tool.Spec{Name: tool.Ncu, Path: ncuPath})
	if err != nil {
		return vendor, check, err
	}
	c, err := ncurep.SelfCheck(ctx, path, vendor)
	if err != nil {
		return vendor, check, err
	}
	check.Compared, check.Differences, check.Details, check.NotCompared = c.Cells, len(c.Differences), texts(c.Differences), c.Notes()
	return vendor, check, nil
}
