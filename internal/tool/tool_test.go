package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		want      Version
	}{
		{Nsys, "NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n", Version{2022, 4, 2, 1, "df9881f", ""}},
		{Nsys, "NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0\n", Version{2023, 4, 4, 54, "234433681190v0", ""}},
		{Nsys, "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0\n", Version{2025, 3, 1, 90, "253135822126v0", ""}},
		{Nsys, "NVIDIA Nsight Systems version 2021.3.2.4\n", Version{2021, 3, 2, 4, "", ""}},
		{Ncu, "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2022 NVIDIA Corporation\nVersion 2022.3.0.0 (build 31729285) (public-release)\n", Version{2022, 3, 0, 31729285, "public-release", ""}},
		{Ncu, "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)\n", Version{2025, 3, 1, 36398880, "public-release", ""}},
		{NvidiaSMI, "NVIDIA-SMI version  : 580.159.04\nNVML version        : 580.159\nDRIVER version      : 580.159.04\nCUDA Version        : 13.0\n", Version{580, 159, 4, 0, "", ""}},
		{NvidiaSMI, "NVIDIA System Management Interface -- v470.82.01\n\nNVSMI provides\n", Version{470, 82, 1, 0, "", ""}},
		{Python, "Python 3.12.3\n", Version{3, 12, 3, 0, "", ""}},
		{Python, "Python 3.13.0rc2\n", Version{3, 13, 0, 0, "rc2", ""}},
	} {
		got, err := ParseVersion(tt.name, tt.out)
		if err != nil || got.Raw == "" {
			t.Errorf("%q: %v %v", tt.out, got, err)
		}
		if got.Raw = ""; got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.out, got, tt.want)
		}
	}
	for _, bad := range []string{"", "bash: nsys: not found", "Version 1", strings.Repeat("x", 10000), "NVIDIA Nsight Systems version 99999999999999999999.1"} {
		if v, err := ParseVersion(Nsys, bad); err == nil || !v.IsZero() || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v %v", bad, v, err)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	order := []Version{{}, V(2022, 3, 0), V(2022, 4, 0), V(2022, 4, 2), V(2023, 1, 0), V(2025, 3, 1)}
	for i := range order {
		for j := range order {
			if got, want := order[i].Compare(order[j]), min(1, max(-1, i-j)); got != want {
				t.Errorf("%v, %v: %d", order[i], order[j], got)
			}
		}
	}
	if (Version{}).AtLeast(0, 0) || !V(2023, 1, 0).AtLeast(2022, 9) || V(2022, 4, 9).AtLeast(2022, 5) || !V(2022, 4, 0).AtLeast(2022, 4) {
		t.Error("AtLeast")
	}
}

