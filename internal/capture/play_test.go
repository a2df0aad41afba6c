package capture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
)

// playVar makes the test binary stand in for a profiler: recordings separated
// by colons, one for each start in the same directory.
const playVar = "DEEPPROF_TEST_PLAY"

func TestMain(m *testing.M) {
	if list := os.Getenv(playVar); list != "" {
		names := strings.Split(list, ":")
		data, _ := os.ReadFile(".played")
		n, _ := strconv.Atoi(string(data))
		_ = os.WriteFile(".played", []byte(strconv.Itoa(n+1)), 0o644)
		name, speed := names[min(n, len(names)-1)], 1.0
		if strings.Contains(name, "testdata/recordings") {
			speed = 20 // some took half a minute
		}
		os.Exit(PlayFile(name, os.Args[1:], os.Stdout, os.Stderr, speed))
	}
	code := m.Run()
	if os.Getenv("DEEPPROF_NSIGHT") != "" {
		_ = os.RemoveAll(programs())
	}
	os.Exit(code)
}

// played is a capture whose profiler is the test binary playing recordings.
func played(t *testing.T, which Tool, names ...string) Capture {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, n := range names {
		p, err := filepath.Abs(filepath.Join("testdata/recordings", n+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	out := filepath.Join(dir, "r")
	return Capture{
		Tool: which,
		Command: tool.Command{
			Path: os.Args[0], Args: []string{"--output=" + out}, Dir: dir,
			Env: append(os.Environ(), playVar+"="+strings.Join(paths, ":")),
		},
		Output: out, Backoff: 10 * time.Millisecond,
		Limits: tool.Limits{Settle: 100 * time.Millisecond, Grace: 2 * time.Second},
	}
}

// TestRecorded plays what nsys and ncu did on an H200 through the engine: the
// table of outcomes of the matrix that was run there.
func TestRecorded(t *testing.T) {
	gate := func(c *Capture) { c.Gated = true }
	shutdown := func(c *Capture) { c.Gated, c.EndsTarget = true, true }
	for _, k := range []struct {
		name    string
		change  func(*Capture)
		want    Kind
		reports int
		must    []string
	}{
		{"nsys-ungated", nil, Captured, 1, nil},
		{"nsys-gate-never", gate, GateNeverOpened, 0, nil},
		{"nsys-end-stop-shutdown", shutdown, WithWarnings, 1, []string{"ended-as-asked"}},
		{"nsys-end-stop", gate, Captured, 1, nil},
		{"nsys-end-none", gate, Captured, 1, nil},
		{"nsys-end-repeat-2", func(c *Capture) { c.Gated, c.Expect.Reports = true, 2 }, Captured, 2, nil},
		{"nsys-stop-shutdown-importer", shutdown, ImporterBroken, 0, []string{"not-imported"}},
		{"nsys-importer-unknown", nil, ImporterBroken, 0, []string{"not-imported"}},
		{"nsys-exists", nil, WithWarnings, 1, []string{"report-moved", "file_exists"}},
		{"nsys-exit-7", nil, WorkloadFailed, 1, []string{"workload-cut"}},
		{"nsys-interrupted", nil, WorkloadCrashed, 1, nil}, // somebody else interrupted it
		{"ncu-nvtx-no-slash", nil, NothingMatched, 0, nil},
		{"ncu-kernel-replay", nil, Captured, 1, nil},
		{"ncu-range-unsupported-api", nil, UnsupportedAPI, 0, nil},
		{"ncu-app-range", nil, Captured, 1, nil},
		{"ncu-range-toy", nil, Captured, 1, nil},
		{"ncu-range-idle", nil, NothingMatched, 0, nil},
		{"ncu-nothing-matched", nil, NothingMatched, 0, nil},
		{"ncu-unknown-metric", func(c *Capture) {
			c.Expect.Tables = []string{"nosuch__metric.sum"}
			c.Check = func(context.Context, string) (*Content, error) {
				return &Content{Launches: 4, Rows: map[string]int64{"launch__grid_size": 4}}, nil
			}
		}, MissingData, 1, nil},
		{"ncu-exit-7", nil, WorkloadFailed, 1, []string{"workload-cut"}},
		{"ncu-interrupted", nil, WithWarnings, 1, nil},
		{"ncu-unknown-section", nil, ToolUsage, 0, nil},
		{"ncu-output-folder-missing", nil, OutputUnwritable, 0, nil},
		{"ncu-permission", nil, Permission, 0, nil},
		{"ncu-counters-held", nil, CountersHeld, 0, nil},
		{"ncu-unknown-error", nil, DriverError, 0, nil},
		{"ncu-hung-collective", func(c *Capture) { c.Limits.Stall = 700 * time.Millisecond }, HungCollective, 0, nil},
		{"ncu-cut", func(c *Capture) { c.Limits.Timeout = 700 * time.Millisecond }, TimedOut, 1, []string{"ncu_metrics_absent"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			which := Nsys
			if strings.HasPrefix(k.name, "ncu") {
				which = Ncu
			}
			c := played(t, which, k.name)
			if k.change != nil {
				k.change(&c)
			}
			r := Run(t.Context(), c)
			o := r.Outcome
			if o.Kind != k.want || len(r.Reports) != k.reports || len(r.Attempts) != 1 {
				t.Fatalf("%s with %d reports after %d attempts, want %s with %d\n%s", o.Kind, len(r.Reports), len(r.Attempts), k.want, k.reports, o.explain())
			}
			checkOutcome(t, k.name, o)
			for _, id := range k.must {
				if !slices.ContainsFunc(o.Warnings, func(w Warning) bool { return string(w.Code) == id }) {
					t.Errorf("no warning %s\n%s", id, o.explain())
				}
			}
			for _, p := range r.Reports {
				if !strings.HasPrefix(p, c.Output) {
					t.Errorf("report at %s", p)
				}
			}
		})
	}
}

func TestImporterBrokenKeepsStream(t *testing.T) {
	c := played(t, Nsys, "nsys-importer-unknown")
	r := Run(t.Context(), c)
	if len(r.Kept) != 1 || r.Kept[0] != c.Output+".qdstrm" || !slices.Equal(r.Outcome.Streams, r.Kept) {
		t.Fatalf("kept %v, streams %v", r.Kept, r.Outcome.Streams)
	}
	if f := sniff(r.Kept[0], time.Time{}); f.Format != Stream {
		t.Errorf("%s is %s", r.Kept[0], f.Format)
	}
}

// TestRescue lets a stand-in for QdstrmImporter finish what nsys could not.
func TestRescue(t *testing.T) {
	for _, k := range []struct {
		name, script string
		want         Kind
		warning      string
	}{
		{"works", `[ "$1" = --version ] && exit 0; printf 'NVIDIA Tegra Profiler Report 1.' >"$4"; echo "Saved report file to \"$4\""`, WithWarnings, "imported in a second step"},
		{"library missing", `echo "QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot open shared object file" >&2; exit 127`, ImporterBroken, "libdw.so.1"},
		{"cut stream", `[ "$1" = --version ] && exit 0; echo "Qdstrm file is incomplete or invalid." >&2; exit 2`, ImporterBroken, "incomplete or invalid"},
		{"other version", `[ "$1" = --version ] && exit 0; echo "Qdstrm version 1 is not supported. The QdstrmImporter and qdstrm file versions must match." >&2; exit 2`, ImporterBroken, "must match"},
		{"lies", `exit 0`, ImporterBroken, "no "},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := played(t, Nsys, "nsys-importer-unknown")
			c.Importer = filepath.Join(t.TempDir(), "QdstrmImporter")
			if err := os.WriteFile(c.Importer, []byte("#!/bin/sh\n"+k.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			r := Run(t.Context(), c)
			if r.Outcome.Kind != k.want {
				t.Fatalf("%s\n%s", r.Outcome.Kind, r.Outcome.explain())
			}
			if !slices.ContainsFunc(r.Outcome.Warnings, func(w Warning) bool { return strings.Contains(message.Text(w.Fact), k.warning) }) {
				t.Errorf("no warning with %q\n%s", k.warning, r.Outcome.explain())
			}
			if k.want != WithWarnings && len(r.Kept) != 1 {
				t.Errorf("kept %v", r.Kept)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	for _, k := range []struct {
		name     string
		names    []string
		retries  int
		attempts int
		want     Kind
	}{
		{"passes", []string{"ncu-unknown-error", "ncu-counters-held", "ncu-kernel-replay"}, 3, 3, Captured},
		{"gives up", []string{"ncu-unknown-error"}, 2, 3, DriverError},
		{"not allowed", []string{"ncu-unknown-error", "ncu-kernel-replay"}, 0, 1, DriverError},
		{"does not pass by itself", []string{"ncu-permission", "ncu-kernel-replay"}, 3, 1, Permission},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := played(t, Ncu, k.names...)
			c.Retries = k.retries
			r := Run(t.Context(), c)
			if r.Outcome.Kind != k.want || len(r.Attempts) != k.attempts {
				t.Fatalf("%s after %d attempts", r.Outcome.Kind, len(r.Attempts))
			}
			for _, a := range r.Attempts {
				if a.Outcome.Kind == "" || a.Seconds <= 0 {
					t.Errorf("attempt %+v", a)
				}
				if _, err := os.Stat(a.Stdout); err != nil {
					t.Error(err)
				}
			}
			if n := len(r.Attempts); n > 1 && r.Attempts[0].Stdout == r.Attempts[1].Stdout {
				t.Error("the log of the first attempt was overwritten")
			}
		})
	}
	t.Run("canceled while it waits", func(t *testing.T) {
		c := played(t, Ncu, "ncu-unknown-error")
		c.Retries, c.Backoff = 5, time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := Run(ctx, c); len(r.Attempts) != 1 || r.Outcome.Kind != Interrupted || r.Attempts[0].Outcome.Kind != DriverError {
			t.Errorf("%d attempts, %s", len(r.Attempts), r.Outcome.explain())
		}
	})
	t.Run("canceled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r := Run(ctx, played(t, Ncu, "ncu-kernel-replay")); r.Outcome.Kind != Interrupted {
			t.Error(r.Outcome.explain())
		}
	})
}

func TestCheckersAndDiagnostics(t *testing.T) {
	base := func(t *testing.T) Capture {
		c := played(t, Nsys, "nsys-ungated")
		c.Expect.Tables = []string{"CUPTI_ACTIVITY_KIND_KERNEL"}
		c.Check = func(context.Context, string) (*Content, error) {
			return &Content{Rows: map[string]int64{"CUPTI_ACTIVITY_KIND_KERNEL": 31}}, nil
		}
		return c
	}
	t.Run("complete", func(t *testing.T) {
		if o := Run(t.Context(), base(t)).Outcome; o.Kind != Captured {
			t.Error(o.explain())
		}
	})
	t.Run("no kernels", func(t *testing.T) {
		c := base(t)
		c.Check = func(context.Context, string) (*Content, error) { return &Content{}, nil }
		if o := Run(t.Context(), c).Outcome; o.Kind != MissingData || !o.Usable {
			t.Error(o.explain())
		}
	})
	t.Run("does not open", func(t *testing.T) {
		c := base(t)
		c.Check = func(context.Context, string) (*Content, error) { return nil, errors.New("read report: truncated") }
		r := Run(t.Context(), c)
		if r.Outcome.Kind != ReportUnreadable || r.Outcome.Usable || len(r.Reports) != 0 {
			t.Error(r.Outcome.explain())
		}
		if len(r.Kept) != 1 || sniff(r.Kept[0], time.Time{}).Format != NsysReport {
			t.Errorf("kept %v", r.Kept)
		}
	})
	t.Run("dropped events", func(t *testing.T) {
		c := base(t)
		c.Diagnostics = func(context.Context, string) ([]Diagnostic, error) {
			return []Diagnostic{{"Warning", "CUPTI dropped 12 records"}, {"Info", "Profiling has started."}, {"Error", "something new"}}, nil
		}
		o := Run(t.Context(), c).Outcome
		if o.Kind != WithWarnings || len(o.Warnings) != 2 || o.Warnings[0].Code != "diag_dropped" || o.Warnings[1].Text(VendorText) != "something new" {
			t.Error(o.explain())
		}
	})
}

func TestEnvironmentAndCommandLine(t *testing.T) {
	c := played(t, Nsys, "nsys-ungated")
	c.Command.Env = append(c.Command.Env, "HF_TOKEN=hf_abc", "WANDB_API_KEY=k", "TOKENIZERS_PARALLELISM=false", "LANG=de_DE.UTF-8", "LC_ALL=de_DE.UTF-8", "QUOTED=a b'c")
	c.KeepEnv, c.Secret = []string{"WANDB_API_KEY"}, redact.Secret
	c = c.withDefaults()
	env, removed := c.environment("/tmp/private")
	for _, want := range []string{"LC_ALL=C", "TMPDIR=/tmp/private", "WANDB_API_KEY=k", "TOKENIZERS_PARALLELISM=false"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s", want)
		}
	}
	if slices.Contains(env, "HF_TOKEN=hf_abc") || slices.Contains(env, "LC_ALL=de_DE.UTF-8") || !slices.Equal(removed, []string{"HF_TOKEN"}) {
		t.Errorf("removed %v", removed)
	}
	line := c.line(env)
	for _, want := range []string{`TMPDIR="$(mktemp -d)"`, "LC_ALL=C", `QUOTED='a b'"'"'c'`, "cd ", "--output="} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if remarks := c.remarks(env); !strings.Contains(remarks, "Export before you paste: WANDB_API_KEY\n") || strings.ContainsAny(remarks, "'\"`$;&|()<>*?") {
		t.Errorf("remarks %s", remarks)
	}
	for _, never := range []string{"hf_abc", "WANDB_API_KEY", "/tmp/private"} {
		if strings.Contains(line, never) {
			t.Errorf("%s in %s", never, line)
		}
	}
	c.Tool = Ncu
	env, _ = c.environment("")
	if slices.ContainsFunc(env, func(kv string) bool { return kv == "TMPDIR=/tmp/private" }) {
		t.Error("ncu got a private TMPDIR: runs on one GPU would not wait for each other")
	}
}

// TestCommandFileCanBePasted runs the line of cmd.txt in a shell.
func TestCommandFileCanBePasted(t *testing.T) {
	c := played(t, Nsys, "nsys-ungated")
	r := Run(t.Context(), c)
	if !r.Outcome.OK() {
		t.Fatal(r.Outcome.explain())
	}
	report := c.Output + ".nsys-rep"
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(c.Output), "cmd.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if remark, line, _ := strings.Cut(string(data), "\n"); !strings.HasPrefix(remark, "# As it stands, this replaces files of the run") || strings.TrimSpace(line) != r.Command {
		t.Errorf("cmd.txt %q, result %q", data, r.Command)
	}
	_, stderr, exit, err := tool.Output(t.Context(), tool.Command{Path: "/bin/sh", Args: []string{"-c", string(data) + "test \"$TMPDIR\" = " + shellescape.Quote(os.Getenv("TMPDIR"))}})
	if err != nil || !exit.OK() {
		t.Fatalf("%v %v %s", err, exit, stderr)
	}
	if f := sniff(report, time.Time{}); f.Format != NsysReport {
		t.Errorf("the pasted line left %s", f.Format)
	}
}

// BenchmarkJudge is the cost of the patterns on the longest text they get.
func BenchmarkJudge(b *testing.B) {
	line := "step 1234: loss 0.123, [1/1] [0%] tokens per second 5678.9, Processing ==PROF==\n"
	text := strings.Repeat(line, (5<<20)/4/len(line))
	for b.Loop() {
		judge(Evidence{Tool: Nsys, Stdout: text, Stderr: text})
	}
}
