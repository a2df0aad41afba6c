package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/redact/planted"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestPlantedSecrets: a workload that prints its environment and its arguments,
// 60 kinds of secrets in them and in the configuration. No byte of the run, of its
// recording or of its pack has one, in any encoding; with real tools the profiler
// has printed them too.
func TestPlantedSecrets(t *testing.T) {
	environ := planted.Environment()
	words, arguments := planted.Arguments()
	_, config := planted.Config()
	inputs, inInputs := planted.Inputs()
	args := []string{"run", "--ignore-blockers", "--record", "recording", "hydra.run.dir=run", "pipeline.ncu.enable=false"}
	if dir := os.Getenv("DEEPPROF_NSIGHT"); dir != "" {
		args = append(args, "pipeline.nsys.trace=[osrt]", "pipeline.nsys.path="+filepath.Join(dir, "trixie", "nsys"))
	} else {
		args = append(args, "pipeline.nsys.enable=false")
	}
	for _, p := range config {
		value := p.Secret
		if p.Text == "store" { // its password is within an address
			value = "https://ann:" + value + "@h/x"
		}
		args = append(args, "+pipeline.workload.env."+p.Text+"="+value)
	}
	args = append(args, "--", "sh", "-c", `env; for a; do echo "$a"; done; env >&2`, "sh")
	args = append(append(args, words...), inputs...)
	dir := t.TempDir()
	env := os.Environ()
	for _, p := range environ {
		env = append(env, p.Text)
	}
	deepprof := func(args ...string) string {
		cmd := exec.Command("deepprof", args...)
		cmd.Dir, cmd.Env = dir, env
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args[:2], err, text)
		}
		return string(text)
	}
	said := deepprof(args...) + deepprof("runs", "pack", "run", "-o", "whole"+runs.PackExt) + deepprof("runs", "show", "run")
	all := map[string][]byte{"what was printed": []byte(said)}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == runs.PrivateName || strings.HasSuffix(path, ".nsys-rep") {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.HasSuffix(path, runs.PackExt) && err == nil {
			data, err = inflate(data)
		}
		all[strings.TrimPrefix(path, dir)] = data
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(all["/recording/recording"+runs.PackExt]) == 0 || len(all["/run/workload/stdout.1.log"]) == 0 {
		t.Fatal("there is no recording, or no output of the workload")
	}
	plants := append(append(append(environ, arguments...), config...), inInputs...)
	for where, data := range all {
		for _, p := range plants {
			for i, form := range planted.Encoded(p.Secret) {
				if at := bytes.Index(data, form); at >= 0 {
					t.Errorf("%s: %q (encoding %d) is left at %d: %.80q", where, p.Text, i, at, data[max(0, at-20):])
				}
			}
		}
	}
}

func inflate(data []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(data, nil)
}
