package tool

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// superviseShell runs a shell script under supervision and returns the run, its
// output, and the processes that still carry the test's tag afterwards.
func superviseShell(t *testing.T, ctx context.Context, script string, change func(*Job)) (Ended, string, []string) {
	t.Helper()
	dir := t.TempDir()
	tag := "DEEPPROF_TEST_TAG=" + newMarker()
	job := Job{
		Command: Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: append(os.Environ(), tag)},
		Stdout:  filepath.Join(dir, "out"),
		Stderr:  filepath.Join(dir, "err"),
		Limits:  Limits{Settle: 200 * time.Millisecond, Grace: 2 * time.Second},
	}
	if change != nil {
		change(&job)
	}
	ended, err := Supervise(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	return ended, string(out), tagged(t, tag, dir)
}

// tagged finds live processes by a variable in their environment or, where the
// environment was cleared, by their working directory.
func tagged(t *testing.T, tag, dir string) []string {
	t.Helper()
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for pid, p := range table {
		if p.dead() {
			continue
		}
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if bytes.Contains(env, []byte(tag)) || cwd == dir {
			found = append(found, fmt.Sprintf("%d %s", pid, p.name))
		}
	}
	return found
}

func TestSuperviseLeavesNothing(t *testing.T) {
	ignore := `trap "" TERM INT HUP; while :; do sleep 0.2; done`
	for _, c := range []struct{ name, script string }{
		{"plain child", `sleep 60 & echo up`},
		{"ignores signals", `sh -c '` + ignore + `' & echo up`},
		{"own session", `setsid sh -c '` + ignore + `' & echo up`},
		{"daemon, re-parented", `(setsid sh -c '(` + ignore + `) &') & sleep 0.3; echo up`},
		{"environment cleared", `env -i setsid sh -c '` + ignore + `' & sleep 0.4; echo up`},
		{"daemon, environment cleared at once", `env -i setsid sh -c '(` + ignore + `) & exit 0' & echo up`},
		{"keeps forking", `sh -c 'trap "" TERM; while :; do sleep 0.05 & wait; done' & echo up`},
		{"hundred children", `i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo up`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ended, out, left := superviseShell(t, t.Context(), c.script, nil)
			if len(left) > 0 || len(ended.Alive) > 0 {
				t.Errorf("alive after return: %v, %v", left, ended.Alive)
			}
			if strings.TrimSpace(out) != "up" || ended.Exit.Code != 0 {
				t.Errorf("out %q, %v", out, ended.Exit)
			}
			if len(ended.Left) == 0 {
				t.Error("Left names no process, but the script left some behind")
			}
		})
	}
}

func TestSuperviseConcurrentRunsKeepApart(t *testing.T) {
	// Each run leaves a daemon; a run that ends must not end the other's.
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf(`setsid sh -c 'sleep 0.%d; echo late; sleep 60' & sleep 1.%d; echo main`, 2*i+1, 2*i)
			ended, out, left := superviseShell(t, t.Context(), script, nil)
			if out != "late\nmain\n" || ended.Exit.Code != 0 {
				t.Errorf("out %q, %v: another run interfered", out, ended.Exit)
			}
			if len(left) > 0 {
				t.Errorf("alive after return: %v", left)
			}
		})
	}
}

func TestSuperviseManyShortRuns(t *testing.T) {
	// A run that ends looks for strays while others are being started.
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 15 {
				ended, err := Supervise(t.Context(), Job{Command: Command{Path: "/bin/true"}, Limits: Limits{Settle: 10 * time.Millisecond}})
				if err != nil || !ended.Exit.OK() {
					t.Fatalf("%v, %v: another run interfered", ended.Exit, err)
				}
			}
		})
	}
}

func TestSuperviseExit(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		sig    syscall.Signal
		shell  int
	}{
		{"exit 0", 0, 0, 0},
		{"exit 3", 3, 0, 3},
		{"kill -SEGV $$", -1, syscall.SIGSEGV, 139},
		{"kill -KILL $$", -1, syscall.SIGKILL, 137},
	} {
		ended, _, _ := superviseShell(t, t.Context(), c.script, nil)
		if e := ended.Exit; e.Code != c.code || e.Signal != c.sig || e.Shell() != c.shell {
			t.Errorf("%s: %+v", c.script, e)
		}
		if ended.Stopped != NotStopped || ended.Killed {
			t.Errorf("%s: stopped %q killed %v", c.script, ended.Stopped, ended.Killed)
		}
	}
}

