package capture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
)

// goodReport is what a stand-in writes for a report.
const goodReport = `printf 'NVIDIA Tegra Profiler Report 1.' > "$OUT.nsys-rep"; `

// standIn is a capture whose nsys is a shell script; $OUT is the output.
func standIn(t *testing.T, script string) Capture {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "r")
	return Capture{
		Tool: Nsys,
		Command: tool.Command{
			Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: append(os.Environ(), "OUT="+out),
		},
		Output: out, Limits: tool.Limits{Settle: 100 * time.Millisecond, Grace: 2 * time.Second},
	}
}

func hasWarning(o Outcome, id string) bool {
	return slices.ContainsFunc(o.Warnings, func(w Warning) bool { return string(w.Code) == id })
}

// TestReportOlderThanTheStart: a report counts although its time lies before the
// start: nothing stood there then.
func TestReportOlderThanTheStart(t *testing.T) {
	for name, script := range map[string]string{
		"in place": goodReport + `touch -d '-1 hour' "$OUT.nsys-rep"`,
		"in TMPDIR": `printf 'NVIDIA Tegra Profiler Report 1.' > "$TMPDIR/nsys-report-1a2b.nsys-rep"
			touch -d '-1 hour' "$TMPDIR/nsys-report-1a2b.nsys-rep"`,
	} {
		r := Run(t.Context(), standIn(t, script))
		if !r.Outcome.OK() || len(r.Reports) != 1 || len(r.Outcome.Stale) != 0 {
			t.Errorf("%s: %v\n%s", name, r.Reports, r.Outcome.explain())
		}
	}
	// What the output names elsewhere may have been there before.
	old := filepath.Join(t.TempDir(), "old.nsys-rep")
	if err := os.WriteFile(old, []byte(format.NsysMagic), 0o644); err != nil {
		t.Fatal(err)
	}
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hour, hour); err != nil {
		t.Fatal(err)
	}
	if r := Run(t.Context(), standIn(t, "printf 'Generated:\\n    "+old+"\\n'")); len(r.Outcome.Reports) != 0 {
		t.Errorf("reports %v", r.Outcome.Reports)
	}
}

// TestInterruptedWhileOpening: one request lets the reading of the report end,
// a second one ends it; the report stays in either case.
func TestInterruptedWhileOpening(t *testing.T) {
	for _, k := range []struct {
		name    string
		presses int
		cancel  bool // the second request ends the context, as that of the command line does
		opened  bool
	}{
		{"once", 1, false, true},
		{"twice", 2, false, false},
		{"twice, by context", 1, true, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			keys := make(chan os.Signal, 4)
			c := standIn(t, goodReport)
			c.Interrupts = keys
			c.Check = func(ctx context.Context, _ string) (*Content, error) {
				for range k.presses {
					keys <- os.Interrupt
					time.Sleep(3 * repeatWindow)
				}
				if k.cancel {
					cancel()
				}
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(time.Second):
					if k.opened {
						return &Content{}, nil
					}
				}
				<-time.After(20 * time.Second)
				return nil, errors.New("never ended")
			}
			start := time.Now()
			r := Run(ctx, c)
			o := r.Outcome
			if o.Kind != Interrupted || !o.Usable || len(r.Reports) != 1 || time.Since(start) > 10*time.Second {
				t.Fatalf("after %v, reports %v\n%s", time.Since(start), r.Reports, o.explain())
			}
			if hasWarning(o, "not-opened") == k.opened {
				t.Error(o.explain())
			}
			checkOutcome(t, k.name, o)
		})
	}
}

// TestKilledIsNotOpened: who has asked twice does not wait for the reading.
func TestKilledIsNotOpened(t *testing.T) {
	keys := make(chan os.Signal, 4)
	c := standIn(t, goodReport+`trap '' INT; echo ready; while :; do sleep 0.05; done`)
	c.Interrupts = keys
	c.Limits.Grace = time.Minute
	c.Check = func(context.Context, string) (*Content, error) {
		t.Error("the report was opened")
		return &Content{}, nil
	}
	watchOutput(t, &c, "ready", func() {
		keys <- os.Interrupt
		time.Sleep(3 * repeatWindow)
		keys <- os.Interrupt
	})
	r := Run(t.Context(), c)
	if r.Outcome.Kind != Interrupted || len(r.Reports) != 1 || !hasWarning(r.Outcome, "not-opened") {
		t.Errorf("reports %v\n%s", r.Reports, r.Outcome.explain())
	}
}

