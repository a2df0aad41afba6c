package show

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/suggest"
)

// A SideLoader reads the sides of a comparison.
type SideLoader struct {
	Store string // of runs and baselines
	// Resolve gives the path that a name stands for; nil takes a path, or a run of Store, as a
	// person means it.
	Resolve func(name string) (string, error)
	// Analyze makes the result of paths that have none.
	Analyze func(ctx context.Context, paths []string) (*analysis.Result, error)
}

// Side reads one side: each argument is a baseline by name or file, a run, a
// pack, or files of nsys and ncu joined by commas. Every run and every repeat of a
// run is one sample.
// Runs keep the order of the arguments, repeats follow their run.
// One argument that cannot be read fails the whole side. Nothing stays open.
func (l *SideLoader) Side(ctx context.Context, args []string) ([]compare.Run, error) {
	var side []compare.Run
	for _, arg := range args {
		more, err := l.one(ctx, arg)
		if err != nil {
			return nil, err
		}
		side = append(side, more...)
	}
	return side, nil
}

// one reads an argument. A file or folder of that name goes before a baseline, and a baseline
// before a run of the store.
func (l *SideLoader) one(ctx context.Context, arg string) ([]compare.Run, error) {
	resolve := l.Resolve
	if resolve == nil {
		resolve = func(name string) (string, error) { return runs.Resolve(l.Store, name) }
	}
	path, unknown := resolve(arg)
	if path != arg { // it is no file
		if b, err := compare.NamedBaseline(l.Store, arg); err != nil {
			return nil, err
		} else if b != nil {
			return b.Side(arg), nil
		}
	}
	switch {
	case unknown == nil && strings.HasSuffix(path, compare.BaselineExt):
		b, err := compare.ReadBaseline(path)
		if err != nil {
			return nil, err
		}
		return b.Side(strings.TrimSuffix(filepath.Base(path), compare.BaselineExt)), nil
	case unknown == nil:
		return l.path(ctx, arg, path)
	case l.Resolve != nil:
		return nil, usage(unknown)
	case !strings.Contains(arg, ","):
		names, _ := compare.Baselines(l.Store)
		return nil, fmt.Errorf("compare %s: there is no such file, run or baseline%s", arg, suggest.DidYouMean(arg, names))
	}
	return l.analyzed(ctx, arg, strings.Split(arg, ","))
}

// path reads what lies at a path. A folder that is no run is analyzed as a folder of captures.
func (l *SideLoader) path(ctx context.Context, name, path string) ([]compare.Run, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		if _, err := runs.ReadManifest(path); err == nil {
			return l.run(ctx, name, path)
		} else if !errors.Is(err, runs.ErrNotRun) {
			return nil, err // of a newer schema, or damaged
		}
	} else if f, err := format.Recognize(path); err == nil && f.Kind == format.Pack {
		r, err := runs.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return l.run(ctx, name, r.Dir())
	}
	return l.analyzed(ctx, name, []string{path})
}

// analyzed is one sample: the result of captures.
func (l *SideLoader) analyzed(ctx context.Context, name string, paths []string) ([]compare.Run, error) {
	result, err := l.Analyze(ctx, paths)
	if err != nil {
		return nil, err
	}
	return []compare.Run{{Name: name, Result: result}}, nil
}

// run reads a run and its repeats: each is a process, and so a sample.
func (l *SideLoader) run(ctx context.Context, name, dir string) ([]compare.Run, error) {
	first, err := l.process(ctx, name, dir)
	if err != nil {
		return nil, err
	}
	side := []compare.Run{first}
	for _, repeat := range runs.Repeats(dir) {
		r, err := l.process(ctx, fmt.Sprintf("%s, repeat %s", name, filepath.Base(repeat)), repeat)
		if err != nil {
			return nil, err
		}
		side = append(side, r)
	}
	return side, nil
}

// process reads one process of a run. A result of an older version is made again from the
// captures; one of a newer version is an error.
func (l *SideLoader) process(ctx context.Context, name, dir string) (compare.Run, error) {
	r := compare.Run{Name: name, Config: readConfig(filepath.Join(dir, runs.ConfigName))}
	var err error
	if r.Result, err = folder.Read(filepath.Join(dir, runs.ResultName)); err != nil {
		var other *folder.SchemaError
		older := errors.As(err, &other) && other.Have < analysis.Schema
		if !older && !errors.Is(err, os.ErrNotExist) { // of a newer version, or damaged
			return r, err
		}
		if r.Result, err = l.Analyze(ctx, []string{dir}); err != nil {
			return r, err
		}
	}
	if m, err := runs.ReadManifest(dir); err == nil { // the result may be of an earlier attempt
		r.Result.Source.Status = string(m.Status)
	} else if !errors.Is(err, runs.ErrNotRun) {
		return r, err
	}
	samples, err := runs.ReadConditions(dir)
	r.Conditions = compare.Summarize(samples)
	return r, err
}

// readConfig is the configuration of a run by dotted key; nil where it cannot be read, which a
// comparison takes as not known.
func readConfig(path string) map[string]string {
	data, err := format.ReadFile(path, 64<<20)
	var tree map[string]any
	if err != nil || yaml.Unmarshal(data, &tree) != nil {
		return nil
	}
	out := map[string]string{}
	flatten("", tree, out)
	return out
}

// flatten writes leaves under their dotted keys. Lists are one value, printed by Go: they are
// compared as a whole.
// out is filled in place; an empty mapping leaves nothing in it.
func flatten(prefix string, value any, out map[string]string) {
	tree, ok := value.(map[string]any)
	if !ok {
		out[strings.TrimSuffix(prefix, ".")] = fmt.Sprint(value)
		return
	}
	for k, v := range tree {
		flatten(prefix+k+".", v, out)
	}
}

// Measured reads a run; one without a timeline has the times of its processes.
// Wall is in seconds, one sample for each attempt that was timed.
func (l *SideLoader) Measured(ctx context.Context, dir string) ([]compare.Run, error) {
	m, err := runs.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if s := m.Step(plan.StepNsys); s != nil && s.State == runs.StateDone {
		return l.Side(ctx, []string{dir})
	}
	var side []compare.Run
	if s := m.Step(plan.StepUnprofiled); s != nil {
		for _, at := range s.Attempts {
			if at.Seconds != nil {
				side = append(side, compare.Run{Name: dir, Wall: *at.Seconds})
			}
		}
	}
	if len(side) == 0 {
		return nil, fmt.Errorf("compare %s: nothing was timed; set pipeline.unprofiled.enable=true", dir)
	}
	return side, nil
}
