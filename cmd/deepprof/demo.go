package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/terminal"
	"github.com/deepprof/deepprof/recordings"
)

// demoCommand plays a recording: nothing is captured, and no GPU is needed.
func demoCommand() command {
	return command{
		use: "demo", short: "Run the pipeline over a recorded session of a real H200; no GPU needed",
		long: `Run the pipeline over a recording of a real session: a random-weight Llama on an
H200, under Nsight Systems and Nsight Compute. The captures are taken from the
recording; the analysis and the reports are made now, by the same code as in
'deepprof run'. Every page is marked as recorded.

--graphs plays a recording of the same Llama with CUDA graphs: compare the two runs
with 'deepprof compare'. --from plays another recording: a packed run, as
'deepprof run --record DIR' and 'deepprof runs pack' write it. --compare compares
recordings of the same Llama without and with CUDA graphs, as 'deepprof compare'
does, and writes nothing unless --html names a page.`,
		example: `  deepprof demo
  deepprof demo --output demo && xdg-open demo/report.html
  deepprof demo --output eager && deepprof demo --graphs --output graphs && deepprof compare eager graphs
  deepprof demo --compare
  deepprof demo --from session.deepprof.tar.zst`,
		args: exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			output := f.StringP("output", "o", filepath.Join(runs.DefaultRoot, "auto"), "the run `DIR` to make; if it ends in auto, the run gets a name of its own there")
			from := f.String("from", "", "play this packed run `FILE`")
			graphs := f.Bool("graphs", false, "play the recording with CUDA graphs")
			compares := f.Bool("compare", false, "compare recordings of one model without and with CUDA graphs")
			page := f.String("html", "", "with --compare: also write a page to `FILE`")
			return func(ctx context.Context, _ []string) error {
				if *compares {
					return demoCompare(s, *page)
				}
				bundled := recordings.LLM
				if *graphs {
					bundled = recordings.LLMGraphs
				}
				if *graphs && *from != "" {
					return usagef("demo: --graphs and --from exclude each other")
				}
				recorded, err := openRecording(ctx, *from, bundled)
				if err != nil {
					return err
				}
				defer recorded.Close()
				w, ctx := terminal.NewWatcher(ctx, s.err)
				defer w.Stop()
				o := runOptions(w)
				o.Dir = *output
				summary, err := pipeline.Replay(ctx, recorded, o)
				return ended(s, w, summary, err)
			}
		},
	}
}

// openRecording opens a packed run; the bundled one if path is "".
// A recording that cannot be opened ends with exit code 2.
func openRecording(ctx context.Context, path string, bundled []byte) (*runs.Run, error) {
	if path == "" {
		return runs.OpenData(ctx, bundled)
	}
	r, err := runs.Open(ctx, path)
	if err != nil {
		return nil, usage(err)
	}
	return r, nil
}

// demoCompare compares the bundled baselines.
// page is "" for none. Both sides are in the binary, so it needs neither a store nor a GPU.
func demoCompare(s streams, page string) error {
	var sides [2][]compare.Run
	for i, recorded := range []struct {
		name string
		data []byte
	}{{"llm-eager-h200", recordings.Eager}, {"llm-graphs-h200", recordings.Graphs}} {
		b, err := compare.DecodeBaseline(recorded.data)
		if err != nil {
			return fmt.Errorf("read the recording: %w", err)
		}
		sides[i] = b.Side(recorded.name)
	}
	made, err := compare.Compare(sides[0], sides[1], compare.Options{})
	if err != nil {
		return err
	}
	c := comparing{streams: s, html: page}
	if err := c.write(made, sides[0], sides[1]); err != nil {
		return err
	}
	return c.print(made)
}

// playCommand stands in for nsys or ncu if there is none, or no GPU.
// It ends with the exit code, or the signal, of the recorded tool; with 1 if the recording
// cannot be read.
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
