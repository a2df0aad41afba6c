package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

func TestJudgeProgram(t *testing.T) {
	for _, c := range []struct {
		name   string
		ended  tool.Ended
		err    error
		want   Kind
		usable bool
	}{
		{"good", tool.Ended{}, nil, Captured, true},
		{"exit 3", tool.Ended{Exit: tool.Exit{Code: 3}}, nil, WorkloadFailed, false},
		{"not there", tool.Ended{}, errors.New("no such file"), WorkloadMissing, false},
		{"Ctrl-C before the start", tool.Ended{}, fmt.Errorf("run prog: %w", context.Canceled), Interrupted, false},
		{"no room for its log", tool.Ended{}, fmt.Errorf("create log: %w", syscall.ENOSPC), DiskFull, false},
		{"segfault", tool.Ended{Exit: tool.Exit{Code: -1, Signal: syscall.SIGSEGV}}, nil, WorkloadCrashed, false},
		{"segfault under a shell", tool.Ended{Exit: tool.Exit{Code: 139}}, nil, WorkloadCrashed, false},
		{"exit 255", tool.Ended{Exit: tool.Exit{Code: 255}}, nil, WorkloadFailed, false},
		{"daemon", tool.Ended{Left: []tool.Process{{PID: 7, Name: "d"}}}, nil, WithWarnings, true},
		{"Ctrl-C", tool.Ended{Stopped: tool.Interrupted, Exit: tool.Exit{Code: 130}}, nil, Interrupted, false},
		{"too long", tool.Ended{Stopped: tool.TimedOut}, nil, TimedOut, false},
		{"hung", tool.Ended{Stopped: tool.Stalled}, nil, Stalled, false},
	} {
		got := Program{Stdout: "stdout.log", Stderr: "stderr.log"}.judge(c.ended, c.err)
		if got.Kind != c.want || got.Usable != c.usable {
			t.Errorf("%s: %s, usable %v; want %s", c.name, got.Kind, got.Usable, c.want)
		}
	}
}

func TestProgramNext(t *testing.T) {
	dir := t.TempDir()
	out, errs := filepath.Join(dir, "out"), filepath.Join(dir, "err")
	failed := tool.Ended{Exit: tool.Exit{Code: 1}}
	for _, c := range []struct{ out, err, log, evidence string }{
		{"", "", "", ""},
		{"why\n", "", out, "why"},
		{"why\n", "because\n\n", errs, "because"},
		{"", "\x1b[31m" + strings.Repeat("x", 1<<20), errs, "xxx"},
	} {
		for path, text := range map[string]string{out: c.out, errs: c.err} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := Program{Stdout: out, Stderr: errs}.judge(failed, nil)
		line := o.Evidence.Text(VendorText)
		if o.Cause.Text("log") != c.log || !strings.Contains(line, c.evidence) || len(line) > 400 || strings.Contains(line, "\x1b") {
			t.Errorf("stdout %.20q, stderr %.20q: %v, evidence %.80q (%d bytes)", c.out, c.err, o.Cause, line, len(line))
		}
	}
}
