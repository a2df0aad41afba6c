package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
)

// version is what `deepprof version --json` prints.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // absent in builds outside a checkout
	Time     string `json:"commit_time,omitempty"`
	Modified bool   `json:"modified"` // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readVersion takes what the Go toolchain stored in the binary; "unknown" without it.
func readVersion() version {
	v := version{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "commit unknown"
	case v.Modified:
		commit += ", modified"
	}
	return fmt.Sprintf("deepprof %s (%s) %s %s", v.Version, commit, v.Go, v.Platform)
}

func versionCommand() command {
	return command{
		use: "version", short: "Print the version, commit and toolchain of this binary",
		example: "  deepprof version\n  deepprof version --json",
		args:    noArgs,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			asJSON := f.Bool("json", false, "print JSON")
			return func(context.Context, []string) error {
				v := readVersion()
				if *asJSON {
					return printJSON(s.out, v)
				}
				_, err := fmt.Fprintln(s.out, v)
				return err
			}
		},
	}
}
