package web

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/recordings"
)

// recorded is the store that TestMain makes: a recorded run of an H200, and a
// file of each profiler from the same machine.
var recorded struct {
	store, run       string // run is its id
	pack             string
	timeline, counts string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "deepprof-web-test-")
	if err == nil {
		err = makeStore(dir)
	}
	code := 1
	if err != nil {
		println("make the store:", err.Error())
	} else {
		code = m.Run()
	}
	stopShared()
	os.RemoveAll(dir)
	os.Exit(code)
}

func makeStore(dir string) error {
	recorded.store, recorded.pack = filepath.Join(dir, "runs"), filepath.Join(dir, "llm.deepprof.tar.zst")
	if err := os.WriteFile(recorded.pack, recordings.LLM, 0o666); err != nil {
		return err
	}
	r, err := runs.OpenWith(context.Background(), recorded.pack, runs.UnpackOptions{CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		return err
	}
	defer r.Close()
	recorded.run = r.ID()
	run := filepath.Join(recorded.store, r.ID())
	if err := os.CopyFS(run, os.DirFS(r.Dir())); err != nil {
		return err
	}
	result, err := analyze(context.Background(), "test", []string{run})
	if err != nil {
		return err
	}
	if _, err := folder.Write(run, result); err != nil {
		return err
	}
	for name, path := range map[string]*string{"llm.sqlite": &recorded.timeline, "llm.ncu-rep": &recorded.counts} {
		*path = filepath.Join(dir, name)
		if err := gunzip("../../testdata/h200/"+name+".gz", *path); err != nil {
			return err
		}
	}
	return nil
}

func gunzip(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// analyze is the analyzer of the command line for runs and for files of the
// profilers.
func analyze(ctx context.Context, _ string, paths []string) (*analysis.Result, error) {
	var in analysis.Input
	for _, path := range paths {
		switch kind, err := show.Recognize(path); {
		case err != nil:
			return nil, err
		case kind == show.Folder:
			if in, err = analysis.FromRun(path); err != nil {
				return nil, err
			}
		case kind == show.Timeline:
			in.Timelines = append(in.Timelines, path)
		case kind == show.Counters:
			in.Counters = append(in.Counters, path)
		}
	}
	return analysis.Analyze(ctx, in)
}

func options(t *testing.T) *Options {
	t.Helper()
	return &Options{Store: recorded.store, Analyze: analyze, Version: "test"}
}
