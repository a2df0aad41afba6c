package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goTool asks the go command about the module.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// connects are the packages that may open a connection: to the server that is
// profiled, which a person names or deepprof starts. web listens.
var connects = []string{"internal/engine", "internal/load", "internal/serving", "internal/pipeline", "internal/web"}

// TestNoNetwork: no other package of ours that is in the program can open a
// connection, since none imports a package that does.
func TestNoNetwork(t *testing.T) {
	ours, dials := 0, []string{"net", "net/http", "net/rpc", "net/smtp", "crypto/tls"}
	for line := range strings.Lines(goTool(t, "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, ".")) {
		words := strings.Fields(line)
		name, own := strings.CutPrefix(words[0], "github.com/deepprof/deepprof/")
		if !own || slices.Contains(connects, name) {
			continue
		}
		ours++
		for _, imported := range words[1:] {
			if slices.Contains(dials, imported) {
				t.Errorf("%s imports %s", words[0], imported)
			}
		}
	}
	if ours < 20 {
		t.Errorf("only %d packages of ours were looked at", ours)
	}
}

// TestDependencies: docs/dependencies.md lists the modules of go.mod, whether
// they are in the program, and their licenses, as their files say.
func TestDependencies(t *testing.T) {
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(goTool(t, "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	inside := strings.Fields(goTool(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^\| \S+\.\S+/.*\|$`).FindAllString(string(text), -1)
	var want []string
	for _, m := range mod.Require {
		where := "tests and tools"
		if slices.Contains(inside, m.Path) {
			where = "program"
		}
		dir := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Dir}}", m.Path))
		row := fmt.Sprintf("| %s | %s | %s | ", m.Path, m.Version, where)
		switch i := slices.IndexFunc(got, func(g string) bool { return strings.HasPrefix(g, row) }); {
		case dir != "":
			row += licenseOf(t, dir) + " |"
		case i >= 0: // of another system, as a rule
			t.Logf("%s is not on this machine: its license is not checked", m.Path)
			row = got[i]
		}
		want = append(want, row)
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/dependencies.md lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// licenseOf recognizes the license of a module by a sentence that no other has.
func licenseOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(strings.ToUpper(e.Name()), "LICENSE") })
	if i < 0 {
		t.Fatalf("%s has no license", dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, entries[i].Name()))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, l := range []struct{ name, sentence string }{
		{"MIT", `The above copyright notice and this permission notice`},
		{"MIT-0", `MIT No Attribution`},
		{"ISC", `Permission to use, copy, modify, and distribute this software`},
		{"BSD-3-Clause", `(?i)neither the names? of`},
		{"Apache-2.0", `Apache License,?\s+Version 2\.0`},
	} {
		if regexp.MustCompile(l.sentence).Match(text) {
			found = append(found, l.name)
		}
	}
	if len(found) == 0 && strings.Contains(string(text), "Redistribution and use in source and binary forms") {
		found = []string{"BSD-2-Clause"} // what is left of BSD-3-Clause without its third clause
	}
	if len(found) == 0 {
		t.Fatalf("the license of %s is not known", dir)
	}
	return strings.Join(found, ", ")
}
