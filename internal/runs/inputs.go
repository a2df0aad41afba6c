package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/plan"
)

// Inputs is inputs.yaml: what was run, on what.
type Inputs struct {
	Schema   int               `yaml:"schema"`
	Workload WorkloadInput     `yaml:"workload"`
	Datasets []InputFile       `yaml:"datasets,omitempty"`
	Model    *ModelInput       `yaml:"model,omitempty"`
	Missing  map[string]string `yaml:"missing,omitempty"` // what could not be determined, and why
}

// WorkloadInput is the program that is profiled.
type WorkloadInput struct {
	Name    string   `yaml:"name,omitempty"` // of a shipped workload; empty for a command of the user's
	Command []string `yaml:"command"`
	Dir     string   `yaml:"dir,omitempty"`   // that the program runs in
	Start   string   `yaml:"start,omitempty"` // that the run was started in: relative paths of the configuration begin there
}

// InputFile is a file that the workload reads.
type InputFile struct {
	Path   string `yaml:"path"`
	Size   int64  `yaml:"size"`
	SHA256 string `yaml:"sha256,omitempty"` // absent only where it says so
}

// ModelInput identifies a model. Identity is the same for equal models in
// different places: see IdentifyModel.
type ModelInput struct {
	Name     string      `yaml:"name,omitempty"`     // as configured: a hub name, or a folder
	Revision string      `yaml:"revision,omitempty"` // of the hub
	Random   bool        `yaml:"random,omitempty"`   // weights are random, made from a configuration
	Dtype    string      `yaml:"dtype,omitempty"`
	Identity string      `yaml:"identity,omitempty"`
	Files    []InputFile `yaml:"files,omitempty"` // sha256 is absent for files too large to hash
}

// InputsSchemaVersion is the version of inputs.yaml that this package writes.
const InputsSchemaVersion = 1

// DescribeInputs describes what the workload reads, as far as the configuration
// names it. What cannot be described is named as missing.
func DescribeInputs(ctx context.Context, w WorkloadInput, model plan.Model, data plan.Dataset) Inputs {
	in := Inputs{Workload: w, Missing: map[string]string{}}
	if model.Path != "" {
		m, err := IdentifyModel(ctx, model.Path)
		if err != nil {
			in.Missing["model"] = err.Error()
		} else {
			m.Name, m.Dtype = model.Name, model.DType
			in.Model = &m
		}
	}
	for _, path := range []string{data.SubsetFilelist, data.Root} {
		if path == "" {
			continue
		}
		files, err := DescribeFiles(ctx, path)
		if err != nil {
			in.Missing["dataset "+path] = err.Error()
			continue
		}
		in.Datasets = append(in.Datasets, files...)
	}
	return in
}

// WriteInputs writes inputs.yaml.
func (r *Run) WriteInputs(in Inputs) error {
	in.Schema = InputsSchemaVersion
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
	data, err := readRegular(r.Path(InputsName), maxManifest)
	if err != nil {
		return in, fmt.Errorf("read %s: %w", r.Path(InputsName), err)
	}
	if err := yaml.Unmarshal(data, &in); err != nil {
		return in, fmt.Errorf("read %s: %w", r.Path(InputsName), err)
	}
	return in, nil
}

// DescribeFiles hashes files, or all plain files below folders, that the
// workload reads.
func DescribeFiles(ctx context.Context, paths ...string) ([]InputFile, error) {
	var out []InputFile
	for _, path := range paths {
		files, err := inputFiles(path)
		if err != nil {
			return out, fmt.Errorf("describe %s: %w", path, err)
		}
		for _, p := range files {
			f, err := hashFile(ctx, p)
			if err != nil {
				return out, fmt.Errorf("describe %s: %w", p, err)
			}
			out = append(out, inputFile(f))
		}
	}
	return out, nil
}

func inputFile(f File) InputFile { return InputFile{Path: f.Path, Size: f.Size, SHA256: f.SHA256} }

// inputFiles lists path itself or the files below it. Links are followed one
// step: model hubs keep snapshots as folders of links to files.
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

// IdentifyModel describes a model folder. The identity is a hash over the
// sorted names and sizes of its files and the contents of those up to 64 MiB.
func IdentifyModel(ctx context.Context, dir string) (ModelInput, error) {
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
		f, err := describeBounded(ctx, p)
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

func describeBounded(ctx context.Context, path string) (InputFile, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return InputFile{}, err
	}
	if fi.Size() > identityHashLimit {
		return InputFile{Path: path, Size: fi.Size()}, nil
	}
	f, err := hashFile(ctx, path)
	return inputFile(f), err
}

// ReadPlan reads plan.json; nil for a run of schema 1, which has none.
func (r *Run) ReadPlan() (*plan.Plan, error) { return r.readPlan(PlanName) }

// ReadExactPlan is ReadPlan with the secrets of command lines, for resume. Only
// the owner of a run that has any can read them.
func (r *Run) ReadExactPlan() (*plan.Plan, error) {
	if p, err := r.readPlan(PrivateName); err != nil || p != nil {
		return p, err
	}
	return r.ReadPlan()
}

func (r *Run) readPlan(name string) (*plan.Plan, error) {
	data, err := readRegular(r.Path(name), maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Path(name), err)
	}
	p, err := plan.Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path(name), err)
	}
	return p, nil
}