// install writes programs that print a version below root.
func install(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for path, version := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\n" + version + "\n"
		if !strings.HasPrefix(version, "exit") {
			script = "#!/bin/sh\necho '" + version + "'\n"
		}
		if err := os.WriteFile(full, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func nsysSays(v string) string { return "NVIDIA Nsight Systems version " + v + "-x" }

func TestFindNewestOfAllPlaces(t *testing.T) {
	root := t.TempDir()
	install(t, root, map[string]string{
		"opt/nvidia/nsight-systems/2024.5.1/bin/nsys":                            nsysSays("2024.5.1.1"),
		"opt/nvidia/nsight-systems/2023.1.1/bin/nsys":                            nsysSays("2023.1.1.1"),
		"usr/local/cuda-12.4/bin/nsys":                                           nsysSays("2023.4.4.54"),
		"opt/nvidia/hpc_sdk/Linux_x86_64/24.7/profilers/Nsight_Systems/bin/nsys": nsysSays("2024.4.2.1"),
		"opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys":          nsysSays("2025.3.1.90"),
		"opt/nvidia/nsight-systems/2026.1.1/bin/nsys":                            "exit 127",
		"path/nsys": nsysSays("2022.4.2.1"),
		"opt/nvidia/hpc_sdk/Linux_x86_64/25.1/profilers/Nsight_Compute/host/target-linux-x64/nsys": nsysSays("2025.1.1.1"),
	})
	if err := os.Symlink(filepath.Join(root, "path/nsys"), filepath.Join(root, "usr/local/cuda-12.4/bin/nsys-link")); err != nil {
		t.Fatal(err)
	}
	sys := System{Root: root, Env: []string{"PATH=/usr/bin:/bin:" + filepath.Join(root, "path")}, CacheDir: filepath.Join(root, "cache")}
	for range 2 { // the second time from the cache
		got, err := Find(t.Context(), Spec{Name: Nsys, System: sys})
		if err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, x := range append([]Tool{got}, got.Others...) {
			versions = append(versions, fmt.Sprint(x.Version, x.Bundled))
		}
		want := []string{"2024.5.1 false", "2024.4.2 false", "2023.4.4 false", "2023.1.1 false", "2022.4.2 false", "2025.3.1 true", "2025.1.1 true", "unknown false"}
		if !slices.Equal(versions, want) {
			t.Errorf("%q\nwant %q", versions, want)
		}
		if broken := got.Others[len(got.Others)-1]; !strings.Contains(broken.Problem, "exit code 127") {
			t.Errorf("problem %q", broken.Problem)
		}
		sys.Run = func(context.Context, Command) ([]byte, []byte, Exit, error) {
			return nil, nil, Exit{Code: 127}, nil
		}
	}
}

func TestFindConfiguredAndEnvironment(t *testing.T) {
	root := t.TempDir()
	install(t, root, map[string]string{
		"a/bin/nsys":      nsysSays("2022.4.2.1"),
		"b/nsys":          nsysSays("2023.4.4.54"),
		"broken/nsys":     "exit 1",
		"other/nsys":      "hello",
		"venv/bin/python": "Python 3.11.2",
		"path/python3":    "Python 3.12.3",
	})
	at := func(p string) string { return filepath.Join(root, p) }
	sys := System{Root: root, Env: []string{"PATH=/usr/bin:/bin:" + at("b")}, CacheDir: "off"}
	for _, tt := range []struct {
		name string
		spec Spec
		path string
		err  string
	}{
		{"file", Spec{Name: Nsys, Path: at("a/bin/nsys")}, at("a/bin/nsys"), ""},
		{"folder", Spec{Name: Nsys, Path: at("a")}, at("a/bin/nsys"), ""},
		{"command", Spec{Name: Nsys, Path: "nsys"}, at("b/nsys"), ""},
		{"auto", Spec{Name: Nsys, Path: "auto"}, at("b/nsys"), ""},
		{"missing", Spec{Name: Nsys, Path: at("zzz")}, "", "not an executable file"},
		{"missing command", Spec{Name: Nsys, Path: "nsys9"}, "", "not found in PATH (as nsys9)"},
		{"folder without", Spec{Name: Ncu, Path: at("a")}, "", "not an executable file"},
		{"broken", Spec{Name: Nsys, Path: at("broken/nsys")}, "", "exit code 1"},
		{"another program", Spec{Name: Nsys, Path: at("other/nsys")}, "", `no version in output "hello"`},
		{"unknown tool", Spec{Name: "perf"}, "", "not a tool"},
		{"none", Spec{Name: Ncu}, "", "install Nsight Compute"},
	} {
		tt.spec.System = sys
		got, err := Find(t.Context(), tt.spec)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, %v", tt.name, got, err)
			}
			continue
		}
		if err != nil || got.Path != tt.path {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
	if _, err := Find(t.Context(), Spec{Name: Ncu, System: sys}); !isNotFound(err) {
		t.Errorf("%v is no NotFoundError", err)
	}
	sys.Env = append(sys.Env, "DEEPPROF_NSYS="+at("a/bin/nsys"))
	if got, err := Find(t.Context(), Spec{Name: Nsys, System: sys}); err != nil || got.Path != at("a/bin/nsys") {
		t.Errorf("environment: %v %v", got, err)
	}
	sys.Env = []string{"DEEPPROF_NSYS=/nowhere"}
	if _, err := Find(t.Context(), Spec{Name: Nsys, System: sys}); err == nil || !strings.Contains(err.Error(), "DEEPPROF_NSYS") {
		t.Errorf("bad environment: %v", err)
	}
	// Of Pythons the nearest counts, not the newest.
	sys.Env = []string{"PATH=" + at("path"), "VIRTUAL_ENV=" + at("venv")}
	if got, err := Find(t.Context(), Spec{Name: Python, System: sys}); err != nil || got.Version.String() != "3.11.2" {
		t.Errorf("python: %v %v", got, err)
	}
}

func TestCacheKnowsReplacedBinaries(t *testing.T) {
	root := t.TempDir()
	sys := System{Root: root, Env: []string{"PATH="}, CacheDir: filepath.Join(root, "cache")}
	target := filepath.Join(root, "real")
	install(t, root, map[string]string{"real": nsysSays("2022.1.1.1"), "usr/local/cuda/bin/nsys": "exit"})
	script := "#!/bin/sh\nexec " + target + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(root, "usr/local/cuda/bin/nsys"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"2022.1.1", "2023.2.2"} {
		install(t, root, map[string]string{"real": nsysSays(v + ".1")})
		got, err := Find(t.Context(), Spec{Name: Nsys, System: sys})
		if err != nil || got.Version.String() != v {
			t.Errorf("%v %v, want %s", got, err, v)
		}
		time.Sleep(10 * time.Millisecond)
	}
	files, _ := filepath.Glob(filepath.Join(root, "cache", "*.json"))
	if len(files) != 2 {
		t.Errorf("cache holds %v", files)
	}
	for _, f := range files { // damage is the same as an empty cache
		if err := os.WriteFile(f, []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Find(t.Context(), Spec{Name: Nsys, System: sys}); err != nil || got.Version.String() != "2023.2.2" {
		t.Errorf("%v %v", got, err)
	}
}

func sh(script string) Command { return Command{Path: "/bin/sh", Args: []string{"-c", script}} }

func TestOutput(t *testing.T) {
	c := sh(`echo out; echo err >&2; echo "$A-$B"; exit 3`)
	c.Env = Environ([]string{"A=1", "B=2", "A=3"}, "B=4")
	var tee bytes.Buffer
	c.Stdout = &tee
	out, errs, exit, err := Output(t.Context(), c)
	if err != nil || string(out) != "out\n3-4\n" || string(errs) != "err\n" || exit.Code != 3 || exit.OK() || exit.Shell() != 3 || tee.String() != string(out) {
		t.Errorf("%q %q %+v %v %q", out, errs, exit, err, &tee)
	}
	if exit.PID == 0 || exit.Duration <= 0 || exit.Started.IsZero() {
		t.Errorf("%+v", exit)
	}
	c = sh(`kill -9 $$`)
	if _, _, exit, err := Output(t.Context(), c); err != nil || exit.Signal != syscall.SIGKILL || exit.Shell() != 137 || exit.Code != -1 {
		t.Errorf("%+v %v", exit, err)
	}
	c = sh(`i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done`)
	c.MaxOutput = 100
	if out, _, exit, err := Output(t.Context(), c); err != nil || len(out) != 100 || !exit.Truncated || !exit.OK() {
		t.Errorf("%d bytes %+v %v", len(out), exit, err)
	}
	if _, err := (Command{Path: "/no/such"}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "start /no/such") {
		t.Errorf("%v", err)
	}
	c = Command{Path: "/bin/cat", Stdin: strings.NewReader("in")}
	if out, _, _, err := Output(t.Context(), c); err != nil || string(out) != "in" {
		t.Errorf("%q %v", out, err)
	}
}

// gone waits until no process has the number any more.
func gone(pid int) bool {
	for range 100 {
		if p, err := os.FindProcess(pid); err != nil || p.Signal(syscall.Signal(0)) != nil {
			return true
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(data, []byte(") Z ")) {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func TestRunKillsTheGroup(t *testing.T) {
	for name, tail := range map[string]string{"canceled": "sleep 60", "leader exits": "exit 0"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		c := sh(`sleep 60 & echo $!; ` + tail)
		c.Stdout = &out
		if name == "canceled" {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		start := time.Now()
		_, err := c.Run(ctx)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
		if (name == "canceled") != errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		pid, perr := strconv.Atoi(strings.TrimSpace(out.String()))
		if perr != nil || !gone(pid) {
			t.Errorf("%s: child %q lives", name, out.String())
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sh("echo").Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestLine(t *testing.T) {
	c := Command{Path: "/opt/my tools/nsys", Args: []string{"profile", "--output=a b", "$x"}, Dir: "/w d", Env: []string{"HOME=/h", "LC_ALL=C", "X=a b"}}
	if got, want := c.Line([]string{"HOME=/h"}), `cd '/w d' && LC_ALL=C X='a b' '/opt/my tools/nsys' profile '--output=a b' '$x'`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"A=1", "B=2", "A=3", "odd"}
	got := Environ(base, "C=5", "B", "A=9")
	if want := []string{"C=5", "A=9"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if base[0] != "A=1" {
		t.Error("base was changed")
	}
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*NotFoundError](err)
	return ok
}