// TestWorkloadTalksLikeTheProfiler: words of the workload decide nothing.
func TestWorkloadTalksLikeTheProfiler(t *testing.T) {
	report := []File{{Path: "/w/r.nsys-rep", Size: 1 << 20, Format: NsysReport, Fresh: true}}
	own := []string{"trace", "delay", "output"}
	for _, k := range []struct {
		name string
		e    Evidence
		want Kind
	}{
		{"illegal value on stdout", Evidence{Stdout: "Illegal --steps argument: 5\n", Files: report, Options: own}, Captured},
		{"illegal value of another option", Evidence{Stderr: "Illegal --steps argument: 5\n", Files: report, Options: own}, Captured},
		{"the same option on stdout", Evidence{Stdout: "Illegal --delay argument: 5\n", Files: report, Options: own}, Captured},
		{"nsys said so", Evidence{Stderr: "Illegal --delay argument: abc. Delay set to 0 seconds.\n", Files: report, Options: own}, ToolUsage},
		{"both said so", Evidence{Stderr: "Illegal --steps argument: 5\nIllegal --delay argument: abc.\n", Files: report, Options: own}, ToolUsage},
		{"no supported GPU, not asked for", Evidence{Stderr: "None of the installed GPUs are supported\n", Files: report, Options: own}, Captured},
		{"no supported GPU", Evidence{Stderr: "None of the installed GPUs are supported\n", Options: []string{"gpu-metrics-devices"}, Code: 1}, Permission},
		{"gate words alone", Evidence{Stdout: "Capture range started in the application.\n", Gated: true, Options: own}, GateNeverOpened},
		{"gate words and other words", Evidence{Stdout: "Capture range started in the application.\nGenerating 'a poem'\n", Gated: true, Options: own}, GateNeverOpened},
		{"gate opened, nothing written", Evidence{Stdout: "Capture range started in the application.\nGenerating '/tmp/nsys-report-1b8e.qdstrm'\n", Gated: true, Options: own}, NothingCollected},
	} {
		k.e.Tool, k.e.Want = Nsys, "/w/r.nsys-rep"
		if o := judge(k.e); o.Kind != k.want {
			t.Errorf("%s: %s, want %s\n%s", k.name, o.Kind, k.want, o.explain())
		}
	}
}

func TestOptionsOfTheCommandLine(t *testing.T) {
	c := Capture{Tool: Nsys, Target: []string{"prog", "--steps=3"}, Command: tool.Command{
		Args: []string{"profile", "--trace=nvtx", "--wait", "primary", "-y", "abc", "-d5", "prog", "--steps=3"},
	}}
	if got := c.options(); !slices.Equal(got, []string{"trace", "wait", "delay", "duration"}) {
		t.Errorf("%q", got)
	}
}

// TestMessagesInTheMiddle: what the profiler says is found wherever it stands in
// a long log.
func TestMessagesInTheMiddle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout.log")
	noise := strings.Repeat("step 12: loss 0.5, WARNING: slow\nWARNING: a word of the workload\n", 40000)
	if len(noise) < 2*logTail {
		t.Fatal("too little noise")
	}
	long := strings.Repeat("x", 1<<20) + "\n" // no line of its own kind may end the search
	text := noise + "Capture range started in the application.\n" + long + noise +
		"Generating '/tmp/nsys-report-1b8e.qdstrm'\nCapture range ended in the application.\n" + noise + "\nthe end\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := readLog(Nsys, path)
	if len(got) > logHead+logTail+2*logKept || !strings.HasSuffix(got, "the end\n") {
		t.Errorf("%d bytes, ends %.20q", len(got), got[max(len(got)-20, 0):])
	}
	found := (&Evidence{Tool: Nsys, Stdout: got}).find()
	for _, id := range []string{"gate_opened", "generating", "gate_closed"} {
		if !has(found, id) {
			t.Errorf("%s not found", id)
		}
	}
	text = noise + "==ERROR== ERR_NVGPUCTRPERM - no permission\n" + noise
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := judge(Evidence{Tool: Ncu, Code: 1, Stdout: readLog(Ncu, path)}); o.Kind != Permission {
		t.Error(o.explain())
	}
}

func TestRelativeTempRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	c := standIn(t, `case "$TMPDIR" in /*) ;; *) exit 9;; esac; cd / && : > "$TMPDIR/x" || exit 9; `+goodReport)
	if r := Run(t.Context(), c); r.Outcome.Kind != Captured {
		t.Error(r.Outcome.explain())
	}
}

// TestSweepTemp: of the temporary directories only those of dead runs go, and
// only without anything worth keeping.
func TestSweepTemp(t *testing.T) {
	root := t.TempDir()
	c := standIn(t, "")
	c.TempRoot = root
	c = c.withDefaults()
	make := func() (string, func()) {
		t.Helper()
		dir, release, bad := c.makeTemp()
		if bad != nil {
			t.Fatal(bad.explain())
		}
		if err := os.WriteFile(filepath.Join(dir, "nvidia"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return dir, release
	}
	living, release := make()
	defer release()
	dead, die := make()
	kept, leave := make()
	keepTemp(kept)
	stream, end := make()
	if err := os.WriteFile(filepath.Join(stream, "nsys-report-1a.qdstrm"), []byte("U3w[END]"), 0o644); err != nil {
		t.Fatal(err)
	}
	cut, stop := make()
	if err := os.WriteFile(filepath.Join(cut, "nsys-report-1a.qdstrm"), []byte("\x00\xff\x00\xff\x00\xff\x00\xff"), 0o644); err != nil {
		t.Fatal(err)
	}
	used, quit := make()
	foreign := filepath.Join(root, tempPrefix+"foreign")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := startSleeper(ctx, t, used)
	for _, f := range []func(){die, leave, end, stop, quit} {
		f()
	}
	sweepTemp(root)
	for dir, want := range map[string]bool{living: true, dead: false, kept: true, stream: false, cut: false, used: true, foreign: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", dir, err, want)
		}
	}
	cancel()
	<-ended
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		sweepTemp(root)
		if _, err := os.Stat(used); err != nil {
			break
		}
		if time.Now().After(deadline) { // /proc may show a process a little longer than it lives
			t.Fatal("a directory that nobody uses any more is still there")
		}
	}
}

