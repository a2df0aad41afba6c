package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/report"
)

func flopsCommand() command {
	return command{
		use: "flops CONFIG.json", short: "FLOPs and bytes of a model by stage, from its config.json",
		long: `Count the FLOPs and bytes of prefill and decode from a Hugging Face config.json, or
from the folder that holds one, on any machine. docs/flops.md has the rules.`,
		example: `  deepprof show flops config.json --prompt 512 --new 32
  deepprof show flops ./Llama-3.1-8B --prompt 8192 --new 256 --batch 8 --dtype fp8 --json`,
		args: exactly("CONFIG.json"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			var f showFlags
			var shape flops.Shape
			f.registerFormats(fs)
			fs.Int64Var(&shape.Prompt, "prompt", 512, "`tokens` of text in each sequence")
			fs.Int64Var(&shape.New, "new", 32, "`tokens` to generate; the first comes out of prefill")
			fs.Int64Var(&shape.Batch, "batch", 1, "`sequences` at a time")
			fs.StringVar(&shape.DType, "dtype", "bf16", "data `type` of weights, activations and cache")
			fs.Int64Var(&shape.Images, "images", 0, "`pictures` in each sequence; their tokens come on top of --prompt")
			fs.Int64Var(&shape.ImageSize, "image-size", 0, "`pixels` along an edge; 0 takes that of the config")
			fs.BoolVar(&shape.AllLogits, "all-logits", false, "the head runs over the whole prompt, not over its last token alone")
			return func(_ context.Context, args []string) error {
				if _, err := f.query(); err != nil {
					return err
				}
				for _, flag := range []struct {
					name         string
					value, least int64
				}{
					{"prompt", shape.Prompt, 1}, {"new", shape.New, 1}, {"batch", shape.Batch, 1}, {"images", shape.Images, 0}, {"image-size", shape.ImageSize, 0},
				} {
					if flag.value < flag.least {
						return usagef("show flops --%s %d: want at least %d", flag.name, flag.value, flag.least)
					}
				}
				r, m, err := countFLOPs(args[0], shape)
				if err != nil {
					return usage(err)
				}
				if !f.json && !f.csv && !f.md {
					line := fmt.Sprintf("%s: %s parameters", m.Type, report.Parameters(m.Parameters()))
					if active := m.ActiveParameters(); active != m.Parameters() {
						line += fmt.Sprintf(", %s active for a token", report.Parameters(active))
					}
					fmt.Fprintf(s.out, "%s\n\n", line)
				}
				return f.print(s, report.FLOPs(r))
			}
		},
	}
}

func countFLOPs(path string, shape flops.Shape) (*flops.Report, *flops.Model, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	if _, err := inspect(path); err != nil {
		return nil, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	m, err := flops.Parse(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	r, err := m.Count(shape)
	if err != nil {
		return nil, nil, fmt.Errorf("count %s: %w", path, err)
	}
	return &r, m, nil
}
