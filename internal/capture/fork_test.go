package capture

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/tool"
)

// unfollowing stands in for nsys: it runs the workload and leaves a report that
// says whether forked children were traced, "yes" or "no". FAIL=1 lets it leave
// none where they are, FAIL=2 lets it say "no" all the same, FAIL=3 so with a
// workload that crashes.
const unfollowing = `#!/bin/sh
fork=no
while [ $# -gt 0 ]; do
	case "$1" in
	--output=*) out=${1#*=} ;;
	--trace-fork-before-exec=true) fork=yes ;;
	profile | --*) ;;
	*) break ;;
	esac
	shift
done
"$@"
[ "$fork$FAIL" = yes1 ] && exit 1
[ "$fork$FAIL" = yes2 ] && fork=no
[ "$fork$FAIL" = yes3 ] && fork=no && code=139
printf 'NVIDIA Tegra Profiler Report %s' "$fork" >"$out.nsys-rep"
printf 'Generated:\n\t%s\n' "$out.nsys-rep"
exit ${code:-0}
`

// Two workloads of a shell: one whose child goes on as a shell, one whose child
// runs another program.
const (
	forksOnly = `(sleep 0.7; :) & wait`
	forksExec = `sleep 0.7 & wait`
)

func unfollowed(t *testing.T, workload, fail string) Capture {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "nsys")
	if err := os.WriteFile(path, []byte(unfollowing), 0o755); err != nil {
		t.Fatal(err)
	}
	target := []string{"/bin/sh", "-c", workload}
	out := filepath.Join(dir, "out", "r")
	return Capture{
		Tool:    Nsys,
		Command: tool.Command{Path: path, Args: append([]string{"profile", "--trace=cuda", "--output=" + out}, target...), Dir: dir, Env: append(os.Environ(), "FAIL="+fail)},
		Output:  out, Target: target, Backoff: 10 * time.Millisecond,
		Limits: tool.Limits{Settle: 100 * time.Millisecond, Grace: 2 * time.Second},
		Expect: Expect{Tables: []string{DataKernels}},
		Check: func(_ context.Context, report string) (*Content, error) {
			text, err := os.ReadFile(report)
			if err != nil {
				return nil, err
			}
			// An export, as the pipeline makes one beside the report.
			if err := os.WriteFile(strings.TrimSuffix(report, ".nsys-rep")+".sqlite", text, 0o644); err != nil {
				return nil, err
			}
			rows := map[string]int64{}
			if bytes.HasSuffix(text, []byte("yes")) {
				rows[DataKernels] = 3
			}
			return &Content{Rows: rows}, nil
		},
	}
}

