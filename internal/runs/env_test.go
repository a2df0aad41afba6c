package runs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// h200 is what nvidia-smi 580 answers on a machine with one H200.
const h200 = "0, 580.159.04, NVIDIA H200, GPU-00000000-1111-2222-3333-444444444444, 00000000:00:06.0, 96.00.A5.00.1A, 9.0, 143771, 405, 3201, 1980, 3201, 1980, 0x0000000000000001, 126.02, 700.00, 700.00, 41, P0, Enabled, Disabled, Enabled, Default\n"

// fake is a machine made of strings.
type fake struct {
	files map[string]string
	out   func(path string, args ...string) (string, error)
	env   []string
}

func (f fake) collector() Collector {
	return Collector{
		Output: func(_ context.Context, path string, args ...string) ([]byte, error) {
			s, err := f.out(path, args...)
			return []byte(s), err
		},
		ReadFile: func(path string) ([]byte, error) {
			s, ok := f.files[path]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(s), nil
		},
		Environ:   func() []string { return f.env },
		Hostname:  func() (string, error) { return "box", nil },
		User:      func() (string, error) { return "ann", nil },
		Now:       func() time.Time { return at("2026-03-01T10:00:00Z") },
		Dir:       "/w",
		NvidiaSMI: "/usr/bin/nvidia-smi", Git: "/usr/bin/git", Python: "/usr/bin/python3",
		Tools: []ToolInfo{{Name: "nsys", Path: "/opt/nsys", Version: "2025.3.1"}, {Name: "ncu", Missing: "not found on PATH"}},
	}
}

var fullMachine = fake{
	files: map[string]string{
		"/etc/os-release":                      "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n",
		"/proc/sys/kernel/osrelease":           "6.18.44\n",
		"/proc/sys/kernel/perf_event_paranoid": "2\n",
		"/proc/cpuinfo":                        "processor\t: 0\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t: 0\n\nprocessor\t: 1\nmodel name\t: Xeon\nphysical id\t: 0\ncore id\t: 0\n\nprocessor\t: 2\nmodel name\t: Xeon\nphysical id\t: 1\ncore id\t: 0\n",
		"/proc/meminfo":                        "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n",
		"/sys/fs/cgroup/cpu.max":               "150000 100000\n",
		"/sys/fs/cgroup/memory.max":            "max\n",
		"/.dockerenv":                          "",
	},
	out: func(path string, args ...string) (string, error) {
		switch filepath.Base(path) {
		case "nvidia-smi":
			if len(args) == 0 {
				b, err := os.ReadFile("testdata/nvidia-smi.580.txt")
				return string(b), err
			}
			return h200, nil
		case "python3":
			return "some banner\n{\"path\": \"/usr/bin/python3\", \"version\": \"3.12.3\", \"packages\": {\"torch\": \"2.11.0\"}}\n", nil
		}
		return map[string]string{
			"rev-parse --is-inside-work-tree":                   "true\n",
			"rev-parse --verify HEAD":                           "0123456789abcdef0123456789abcdef01234567\n",
			"symbolic-ref --quiet --short HEAD":                 "main\n",
			"describe --always --dirty --tags":                  "v1-2-g0123\n",
			"config --get remote.origin.url":                    "https://ann:sesame@git.example.org/x.git\n",
			"status --porcelain=v1 -z --untracked-files=normal": " M a\x00R  new\x00old\x00?? b\x00?? c\x00",
		}[strings.Join(args[3:], " ")], nil
	},
	env: []string{"PATH=/bin", "HF_TOKEN=abc", "=odd", "EMPTY="},
}

func TestCollectGolden(t *testing.T) {
	env := fullMachine.collector().Collect(ctx)
	env.Host.Arch = "amd64"
	b, err := json.MarshalIndent(env, "", "  ")
	must(t, err)
	golden(t, "env.json", append(b, '\n'))
}

