package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deepprof/deepprof/recordings"
)

// A docLine is a command line in a code block of a page.
type docLine struct {
	place string // file:line
	text  string // as it is run
}

// confFile is how a page names a file of configuration whose content follows.
var confFile = regexp.MustCompile("`\\./(conf/[a-z0-9_/]+\\.yaml)`")

// docLines finds the command lines of deepprof in the pages, and the files of
// configuration that a page tells to write, by their paths.
func docLines(t *testing.T) (lines []docLine, files map[string]string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %v, %v", pages, err)
	}
	files = map[string]string{}
	for _, page := range append([]string{"../../README.md"}, pages...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		inside, before, told, writes := false, "", "", ""
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inside = !inside
				if writes = ""; inside && strings.HasSuffix(line, "```yaml") {
					writes, told = told, ""
				}
				continue
			}
			if m := confFile.FindStringSubmatch(line); m != nil && !inside {
				told = m[1]
			}
			if inside && writes != "" {
				files[writes] += line + "\n"
			}
			if more, ok := strings.CutSuffix(line, `\`); ok && inside {
				before += more
				continue
			}
			line, before = before+line, ""
			if inside && strings.HasPrefix(line, "deepprof ") {
				lines = append(lines, docLine{fmt.Sprintf("%s:%d", filepath.Base(page), i+1), typed(line)})
			}
		}
	}
	return lines, files
}

var (
	docComment  = regexp.MustCompile(`\s{3,}\S.*$`)
	docOptional = regexp.MustCompile(`\s\[[^\]=]*\]`)
	aligned     = regexp.MustCompile(`^deepprof (show|export) `) // spaces in these are for the eye
)

// typed is a line without its explanation, and without what may be left out.
func typed(line string) string {
	line = docOptional.ReplaceAllString(line, "")
	if head, _, ok := strings.Cut(line, " # "); ok {
		line = head
	} else if !aligned.MatchString(line) {
		line = docComment.ReplaceAllString(line, "")
	}
	return strings.TrimSpace(line)
}

// starts tells lines that start a profiler: they are run dry.
var starts = regexp.MustCompile(`^deepprof run(\s|$)`)

// dry makes a dry run of a line. What serves goes on until it is interrupted.
func dry(line string) string {
	if strings.HasPrefix(line, "deepprof serve") {
		return "timeout --signal=INT 3 " + line
	}
	if !starts.MatchString(line) || strings.Contains(line, "--dry-run") {
		return line
	}
	return "deepprof run --dry-run" + strings.TrimPrefix(line, "deepprof run")
}

// machine tells lines whose answer depends on what is installed: a profiler, a
// GPU, a checkpoint. What they must not be is wrong: the exit code of that is 2.
var machine = regexp.MustCompile(`^deepprof (run|doctor|runs resume|serve|mcp|compare --run)\b`)

// notRun are lines that only show the form of others, with the reason.
var notRun = map[string]string{
	"deepprof runs resume 20261115T0401":                                                                            "the id is that of a run of somebody else",
	"deepprof analyze rank*.nsys-rep counters.ncu-rep":                                                              "a .nsys-rep needs the nsys that wrote it",
	"deepprof run pipeline.nsys.python_sampling=true -- python3 generate.py":                                        "it needs nsys 2025.3, and is refused where an older one is installed",
	"deepprof analyze report.sqlite config.json --prompt 512 --new 32 --prefill-region encode --decode-region step": "the regions are of another program",
}

// TestDocs runs every command line of README.md and docs as a reader would, in a
// folder that has the files which pages speak of: a run by the name latest,
// report.sqlite and report.ncu-rep of an H200, two ranks, a model, and baselines of
// several processes.
func TestDocs(t *testing.T) {
	lines, files := docLines(t)
	if len(lines) < 60 {
		t.Fatalf("only %d lines were found", len(lines))
	}
	fixtures, err := filepath.Abs("../../testdata/h200")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docs.txtar"), []byte("docs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("LC_ALL", "C")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"docs": func(ts *testscript.TestScript, _ bool, _ []string) {
				prepareDocs(ts, fixtures, pages)
				for path, text := range files {
					ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(path)), 0o700))
					ts.Check(os.WriteFile(ts.MkAbs(path), []byte(text), 0o600))
				}
				page := ""
				for _, l := range lines {
					if name, _, _ := strings.Cut(l.place, ":"); name != page {
						page = name
						freshPage(ts)
					}
					runDocLine(ts, t, l)
				}
			},
		},
	})
}

// prepareDocs lays out what pages speak of.
func prepareDocs(ts *testscript.TestScript, fixtures, source string) {
	for name, from := range map[string]string{
		"report.sqlite": "llm.sqlite.gz", "report.ncu-rep": "llm.ncu-rep.gz", "rank0.sqlite": "llm.sqlite.gz", "rank1.sqlite": "llm.sqlite.gz",
		"FOLDER/rank0.sqlite": "llm.sqlite.gz", "FOLDER/rank1.sqlite": "llm.sqlite.gz", "FOLDER/rank2.sqlite": "llm.sqlite.gz", "FOLDER/rank3.sqlite": "llm.sqlite.gz",
	} {
		ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(name)), 0o700))
		gunzip(ts, false, []string{filepath.Join(fixtures, from), name})
	}
	config, err := os.ReadFile(filepath.Join(source, "internal/flops/testdata/models/real/Llama-3-8B.json"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("config.json"), config, 0o600))
	for _, program := range []string{"infer.py", "generate.py", "serve.py", "work.py"} {
		ts.Check(os.WriteFile(ts.MkAbs(program), []byte("print('work')\n"), 0o600))
	}
	ts.Check(os.WriteFile(ts.MkAbs("work"), []byte("#!/bin/sh\n"), 0o700))
	recording, err := os.ReadFile(filepath.Join(source, "recordings/llm-h200.deepprof.tar.zst"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("recording.deepprof.tar.zst"), recording, 0o600))
	for name, data := range map[string][]byte{"before.baseline.zst": recordings.Eager, "after.baseline.zst": recordings.Graphs} {
		ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
	}
	ts.Check(ts.Exec("deepprof", "demo"))
}

// freshPage removes what the lines of the page before wrote.
func freshPage(ts *testscript.TestScript) {
	for _, pattern := range []string{"*.deepprof", "run.deepprof.tar.zst"} {
		old, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		for _, path := range old {
			ts.Check(os.RemoveAll(path))
		}
	}
}

// runDocLine runs one line and fails where it does not work.
func runDocLine(ts *testscript.TestScript, t *testing.T, l docLine) {
	if notRun[l.text] != "" {
		return
	}
	err := ts.Exec("bash", "-c", dry(l.text))
	var failed *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &failed):
		ts.Fatalf("%s: %v", l.place, err)
	case machine.MatchString(l.text) && failed.ExitCode() != exitUsage:
	case strings.HasPrefix(l.text, "deepprof selfcheck ") && failed.ExitCode() == exitUsage: // it cannot tell without the vendor's tool
	default:
		t.Errorf("%s: %s: exit code %d", l.place, dry(l.text), failed.ExitCode())
	}
}