// startSleeper starts a process that has dir as TMPDIR, and returns when it runs.
func startSleeper(ctx context.Context, t *testing.T, dir string) <-chan struct{} {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = tool.Command{Path: "/bin/sh", Args: []string{"-c", `: > "$TMPDIR/up"; sleep 30`}, Env: []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}}.Run(ctx)
	}()
	for range 500 {
		if _, err := os.Stat(filepath.Join(dir, "up")); err == nil {
			return ended
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the process did not start")
	return nil
}

func TestRunLeavesNoTemp(t *testing.T) {
	c := standIn(t, goodReport)
	c.TempRoot = t.TempDir()
	if r := Run(t.Context(), c); r.Outcome.Kind != Captured {
		t.Error(r.Outcome.explain())
	}
	if left, err := os.ReadDir(c.TempRoot); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// TestEndOfTheProfilerItself: the workload is not blamed for the signal that
// ended nsys.
func TestEndOfTheProfilerItself(t *testing.T) {
	o := judge(Evidence{Tool: Nsys, Want: "/w/r.nsys-rep", Code: 137, Killer: 9, Files: []File{{Path: "/w/r.nsys-rep", Size: 9, Format: NsysReport, Fresh: true}}})
	if o.Kind != WithWarnings || hasWarning(o, string(warnCut)) || hasWarning(o, string(warnExit)) || !hasWarning(o, string(warnKilled)) {
		t.Error(o.explain())
	}
}

// TestFullDiskInOtherWords: a disk that was full explains what the importer says.
func TestFullDiskInOtherWords(t *testing.T) {
	failed := "Importer error status: Importation failed.\n"
	for _, k := range []struct {
		name string
		e    Evidence
		want Kind
	}{
		{"import failed", Evidence{Stdout: failed, LowSpace: "/w"}, DiskFull},
		{"import failed, room enough", Evidence{Stdout: failed}, ImportFailed},
		{"cut stream", Evidence{LowSpace: "/w", Files: []File{{Path: "/w/r.qdstrm", Size: 9, Format: CutStream, Fresh: true}}}, DiskFull},
		{"report does not open", Evidence{LowSpace: "/w", Files: []File{{Path: "/w/r.nsys-rep", Size: 9, Format: NsysReport, Fresh: true, Err: "cut"}}}, DiskFull},
		{"permission beside it", Evidence{Stderr: "ftrace collection requires root privileges\n", LowSpace: "/w", Code: 1}, Permission},
	} {
		k.e.Tool, k.e.Want = Nsys, "/w/r.nsys-rep"
		if o := judge(k.e); o.Kind != k.want {
			t.Errorf("%s: %s, want %s\n%s", k.name, o.Kind, k.want, o.explain())
		}
	}
}

// TestFullDiskBesideAReport: a capture on a disk that filled up is not whole, also
// where the workload went on to its end.
func TestFullDiskBesideAReport(t *testing.T) {
	good := []File{{Path: "/w/r.nsys-rep", Size: 9, Format: NsysReport, Fresh: true}}
	for _, code := range []int{139, 0} {
		o := judge(Evidence{Tool: Nsys, Want: "/w/r.nsys-rep", Code: code, LowSpace: "/tmp", Files: good})
		if o.Kind != DiskFull || !o.Usable || !o.CutShort() || len(o.Warnings) == 0 || o.Warnings[0].Code != "low-space" {
			t.Errorf("code %d: %s; warnings %+v", code, o.Kind, o.Warnings)
		}
	}
}

// TestEvidenceIsFitToShow: whatever the workload prints, the verdict stays short
// and does nothing to a terminal.
func TestEvidenceIsFitToShow(t *testing.T) {
	for name, script := range map[string]string{
		"one long line":      `head -c 900000 /dev/zero | tr '\0' x; sleep 30`,
		"zeros":              `head -c 900000 /dev/zero; sleep 30`,
		"terminal sequences": `printf 'a\033[2Jb\377\n'; sleep 30`,
		"in a known message": `printf 'Importer error status: Importation failed\033[2J\377'; head -c 900000 /dev/zero | tr '\0' x; echo; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := standIn(t, script)
			c.Limits.Timeout = 1500 * time.Millisecond
			r := Run(t.Context(), c)
			text := r.Outcome.explain()
			if len(text) > 5000 || strings.ContainsAny(text, "\x00\x1b") || !utf8.ValidString(text) {
				t.Errorf("%d bytes: %.300q", len(text), text)
			}
			checkOutcome(t, name, r.Outcome)
		})
	}
	o := judge(Evidence{Tool: Nsys, Content: &Content{Warnings: []fact.Fact{fact.New("reader-remark", fact.Vendor("text", "\x1b[2J"+strings.Repeat("y", 9000)))}}, Files: []File{{Path: "r.nsys-rep", Format: NsysReport, Size: 1, Fresh: true}}, Want: "r.nsys-rep"})
	if len(o.Warnings) != 1 || len(o.Warnings[0].Text("text")) > 310 || strings.Contains(o.Warnings[0].Text("text"), "\x1b") {
		t.Errorf("%v", o.Warnings)
	}
}

// TestSecretsOfTheEnvironment: what the rule of the caller calls a secret does
// not reach the workload; the rest does.
func TestSecretsOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	c := standIn(t, "")
	c.Secret = redact.Secret
	c.Command.Env = []string{"OPENAI_KEY=abc", "OPENAI_KEY=twice", "DATABASE_URL=postgres://u:p@h/d", "GH=ghp_0123456789abcdefghijABCDEFGHIJ", "PIP_CERT=" + dir, "USE_AUTH=1", "PATH=/bin"}
	c = c.withDefaults()
	env, removed := c.environment("")
	if !slices.Equal(removed, []string{"DATABASE_URL", "GH", "OPENAI_KEY"}) || !slices.Contains(env, "PIP_CERT="+dir) || !slices.Contains(env, "USE_AUTH=1") {
		t.Errorf("removed %v, env %v", removed, env)
	}
}

// A report under the name of an older nsys is used, and its name is the cause,
// not a folder that could not be written to.
func TestOldReportName(t *testing.T) {
	judge := func(path string) Outcome {
		return judge(Evidence{Tool: Nsys, Want: "/w/r.nsys-rep", Files: []File{{Path: path, Size: 9, Format: NsysReport, Fresh: true}}})
	}
	old, elsewhere := judge("/w/r.qdrep"), judge("/tmp/nsys-report-1.nsys-rep")
	if old.Kind != OutputElsewhere || !old.Usable || !old.Cause.Is(causeOldName) {
		t.Errorf("%+v", old)
	}
	if elsewhere.Kind != OutputElsewhere || !elsewhere.Cause.Equal(OutputElsewhere.Cause()) {
		t.Errorf("%+v", elsewhere)
	}
}
