package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake writes a shell script that stands for a measured program.
func fake(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	deepprof := fake(t, "deepprof", `case "$1 $2" in
		"show kernels") echo '{"rows": []}' ;;
		"show regions") echo 'unknown command "regions" | for "show"' >&2; exit 2 ;;
		"show metrics") echo nothing ;;
		*) echo "a: 1.0" ;;
	esac`)
	nsight := t.TempDir()
	if err := os.Mkdir(nsight+"/trixie", 0o755); err != nil {
		t.Fatal(err)
	}
	nsys := fake(t, "nsys", `sleep 0.3; echo "Time (%),Total Time (ns)"`)
	if err := os.Rename(nsys, nsight+"/trixie/nsys"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "small.sqlite")
	if err := os.WriteFile(file, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	err := run(context.Background(), []string{"-deepprof", deepprof, "-small", file, "-report", file, "-nsight", nsight, "-rounds", "2"}, &out, &log)
	text := out.String()
	for _, want := range []string{
		"- small: small.sqlite, 0.0 MB", "- large: not given",
		"| nsys stats small | 2 | 0.3",
		`| regions small | – | not measured: exit status 2: unknown command "regions" \| for "show" |`,
		`| metrics | – | not measured: exits 0 but its output lacks "\"rows\"": nothing |`,
		"| ncu raw | – | not measured: needs ncu (-nsight or DEEPPROF_NSIGHT) |",
		"| kernels large | – | not measured: needs a timeline of 10 million kernels (-large) |",
		"| show kernels faster than nsys stats | wall |",
		"| show metrics faster than ncu --import | wall | – | ≥ 20.00× | not measured: ncu raw: needs ncu",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in (%v)\n%s", want, err, text)
		}
	}
	for _, row := range ratios {
		if !strings.Contains(text, "| "+row.title+" |") {
			t.Errorf("row %q was dropped", row.title)
		}
	}
}

func TestRatios(t *testing.T) {
	at := func(name string, walls ...time.Duration) *result {
		r := &result{command: command{name: name}}
		for _, w := range walls {
			r.samples = append(r.samples, sample{wall: w, cpu: w / 2, rss: 50e6})
		}
		return r
	}
	results := []*result{at("a", 3*time.Second, time.Second, 20*time.Second), at("b", time.Second, 2*time.Second), {command: command{name: "c"}, reason: "gone"}}
	for _, test := range []struct {
		row    ratio
		want   string
		missed int
	}{
		{ratio{title: "x", of: wall, over: "a", under: "b", atLeast: 2}, "| x | wall | 2.00× | ≥ 2.00× | met |", 0},
		{ratio{title: "x", of: cpu, over: "a", under: "b", atMost: 1.9}, "| x | CPU | 2.00× | ≤ 1.90× | missed |", 1},
		{ratio{title: "x", of: memory, over: "a", atMost: 100}, "| x | peak MB | 50 MB | ≤ 100 MB | met |", 0},
		{ratio{title: "x", of: wall, over: "a", under: "c", atMost: 1}, "| x | wall | – | ≤ 1.00× | not measured: c: gone |", 0},
		{ratio{title: "x", of: wall, over: "d"}, "| x | wall | – |  | not measured: there is no command d |", 0},
	} {
		var out bytes.Buffer
		if missed := writeRatios(&out, []ratio{test.row}, results); missed != test.missed || !strings.Contains(out.String(), test.want) {
			t.Errorf("%d missed, want %d and %q in\n%s", missed, test.missed, test.want, out.String())
		}
	}
}

// TestNames keeps the two tables together.
func TestNames(t *testing.T) {
	known := map[string]bool{"": true}
	for _, c := range commands(inputs{}) {
		known[c.name] = true
	}
	for _, row := range ratios {
		if !known[row.over] || !known[row.under] {
			t.Errorf("row %q compares %q and %q", row.title, row.over, row.under)
		}
	}
}