func TestSuperviseLinesAndEnvironment(t *testing.T) {
	var got []string
	ended, _, _ := superviseShell(t, t.Context(),
		`printf 'a\nb\rc\r\n'; echo oops >&2; printf '%s' "$X$HOME"`, func(j *Job) {
			j.Command.Env = []string{"X=only", "PATH=" + os.Getenv("PATH")}
			j.OnLine = func(l Line) {
				name := "out "
				if l.Stderr {
					name = "err "
				}
				got = append(got, name+l.Text)
			}
		})
	slices.Sort(got)
	want := []string{"err oops", "out a", "out b", "out c", "out only"}
	if !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	if ended.LastLine.Text == "" {
		t.Error("no last line")
	}
}

// TestSuperviseFlood: output that comes faster than it can be looked at keeps
// neither the time limit nor a request to stop from working.
func TestSuperviseFlood(t *testing.T) {
	slow := func(j *Job) { j.OnLine = func(Line) { time.Sleep(2 * time.Millisecond) } }
	flood := `while :; do echo x; done`
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   StopReason
	}{
		{"time limit", func(j *Job) { j.Limits.Timeout = 500 * time.Millisecond }, TimedOut},
		{"key press", func(j *Job) {
			keys := make(chan os.Signal, 1)
			keys <- os.Interrupt
			j.Interrupts = keys
		}, Interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			ended, _, _ := superviseShell(t, ctx, flood, func(j *Job) { slow(j); c.change(j) })
			if ended.Stopped != c.want || ended.Exit.Duration > 10*time.Second {
				t.Errorf("%q after %v", ended.Stopped, ended.Exit.Duration)
			}
		})
	}
}

// TestSuperviseCause: a context that ends by a limit of the caller's is no interrupt.
func TestSuperviseCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended, _, _ := superviseShell(t, ctx, `echo up; sleep 30`, func(j *Job) { j.OnLine = func(Line) { cancel(ErrTimedOut) } })
	if ended.Stopped != TimedOut || ended.Exit.Duration > 20*time.Second {
		t.Errorf("%q after %v", ended.Stopped, ended.Exit.Duration)
	}
}

// TestTailIsBounded: a file that grows as fast as it is read does not hold the
// reader, and its last line is seen all the same.
func TestTailIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	more, last := true, ""
	start := time.Now()
	tail, err := openTail(path, func(text string) {
		if last = text; more && time.Since(start) < 10*time.Second {
			_, _ = f.WriteString("again\n")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(strings.Repeat("first\n", 20000))
	if !tail.read(tailBudget) || time.Since(start) > 5*time.Second {
		t.Fatalf("read for %v", time.Since(start))
	}
	more = false
	if err := f.Truncate(maxBehind + 1<<20); err != nil { // a hole: far behind, and quick to write
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 2); err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("\nend")
	tail.read(time.Nanosecond)
	if at, err := tail.file.Seek(0, 1); err != nil || at < maxBehind {
		t.Errorf("at %d, %v: still far behind", at, err)
	}
	tail.close()
	if last != "end" {
		t.Errorf("last line %.20q", last)
	}
}

// TestSuperviseWorkloadTalksLikeNsys: only nsys's own words hold back the signal
// and the end of patience.
func TestSuperviseWorkloadTalksLikeNsys(t *testing.T) {
	for text, generating := range map[string]bool{
		`Generating 'a poem'`:                             false,
		`Generating '/tmp/nsys-report-1b8e.qdstrm' soon`:  false,
		`Generating '/tmp/nsys-report-1b8e.qdstrm'`:       true,
		`Generating '/data/my job/nsys-report-0a.qdstrm'`: true,
	} {
		s := &supervisor{job: Job{Profiler: Nsys}}
		s.line(false, text)
		if s.generating != generating {
			t.Errorf("%s: generating %v", text, s.generating)
		}
		for bar, full := range map[string]bool{
			"[100%] Built target all": false, "loading [100%] of r.nsys-rep": false,
			"[1/1] [========================100%] r.nsys-rep": true, "[2/2] [===100%] my report.sqlite": true,
		} {
			s := &supervisor{job: Job{Profiler: Nsys}}
			s.line(false, bar)
			if s.full.IsZero() == full {
				t.Errorf("%s: full %v", bar, !s.full.IsZero())
			}
		}
	}
	ended, _, _ := superviseShell(t, t.Context(), `sleep 60 & echo "Generating 'a poem'"; trap '' INT; wait; wait`, func(j *Job) {
		j.Profiler = Nsys
		j.Limits.Timeout, j.Limits.Grace = 700*time.Millisecond, 700*time.Millisecond
	})
	if ended.Stopped != TimedOut || ended.Exit.Duration > 20*time.Second {
		t.Errorf("%+v", ended)
	}
}

// TestSuperviseWorkloadNamedLikeNsys: a workload whose name begins like the
// profiler's is the target, and nsys is asked to stop it.
func TestSuperviseWorkloadNamedLikeNsys(t *testing.T) {
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		name   string
		target bool
	}{{"nsysbench", true}, {"nsys-launcher", false}} {
		if err := os.WriteFile(filepath.Join(dir, k.name), data, 0o755); err != nil {
			t.Fatal(err)
		}
		ended, out, _ := superviseShell(t, t.Context(), filepath.Join(dir, k.name)+` 30 & trap 'echo asked; kill $!; exit 0' INT; echo up; wait`, func(j *Job) {
			j.Profiler = Nsys
			j.Limits.Timeout, j.Limits.Grace = time.Second, 2*time.Second
		})
		if ended.TargetSeen != k.target || strings.Contains(out, "asked") != k.target {
			t.Errorf("%s: target seen %v, out %q", k.name, ended.TargetSeen, out)
		}
	}
}

// TestSuperviseIdleAgent: an agent that outlives nsys and does nothing is not waited
// for as one that writes a report.
func TestSuperviseIdleAgent(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "nsys-agent")
	if err := os.WriteFile(agent, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, limits := range map[string]Limits{
		"asked":   {Timeout: time.Second, Grace: time.Second},
		"unasked": {Stall: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			script := agent + ` 1200 & sleep 1200 & target=$!; trap 'kill $target; kill -KILL $$' INT; `
			if limits.Timeout == 0 {
				script += "kill -INT $$; "
			}
			ended, _, left := superviseShell(t, t.Context(), script+"wait", func(j *Job) { j.Profiler, j.Limits = Nsys, limits })
			if ended.Exit.Signal != syscall.SIGKILL || len(ended.Left) != 1 || len(left) > 0 {
				t.Errorf("%+v, alive %q", ended, left)
			}
		})
	}
}

