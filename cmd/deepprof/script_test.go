package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "accept what the commands print as the golden output")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"deepprof": main})
}

// TestScripts runs command lines as a user types them. Each script starts in
// an empty folder; $FIXTURES holds reports of real tools, $RECORDINGS what they
// printed.
func TestScripts(t *testing.T) { testscript.Run(t, scripts(t, "testdata/script")) }

// scripts are the scripts of a folder, with the commands that they have.
func scripts(t *testing.T, dir string) testscript.Params {
	t.Helper()
	fixtures, err := filepath.Abs("../../testdata/h200")
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Abs("../../internal/capture/testdata/recordings")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FIXTURES", fixtures)
			e.Setenv("RECORDINGS", recordings)
			e.Setenv("SYSPATH", e.Getenv("PATH"))
			e.Setenv("LC_ALL", "C")
			e.Setenv("DEEPPROF_NSIGHT", os.Getenv("DEEPPROF_NSIGHT"))
			e.Setenv("SCRIPTS", filepath.Join(fixtures, "../../scripts"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond { // what not every machine can have
			case "nsight": // real tools
				return os.Getenv("DEEPPROF_NSIGHT") != "", nil
			case "torch": // of Debian's Python
				return exec.Command("/usr/bin/python3", "-c", "import torch").Run() == nil, nil
			case "slurm": // real daemons
				return hasSlurm(), nil
			case "network": // a namespace without interfaces
				return exec.Command("unshare", "-rn", "true").Run() == nil, nil
			case "namespace": // a tmpfs of one's own
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gunzip":   gunzip,
			"fill":     fill,
			"bytes":    writeBytes,
			"cut":      cut,
			"exit":     exit,
			"validate": validate,
			"waitfile": waitFile,
			"slurm":    slurm,
		},
	}
}

// gunzip FILE.gz TARGET unpacks a fixture.
func gunzip(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: gunzip FILE.gz TARGET")
	}
	in, err := os.Open(args[0])
	ts.Check(err)
	defer in.Close()
	z, err := gzip.NewReader(in)
	ts.Check(err)
	out, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	_, err = io.Copy(out, z)
	ts.Check(err)
	ts.Check(out.Close())
}

// fill FILE MEGABYTES makes a sparse file.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	megabytes, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), megabytes<<20))
}

// bytes FILE TEXT writes a text with Go's escapes, \xff for example.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cut FILE BYTES keeps the first bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// exit CODE ARGS... runs deepprof and checks its exit code.
func exit(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("deepprof", args[1:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("deepprof: %v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// validate SCHEMA FILE checks JSON against the newest docs/schemas/SCHEMA.v*.json.
func validate(ts *testscript.TestScript, neg bool, args []string) {
	schemas, err := filepath.Glob(filepath.Join(docs, "schemas", args[0]+".v*.json"))
	if err != nil || len(schemas) == 0 {
		ts.Fatalf("no schema of %s: %v", args[0], err)
	}
	text, err := os.ReadFile(schemas[len(schemas)-1])
	ts.Check(err)
	var schema jsonschema.Schema
	ts.Check(json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	ts.Check(err)
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &value))
	switch err := resolved.Validate(value); {
	case err != nil && !neg:
		ts.Fatalf("%s: %v", args[0], err)
	case err == nil && neg:
		ts.Fatalf("%s: valid, which was not expected", args[0])
	}
}

// waitfile FILE waits until a program that runs in the background made FILE.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// docs is the folder of the documentation.
var docs = func() string {
	dir, err := filepath.Abs("../../docs")
	if err != nil {
		panic(err)
	}
	return dir
}()
