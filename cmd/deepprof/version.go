package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/show"
)

// version is what `deepprof version --json` prints.
type version struct {
	// of the module: a tag, a pseudo-version or "(devel)"; "unknown" without build information
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // absent in builds outside a checkout
	// RFC 3339 in UTC
	Time     string `json:"commit_time,omitempty"`
	Modified bool   `json:"modified"` // the checkout had changes
	Go       string `json:"go"`
	// operating system/architecture, in Go's words
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

// String is the first line of --version, and what reports store.
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

// versionCommand prints the same as --version, and JSON on request.
func versionCommand() command {
	return command{
		use: "version", short: "Print the version, commit and toolchain of this binary",
		example: "  deepprof version\n  deepprof version --json",
		args:    exactly(),
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

// selfcheckCommand compares our readers with the vendor's tools, to the last digit that
// those print. A difference is exitNo.
func selfcheckCommand() command {
	return command{
		use: "selfcheck PATH", short: "Compare our numbers with those of nsys or ncu and print every difference",
		long: `Run the vendor's tool on a report and compare what it prints with what deepprof
computes: for a timeline the reports cuda_gpu_kern_sum, nvtx_sum,
nvtx_gpu_proj_sum and nvtx_kern_sum of 'nsys stats', for counters every cell of
'ncu --import PATH --page raw --csv', as text, in the units and digits of the
release that is asked ('show metrics --raw' has those of 2025.3). What cannot be
compared this way is counted: kernel names that ncu shortens, and units that an
older ncu guesses. For a run, its timeline and all its counters are compared. Exit
code 1 if they differ, 2 if the vendor's tool is missing, cannot read the report or
gave nothing to compare with.`,
		example: `  deepprof selfcheck report.sqlite
  deepprof selfcheck report.ncu-rep --ncu /opt/nvidia/nsight-compute/2025.3.1/ncu`,
		args: exactly("PATH"),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			nsysPath := f.String("nsys", "", "the `PATH` of the nsys to compare with; by default, or if empty, the newest that is found")
			ncuPath := f.String("ncu", "", "the `PATH` of the ncu to compare with; by default, or if empty, the newest that is found")
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
