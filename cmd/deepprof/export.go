package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
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
			partial := fs.Bool("partial", false, "take what is left where an input is damaged")
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
				src, done, err := exportSource(ctx, f.Name, args, *region)
				if err != nil {
					return err
				}
				defer done()
				src.Partial = *partial
				notes, err := writeExport(ctx, &f, src, *output, *table, s)
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

// Notes come back also with an error.
func writeExport(ctx context.Context, f *export.Format, src *export.Source, output, table string, s streams) ([]string, error) {
	switch {
	case !f.Folder && output == "-":
		return f.Write(ctx, src, s.out)
	case !f.Folder:
		return f.WriteFile(ctx, src, output)
	case table == "" && (output == "-" || slices.Contains([]string{".csv", ".parquet"}, filepath.Ext(output))):
		return nil, usagef("export %s: %s is for one table; choose it with --table, or name a folder for all of them", f.Name, output)
	case table != "" && output == "-":
		return f.WriteTable(ctx, src, table, s.out)
	case table != "":
		return f.WriteTableFile(ctx, src, table, output)
	}
	return f.WriteFolder(ctx, src, output)
}

// exportSource opens what the arguments name.
// The analysis is made at most once, when a format asks for it. The caller calls done.
func exportSource(ctx context.Context, name string, args []string, region string) (*export.Source, func(), error) {
	in, err := show.OpenInput(ctx, "export "+name, readVersion().String(), args)
	if err != nil {
		return nil, nil, err
	}
	var regions []string
	if region != "" {
		regions = []string{region}
	}
	if in.Drawn == "" || region != "" { // a result is taken as it is
		if err := in.Scope(regions, region == ""); err != nil && (len(in.In.Timelines) > 0 || region != "") {
			in.Done()
			return nil, nil, err
		}
	}
	src := &export.Source{
		Run: filepath.Base(cmp.Or(in.In.Run, args[0])), Dir: in.In.Run, Timelines: in.In.Timelines, Counters: in.In.Counters, Region: region, Version: readVersion().String(),
	}
	var result *analysis.Result
	src.Result = func(ctx context.Context) (*analysis.Result, error) {
		if result == nil {
			result, err = in.Result(ctx, (&configFlags{}).categories)
		}
		return result, err
	}
	return src, in.Done, nil
}