func TestForksFollowed(t *testing.T) {
	for _, k := range []struct {
		name, workload, fail string
		want                 Kind
		attempts             int
		left                 string // end of the report
		warning              string
		next                 string
	}{
		{"healed", forksOnly, "", WithWarnings, 2, "yes", "forks-followed", "read the warnings"},
		{"no fork", forksExec, "", MissingData, 1, "no", "", "if those of forked children are missing, set pipeline.nsys.trace_fork_before_exec=true"},
		{"second try fails", forksOnly, "1", MissingData, 2, "no", string(warnNothingMore), "set pipeline.nsys.trace_fork_before_exec=true"},
		{"second try crashes", forksOnly, "3", MissingData, 2, "no", string(warnNothingMore), "set pipeline.nsys.trace_fork_before_exec=true"},
		{"second try finds nothing", forksOnly, "2", MissingData, 2, "no", string(warnInVain), "check that the workload uses the GPU"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := unfollowed(t, k.workload, k.fail)
			var told []fact.Fact
			c.Notice = func(f fact.Fact) { told = append(told, f) }
			r := Run(t.Context(), c)
			o := r.Outcome
			if o.Kind != k.want || len(r.Attempts) != k.attempts || len(told) != k.attempts-1 || len(r.Reports) != 1 || !o.Usable {
				t.Fatalf("%s after %d attempts, told %v, reports %v\n%s", o.Kind, len(r.Attempts), told, r.Reports, o.explain())
			}
			for _, tail := range []string{".nsys-rep", ".sqlite"} {
				if text, err := os.ReadFile(c.Output + tail); err != nil || !strings.HasSuffix(string(text), " "+k.left) {
					t.Errorf("%s: %q, %v", tail, text, err)
				}
			}
			if k.warning == "forks-followed" && o.Warnings[0].Text("setting") != forkSetting {
				t.Errorf("the setting is not named: %v", o.Warnings[0])
			}
			if k.warning != "" && (len(o.Warnings) == 0 || string(o.Warnings[0].Code) != k.warning) {
				t.Errorf("no warning %s\n%s", k.warning, o.explain())
			}
			if !strings.Contains(message.Next(o.Cause), k.next) {
				t.Errorf("next %q, want %q", message.Next(o.Cause), k.next)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.Output), ".deepprof-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			first := r.Attempts[0]
			if first.Outcome.Kind != MissingData || strings.Contains(first.Command, forkOption) {
				t.Errorf("first attempt %+v", first)
			}
			if k.attempts < 2 {
				return
			}
			second := r.Attempts[1]
			if !first.Outcome.Cause.Is(causeForks) || first.Outcome.Cause.Number("n") != 1 || !strings.HasPrefix(first.Outcome.Cause.Text("child"), "sh (pid ") {
				t.Errorf("cause %v", first.Outcome.Cause)
			}
			if why := told[0].Params["why"].Facts; len(why) != 2 || !why[0].Is(reportLacks) || !why[1].Is(causeForks) {
				t.Errorf("told %v", told)
			}
			if !strings.Contains(second.Command, "nsys profile --trace-fork-before-exec=true ") || filepath.Base(second.Stdout) != "stdout.2.log" {
				t.Errorf("second attempt %+v", second)
			}
		})
	}
}

// TestForksAsked: where the option is set nothing more is tried.
func TestForksAsked(t *testing.T) {
	c := unfollowed(t, forksOnly, "2")
	c.Command.Args = withOption(c.Command.Args, "--"+forkOption+"=true")
	if r := Run(t.Context(), c); r.Outcome.Kind != MissingData || len(r.Attempts) != 1 || strings.Contains(message.Next(r.Outcome.Cause), forkSetting) {
		t.Errorf("%d attempts\n%s", len(r.Attempts), r.Outcome.explain())
	}
}

// TestJudgeForks: the diagnostics are those of nsys 2025.3 on an H200 for a
// program whose forked children do all GPU work.
func TestJudgeForks(t *testing.T) {
	silent := []Diagnostic{
		{Level: "Warning", Text: "No NVTX events collected. Does the process use NVTX?"},
		{Level: "Warning", Text: "CUDA profiling might have not been started correctly."},
		{Level: "Warning", Text: "No CUDA events collected. Does the process use CUDA?"},
	}
	driver := append(slices.Clone(silent), Diagnostic{Level: "Warning", Text: "Installed CUDA driver version (9.0) is no longer supported."})
	for _, k := range []struct {
		name        string
		forked      []string
		options     []string
		diagnostics []Diagnostic
		unfollowed  bool
		cause       string
	}{
		{"forked", []string{"a (pid 1)", "a (pid 2)"}, []string{"trace"}, silent, true, "the workload forked 2 children (first a (pid 1)) without exec"},
		{"no fork seen", nil, []string{"trace"}, silent, false, "or did it in children that it forked without exec"},
		{"followed", []string{"a (pid 1)"}, []string{"trace", forkOption}, silent, false, "the profiler may not have attached"},
		{"driver", []string{"a (pid 1)"}, []string{"trace"}, driver, false, "driver and nsys do not match"},
		{"options unknown", []string{"a (pid 1)"}, nil, silent, false, "the profiler may not have attached"},
	} {
		e := Evidence{
			Tool: Nsys, Want: "/w/r.nsys-rep", Files: []File{{Path: "/w/r.nsys-rep", Size: 9, Format: NsysReport, Fresh: true}},
			Forked: k.forked, Options: k.options, Diagnostics: k.diagnostics,
			Expect: Expect{Tables: []string{DataKernels}}, Content: &Content{},
		}
		o := judge(e)
		if o.Kind != MissingData || o.unfollowed != k.unfollowed || !strings.Contains(message.Text(o.Cause), k.cause) {
			t.Errorf("%s: unfollowed %v\n%s", k.name, o.unfollowed, o.explain())
		}
		checkOutcome(t, k.name, o)
	}
}

