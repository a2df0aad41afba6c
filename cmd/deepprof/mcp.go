package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/web"
)

func mcpCommand() command {
	return command{
		use: "mcp", short: "Answer coding agents over stdin and stdout (Model Context Protocol)",
		long: `Serve the views of deepprof to a coding agent over the Model Context Protocol. Each
view is a tool: find runs, findings with evidence, kernels, regions, layers,
launches, metrics, comparison, what to run next. Tools only read; an answer has at
most 1000 rows and counts those it leaves out. The store need not exist yet.
docs/mcp.md has a worked example.`,
		example: "  deepprof mcp\n  deepprof mcp --store /data/runs",
		args:    noArgs,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			return func(ctx context.Context, _ []string) error {
				if err := hasStore(f, *store); err != nil {
					return err
				}
				err := web.Agents(ctx, web.Options{Store: *store, Analyze: analyzeFiles, Version: readVersion().String()}, os.Stdin, leaveOpen{s.out})
				if ctx.Err() != nil {
					return nil // the agent, or a person, ended it
				}
				return err
			}
		},
	}
}

// leaveOpen is a writer that outlives the connection over it.
type leaveOpen struct{ io.Writer }

func (leaveOpen) Close() error { return nil }