// TestSuperviseLastLine: the last words before the stop count, fit to be shown.
func TestSuperviseLastLine(t *testing.T) {
	ended, _, _ := superviseShell(t, t.Context(), `printf '\033[31mstep 7\033[0m\n'; trap 'echo std::exception::what; exit' INT; while :; do sleep 0.05; done`, func(j *Job) {
		j.Limits.Timeout = 500 * time.Millisecond
	})
	if ended.Stopped != TimedOut || ended.LastLine.Text != "step 7" {
		t.Errorf("%+v", ended)
	}
	ended, _, _ = superviseShell(t, t.Context(), `head -c 900000 /dev/zero | tr '\0' x; exit 3`, nil)
	if n := len(ended.LastLine.Text); n == 0 || n > maxQuote+3 {
		t.Errorf("a last line of %d bytes", n)
	}
}

func TestSuperviseNotStarted(t *testing.T) {
	_, err := Supervise(t.Context(), Job{Command: Command{Path: "/no/such/program"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("err %v", err)
	}
	_, err = Supervise(t.Context(), Job{Command: Command{Path: "/bin/true"}, Stdout: "/no/such/dir/out"})
	if err == nil {
		t.Error("no error for a log that cannot be written")
	}
}

func TestParseStat(t *testing.T) {
	p, ok := parseStat(42, []byte("42 (a) (b c) S 7 42 41 0 -1 4194560 1 2 3 4 250 50 9 9 20 0 1 0 12345 1 2\n"))
	if !ok || p.name != "a) (b c" || p.ppid != 7 || p.pgid != 42 || p.sid != 41 || p.start != 12345 || p.cpu != 3*time.Second {
		t.Errorf("%+v %v", p, ok)
	}
	for _, bad := range []string{"", "1", "1 (x", "1 (x) S 1 2", ") ("} {
		if _, ok := parseStat(1, []byte(bad)); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestSuperviseForked: a child that goes on without exec is told from one that
// runs another program.
func TestSuperviseForked(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         int
	}{
		{"subshells", `(sleep 1; :) & (sleep 1; :) & wait`, 2},
		{"programs", `sleep 1 & sleep 1 & wait`, 0},
		{"grandchild", `sh -c '(sleep 1; :) & wait; :'; :`, 1},
		{"none", `sleep 0.6`, 0},
	} {
		// One after the other, and not beside other tests: what those leave
		// behind while this runs is taken for a stray of this tree.
		t.Run(c.name, func(t *testing.T) {
			ended, _, _ := superviseShell(t, t.Context(), c.script, nil)
			if len(ended.Forked) != c.want {
				t.Errorf("forked %v, want %d", ended.Forked, c.want)
			}
			for _, p := range ended.Forked {
				if p.Name != "sh" {
					t.Errorf("forked %v", p)
				}
			}
		})
	}
}
