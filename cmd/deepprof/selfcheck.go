package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/show"
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
			nsysPath := f.String("nsys", "", "the nsys to compare with; by default, or if empty, the newest that is found")
			ncuPath := f.String("ncu", "", "the ncu to compare with; by default, or if empty, the newest that is found")
			takesEmpty(f, "nsys", "ncu")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, args []string) error {
				found, err := show.SelfCheck(ctx, args[0], *nsysPath, *ncuPath)
				if found == nil {
					return err
				}
				for _, v := range found.Vendors {
					fmt.Fprintf(s.err, "compared with %s\n", v)
				}
				if err := showFormat(*asJSON).print(s, report.Checks(found.Checks)); err != nil {
					return err
				}
				if err == nil && found.Differs() {
					return answerNo()
				}
				return err
			}
		},
	}
}
