package show

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// shapeParams are the parameters of flopsView; least is the smallest value of a
// number.
var shapeParams = []struct {
	Param
	least int64
}{
	{Param{"prompt", "`tokens` of text in each sequence", func(r *Request) any { return &r.Shape.Prompt }}, 1},
	{Param{"new", "`tokens` to generate; the first comes out of prefill", func(r *Request) any { return &r.Shape.New }}, 1},
	{Param{"batch", "`sequences` at a time", func(r *Request) any { return &r.Shape.Batch }}, 1},
	{Param{"dtype", "data `type` of activations, and of weights and cache that are not quantized (default that of the config, or bf16)", func(r *Request) any { return &r.Shape.DType }}, 0},
	{Param{"cache-dtype", "data `type` of the KV cache (default that of the config, or --dtype)", func(r *Request) any { return &r.Shape.CacheDType }}, 0},
	{Param{"latent", "how decode runs latent attention: `expanded` as transformers does, or absorbed as vLLM and SGLang do", func(r *Request) any { return &r.Shape.Latent }}, 0},
	{Param{"images", "`pictures` in each sequence; their tokens come on top of --prompt", func(r *Request) any { return &r.Shape.Images }}, 0},
	{Param{"image-size", "`pixels` along an edge; 0 takes that of the config", func(r *Request) any { return &r.Shape.ImageSize }}, 0},
	{Param{"all-logits", "the head runs over the whole prompt, not over its last token alone", func(r *Request) any { return &r.Shape.AllLogits }}, 0},
}

// flopsView is the view of a model's work; it takes a config, a model or a run.
func flopsView() View {
	v := View{
		Name: "flops", Short: "FLOPs and bytes of a model by stage, from its config.json",
		Long: `Count the FLOPs and bytes of prefill and decode from a Hugging Face config.json, or
from the folder that holds one, on any machine. docs/flops.md has the rules. For a
run of a model, a packed one or "latest", print what was counted for its shape.`,
		Example: `  deepprof show flops config.json --prompt 512 --new 32
  deepprof show flops ./Llama-3.1-8B --prompt 8192 --new 256 --batch 8 --dtype fp8 --json
  deepprof show flops latest`,
		Tables: []report.Declared{report.FLOPsView}, answer: showFLOPs,
	}
	for _, p := range shapeParams {
		v.Params = append(v.Params, p.Param)
	}
	return v
}

// Flags about the shape are refused for a run, whose shape is known.
func showFLOPs(ctx context.Context, req *Request) (*Answer, error) {
	for _, p := range shapeParams {
		if x, ok := p.Value(req).(*int64); ok && *x < p.least {
			return nil, usagef("show flops --%s %d: want at least %d", p.Name, *x, p.least)
		}
	}
	path := req.Paths[0]
	r, notes, err := flopsOfRun(ctx, path)
	switch {
	case r != nil:
		for _, p := range shapeParams {
			if req.Given[p.Name] {
				return nil, usagef("show flops %s --%s: the shape is that of the run; give the config.json of the model for another", path, p.Name)
			}
		}
	case err == nil:
		r, err = countFLOPs(path, req.Shape)
	}
	if err != nil {
		return nil, usage(err)
	}
	active := ""
	if n := r.Model.ActiveParameters; n != r.Model.Parameters {
		active = report.Parameters(n)
	}
	head := message.Phrase("flops-model", r.Model.Type, report.Parameters(r.Model.Parameters), active)
	t := report.FLOPs(r)
	t.Note(notes...)
	return &Answer{Printable: t, Head: head}, nil
}

// flopsOfRun reads what a run counted, and notes for which shape; nil where path is no run. A
// run without a count, of a command say, is an error.
// The shape of the note is the one that the run counted, not the one of the request.
func flopsOfRun(ctx context.Context, path string) (*flops.Report, []string, error) {
	kind, err := Recognize(path)
	dir := path
	switch {
	case err != nil:
		return nil, nil, err
	case kind == Pack:
		r, err := runs.Open(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		dir = r.Dir()
	default:
		if st, err := os.Stat(filepath.Join(path, runs.ManifestName)); err != nil || !st.Mode().IsRegular() {
			return nil, nil, nil // no run
		}
	}
	in, err := analysis.FromRun(dir)
	switch {
	case err != nil:
		return nil, nil, err
	case in.Flops == "":
		return nil, nil, fmt.Errorf("show flops %s: the run holds no workload/flops.json: it is of a command, or of a model that was not counted; give the config.json of the model", path)
	}
	file, err := format.Open(in.Flops)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	r, err := flops.Read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", in.Flops, err)
	}
	return r, []string{message.Phrase("flops-of-run", r.Shape.Batch, r.Shape.Tokens, r.Shape.New, r.Shape.DType)}, nil
}

// countFLOPs counts the work of a config.json, or of that in a folder, for a shape; weights
// need not be there.
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
