package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// Files of the static analysis.
const (
	flopsName      = "workload/flops.json"       // a flops.Report
	flopsCheckName = "workload/flops_check.json" // a flops.Comparison
)

// staticAnalysis counts FLOPs and bytes from the model's config, for what the
// clean run had or else for what is configured. A model that cannot be counted
// costs the MFU and not the run.
func (r *run) staticAnalysis(ctx context.Context) (capture.Outcome, error) {
	const stage = "static_analysis"
	if err := r.store.StartAttempt(stage, ""); err != nil {
		return capture.Outcome{}, err
	}
	outcome := capture.Outcome{Kind: capture.Captured, What: "FLOPs and bytes are counted", Usable: true}
	var files []runs.File
	report, err := r.count()
	if err != nil {
		outcome.Kind, outcome.What = capture.MissingData, "no FLOPs: "+err.Error()
		outcome.Cause, outcome.Next = "the architecture of the model could not be read", "MFU will be missing; or set pipeline.static_analysis.enable=false"
	} else {
		text, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return capture.Outcome{}, fmt.Errorf("write FLOPs: %w", err)
		}
		if err := r.store.WriteFile(flopsName, append(text, '\n')); err != nil {
			return capture.Outcome{}, err
		}
		if files, err = r.store.HashFiles(context.WithoutCancel(ctx), flopsName); err != nil {
			return capture.Outcome{}, err
		}
		for _, w := range report.Warnings {
			outcome.Kind = capture.WithWarnings
			outcome.Warnings = append(outcome.Warnings, capture.Warning{ID: "flops", Text: message.Text(w)})
		}
	}
	return outcome, r.store.EndAttempt(stage, runs.Result{Outcome: record(outcome), Files: files})
}

// architecture reads the config of the model.
func (r *run) architecture() (*flops.Model, error) {
	m := r.Plan.Model
	path := m.Config.File
	switch {
	case m.Path != "":
		path = filepath.Join(m.Path, "config.json")
	case m.Config.Values != nil:
		return flops.ParseMap(m.Config.Values)
	case path == "":
		return nil, fmt.Errorf("model %s names no config", m.Name)
	}
	f, err := os.Open(r.abs(path))
	if err != nil {
		return nil, fmt.Errorf("read model config: %w", err)
	}
	defer f.Close()
	return flops.Parse(f)
}

// count derives the report for what the clean run had; without one for what is
// configured.
func (r *run) count() (flops.Report, error) {
	m, err := r.architecture()
	if err != nil {
		return flops.Report{}, err
	}
	in := r.Plan.Infer
	ran := ran{batch: in.BatchSize, new: in.MaxNewTokens}
	metrics, err := workload.ReadMetrics(r.store.Path("workload"))
	if err == nil && len(metrics.Samples) > 0 {
		ran.prompt, ran.new = metrics.Samples[0].PromptTokens, int(metrics.Samples[0].NewTokens)
	}
	report, err := m.Count(r.shape(m, ran))
	if err != nil {
		return report, err
	}
	if metrics == nil {
		return report, nil
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

// ran is what a session ran; a prompt of 0 tokens is not known.
type ran struct {
	batch, new int
	prompt     int64 // with the tokens of the image
}

func (r *run) shape(m *flops.Model, n ran) flops.Shape {
	s := flops.Shape{Batch: int64(n.batch), Prompt: int64(r.Plan.Infer.PromptLength), New: int64(n.new), DType: r.Plan.Model.DType}
	image := int64(0)
	if r.Plan.Model.Kind == plan.ModelImageText && m.ImageTokens() > 0 { // else only the text is counted, with a warning
		s.Images, s.ImageSize = 1, int64(r.Plan.Model.ImageSize)
		image = m.ImageTokensAt(s.ImageSize)
	}
	if n.prompt > 0 {
		s.Prompt = max(0, n.prompt-image)
	}
	if r.Plan.Infer.KVCache == "static" {
		s.CacheLength = s.Prompt + image + int64(r.Plan.Infer.MaxNewTokens)
	}
	return s
}

// torchFlops counts again with torch's FlopCounterMode and compares.
func (r *run) torchFlops(ctx context.Context) (capture.Outcome, error) {
	folder := "workload/" + plan.StepTorchFlops
	outcome, err := r.session(ctx, session{"torch_flops", plan.StepTorchFlops, folder, r.Plan.Pipeline.Unprofiled.Timeout, "pipeline.unprofiled.timeout_s"})
	if err != nil || !outcome.Usable {
		return outcome, err
	}
	compared, err := r.compareFlops(r.store.Path(folder + "/" + workload.FlopsName))
	if err != nil {
		outcome.Kind, outcome.What = capture.MissingData, "torch's FLOPs could not be compared: "+err.Error()
		return outcome, nil
	}
	text, err := json.MarshalIndent(compared, "", "  ")
	if err != nil {
		return outcome, fmt.Errorf("write the comparison of FLOPs: %w", err)
	}
	if err := r.store.WriteFile(flopsCheckName, append(text, '\n')); err != nil {
		return outcome, err
	}
	if err := r.enter(ctx, "torch_flops", flopsCheckName); err != nil {
		return outcome, err
	}
	outcome.What = "FLOPs agree with torch's FlopCounterMode"
	for _, d := range compared.Stages {
		if !d.Agree {
			outcome.Kind, outcome.What = capture.WithWarnings, "FLOPs do not agree with torch's FlopCounterMode"
			outcome.Warnings = append(outcome.Warnings, capture.Warning{ID: "flops", Text: fmt.Sprintf("%s: %d FLOPs from the config, %d by torch (%+.1f %%)", d.Stage, d.Ours, d.Torch, 100*d.Relative)})
		}
	}
	for _, w := range compared.Warnings {
		outcome.Kind = capture.WithWarnings
		outcome.Warnings = append(outcome.Warnings, capture.Warning{ID: "flops", Text: message.Text(w)})
	}
	return outcome, nil
}

// compareFlops counts the shape that torch counted, whatever the baseline ran.
func (r *run) compareFlops(path string) (flops.Comparison, error) {
	text, err := os.ReadFile(path)
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
	m, err := r.architecture()
	if err != nil {
		return flops.Comparison{}, err
	}
	report, err := m.Count(r.shape(m, ran{batch: facts.Batch, new: facts.New, prompt: facts.Prompt}))
	if err != nil {
		return flops.Comparison{}, err
	}
	return flops.Check(report, bytes.NewReader(text))
}