// On a machine that tells nothing every field is absent and has a reason.
func TestCollectNothing(t *testing.T) {
	c := fake{out: func(string, ...string) (string, error) { return "", errors.New("exit status 127") }}.collector()
	c.Hostname = func() (string, error) { return "", errors.New("no name") }
	c.User = func() (string, error) { return "", nil }
	c.Tools = nil
	env := c.Collect(ctx)
	for _, f := range []string{"gpus", "driver", "python", "git", "host.name", "host.user", "host.os", "host.kernel", "host.cpu", "host.cores",
		"host.sockets", "host.threads", "host.memory_bytes", "host.memory_available_bytes", "host.perf_event_paranoid"} {
		if env.Missing[f] == "" {
			t.Errorf("no reason for %s", f)
		}
	}
	b, err := json.Marshal(env.Host)
	must(t, err)
	if s := string(b); strings.Contains(s, `""`) || strings.Contains(s, ":0") {
		t.Errorf("unknown values are written as facts: %s", s)
	}
	if env.GPUs != nil || env.Driver != nil || env.Python != nil || env.Git != nil {
		t.Errorf("something out of nothing: %+v", env)
	}
	none := Collector{}.Collect(ctx)
	if !strings.Contains(none.Missing["gpus"], "not found") {
		t.Errorf("without nvidia-smi: %q", none.Missing["gpus"])
	}
}

