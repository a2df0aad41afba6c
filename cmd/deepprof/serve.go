package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/web"
)

// serveCommand serves until a signal ends it. An address that others reach needs a token.
// A store that was not named need not exist yet. MaxUpload is in bytes.
func serveCommand() command {
	return command{
		use: "serve", short: "Show the run store in a browser, and answer REST under /api/v1",
		long: `Serve the run store: list, filter and sort runs, open reports, views, timelines and
comparisons, upload packed runs or files of nsys and ncu, write tags and notes,
delete runs. The API is described at /api/v1/openapi.json; the page uses nothing
else.

It listens on 127.0.0.1. Any other address needs a token in the variable
DEEPPROF_TOKEN, and a name under which others reach it (--host). docs/serve.md has
a team server behind a reverse proxy.`,
		example: "  deepprof serve\n  deepprof serve --store /data/runs --listen 127.0.0.1:8080\n  DEEPPROF_TOKEN=... deepprof serve --listen 0.0.0.0:7070 --host profiles.example.com",
		args:    exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			listen := f.String("listen", "127.0.0.1:7070", "the `ADDRESS` and port to listen on; port 0 takes a free one")
			hosts := f.StringArray("host", nil, "a `NAME` under which a browser reaches the server; may be repeated")
			limit := f.String("max-upload", "2GB", "the largest upload, a `SIZE`")
			return func(ctx context.Context, _ []string) error {
				if err := hasStore(f, *store); err != nil {
					return err
				}
				bytes, err := runs.ParseSize(*limit)
				if err != nil {
					return usagef("--max-upload: %w", err)
				}
				token := os.Getenv(web.TokenVariable)
				l, err := web.Listen(*listen, token)
				if err != nil {
					return usage(err)
				}
				fmt.Fprintf(s.err, "deepprof: serving %s at http://%s/; Ctrl-C ends it\n", *store, l.Addr())
				return web.Serve(ctx, l, web.ServeOptions{
					Options: web.Options{Store: *store, Analyze: analyzeFiles, Version: readVersion().String()},
					Token:   token, Hosts: *hosts, MaxUpload: bytes,
				})
			}
		},
	}
}

// mcpCommand answers on stdout alone: nothing else may be printed there.
func mcpCommand() command {
	return command{
		use: "mcp", short: "Answer coding agents over stdin and stdout (Model Context Protocol)",
		long: `Serve the views of deepprof to a coding agent over the Model Context Protocol. Each
view is a tool: find runs, findings with evidence, kernels, regions, layers,
launches, metrics, comparison, what to run next. Tools only read; an answer has at
most 1000 rows and counts those it leaves out. The store need not exist yet.
docs/mcp.md has a worked example.`,
		example: "  deepprof mcp\n  deepprof mcp --store /data/runs",
		args:    exactly(),
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

// Close leaves stdout open: the exit code is still to come.
func (leaveOpen) Close() error { return nil }
