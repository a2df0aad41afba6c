package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

func flopsCommand() command {
	return command{
		use: "flops PATH", short: "FLOPs and bytes of a model by stage, from its config.json",
		long: `Count the FLOPs and bytes of prefill and decode from a Hugging Face config.json, or
from the folder that holds one, on any machine. docs/flops.md has the rules. Of a
run of a model, a packed one or "latest", print what was counted for its shape.`,
		example: `  deepprof show flops config.json --prompt 512 --new 32
  deepprof show flops ./Llama-3.1-8B --prompt 8192 --new 256 --batch 8 --dtype fp8 --json
  deepprof show flops latest`,
		args: exactly("PATH"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			var f showFlags
			var shape flops.Shape
			f.registerFormats(fs)
			fs.Int64Var(&shape.Prompt, "prompt", 512, "`tokens` of text in each sequence")
			fs.Int64Var(&shape.New, "new", 32, "`tokens` to generate; the first comes out of prefill")
			fs.Int64Var(&shape.Batch, "batch", 1, "`sequences` at a time")
			fs.StringVar(&shape.DType, "dtype", "", "data `type` of activations, and of weights and cache that are not quantized (default that of the config, or bf16)")
			fs.StringVar(&shape.CacheDType, "cache-dtype", "", "data `type` of the KV cache (default that of the config, or --dtype)")
			fs.StringVar(&shape.Latent, "latent", "", "how decode runs latent attention: `expanded` as transformers, or absorbed as vLLM and SGLang")
			fs.Int64Var(&shape.Images, "images", 0, "`pictures` in each sequence; their tokens come on top of --prompt")
			fs.Int64Var(&shape.ImageSize, "image-size", 0, "`pixels` along an edge; 0 takes that of the config")
			fs.BoolVar(&shape.AllLogits, "all-logits", false, "the head runs over the whole prompt, not over its last token alone")
			return func(ctx context.Context, args []string) error {
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
				path, err := named(args[0])
				if err != nil {
					return err
				}
				r, notes, err := flopsOfRun(ctx, path)
				if r != nil {
					for _, name := range []string{"prompt", "new", "batch", "dtype", "cache-dtype", "latent", "images", "image-size", "all-logits"} {
						if fs.Changed(name) {
							return usagef("show flops %s --%s: the shape is that of the run; give the config.json of the model for another", args[0], name)
						}
					}
				} else if err == nil {
					r, err = countFLOPs(path, shape)
				}
				if err != nil {
					return usage(err)
				}
				if !f.json && !f.csv && !f.md {
					line := fmt.Sprintf("%s: %s parameters", r.Model.Type, report.Parameters(r.Model.Parameters))
					if active := r.Model.ActiveParameters; active != r.Model.Parameters {
						line += fmt.Sprintf(", %s active for a token", report.Parameters(active))
					}
					fmt.Fprintf(s.out, "%s\n\n", line)
				}
				t := report.FLOPs(r)
				t.Note(notes...)
				return f.print(s, t)
			}
		},
	}
}

// flopsOfRun reads what a run counted; nil where path is no run.
func flopsOfRun(ctx context.Context, path string) (*flops.Report, []string, error) {
	kind, err := sniff(path)
	dir := path
	switch {
	case err != nil:
		return nil, nil, err
	case kind == inputPack:
		r, err := runs.Open(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		dir = r.Dir()
	case !isFile(filepath.Join(path, runs.ManifestName)):
		return nil, nil, nil
	}
	in, err := analysis.FromRun(dir)
	switch {
	case err != nil:
		return nil, nil, err
	case in.Flops == "":
		return nil, nil, fmt.Errorf("show flops %s: the run holds no workload/flops.json: it is of a command, or of a model that was not counted; give the config.json of the model", path)
	}
	file, err := os.Open(in.Flops)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	r, err := flops.Read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", in.Flops, err)
	}
	return r, []string{fmt.Sprintf("counted for what the run had: a batch of %d, %d tokens of prompt, %d new, %s", r.Shape.Batch, r.Shape.Tokens, r.Shape.New, r.Shape.DType)}, nil
}

func countFLOPs(path string, shape flops.Shape) (*flops.Report, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	if _, err := inspect(path); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := flops.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	r, err := m.Count(shape)
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", path, err)
	}
	return &r, nil
}
