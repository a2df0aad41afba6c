package main

import (
	"context"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/capture"
)

// playCommand stands in for nsys or ncu where there is none, or no GPU.
func playCommand() command {
	return command{
		use: "play RECORDING [ARG...]", short: "Play a recording of 'run --record' in the place of nsys or ncu", hidden: true, raw: true,
		long: `Print what a recorded run of nsys or ncu printed, leave the files that it left
where ARG... tells the profiler to write, and end as it ended. A script that
calls it can be given as pipeline.nsys.path or pipeline.ncu.path; the workload
is not started. DEEPPROF_PLAY_SPEED=10 plays ten times as fast.`,
		example: "  deepprof play ncu.rec --export out/run ./prog",
		setup: func(_ *pflag.FlagSet, s streams) func(context.Context, []string) error {
			return func(_ context.Context, args []string) error {
				if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
					return usagef("play: name a recording: deepprof play RECORDING [ARG...]")
				}
				speed := 1.0
				if text := os.Getenv("DEEPPROF_PLAY_SPEED"); text != "" {
					var err error
					if speed, err = strconv.ParseFloat(text, 64); err != nil || speed <= 0 {
						return usagef("play: DEEPPROF_PLAY_SPEED %q is no speed", text)
					}
				}
				if code := capture.PlayFile(args[0], args[1:], s.out, s.err, speed); code != 0 {
					return &failure{code: code}
				}
				return nil
			}
		},
	}
}
