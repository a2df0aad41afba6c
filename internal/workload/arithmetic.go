package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
)

// architecture reads the config of the model. Relative paths begin in start.
func architecture(m plan.Model, start string) (*flops.Model, error) {
	path := m.Config.File
	switch {
	case m.Path != "":
		path = filepath.Join(m.Path, "config.json")
	case m.Config.Values != nil:
		return flops.ParseMap(m.Config.Values)
	case path == "":
		return nil, fmt.Errorf("model %s names no config", m.Name)
	}
	f, err := format.Open(Abs(path, start))
	if err != nil {
		return nil, fmt.Errorf("read model config: %w", err)
	}
	defer f.Close()
	return flops.Parse(f)
}

// CountFlops counts FLOPs and bytes from the model's config for what the session
// whose metrics.json lies in dir ran; without one, for what is configured.
// Of samples that differ the first one counts, with a warning. A metrics.json that cannot be
// read is no error.
func CountFlops(p *plan.Plan, start, dir string) (flops.Report, error) {
	m, err := architecture(p.Model, start)
	if err != nil {
		return flops.Report{}, err
	}
	ran := ran{batch: p.Infer.BatchSize, new: p.Infer.MaxNewTokens}
	metrics, err := ReadMetrics(dir)
	if err == nil && len(metrics.Samples) > 0 {
		ran.prompt, ran.new = metrics.Samples[0].PromptTokens, int(metrics.Samples[0].NewTokens)
	}
	report, err := m.Count(ran.shape(p, m))
	if err != nil || metrics == nil {
		return report, err
	}
	for _, s := range metrics.Samples {
		if s.PromptTokens != metrics.Samples[0].PromptTokens || s.NewTokens != metrics.Samples[0].NewTokens {
			report.Warnings = append(report.Warnings, fact.New(flops.SamplesDiffer, fact.Name("input", metrics.Samples[0].Input)))
			break
		}
	}
	if n := metrics.Model.Parameters; n > 0 && n != report.Model.Parameters {
		report.Warnings = append(report.Warnings, fact.New(flops.ParametersDiffer, fact.Count("counted", report.Model.Parameters), fact.Count("ran", n)))
	}
	return report, nil
}

// CompareFlops compares what torch counted, in the file of that path, with the
// count for the shape that torch ran.
func CompareFlops(p *plan.Plan, start, path string) (flops.Comparison, error) {
	text, err := format.ReadFile(path, maxFile)
	if err != nil {
		return flops.Comparison{}, err
	}
	var facts struct {
		Batch  int   `json:"batch_size"`
		Prompt int64 `json:"prompt_tokens"`
		New    int   `json:"new_tokens"`
	}
	if err := json.Unmarshal(text, &facts); err != nil {
		return flops.Comparison{}, err
	}
	m, err := architecture(p.Model, start)
	if err != nil {
		return flops.Comparison{}, err
	}
	report, err := m.Count(ran{batch: facts.Batch, new: facts.New, prompt: facts.Prompt}.shape(p, m))
	if err != nil {
		return flops.Comparison{}, err
	}
	return flops.Check(report, bytes.NewReader(text))
}

// ran is what a session ran; a prompt of 0 tokens is not known.
type ran struct {
	batch, new int
	prompt     int64 // with the tokens of the image
}

// shape is what the model computed: what ran where that is known, else what was configured.
func (n ran) shape(p *plan.Plan, m *flops.Model) flops.Shape {
	s := flops.Shape{Batch: int64(n.batch), Prompt: int64(p.Infer.PromptLength), New: int64(n.new), DType: p.Model.DType}
	image := int64(0)
	if p.Model.Kind == plan.ModelImageText && m.ImageTokens() > 0 { // else only the text is counted, with a warning
		s.Images, s.ImageSize = 1, int64(p.Model.ImageSize)
		image = m.ImageTokensAt(s.ImageSize)
	}
	if n.prompt > 0 {
		s.Prompt = max(0, n.prompt-image)
	}
	if p.Infer.KVCache == "static" {
		s.CacheLength = s.Prompt + image + int64(p.Infer.MaxNewTokens)
	}
	return s
}
