package nsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// fakeNsys writes an nsys that runs body for "export"; $out is the file asked
// for and $report the input. It appends a line to calls each time.
func fakeNsys(t *testing.T, body string) (path, calls string) {
	t.Helper()
	dir := t.TempDir()
	path, calls = filepath.Join(dir, "nsys"), filepath.Join(dir, "calls")
	script := `#!/bin/sh
if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version 2023.4.4.54-fake"; exit 0; fi
for a in "$@"; do case "$a" in --output=*) out=${a#--output=};; *) report=$a;; esac; done
echo export >> ` + calls + "\n" + body + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, calls
}

func fakeReport(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.nsys-rep")
	if err := os.WriteFile(path, []byte(format.NsysMagic+"2023@4."+content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func options(t *testing.T, nsys string) OpenOptions {
	return OpenOptions{Nsys: nsys, CacheDir: t.TempDir(), System: tool.System{CacheDir: "off"}}
}

func exports(t *testing.T, calls string) int {
	t.Helper()
	data, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "export")
}

func TestExportCache(t *testing.T) {
	ctx := context.Background()
	nsys, calls := fakeNsys(t, "cp "+export(t, "toy")+` "$out"`)
	o := options(t, nsys)
	report := fakeReport(t, "one")
	open := func(want int) {
		t.Helper()
		f, err := Open(ctx, report, o)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Path != report || f.SQLite == report {
			t.Errorf("path %s, SQLite %s", f.Path, f.SQLite)
		}
		rows, err := f.KernelRows(ctx, timeline.Query{})
		if err != nil || len(rows.Rows) != 4 {
			t.Errorf("%d kernels, %v", len(rows.Rows), err)
		}
		if len(rows.Warnings) > 0 || f.Damaged() {
			t.Errorf("warnings %v of a good export", rows.Warnings)
		}
		if got := exports(t, calls); got != want {
			t.Errorf("%d exports so far, want %d", got, want)
		}
	}
	open(1)
	open(1)

	// The same size and time, but another content: nothing but the content may
	// count.
	info, err := os.Stat(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(report, []byte(format.NsysMagic+"2023@4."+"two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(report, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	open(2)

	// A later time alone makes nothing stale, nor does another name.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(report, later, later); err != nil {
		t.Fatal(err)
	}
	open(2)
	moved := report + ".qdrep"
	if err := os.Rename(report, moved); err != nil {
		t.Fatal(err)
	}
	report = moved
	open(2)

	// A damaged entry is made again.
	entries, err := filepath.Glob(filepath.Join(o.CacheDir, "*.sqlite"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("cache holds %q, %v", entries, err)
	}
	for _, e := range entries {
		if err := os.Truncate(e, 5000); err != nil {
			t.Fatal(err)
		}
	}
	open(3)

	// From the cache, no nsys is needed.
	o.Nsys = filepath.Join(t.TempDir(), "nsys")
	open(3)
}

// TestReadersOfOneExport: opening an export that another reads changes nothing
// for the other, and still counts as use.
func TestReadersOfOneExport(t *testing.T) {
	ctx := context.Background()
	nsys, _ := fakeNsys(t, "cp "+export(t, "toy")+` "$out"`)
	o := options(t, nsys)
	report := fakeReport(t, "")
	first, err := Open(ctx, report, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	old := time.Now().Add(-40 * 24 * time.Hour)
	if err := os.Chtimes(lockOf(first.SQLite), old, old); err != nil {
		t.Fatal(err)
	}
	second, err := Open(ctx, report, o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	for _, f := range []*File{first, second} {
		tl, err := f.Timeline(ctx, Everything)
		if err != nil || f.Damaged() {
			t.Errorf("damaged: %v, %v", tl.Warnings, err)
		}
	}
	used, err := os.Stat(lockOf(first.SQLite))
	if err != nil || time.Since(used.ModTime()) > time.Hour {
		t.Errorf("the second use left no mark: %v, %v", used.ModTime(), err)
	}
}

func TestExportAtTheSameTime(t *testing.T) {
	nsys, calls := fakeNsys(t, "sleep 0.3; cp "+export(t, "toy")+` "$out"`)
	o := options(t, nsys)
	report := fakeReport(t, "")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			f, err := Open(context.Background(), report, o)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
		})
	}
	group.Wait()
	if n := exports(t, calls); n != 1 {
		t.Errorf("%d exports", n)
	}
}

func TestExportFails(t *testing.T) {
	stub := makeFile(t, `CREATE TABLE a (x)`)
	tests := []struct{ name, body, want string }{
		{"newer report", "cp " + stub + ` "$out"; echo 'Exportation error: Version not supported: 17' >&2; exit 1`, "newer Nsight Systems"},
		{"newer report, protobuf", "cp " + stub + ` "$out"; echo 'terminate called: ProtobufParseException' >&2; exit 1`, "export it with the version that wrote it: nsys export --type=sqlite"},
		{"damaged report", `echo 'Exportation error: Cannot read from stream' >&2; exit 1`, "damaged or cut off"},
		{"full disk, exit 0", `: > "$out"; echo 'database or disk is full'`, "disk of the cache is full"},
		{"nothing written, exit 0", `exit 0`, "left no usable file"},
		{"a stub, exit 0", "cp " + stub + ` "$out"`, "none of Nsight Systems"},
		{"half a file, exit 0", "head -c 100000 " + export(t, "toy") + ` > "$out"`, "damaged file"},
		{"another failure", `echo boom >&2; exit 3`, "exit code 3): boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nsys, _ := fakeNsys(t, test.body)
			o := options(t, nsys)
			f, err := Open(context.Background(), fakeReport(t, ""), o)
			if err == nil {
				f.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "run.nsys-rep") {
				t.Errorf("error %q lacks %q", err, test.want)
			}
			left, _ := filepath.Glob(filepath.Join(o.CacheDir, "*"))
			for _, path := range left {
				if !strings.HasSuffix(path, ".lock") {
					t.Errorf("the cache keeps %s", path)
				}
			}
		})
	}
}

func TestExportStopped(t *testing.T) {
	nsys, _ := fakeNsys(t, "sleep 60")
	o := options(t, nsys)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, fakeReport(t, ""), o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestNoNsys(t *testing.T) {
	o := OpenOptions{CacheDir: t.TempDir(), System: tool.System{Root: t.TempDir(), Env: []string{"PATH=/nonexistent"}, CacheDir: "off"}}
	_, err := Open(context.Background(), fakeReport(t, ""), o)
	if err == nil {
		t.Fatal("it opened")
	}
	for _, want := range []string{"on a machine with Nsight Systems run: nsys export --type=sqlite", "then open the .sqlite"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if _, ok := errors.AsType[*tool.NotFoundError](err); !ok {
		t.Errorf("error %v is no tool.NotFoundError", err)
	}
}

func TestCachePlaces(t *testing.T) {
	if os.Getuid() != 0 {
		blocked := t.TempDir()
		if err := os.Chmod(blocked, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_CACHE_HOME", blocked)
	} else {
		t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	}
	report := fakeReport(t, "")
	c, err := findCache(report, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(report), ".deepprof-cache"); c.dir != want {
		t.Errorf("cache at %s, want %s", c.dir, want)
	}
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	if c, err = findCache(report, ""); err != nil || c.dir != filepath.Join(home, "deepprof", "nsys") {
		t.Errorf("cache at %s, %v", c.dir, err)
	}
}

func TestPrune(t *testing.T) {
	c := exportCache{t.TempDir()}
	now := time.Now()
	for name, age := range map[string]time.Duration{"old.sqlite": 31 * 24 * time.Hour, "new.sqlite": time.Hour, "export-1": 25 * time.Hour, "export-2": time.Hour, "x.lock": 100 * 24 * time.Hour,
		"used.sqlite": 31 * 24 * time.Hour, "used.lock": time.Hour} {
		path := filepath.Join(c.dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	c.prune(now)
	var left []string
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := fmt.Sprint(left); got != "[export-2 new.sqlite used.lock used.sqlite x.lock]" {
		t.Errorf("left %s", got)
	}
}

// profileTrue makes a report. nsys 2022.4 is tried again: runs of it that start
// together on one machine disturb each other.
func profileTrue(t *testing.T, nsys tool.Tool) string {
	t.Helper()
	for try := 1; ; try++ {
		if _, err := tool.ClearStuckSessions(); err != nil {
			t.Log(err)
		}
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, stderr, exit, err := tool.Output(ctx, tool.Command{
			Path: nsys.Path,
			Args: []string{"profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--output=" + filepath.Join(dir, "run"), "/bin/true"},
			Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"},
		})
		cancel()
		report := filepath.Join(dir, "run.nsys-rep")
		if _, gone := os.Stat(report); err == nil && exit.OK() && gone == nil {
			return report
		}
		if try == 5 {
			t.Fatalf("%s: %v, %s: %s", nsys, err, exit, stderr)
		}
	}
}

// TestRealExport makes reports with the real tools and opens them; the older
// tool must fail on the report of the newer one and say so.
func TestRealExport(t *testing.T) {
	tools := realTools(t)
	var reports []string
	for _, nsys := range tools {
		reports = append(reports, profileTrue(t, nsys))
	}
	for i, report := range reports {
		f, err := Open(context.Background(), report, options(t, tools[i].Path))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Info(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(info.Source.Tool, fmt.Sprintf("%d.%d", tools[i].Version.Major, tools[i].Version.Minor)) || info.Source.Path != report {
			t.Errorf("source %+v of a report by %s", info.Source, tools[i])
		}
		f.Close()
	}
	_, err := Open(context.Background(), reports[1], options(t, tools[0].Path))
	if err == nil || !strings.Contains(err.Error(), "newer Nsight Systems") {
		t.Errorf("the older tool on the newer report: %v", err)
	}
}
