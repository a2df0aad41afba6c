package tool

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSuperviseInterruptOnceThenTwice(t *testing.T) {
	polite := `trap 'echo finishing; sleep 0.5; echo saved; exit 130' INT; echo ready; while :; do sleep 0.05; done`
	deaf := `trap '' INT TERM; echo ready; while :; do sleep 0.05; done`
	for _, c := range []struct {
		name, script string
		presses      int
		saved        bool
		killed       bool
	}{
		{"once, polite", polite, 1, true, false},
		{"twice, deaf", deaf, 2, false, true},
		{"once, deaf, patience ends", deaf, 1, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			keys := make(chan os.Signal, 4)
			ended, out, left := superviseShell(t, t.Context(), c.script, func(j *Job) {
				j.Interrupts = keys
				j.Limits.Grace = time.Second
				if c.presses > 1 {
					j.Limits.Grace = time.Minute
				}
				j.OnLine = func(l Line) {
					if l.Text != "ready" {
						return
					}
					go func() {
						for range c.presses {
							keys <- os.Interrupt
							keys <- os.Interrupt // the same key press, delivered twice
							time.Sleep(2 * repeatWindow)
						}
					}()
				}
			})
			if ended.Stopped != Interrupted || ended.Killed != c.killed {
				t.Errorf("stopped %q, killed %v", ended.Stopped, ended.Killed)
			}
			if strings.Contains(out, "saved") != c.saved {
				t.Errorf("out %q", out)
			}
			if len(left) > 0 {
				t.Errorf("alive after return: %v", left)
			}
		})
	}
}

func TestSuperviseContextAsksOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended, out, _ := superviseShell(t, ctx, `trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done`,
		func(j *Job) { j.OnLine = func(Line) { cancel() } })
	if ended.Stopped != Interrupted || ended.Killed || !strings.Contains(out, "saved") {
		t.Errorf("%+v, out %q", ended, out)
	}
	if _, err := Supervise(ctx, Job{Command: Command{Path: "/bin/true"}}); err == nil {
		t.Error("a run was started although the context had ended")
	}
}

// TestSuperviseContextInsists: the end of the context is the second request
// where the first came as a key press, in whichever order they are seen.
func TestSuperviseContextInsists(t *testing.T) {
	for _, pressFirst := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		keys := make(chan os.Signal, 1)
		start := time.Now()
		ended, _, left := superviseShell(t, ctx, `trap '' INT TERM; echo ready; while :; do sleep 0.05; done`, func(j *Job) {
			j.Interrupts, j.Limits.Grace = keys, time.Minute
			j.OnLine = func(Line) {
				go func() {
					if pressFirst {
						keys <- os.Interrupt
						time.Sleep(300 * time.Millisecond)
						cancel()
						return
					}
					cancel()
					keys <- os.Interrupt
				}()
			}
		})
		cancel()
		if ended.Stopped != Interrupted || !ended.Killed || ended.Requests != 2 || time.Since(start) > 20*time.Second {
			t.Errorf("press first %v: %+v", pressFirst, ended)
		}
		if len(left) > 0 {
			t.Errorf("alive after return: %v", left)
		}
	}
}

func TestSuperviseLimits(t *testing.T) {
	for _, c := range []struct {
		name, script string
		limits       Limits
		want         StopReason
	}{
		{"timeout", `while :; do echo x; sleep 0.05; done`, Limits{Timeout: 600 * time.Millisecond}, TimedOut},
		{"stall", `sleep 30`, Limits{Stall: 600 * time.Millisecond}, Stalled},
		{"busy is no stall", `i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done`, Limits{Stall: 400 * time.Millisecond}, NotStopped},
		{"talking is no stall", `for i in 1 2 3 4 5 6 7 8 9; do echo x; sleep 0.15; done`, Limits{Stall: 700 * time.Millisecond}, NotStopped},
		{"busy but silent", `while :; do :; done`, Limits{Silence: 600 * time.Millisecond}, Stalled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ended, _, left := superviseShell(t, t.Context(), c.script, func(j *Job) {
				c.limits.Grace, c.limits.Settle = time.Second, 100*time.Millisecond
				j.Limits = c.limits
			})
			if ended.Stopped != c.want {
				t.Errorf("stopped %q, want %q after %v", ended.Stopped, c.want, ended.Exit.Duration)
			}
			if len(left) > 0 {
				t.Errorf("alive after return: %v", left)
			}
		})
	}
}