func TestGPUAnswers(t *testing.T) {
	mig := strings.Replace(h200, "Enabled, Disabled, Enabled", "Enabled, Enabled, Enabled", 1)
	two := h200 + strings.Replace(strings.Replace(h200, "0, 580", "3, 580", 1), "126.02", "[N/A]", 1)
	for name, c := range map[string]struct {
		answer func(args ...string) (string, error)
		check  func(t *testing.T, env Env)
	}{
		"two, one without power": {
			func(...string) (string, error) { return two, nil },
			func(t *testing.T, env Env) {
				if len(env.GPUs) != 2 || env.GPUs[1].Index != 3 || env.GPUs[1].PowerDraw != nil || *env.GPUs[0].PowerDraw != 126.02 {
					t.Errorf("GPUs %+v", env.GPUs)
				}
				if env.Missing["gpus[1].power_w"] != "nvidia-smi says [N/A]" {
					t.Errorf("missing %v", env.Missing)
				}
			},
		},
		"old driver": {
			func(args ...string) (string, error) {
				if len(args) > 0 && strings.Contains(args[0], "compute_cap") {
					return "Field \"compute_cap\" is not a valid field to query.\n\n", errors.New("exit status 2")
				}
				return strings.Replace(h200, " 9.0,", "", 1), nil
			},
			func(t *testing.T, env Env) {
				if len(env.GPUs) != 1 || env.GPUs[0].ComputeCap != "" || *env.GPUs[0].MemoryMiB != 143771 {
					t.Errorf("GPUs %+v", env.GPUs)
				}
				if !strings.Contains(env.Missing["gpus[0].compute_capability"], "does not know") {
					t.Errorf("missing %v", env.Missing)
				}
			},
		},
		"refuses for ever": {
			func(...string) (string, error) {
				return "Field \"index\" is not a valid field to query.\n", errors.New("exit status 2")
			},
			func(t *testing.T, env Env) {
				if env.Missing["gpus"] == "" || env.GPUs != nil {
					t.Errorf("env %+v", env)
				}
			},
		},
		"no driver": {
			func(...string) (string, error) {
				return "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", errors.New("exit status 9")
			},
			func(t *testing.T, env Env) {
				if !strings.Contains(env.Missing["driver"], "exit status 9") {
					t.Errorf("missing %v", env.Missing)
				}
			},
		},
		"no devices": {
			func(...string) (string, error) { return "No devices were found\n", nil },
			func(t *testing.T, env Env) {
				if env.GPUs != nil || env.Missing["gpus"] == "" {
					t.Errorf("GPUs %+v, missing %v", env.GPUs, env.Missing)
				}
			},
		},
		"MIG": {
			func(args ...string) (string, error) {
				if len(args) == 1 && args[0] == "-L" {
					return "GPU 0: NVIDIA H200 (UUID: GPU-1)\n  MIG 1g.18gb     Device  0: (UUID: MIG-2)\n  MIG 1g.18gb     Device  1: (UUID: MIG-3)\n", nil
				}
				return mig, nil
			},
			func(t *testing.T, env Env) {
				if g := env.GPUs[0]; g.MIG != "Enabled" || len(g.MIGDevices) != 2 || !strings.HasPrefix(g.MIGDevices[1], "MIG 1g.18gb") {
					t.Errorf("GPU %+v", g)
				}
			},
		},
		"rubbish in a number": {
			func(...string) (string, error) { return strings.Replace(h200, "143771", "lots", 1), nil },
			func(t *testing.T, env Env) {
				if env.GPUs[0].MemoryMiB != nil || !strings.Contains(env.Missing["gpus[0].memory_mib"], "not a number") {
					t.Errorf("GPU %+v", env.GPUs[0])
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fake{out: func(path string, args ...string) (string, error) {
				if filepath.Base(path) != "nvidia-smi" {
					return "", errors.New("not asked")
				}
				return c.answer(args...)
			}}
			c.check(t, f.collector().Collect(ctx))
		})
	}
}

func TestCollectTimeout(t *testing.T) {
	c := Collector{NvidiaSMI: "nvidia-smi", Timeout: time.Millisecond, Output: func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	if env := c.Collect(ctx); !strings.Contains(env.Missing["gpus"], "no answer within") {
		t.Errorf("missing %v", env.Missing)
	}
}

func TestContainer(t *testing.T) {
	for name, c := range map[string]struct {
		f    fake
		want string
	}{
		"none":       {fake{}, ""},
		"docker":     {fake{files: map[string]string{"/.dockerenv": ""}}, "docker"},
		"podman":     {fake{files: map[string]string{"/run/.containerenv": "image=\"x:1\"\n"}}, "podman"},
		"kubernetes": {fake{env: []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}}, "kubernetes"},
		"pod":        {fake{files: map[string]string{"/proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}}, "kubernetes"},
		"apptainer":  {fake{env: []string{"APPTAINER_CONTAINER=/x.sif"}}, "apptainer"},
		"bare":       {fake{files: map[string]string{"/proc/1/cgroup": "0::/init.scope\n"}}, ""},
		"variable":   {fake{env: []string{"container=lxc"}}, "lxc"},
	} {
		c.f.out = func(string, ...string) (string, error) { return "", errors.New("none") }
		got := c.f.collector().Collect(ctx).Host.Container
		if (got == nil) != (c.want == "") || got != nil && got.Kind != c.want {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// The real git, in a repository of our own.
func TestGitReal(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	c := Collector{Git: git, Dir: dir, Output: func(ctx context.Context, path string, args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, path, args...).Output()
	}}
	if env := c.Collect(ctx); env.Git != nil || !strings.Contains(env.Missing["git"], "not in a git work tree") {
		t.Errorf("outside a repository: %+v, %v", env.Git, env.Missing)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "trunk"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o644))
		if out, err := exec.Command(git, append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	g := c.Collect(ctx).Git
	if g == nil || len(g.Commit) != 40 || g.Branch != "trunk" || g.Dirty == nil || *g.Dirty || g.Remote != "" {
		t.Fatalf("clean repository: %+v", g)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("22"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o644))
	if g = c.Collect(ctx).Git; !*g.Dirty || g.Changed != 1 || g.Untracked != 1 {
		t.Errorf("changed repository: %+v", g)
	}
}

// The script must run on a real interpreter.
func TestPythonReal(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	c := Collector{Python: python, Output: func(ctx context.Context, path string, args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, path, args...).Output()
	}}
	env := c.Collect(ctx)
	if env.Python == nil || !strings.HasPrefix(env.Python.Version, "3.") || env.Python.Path == "" {
		t.Errorf("python %+v, missing %v", env.Python, env.Missing)
	}
}
