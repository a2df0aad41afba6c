package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/tool"
)

// TestRefused: what is known to fail or to measure something else is refused
// before anything is started.
func TestRefused(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	script := file("good.sh", "#!/bin/sh\nexit 0\n", 0o755)
	orphan := file("orphan.sh", "#!/no/such/interpreter\n", 0o755)
	bare := file("bare.sh", "echo hello\n", 0o755)
	plain := file("plain.sh", "#!/bin/sh\n", 0o644)
	blocked := file("blocked", "", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "taken.nsys-rep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		name   string
		change func(*Capture)
		want   Kind
		says   string
	}{
		{"--", func(c *Capture) { c.Command.Args = []string{"profile", "--"} }, ToolUsage, "--"},
		{"-e with a list", func(c *Capture) { c.Command.Args = []string{"profile", "-e", "CUDA_VISIBLE_DEVICES=0,1"} }, ToolUsage, "commas"},
		{"--env-var with a list", func(c *Capture) { c.Command.Args = []string{"profile", "--env-var=A=1,2,B=3"} }, ToolUsage, "commas"},
		{"gate without a range", func(c *Capture) { c.Command.Args = []string{"profile", "--capture-range=nvtx"} }, ToolUsage, "--nvtx-capture"},
		{"name with a macro", func(c *Capture) { c.Output = filepath.Join(dir, "r_%q{X}") }, ToolUsage, "%"},
		{"name too long", func(c *Capture) { c.Output = filepath.Join(dir, strings.Repeat("n", 260)) }, OutputUnwritable, "255"},
		{"long command line", func(c *Capture) { c.Target = []string{script, strings.Repeat("x", 70000)} }, ToolUsage, "64 KiB"},
		{"inside nsys", func(c *Capture) { c.Command.Env = append(c.Command.Env, "NVTX_INJECTION64_PATH=/x.so") }, ProfilerConflict, "NVTX_INJECTION64_PATH"},
		{"CUDA injection", func(c *Capture) { c.Command.Env = append(c.Command.Env, "CUDA_INJECTION64_PATH=/x.so") }, ProfilerConflict, "CUDA_INJECTION64_PATH"},
		{"nsys as workload", func(c *Capture) { c.Target = []string{"/opt/nsys", "profile"} }, ProfilerConflict, "without nsys"},
		{"no such program", func(c *Capture) { c.Target = []string{"/no/such/program"} }, WorkloadMissing, "/no/such/program"},
		{"not in PATH", func(c *Capture) { c.Target = []string{"no-such-program-anywhere"} }, WorkloadMissing, "PATH"},
		{"a directory", func(c *Capture) { c.Target = []string{dir} }, WorkloadMissing, "directory"},
		{"not executable", func(c *Capture) { c.Target = []string{plain} }, WorkloadMissing, "not executable"},
		{"no interpreter line", func(c *Capture) { c.Target = []string{bare} }, WorkloadMissing, "#!"},
		{"interpreter missing", func(c *Capture) { c.Target = []string{orphan} }, WorkloadMissing, "/no/such/interpreter"},
		{"output below a file", func(c *Capture) { c.Output = filepath.Join(blocked, "x", "r") }, OutputUnwritable, "blocked"},
		{"output is a directory", func(c *Capture) { c.Output = filepath.Join(dir, "taken") }, OutputUnwritable, "directory"},
		{"no room", func(c *Capture) { c.MinFree = 1 << 60 }, DiskFull, "free"},
		{"TMPDIR missing", func(c *Capture) { c.TempRoot = "/no/such/dir" }, TempUnusable, "no such file"},
		{"profiler missing", func(c *Capture) { c.Command.Path = "/no/such/nsys" }, BrokenInstall, "/no/such/nsys"},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := Capture{
				Tool: Nsys, Command: tool.Command{Path: "/bin/false", Args: []string{"profile"}, Dir: dir, Env: os.Environ()},
				Output: filepath.Join(dir, "out", "r"), Target: []string{script}, TempRoot: temp,
			}
			k.change(&c)
			r := Run(t.Context(), c)
			if r.Outcome.Kind != k.want {
				t.Fatalf("%s\n%s", r.Outcome.Kind, r.Outcome.explain())
			}
			if !strings.Contains(r.Outcome.explain(), k.says) {
				t.Errorf("does not say %q:\n%s", k.says, r.Outcome.explain())
			}
			checkOutcome(t, k.name, r.Outcome)
		})
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind in TMPDIR: %v, %v", left, err)
	}
}

func TestSiblings(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "r[1]*")
	ours := []string{".nsys-rep", ".1.nsys-rep", ".12.nsys-rep", ".sqlite", ".qdstrm", ".ncu-rep", "_nvtx_sum.csv"}
	others := []string{"r1x.nsys-rep", "r[1]*x.nsys-rep", "r[1]*.txt", "r[1]*.log"}
	for _, o := range ours {
		if err := os.WriteFile(base+o, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range others {
		if err := os.WriteFile(filepath.Join(dir, o), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := siblings(base); len(got) != len(ours) {
		t.Errorf("%q", got)
	}
	if err := removeOld(base); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != len(others) {
		t.Errorf("left %v", left)
	}
}

func TestSniff(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, k := range []struct {
		head string
		want Format
	}{
		{format.NsysMagic + "1.", NsysReport}, {format.NcuMagic + "xx", NcuReport}, {"U3w[END]", Stream}, {"\x00\xff\x00\xff\x00\xff\x00\xff", CutStream},
		{sqlite.Magic, SQLite}, {"", EmptyFile}, {"old", OtherFile}, {"NVIDIA Tegra", OtherFile},
	} {
		p := filepath.Join(dir, "f")
		if err := os.WriteFile(p, []byte(k.head), 0o644); err != nil {
			t.Fatal(err)
		}
		if f := sniff(p, old); f.Format != k.want || !f.Fresh || f.Size != int64(len(k.head)) {
			t.Errorf("%q: %+v", k.head, f)
		}
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
		if sniff(p, time.Now()).Fresh {
			t.Errorf("%q: an old file counts as fresh", k.head)
		}
	}
	if f := sniff(filepath.Join(dir, "none"), old); f.Format != MissingFile {
		t.Errorf("%+v", f)
	}
	if f := sniff(dir, old); f.Format != NotARegular {
		t.Errorf("%+v", f)
	}
}
