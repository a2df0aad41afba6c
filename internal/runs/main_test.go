package runs

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

var update = flag.Bool("update", false, "write golden files")

// Tests that need another process start this binary again; RUNS_TEST_ROLE says
// what it plays.
func TestMain(m *testing.M) {
	if role := os.Getenv("RUNS_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("RUNS_TEST_ARG")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role, arg string) error {
	switch role {
	case "create": // make a number of runs and print their folders
		n, err := strconv.Atoi(os.Getenv("RUNS_TEST_N"))
		if err != nil {
			return err
		}
		for range n {
			r, err := Create(arg, CreateOptions{})
			if err != nil {
				return err
			}
			fmt.Println(r.Dir())
			if err := r.Finish(StatusDone, fact.Fact{}); err != nil {
				return err
			}
		}
		return nil
	case "hold": // make a run, say where, and stay in the middle of a stage
		r, err := Create(arg, CreateOptions{Steps: []Step{{Name: "baseline"}, {Name: "nsys"}, {Name: "ncu"}}})
		if err != nil {
			return err
		}
		if err := holdSteps(r); err != nil {
			return err
		}
		fmt.Println(r.Dir())
		io.Copy(io.Discard, os.Stdin)
		return nil
	case "churn": // make a run and rewrite its manifest until killed
		r, err := Create(arg, CreateOptions{})
		if err != nil {
			return err
		}
		fmt.Println(r.Dir())
		for i := 0; ; i++ {
			if err := r.Warn(fmt.Sprintf("warning %d %0*d", i, i%500, 0)); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("no role %q", role)
}

func holdSteps(r *Run) error {
	if err := r.WriteFile("workload/stdout.log", []byte("baseline ran\n")); err != nil {
		return err
	}
	files, err := r.HashFiles(ctx, "workload")
	if err != nil {
		return err
	}
	zero := 0
	for _, step := range []func() error{
		func() error { return r.StartStep("baseline") },
		func() error { return r.StartAttempt("baseline", "/w", "./toy") },
		func() error {
			return r.EndAttempt("baseline", Result{ExitCode: &zero, Outcome: Outcome{Kind: "captured", Usable: true, Text: fact.FromText("ran")}, Files: files})
		},
		func() error { return r.EndStep("baseline", StateDone, fact.Fact{}) },
		func() error { return r.StartStep("nsys") },
		func() error { return r.StartAttempt("nsys", "/w", "nsys", "profile", "./toy") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// child starts this binary in a role.
func child(t *testing.T, role, arg string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), append([]string{"RUNS_TEST_ROLE=" + role, "RUNS_TEST_ARG=" + arg}, env...)...)
	c.Stderr = os.Stderr
	return c
}

// startChild starts a child that prints its run folder and goes on; it is
// killed when the test ends.
func startChild(t *testing.T, role, arg string) (*exec.Cmd, string) {
	t.Helper()
	c := child(t, role, arg)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v", err)
	}
	return c, line[:len(line)-1]
}

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	goldenFile(t, filepath.Join("testdata", name), got)
}

func goldenFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; got:\n%s\nrun with -update to accept", path, got)
	}
}

func mustCreate(t *testing.T, root string, o CreateOptions) *Run {
	t.Helper()
	r, err := Create(root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func at(s string) time.Time {
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return v
}