// A file that cannot be moved aside stays, and so do the others: here its path would be
// longer than Linux allows.
func TestPutAsideLosesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the length of paths is that of Linux")
	}
	dir := t.TempDir()
	for len(dir) < 4018 {
		dir = filepath.Join(dir, strings.Repeat("d", min(200, max(1, 4018-len(dir)-1))))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "report")
	paths := []string{base + ".sqlite", base + "." + strings.Repeat("1", 44) + ".nsys-rep"}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(siblings(base)); n != 2 {
		t.Fatalf("%d files of the report are known", n)
	}
	if _, err := putAside(base); err == nil {
		t.Fatal("both files were moved")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v (%v), want both files alone", left, err)
	}
}

// TestRealForks: without the option the ranges of forked children are absent
// from the report of a real nsys; the engine notices and gets them.
func TestRealForks(t *testing.T) {
	nsight(t)
	for _, version := range nsightVersions {
		t.Run(version, func(t *testing.T) {
			oneAtATime.Lock()
			defer oneAtATime.Unlock()
			var r Result
			for range 3 { // see runReal
				c := nsysCapture(t, version, nil, []string{"fork=2", "ms=900", "iters=1"})
				c.Expect.Tables = []string{"child"}
				c.Check = func(ctx context.Context, report string) (*Content, error) {
					return countRanges(ctx, c.Command.Path, report)
				}
				if r = Run(t.Context(), c); r.Outcome.Kind == WithWarnings {
					break
				}
			}
			if r.Outcome.Kind != WithWarnings || len(r.Attempts) < 2 || r.Outcome.Warnings[0].Code != "forks-followed" {
				t.Fatalf("%d attempts\n%s", len(r.Attempts), r.Outcome.explain())
			}
			if o := r.Outcome; !o.Evidence.Equal(o.Warnings[0].Fact) {
				t.Errorf("another warning decided:\n%s", o.explain())
			}
			n := slices.IndexFunc(r.Attempts, func(a Attempt) bool { return strings.Contains(a.Command, forkOption) })
			if first := r.Attempts[n-1].Outcome; first.Kind != MissingData || !first.Cause.Is(causeForks) || first.Cause.Number("n") != 2 {
				t.Errorf("before the second try:\n%s", first.explain())
			}
		})
	}
}

// countRanges exports a report and counts its NVTX ranges by name.
func countRanges(ctx context.Context, nsys, report string) (*Content, error) {
	path := strings.TrimSuffix(report, ".nsys-rep") + ".sqlite"
	if out, err := exec.CommandContext(ctx, nsys, "export", "--type=sqlite", "--force-overwrite=true", "--output="+path, report).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("export: %w: %s", err, out)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	content := &Content{Rows: map[string]int64{}}
	table, ok := db.Table("NVTX_EVENTS")
	if !ok {
		return content, nil
	}
	_, err = db.Scan(ctx, table, []string{"text"}, 1, func(_ int, row *sqlite.Row) error {
		content.Rows[row.Text(0)]++
		return nil
	})
	return content, err
}

func TestPatienceFor(t *testing.T) {
	for _, c := range []struct {
		took        float64
		limit, want time.Duration
	}{
		{2, 0, time.Minute}, {2, time.Hour, time.Minute}, {2, 30 * time.Second, 30 * time.Second}, {60, time.Hour, 10 * time.Minute}, {60, -1, 10 * time.Minute},
	} {
		if got := patienceFor(c.took, c.limit); got != c.want {
			t.Errorf("%v s, limit %v: %v, want %v", c.took, c.limit, got, c.want)
		}
	}
}
