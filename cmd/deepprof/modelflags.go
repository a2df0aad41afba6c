package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/show"
)

// modelFlags are what analyze needs to count the work of a config.json.
type modelFlags struct {
	shape   flops.Shape           // tokens and sequences; 0 is not given
	regions analysis.ModelRegions // "" is the region of that name
}

// modelFlagNames are those that mean nothing without a config.json.
var modelFlagNames = []string{"prompt", "new", "batch", "dtype", "cache-dtype", "latent", "prefill-region", "decode-region"}

func (m *modelFlags) register(f *pflag.FlagSet) {
	f.Int64Var(&m.shape.Prompt, "prompt", 0, "with a config.json: `tokens` of the prompt of each sequence")
	f.Int64Var(&m.shape.New, "new", 0, "with a config.json: `tokens` that were generated; the first comes out of prefill")
	f.Int64Var(&m.shape.Batch, "batch", 1, "with a config.json: `sequences` at a time")
	f.StringVar(&m.shape.DType, "dtype", "", "with a config.json: data `type` of activations and of what is not quantized (default that of the config, or bf16)")
	f.StringVar(&m.shape.CacheDType, "cache-dtype", "", "with a config.json: data `type` of the KV cache (default that of the config, or --dtype)")
	f.StringVar(&m.shape.Latent, "latent", "", "with a config.json: how decode runs latent attention: `expanded` as transformers does, or absorbed as vLLM and SGLang do")
	f.StringVar(&m.regions.Prefill, "prefill-region", "", "with a config.json: the `region` that is prefill (default the one of that name)")
	f.StringVar(&m.regions.Decode, "decode-region", "", "with a config.json: the `region` that is decode (default the one of that name)")
}

// count counts the work of the model, before anything slow starts.
func (m *modelFlags) count(f *pflag.FlagSet, in *show.AnalysisInput) error {
	if in.In.Model == "" {
		for _, name := range modelFlagNames {
			if f.Changed(name) {
				return usagef("analyze --%s: there is no config.json of a model to count; give it beside the timeline", name)
			}
		}
		return nil
	}
	var missing []string
	for name, n := range map[string]int64{"prompt": m.shape.Prompt, "new": m.shape.New, "batch": m.shape.Batch} {
		switch {
		case n < 0 || n == 0 && f.Changed(name):
			return usagef("analyze --%s %d: want at least 1", name, n)
		case n == 0:
			missing = append(missing, "--"+name+" N")
		}
	}
	if len(missing) > 0 {
		return usagef("analyze: the work of %s depends on the shape; add --prompt N and --new N, the tokens of each sequence (missing: %s)", in.In.Model, strings.Join(missing, ", "))
	}
	if err := in.In.CountModel(m.shape, m.regions); err != nil {
		return usage(err)
	}
	return nil
}
