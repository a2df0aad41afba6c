package capture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func oldFiles(t *testing.T, c *Capture) {
	for _, tail := range []string{".nsys-rep", ".1.nsys-rep", ".sqlite", ".qdstrm", "_nvtx_sum.csv"} {
		if err := os.WriteFile(c.Output+tail, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(c.Output+"x.sqlite", []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func oldFilesGone(t *testing.T, c Capture, _ Result) {
	for _, tail := range []string{".1.nsys-rep", ".sqlite", ".qdstrm", "_nvtx_sum.csv"} {
		if _, err := os.Stat(c.Output + tail); err == nil {
			t.Errorf("%s is still there", tail)
		}
	}
	if _, err := os.Stat(c.Output + "x.sqlite"); err != nil {
		t.Errorf("a file of another name was removed: %v", err)
	}
}

// tmpfs mounts a file system of the given size.
func tmpfs(t *testing.T, bytes int) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir, err := os.MkdirTemp("", "deepprof-small-")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", bytes), "tmpfs", dir).Run(); err != nil {
		_ = os.Remove(dir)
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		_ = exec.Command("umount", "--lazy", dir).Run()
		_ = os.Remove(dir)
	})
	return dir
}

func smallOutput(t *testing.T, c *Capture) {
	dir := tmpfs(t, 64<<10)
	c.Logs = filepath.Dir(c.Output)
	for i, a := range c.Command.Args {
		if strings.HasPrefix(a, "--output=") {
			c.Command.Args[i] = "--output=" + filepath.Join(dir, "r")
		}
	}
	c.Output, c.MinFree = filepath.Join(dir, "r"), -1
}

// smallLogs: what the workload prints leaves no room for the report.
func smallLogs(t *testing.T, c *Capture) {
	dir := tmpfs(t, 2<<20)
	shell := []string{"/bin/sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; exit 0"}
	c.Command.Args = append(c.Command.Args[:len(c.Command.Args)-len(c.Target)-1], "--output="+filepath.Join(dir, "r"))
	c.Command.Args, c.Target = append(c.Command.Args, shell...), shell
	c.Output, c.Logs, c.MinFree, c.TempRoot = filepath.Join(dir, "r"), dir, -1, t.TempDir()
}

// streamKept: the raw data survives and can be imported where there is room.
func streamKept(t *testing.T, c Capture, r Result) {
	if len(r.Kept) != 1 {
		t.Fatalf("kept %v", r.Kept)
	}
	stream := r.Kept[0]
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(stream)) })
	if f := sniff(stream, time.Time{}); f.Format != Stream {
		t.Fatalf("%s is %s", stream, f.Format)
	}
	real, err := filepath.Glob(filepath.Join(filepath.Dir(c.Command.Path), "usr/lib/*/nsight-systems/host-linux-x64/QdstrmImporter"))
	if err != nil || len(real) == 0 {
		t.Fatalf("no importer: %v", err)
	}
	report := filepath.Join(t.TempDir(), "rescued.nsys-rep")
	if err := Import(t.Context(), real[0], stream, report); err != nil {
		t.Fatal(err)
	}
	if f := sniff(report, time.Time{}); f.Format != NsysReport {
		t.Errorf("rescued report is %s", f.Format)
	}
}

func smallTemp(t *testing.T, c *Capture) { c.TempRoot, c.MinFree = tmpfs(t, 16<<20), -1 }

// killNsys kills nsys itself while the workload runs, as a lost connection or
// the OOM killer would. The agent goes on alone and must be waited for.
func killNsys(t *testing.T, c *Capture) {
	dir := c.Command.Dir
	watchOutput(t, c, "iteration 10", func() {
		links, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, l := range links {
			home := filepath.Dir(l)
			cwd, _ := os.Readlink(l)
			cmdline, _ := os.ReadFile(filepath.Join(home, "cmdline"))
			words := strings.Split(string(cmdline), "\x00")
			if cwd == dir && len(words) > 1 && filepath.Base(words[0]) == "nsys" && words[1] == "profile" {
				var pid int
				_, _ = fmt.Sscan(filepath.Base(home), &pid)
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
	})
}
