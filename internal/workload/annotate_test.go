package workload

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAnnotationInstalls(t *testing.T) {
	dir := t.TempDir()
	a := Annotation{Mode: "auto", Depth: 3, Code: filepath.Join(dir, "code"), Out: filepath.Join(dir, "out")}
	if err := a.Install(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sitecustomize.py", "deepprof_annotate.py"} {
		if _, err := os.Stat(filepath.Join(a.Code, name)); err != nil {
			t.Error(err)
		}
	}
	want := []string{"PYTHONPATH=" + a.Code + ":/lib", "DEEPPROF_ANNOTATE=auto", "DEEPPROF_ANNOTATE_OUT=" + a.Out, "DEEPPROF_ANNOTATE_DEPTH=3"}
	if env := a.Variables([]string{"PYTHONPATH=/old", "HOME=/", "PYTHONPATH=/lib"}); !slices.Equal(env, want) {
		t.Errorf("environment %v", env)
	}
	if env := a.Variables([]string{"PYTHONPATH="}); env[0] != "PYTHONPATH="+a.Code {
		t.Errorf("environment %v", env)
	}
}

func TestReadAnnotated(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// As workloads/annotate wrote it on an H200; the last line is one that a kill cut.
	write("12.jsonl", `{"on":"auto","torch":"2.11.0+cu130","argv":["program.py"]}
{"range":["prefill"]}
{"step":0,"stage":"prefill","batch":1,"tokens":128,"cached":0}
{"range":["prefill","LlamaForCausalLM"]}
{"step":1,"stage":"decode","batch":1,"tokens":1,"cached":128}
{"limited":30000,"depth":4}
{"range":["generate *","LlamaForCausalLM","layers.1"],"own":[0]}
{"flops":10,"calls":1,"dtype":"torch.bfloat16","own":[0],"work":["generate *","LlamaForCausalLM","layers.1"],"node":4}
{"flops":30,"calls":2,"dtype":"torch.bfloat16","own":[0],"work":["generate *","LlamaForCausalLM","layers.1"],"node":4}
{"range":["dec`)
	write("7.jsonl", `{"off":"no-nvtx"}`+"\n")
	write("notes.txt", "x")
	write("9.error", "ImportError: no module named deepprof_annotate\n")
	got, err := ReadAnnotated(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Processes) != 3 {
		t.Fatalf("%+v", got)
	}
	if p := got.Processes[1]; p.PID != 9 || p.Off != "error" || p.Error != "ImportError: no module named deepprof_annotate" {
		t.Errorf("%+v", p)
	}
	if p := got.Processes[0]; p.PID != 7 || p.Off != "no-nvtx" {
		t.Errorf("%+v", p)
	}
	p := got.Processes[2]
	if p.Mode != "auto" || len(p.Paths) != 3 || p.Ended || p.Broken != 1 || p.Depth != 4 {
		t.Errorf("%+v", p)
	}
	if len(p.Steps) != 2 || p.Steps[1] != (AnnotatedStep{1, "decode", 1, 1, 128}) {
		t.Errorf("steps %+v", p.Steps)
	}
	injected, work := got.Injected(), got.Work()
	for path, want := range map[string]bool{
		"prefill/LlamaForCausalLM": true, "generate 7/LlamaForCausalLM/layers.1": true, "generate 7/LlamaForCausalLM/layers.2": false,
		"LlamaForCausalLM/layers.1": false, "generate 7": false,
	} {
		if injected(path) != want {
			t.Errorf("%s: injected %v", path, !want)
		}
	}
	if w := work("generate 12/LlamaForCausalLM/layers.1"); len(w) != 1 || w[0].FLOPs != 30 || w[0].Calls != 2 || w[0].DType != "torch.bfloat16" {
		t.Errorf("work %+v", w)
	}
	if none, err := ReadAnnotated(filepath.Join(dir, "nowhere")); err != nil || len(none.Processes) > 0 {
		t.Errorf("a folder that is not there: %+v, %v", none, err)
	}
}