func TestSupervisePatience(t *testing.T) {
	// The line has begun and does not end, and the program is busy.
	ended, _, _ := superviseShell(t, t.Context(), `printf 'Profiling "nccl": 0%%'; while :; do :; done`, func(j *Job) {
		j.Limits = Limits{Grace: time.Second, Timeout: 20 * time.Second}
		j.Patience = func(last string) time.Duration {
			if strings.Contains(last, "nccl") {
				return 600 * time.Millisecond
			}
			return 0
		}
	})
	if ended.Stopped != Stalled || !strings.Contains(ended.LastLine.Text, "nccl") {
		t.Errorf("%+v", ended)
	}
}

// countSignals writes a line for each SIGTERM that comes within two seconds.
func countSignals(dir string) {
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.SIGTERM)
	_ = os.WriteFile(filepath.Join(dir, "ready"), []byte("ready"), 0o644)
	asked := ""
	for end := time.After(2 * time.Second); ; {
		select {
		case <-signals:
			asked += "asked\n"
		case <-end:
			_ = os.WriteFile(filepath.Join(dir, "asked"), []byte(asked), 0o644)
			return
		}
	}
}

// TestSuperviseParentDies: when this process is killed, the program gets one
// SIGTERM, which makes nsys write its report; two make it drop it.
func TestSuperviseParentDies(t *testing.T) {
	const helper, counter = "DEEPPROF_TEST_SUPERVISOR", "DEEPPROF_TEST_COUNTER"
	if dir := os.Getenv(counter); dir != "" {
		countSignals(dir)
		return
	}
	if dir := os.Getenv(helper); dir != "" {
		_, _ = Supervise(t.Context(), Job{Profiler: Nsys, Command: Command{
			Path: os.Args[0], Args: []string{"-test.run=^TestSuperviseParentDies$"}, Env: append(os.Environ(), counter+"="+dir),
		}})
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSuperviseParentDies$")
	cmd.Env = append(os.Environ(), helper+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await := func(name string) string {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(data) > 0 {
				return string(data)
			}
		}
		t.Fatalf("no file %s", name)
		return ""
	}
	await("ready")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if asked := await("asked"); strings.Count(asked, "asked") != 1 {
		t.Errorf("asked %d times to end", strings.Count(asked, "asked"))
	}
}

// TestSuperviseParentDiesGroup: of a plain program the whole group is ended, by
// force where it does not listen.
func TestSuperviseParentDiesGroup(t *testing.T) {
	const helper = "DEEPPROF_TEST_SUPERVISOR_GROUP"
	if dir := os.Getenv(helper); dir != "" {
		_, _ = Supervise(t.Context(), Job{Limits: Limits{Grace: time.Second}, Command: Command{Path: "/bin/sh", Dir: dir, Args: []string{"-c",
			`trap '' TERM; (while :; do sleep 0.1; done) & echo $$ > ready; while :; do sleep 0.1; done`}}})
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSuperviseParentDiesGroup$")
	cmd.Env = append(os.Environ(), helper+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for data := []byte(nil); len(data) == 0; data, _ = os.ReadFile(filepath.Join(dir, "ready")) {
		time.Sleep(20 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	var left []string
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if left = tagged(t, helper+"="+dir, dir); len(left) == 0 {
			return
		}
	}
	t.Errorf("alive: %v", left)
}
