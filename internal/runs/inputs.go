package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/plan"
)

// Inputs is inputs.yaml: what was run, on what.
type Inputs struct {
	Schema   int           `yaml:"schema"`
	Workload WorkloadInput `yaml:"workload"`
	// the list of files, if any, and the files that samples are taken from
	Datasets []InputFile `yaml:"datasets,omitempty"`
	// how samples are taken; of a shipped workload only
	Dataset *DatasetInput     `yaml:"dataset,omitempty"`
	Infer   *InferInput       `yaml:"infer,omitempty"` // of a shipped workload only
	Model   *ModelInput       `yaml:"model,omitempty"`
	Missing map[string]string `yaml:"missing,omitempty"` // what could not be determined, and why
}

// ShippedPrefix begins the name of a shipped workload in inputs.yaml.
const ShippedPrefix = "deepprof/"

// WorkloadInput is the program that is profiled.
type WorkloadInput struct {
	// of a shipped workload; empty for a command of the user's
	Name    string   `yaml:"name,omitempty"`
	Command []string `yaml:"command"`
	Dir     string   `yaml:"dir,omitempty"` // that the program runs in
	// that the run was started in: relative paths of the configuration begin there
	Start string `yaml:"start,omitempty"`
}

// InputFile is a file that the workload reads.
type InputFile struct {
	Path   string `yaml:"path"`
	Size   int64  `yaml:"size"`
	SHA256 string `yaml:"sha256,omitempty"` // absent only if it says so
}

// DatasetInput says which samples are run. Keys are those of the configuration.
type DatasetInput struct {
	Name string `yaml:"name"`
	// generated inputs; 0 if files are read
	SyntheticSamples  int  `yaml:"synthetic_samples,omitempty"`
	Epochs            int  `yaml:"num_epochs"`
	SamplesPerEpoch   int  `yaml:"num_samples_per_epoch,omitempty"` // 0: all
	Randomize         bool `yaml:"randomize"`
	RandomizationSeed *int `yaml:"seed,omitempty"` // of the order; absent without randomize
}

// InferInput is what the model is asked to do. Keys are those of the configuration.
type InferInput struct {
	BatchSize    int    `yaml:"batch_size"`
	Prompt       string `yaml:"prompt,omitempty"`        // absent: random tokens
	PromptLength int    `yaml:"prompt_length,omitempty"` // of random tokens
	MaxNewTokens int    `yaml:"max_new_tokens,omitempty"`
	IgnoreEOS    bool   `yaml:"ignore_eos,omitempty"`
	DoSample     bool   `yaml:"do_sample,omitempty"`
	// this and the two below: with do_sample only
	Temperature float64 `yaml:"temperature,omitempty"`
	TopK        int     `yaml:"top_k,omitempty"`
	TopP        float64 `yaml:"top_p,omitempty"`
	Seed        int     `yaml:"seed"` // of random weights, prompts and token sampling
}

// ModelInput identifies a model. Identity is the same for equal models in
// different places: see IdentifyModel.
type ModelInput struct {
	// as configured: a hub name, or a folder
	Name     string `yaml:"name,omitempty"`
	Revision string `yaml:"revision,omitempty"` // of the hub
	Path     string `yaml:"path,omitempty"`     // the folder, absolute
	// weights are random, made from a configuration
	Random bool `yaml:"random,omitempty"`
	// of random weights, if the configuration gives the fields themselves
	Config          map[string]any `yaml:"config,omitempty"`
	TrustRemoteCode bool           `yaml:"trust_remote_code,omitempty"`
	Dtype           string         `yaml:"dtype,omitempty"`
	Identity        string         `yaml:"identity,omitempty"`
	// sha256 is absent for files too large to hash
	Files []InputFile `yaml:"files,omitempty"`
}

// inputsSchemaVersion is the version of inputs.yaml that this package writes.
const inputsSchemaVersion = 1

// DescribeInputs describes what the workload reads, as far as the configuration
// names it. What cannot be described is named as missing. A shipped workload has
// a name in w, and takes its samples from files; relative paths begin at w.Start.
// It hashes files of up to 64 MiB of a model and all files of a dataset, which takes
// time; the end of ctx is told as missing.
func DescribeInputs(ctx context.Context, w WorkloadInput, p *plan.Plan, files []string) Inputs {
	in := Inputs{Workload: w, Missing: map[string]string{}}
	in.describeModel(ctx, p.Model)
	if list := p.Dataset.SubsetFilelist; list != "" {
		files = append([]string{w.abs(list)}, files...)
	}
	var err error
	if in.Datasets, err = describeFiles(ctx, files...); err != nil {
		in.Missing["dataset"] = err.Error()
	}
	if w.Name != "" {
		in.Dataset, in.Infer = describeDataset(p.Dataset), describeInfer(p)
	}
	return in
}

// abs is the path as the program sees it from Start.
func (w WorkloadInput) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.Start, path)
}

// A model that exists only by name, as on a hub, has no files and no identity.
func (in *Inputs) describeModel(ctx context.Context, model plan.Model) {
	m := ModelInput{Random: true, Config: model.Config.Values}
	var err error
	switch {
	case model.Path != "":
		m, err = identifyModel(ctx, in.Workload.abs(model.Path))
		m.Path = in.Workload.abs(model.Path)
	case model.Config.File != "":
		m.Files, err = describeFiles(ctx, in.Workload.abs(model.Config.File))
	case model.Config.Values == nil:
		return
	}
	if err != nil {
		in.Missing["model"] = err.Error()
	}
	m.Name, m.Dtype, m.TrustRemoteCode = model.Name, model.DType, model.TrustRemoteCode
	in.Model = &m
}

