package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/web"
)

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
		args:    noArgs,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			listen := f.String("listen", "127.0.0.1:7070", "the `ADDRESS` and port to listen on; port 0 takes a free one")
			hosts := f.StringArray("host", nil, "a `NAME` under which a browser reaches the server; may be repeated")
			limit := f.String("max-upload", "2GB", "the largest upload, a `SIZE`")
			return func(ctx context.Context, _ []string) error {
				if err := hasStore(f, *store); err != nil {
					return err
				}
				bytes, err := parseSize(*limit)
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
