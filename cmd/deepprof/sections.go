package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/tool"
)

// showSectionsCommand lists what the installed ncu can count. It reads no report.
func showSectionsCommand() command {
	return command{
		use: "sections", short: "Sets and sections of the installed ncu, with the passes that each costs", example: "  deepprof show sections\n  deepprof show sections --ncu /opt/nvidia/nsight-compute/2025.3.1 --json",
		args: noArgs,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			path := f.String("ncu", "auto", "the ncu to ask: a program or its `FOLDER`")
			var o output
			o.registerPager(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, _ []string) error {
				var finder tool.Finder
				ncu, err := finder.Find(ctx, tool.Spec{Name: tool.Ncu, Path: *path})
				if err != nil {
					return err
				}
				lists, err := tool.Probe(ctx, ncu, tool.System{})
				if err != nil {
					return err
				}
				costs := pick.SectionCosts(lists.Sets, lists.Sections, lists.SetMetrics)
				if *asJSON {
					return printJSON(s.out, costs)
				}
				return o.paged(s.out, func(w io.Writer) error { return report.WriteSections(w, ncu.String(), costs) })
			}
		},
	}
}