// Fields that the configuration does not use are left at zero, which YAML leaves out.
func describeDataset(d plan.Dataset) *DatasetInput {
	out := &DatasetInput{Name: d.Name, Epochs: d.Sampling.NumEpochs, SamplesPerEpoch: d.Sampling.NumSamplesPerEpoch, Randomize: d.Sampling.Randomize}
	if d.Root == "" {
		out.SyntheticSamples = d.Synthetic.NumSamples
	}
	if d.Sampling.Randomize {
		out.RandomizationSeed = d.Sampling.Seed
	}
	return out
}

// describeInfer leaves out what the kind of workload does not use.
func describeInfer(p *plan.Plan) *InferInput {
	i := p.Infer
	out := &InferInput{BatchSize: i.BatchSize, Seed: i.Seed}
	if p.Pipeline.Workload.Kind == plan.WorkloadResNet {
		return out // it decodes nothing
	}
	out.Prompt, out.MaxNewTokens, out.IgnoreEOS = i.Prompt, i.MaxNewTokens, i.IgnoreEOS
	if i.Prompt == "" && (p.Dataset.Root == "" || p.Pipeline.Workload.Kind == plan.WorkloadVLM) {
		out.PromptLength = i.PromptLength
	}
	if i.DoSample {
		out.DoSample, out.Temperature, out.TopK, out.TopP = true, i.Temperature, i.TopK, i.TopP
	}
	return out
}

// WriteInputs writes inputs.yaml.
// The schema of in is ignored: the file gets that of this version.
func (r *Run) WriteInputs(in Inputs) error {
	in.Schema = inputsSchemaVersion
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(in), enc.Close()); err != nil {
		return fmt.Errorf("write %s: %w", InputsName, err)
	}
	return r.WriteFile(InputsName, b.Bytes())
}

// ReadInputs reads inputs.yaml.
func (r *Run) ReadInputs() (Inputs, error) {
	var in Inputs
	return in, readInto(r.Path(InputsName), yaml.Unmarshal, &in)
}

// describeFiles hashes files, or all plain files below folders, that the
// workload reads.
// On an error it returns the files that came before it. The order is that of paths.
func describeFiles(ctx context.Context, paths ...string) ([]InputFile, error) {
	var out []InputFile
	for _, path := range paths {
		files, err := inputFiles(path)
		if err != nil {
			return out, fmt.Errorf("describe %s: %w", path, err)
		}
		for _, p := range files {
			f, err := describeFile(ctx, p, math.MaxInt64)
			if err != nil {
				return out, fmt.Errorf("describe %s: %w", p, err)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// describeFile leaves the hash out for files of more than limit bytes. The path stays as
// it is, absolute or not.
func describeFile(ctx context.Context, path string, limit int64) (InputFile, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return InputFile{}, err
	}
	if fi.Size() > limit {
		return InputFile{Path: path, Size: fi.Size()}, nil
	}
	f, err := hashFile(ctx, path)
	return InputFile{Path: f.Path, Size: f.Size, SHA256: f.SHA256}, err
}

// inputFiles lists path itself or the files below it. Links are followed one
// step: model hubs keep snapshots as folders of links to files.
// Folders named .git are left out; order is that of the names.
func inputFiles(path string) ([]string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.Mode().IsRegular() {
		return []string{path}, nil
	}
	if !fi.IsDir() {
		return nil, errors.New("not a plain file or folder")
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	var out []string
	err = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// identityHashLimit is the size up to which a model's file is hashed whole:
// configuration and tokenizer are, weights of gigabytes are told apart by name
// and size.
const identityHashLimit = 64 << 20

// identifyModel describes a model folder. The identity is a hash over the
// sorted names and sizes of its files and the contents of those up to 64 MiB.
// Paths of Files are relative to the folder, with slashes, and sorted. Name is the folder
// until the caller sets it.
func identifyModel(ctx context.Context, dir string) (ModelInput, error) {
	m := ModelInput{Name: dir}
	paths, err := inputFiles(dir)
	if err != nil {
		return m, fmt.Errorf("identify model: %w", err)
	}
	base := dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		base = real
	}
	for _, p := range paths {
		f, err := describeFile(ctx, p, identityHashLimit)
		if err != nil {
			return m, fmt.Errorf("identify model: %w", err)
		}
		if rel, err := filepath.Rel(base, p); err == nil && rel != "." {
			f.Path = filepath.ToSlash(rel)
		} else {
			f.Path = filepath.Base(p)
		}
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b InputFile) int { return strings.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, f := range m.Files {
		fmt.Fprintf(h, "%s\x00%d\x00%s\n", f.Path, f.Size, f.SHA256)
	}
	m.Identity = hex.EncodeToString(h.Sum(nil))
	return m, nil
}

// ReadExactPlan is PlanOf with the secrets of command lines, for resume. Only the owner
// of a run that has any can read them.
func (r *Run) ReadExactPlan() (*plan.Plan, error) {
	if p, err := readPlan(r.Path(PrivateName)); err != nil || p != nil {
		return p, err
	}
	return PlanOf(r.dir)
}

// PlanOf reads the plan.json of a run; nil for a run of schema 1, which has none.
// A plan of a newer version is an error.
func PlanOf(dir string) (*plan.Plan, error) { return readPlan(filepath.Join(dir, PlanName)) }

// readPlan is nil without an error if there is no such file.
func readPlan(path string) (*plan.Plan, error) {
	data, err := readRegular(path, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	p, err := plan.Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}
