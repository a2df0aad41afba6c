package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/export"
	"github.com/deepprof/deepprof/internal/show"
)

// exportCommand has a command for each row of export.Formats.
func exportCommand() command {
	c := command{
		use: "export", short: "Write what was captured in the formats of other tools",
		long: `Write what was captured in the formats of other tools. PATH is what 'deepprof
analyze' takes: a run, a packed run, a folder of reports, or files of Nsight Systems
and Nsight Compute. An export covers all of it, with loading and warm-up, unless
--region is given. A file appears only when it is whole.`,
		example: `  deepprof export pprof latest -o gpu.pb.gz && go tool pprof -top gpu.pb.gz
  deepprof export perfetto report.sqlite -o trace.pftrace
  deepprof export parquet latest -o tables
  deepprof export csv report.sqlite --table launches -o launches.csv
  deepprof export pprof report.sqlite --region decode -o decode.pb.gz`,
	}
	for _, f := range export.Formats() {
		c.sub = append(c.sub, formatCommand(f))
	}
	return c
}

// formatCommand is the command of one format.
// Notes are printed even if the export fails. The name of the file goes to the error
// stream, because out may carry the data.
func formatCommand(f export.Format) command {
	return command{
		use: f.Name + " PATH...", short: f.Short, long: f.Long, args: atLeast("PATH"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			to := "write to `FILE`; - is the standard output"
			if f.Folder {
				to = "write to the folder `DIR`, or with --table to a file; - is the standard output"
			}
			output := fs.StringP("output", "o", "", to)
			region := fs.String("region", "", "take only what the NVTX region `EXPR` launched")
			partial := fs.Bool("partial", false, "take what is left if an input is damaged")
			table := new(string)
			if f.Folder {
				table = fs.String("table", "", "write one table: "+strings.Join(export.TableNames(), ", "))
			}
			return func(ctx context.Context, args []string) error {
				if *output == "" {
					return usagef("export %s: name the output with -o; - is the standard output", f.Name)
				}
				if err := show.NameAll(args); err != nil {
					return err
				}
				src, done, err := show.OpenExport(ctx, f.Name, readVersion().String(), args, *region, (&configFlags{}).categories)
				if err != nil {
					return err
				}
				defer done()
				src.Partial = *partial
				notes, err := f.WriteTo(ctx, src, *output, *table, s.out)
				printLines(s, "note: ", notes)
				var wrong *export.UsageError
				if errors.As(err, &wrong) {
					return usage(err)
				}
				if err == nil && *output != "-" {
					fmt.Fprintln(s.err, "written: "+*output)
				}
				return err
			}
		},
	}
}
