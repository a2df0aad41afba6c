package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

// A patient is a machine made of recordings. The healthy one is the H200
// machine of the project's captures.
type patient struct {
	opts    Options
	files   map[string]string // below the root
	env     []string
	uid     int
	tools   map[string]tool.Tool
	toolErr map[string]error
	answers map[string]answer // by program and arguments
	free    map[string]uint64 // by path
	freeErr map[string]error
	denied  map[string]error // folders that cannot be written
	lock    *lock
	lockErr error
	import_ string
}

type answer struct {
	out, err string
	exit     tool.Exit
	fail     error
}

type lock struct {
	uid  int
	mode os.FileMode
}

const (
	smiQuery  = "nvidia-smi --query-gpu=" + query + " --format=csv,noheader"
	smiApps   = "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader"
	h200Line  = "0, NVIDIA H200, 580.159.04, Default, Disabled, 345 MHz, 1980 MHz, 0x0000000000000001, 38\n"
	h200Table = "Sun Nov 15 04:19:24 2026       \n+-----+\n| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |\n"
	noDriver  = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."
)

func healthy(t *testing.T) *patient {
	params, err := os.ReadFile("testdata/params-580.txt")
	if err != nil {
		t.Fatal(err)
	}
	return &patient{
		opts: Options{Timeline: true, Counters: true, CUDA: true, Torch: true, TempDir: t.TempDir(), RunDir: filepath.Join(t.TempDir(), "runs", "new")},
		files: map[string]string{
			"/dev/nvidia0":                         "",
			"/proc/driver/nvidia/version":          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@)  \nGCC version:  gcc version 15.3.0 (GCC) \n",
			"/proc/driver/nvidia/params":           string(params),
			"/proc/self/status":                    "Name:\tcat\nCapInh:\t0000000000000000\nCapEff:\t0000000000000000\n",
			"/proc/1/cgroup":                       "0::/init.scope\n",
			"/proc/version":                        "Linux version 6.18.44 (builder@host) #1 SMP\n",
			"/proc/sys/kernel/perf_event_paranoid": "2\n",
			"/proc/sys/fs/protected_regular":       "2\n",
			"/proc/4242/cmdline":                   "/usr/bin/bash\x00-l\x00",
			"/proc/meminfo":                        "MemTotal: 1 kB\n",
		},
		env: []string{"HOME=/home/u", "PATH=/usr/bin"},
		uid: 1000,
		tools: map[string]tool.Tool{
			tool.Nsys:      {Name: tool.Nsys, Path: "/opt/nvidia/nsight-systems/2025.3.1/bin/nsys", Version: tool.Version{Major: 2025, Minor: 3, Patch: 1, Edition: "253135822126v0", Raw: "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0"}},
			tool.Ncu:       {Name: tool.Ncu, Path: "/usr/local/cuda/bin/ncu", Real: "/usr/local/cuda/bin/ncu", Version: tool.V(2025, 3, 1)},
			tool.NvidiaSMI: {Name: tool.NvidiaSMI, Path: "nvidia-smi", Version: tool.V(580, 159, 4)},
			tool.Python:    {Name: tool.Python, Path: "python3", Version: tool.V(3, 12, 3)},
		},
		toolErr: map[string]error{},
		answers: map[string]answer{
			smiQuery:                {out: h200Line},
			smiApps:                 {},
			"nvidia-smi":            {out: h200Table},
			"importer --version":    {out: "NVIDIA Nsight Systems 2025.3.1.90-253135822126v0\n"},
			"python3 -c " + inspect: {out: `{"executable": "/opt/venv/bin/python3", "torch": "2.11.0+cu130", "torch_cuda": "13.0", "torch_nvtx": true, "nvtx": "", "transformers": "5.17.0"}` + "\n"},
			"/opt/nvidia/nsight-systems/2025.3.1/bin/nsys status -e": {out: "CPU Profiling Environment Check\nRoot privilege: enabled\nLinux Kernel Paranoid Level = 2\nLinux perf_event_open syscall available: OK\n"},
		},
		free:    map[string]uint64{},
		freeErr: map[string]error{},
		denied:  map[string]error{},
		import_: "importer",
	}
}

func (p *patient) examine(t *testing.T) Report {
	t.Helper()
	root := t.TempDir()
	for path, text := range p.files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := Host{Root: root, Env: p.env, UID: &p.uid,
		Run: func(_ context.Context, c tool.Command) ([]byte, []byte, tool.Exit, error) {
			a, ok := p.answers[strings.Join(append([]string{c.Path}, c.Args...), " ")]
			if !ok {
				return nil, nil, tool.Exit{}, fmt.Errorf("start %s: no recording of %q", c.Path, c.Args)
			}
			return []byte(a.out), []byte(a.err), a.exit, a.fail
		},
		Find: func(_ context.Context, s tool.Spec) (tool.Tool, error) {
			if err := p.toolErr[s.Name]; err != nil {
				return tool.Tool{}, err
			}
			found, ok := p.tools[s.Name]
			if !ok {
				return tool.Tool{}, &tool.NotFoundError{Name: s.Name, Tried: []string{"PATH", "/opt/a", "/opt/b", "/opt/c", "/opt/d"}, Hint: "install " + s.Name}
			}
			return found, nil
		},
		Free: func(path string) (uint64, error) {
			path = strings.TrimPrefix(path, root)
			if err := p.freeErr[path]; err != nil {
				return 0, err
			}
			if n, ok := p.free[path]; ok {
				return n, nil
			}
			return 100 * gib, nil
		},
		Writable: func(dir string) error { return p.denied[dir] },
		Owner: func(string) (int, os.FileMode, error) {
			if p.lockErr != nil {
				return 0, 0, p.lockErr
			}
			if p.lock == nil {
				return 0, 0, fs.ErrNotExist
			}
			return p.lock.uid, p.lock.mode, nil
		},
		Importer: func(tool.Tool) string { return p.import_ },
	}
	return Check(t.Context(), p.opts, h)
}

func (p *patient) noGPU() {
	for path := range p.files {
		if strings.HasPrefix(path, "/dev/nvidia") || strings.HasPrefix(path, "/proc/driver/nvidia") {
			delete(p.files, path)
		}
	}
	delete(p.tools, tool.NvidiaSMI)
}

func TestHealthyMachine(t *testing.T) {
	r := healthy(t).examine(t)
	for _, row := range r.Rows {
		if row.Status != OK && row.Status != NotApplicable || row.Fix != "" || row.Evidence == "" {
			t.Errorf("%+v", row)
		}
	}
	if r.HasBlocker() || r.Blocked || len(r.Rows) != len(checks) || r.Count(OK) < 18 {
		t.Errorf("%+v", r)
	}
}

func TestChecks(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}
	for _, tt := range []struct {
		check  string
		name   string
		set    func(p *patient)
		status Status
		say    string // in the evidence
		fix    string // in the fix
	}{
		{"nsys", "missing", func(p *patient) { delete(p.tools, tool.Nsys) }, Blocker, "not found in PATH, /opt/a, /opt/b, /opt/c and 1 more places", "install nsys"},
		{"nsys", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Nsys); p.opts.Timeline = false }, NotApplicable, "not wanted", ""},
		{"nsys", "broken", func(p *patient) { p.toolErr[tool.Nsys] = errors.New("exit code 127") }, Blocker, "127", "pipeline.nsys.path"},
		{"nsys", "says nothing", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x/nsys", Problem: "odd"} }, Blocker, "odd", "reinstall"},
		{"nsys", "bundled", func(p *patient) { x := p.tools[tool.Nsys]; x.Bundled = true; p.tools[tool.Nsys] = x }, Warning, "inside Nsight Compute", "install Nsight Systems itself"},
		{"nsys", "old", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x", Version: tool.V(2021, 1, 0)} }, Warning, "older", "2022.4"},
		{"nsys", "2023.4", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x", Version: tool.V(2023, 4, 4)} }, Warning, "several streams", "2024.2"},
		{"nsys", "several", func(p *patient) {
			x := p.tools[tool.Nsys]
			x.Others = []tool.Tool{{Path: "/old/nsys", Version: tool.V(2023, 4, 4)}, {Path: "/bad/nsys", Problem: "p"}}
			p.tools[tool.Nsys] = x
		}, OK, "also 2023.4.4 /old/nsys, /bad/nsys (broken)", ""},

		{"nsys-importer", "absent", func(p *patient) { p.import_ = "" }, Blocker, "no QdstrmImporter", "host part"},
		{"nsys-importer", "library", func(p *patient) {
			p.answers["importer --version"] = answer{err: "importer: error while loading shared libraries: libdw.so.1: cannot open shared object file: No such file or directory\n", exit: tool.Exit{Code: 127}}
		}, Blocker, "cannot load libdw.so.1", "libdw1"},
		{"nsys-importer", "library, not wanted", func(p *patient) {
			p.opts.Timeline = false
			p.answers["importer --version"] = answer{err: "error while loading shared libraries: libfoo.so: x\n", exit: tool.Exit{Code: 127}}
		}, Warning, "libfoo.so", "apt-file"},
		{"nsys-importer", "crash", func(p *patient) { p.answers["importer --version"] = answer{exit: tool.Exit{Code: -1, Signal: 11}} }, Blocker, "signal 11", "by hand"},
		{"nsys-importer", "another version", func(p *patient) {
			p.answers["importer --version"] = answer{out: "NVIDIA Nsight Systems 2023.4.4.54-234433681190v0"}
		}, Blocker, "2023.4.4", "match exactly"},
		{"nsys-importer", "no nsys", func(p *patient) { delete(p.tools, tool.Nsys) }, NotApplicable, "no nsys", ""},

		{"ncu", "missing", func(p *patient) { delete(p.tools, tool.Ncu) }, Blocker, "not found", "install ncu"},
		{"ncu", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Ncu); p.opts.Counters = false }, NotApplicable, "", ""},
		{"ncu", "old", func(p *patient) { p.tools[tool.Ncu] = tool.Tool{Path: "/x", Version: tool.V(2020, 1, 0)} }, Warning, "older", "2022.3"},
		{"ncu", "blank in path", func(p *patient) {
			p.tools[tool.Ncu] = tool.Tool{Path: "/x", Real: "/a b/ncu", Version: tool.V(2024, 1, 1)}
		}, Blocker, "blanks", "move"},

		{"exchange", "older nsys beside", func(p *patient) {
			x := p.tools[tool.Nsys]
			x.Others = []tool.Tool{{Version: tool.V(2023, 4, 4)}}
			p.tools[tool.Nsys] = x
		}, Warning, "nsys 2023.4.4 cannot open reports of 2025.3.1", "SQLite"},
		{"exchange", "older ncu beside", func(p *patient) {
			x := p.tools[tool.Ncu]
			x.Others = []tool.Tool{{Version: tool.V(2022, 3, 0)}}
			p.tools[tool.Ncu] = x
		}, Warning, "ncu 2022.3.0 cannot open", "newest"},
		{"exchange", "none", func(p *patient) { p.tools = map[string]tool.Tool{} }, NotApplicable, "", ""},

		{"nvidia-smi", "missing", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Warning, "not found", "install nvidia-smi"},
		{"nvidia-smi", "not wanted", func(p *patient) { delete(p.tools, tool.NvidiaSMI); p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, "", ""},
		{"nvidia-smi", "broken", func(p *patient) { p.toolErr[tool.NvidiaSMI] = errors.New(noDriver) }, Warning, "couldn't communicate", "GPU"},

		{"gpu", "none", (*patient).noGPU, Blocker, "no NVIDIA driver loaded", "machine with an NVIDIA GPU"},
		{"gpu", "none in a container", func(p *patient) { p.noGPU(); p.files["/.dockerenv"] = "" }, Blocker, "docker container", "--gpus all"},
		{"gpu", "none, none wanted", func(p *patient) { p.noGPU(); p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, "", ""},
		{"gpu", "WSL", func(p *patient) { p.noGPU(); p.files["/dev/dxg"] = "" }, Blocker, "WSL", "Windows"},
		{"gpu", "no device files", func(p *patient) { delete(p.files, "/dev/nvidia0"); delete(p.tools, tool.NvidiaSMI) }, Blocker, "no /dev/nvidia*", "nvidia-modprobe"},
		{"gpu", "mismatch", func(p *patient) {
			p.answers[smiQuery] = answer{out: "Failed to initialize NVML: Driver/library version mismatch", exit: tool.Exit{Code: 18}}
		}, Blocker, "version mismatch", "reboot"},
		{"gpu", "fell off", func(p *patient) { p.answers[smiQuery] = answer{out: "No devices were found", exit: tool.Exit{Code: 6}} }, Blocker, "No devices", "dmesg"},
		{"gpu", "smi fails", func(p *patient) { p.answers[smiQuery] = answer{out: noDriver, exit: tool.Exit{Code: 9}} }, Blocker, "communicate", "by hand"},
		{"gpu", "smi prints rubbish", func(p *patient) { p.answers[smiQuery] = answer{out: "what, is, this\n"} }, Blocker, "nine fields", "by hand"},
		{"gpu", "no smi", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Unknown, "nvidia-smi is not", "nvidia-smi"},

		{"driver", "torch newer than driver", func(p *patient) {
			p.answers["nvidia-smi"] = answer{out: strings.Replace(h200Table, "CUDA Version: 13.0", "CUDA Version: 12.4", 1)}
		}, Blocker, "PyTorch built for CUDA 13.0", "update the driver to 580"},
		{"driver", "torch slightly newer", func(p *patient) {
			p.answers["python3 -c "+inspect] = answer{out: `{"torch": "2.12", "torch_cuda": "13.2"}`}
		}, Warning, "minor-version", "update"},
		{"driver", "ncu newer than driver", func(p *patient) {
			p.files["/proc/driver/nvidia/version"] = ""
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "580.159.04", "550.54.15", 1)}
			p.answers["python3 -c "+inspect] = answer{out: `{"torch": "2.4", "torch_cuda": "12.4"}`}
		}, Blocker, "ncu 2025.3.1 does not work", "older Nsight Compute"},
		{"driver", "none", (*patient).noGPU, NotApplicable, "no driver", ""},
		{"driver", "not wanted", func(p *patient) { p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, "", ""},
		{"driver", "unreadable", func(p *patient) { p.files["/proc/driver/nvidia/version"] = "?"; delete(p.tools, tool.NvidiaSMI) }, Unknown, "could not be read", "nvidia-smi"},

		{"gpus", "two", func(p *patient) { p.answers[smiQuery] = answer{out: h200Line + "1" + h200Line[1:]} }, Warning, "2 x NVIDIA H200", "CUDA_VISIBLE_DEVICES"},
		{"gpus", "two, one chosen", func(p *patient) {
			p.answers[smiQuery] = answer{out: h200Line + "1" + h200Line[1:]}
			p.env = append(p.env, "CUDA_VISIBLE_DEVICES=1")
		}, OK, "CUDA_VISIBLE_DEVICES=1", ""},
		{"gpus", "two kinds", func(p *patient) {
			p.answers[smiQuery] = answer{out: h200Line + strings.Replace(h200Line, "H200", "A100", 1)}
		}, Warning, "different kinds", "same kind"},
		{"gpus", "unknown", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Unknown, "does not describe", "nvidia-smi"},
		{"gpus", "none", (*patient).noGPU, NotApplicable, "no GPU", ""},

		{"mig", "on", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Disabled", "Enabled", 1)}
		}, Warning, "on for GPU 0", "clock_control: none"},
		{"mig", "not supported", func(p *patient) { p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Disabled", "[N/A]", 1)} }, OK, "", ""},
		{"mig", "none", (*patient).noGPU, NotApplicable, "", ""},

		{"gpu-use", "busy", func(p *patient) { p.answers[smiApps] = answer{out: "771, python3, 1024 MiB\n772, python3, 2 MiB\n"} }, Warning, "2 other processes use the GPU, first 771, python3", "stop them"},
		{"gpu-use", "prohibited", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Default", "Prohibited", 1)}
		}, Blocker, "Prohibited", "-c DEFAULT"},
		{"gpu-use", "unknown", func(p *patient) { p.answers[smiApps] = answer{exit: tool.Exit{Code: 2}} }, Unknown, "exit code 2", "by hand"},
		{"gpu-use", "none", (*patient).noGPU, NotApplicable, "", ""},

		{"clocks", "throttled", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "0x0000000000000001", "0x0000000000000060", 1)}
		}, Warning, "software thermal slowdown, GPU 0: hardware thermal slowdown", "cool"},
		{"clocks", "not told", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "0x0000000000000001", "[N/A]", 1)}
		}, Unknown, "does not tell", ""},
		{"clocks", "none", (*patient).noGPU, NotApplicable, "", ""},

		{"container", "docker", func(p *patient) { p.files["/.dockerenv"] = "" }, OK, "docker", ""},
		{"container", "podman", func(p *patient) { p.files["/run/.containerenv"] = "" }, OK, "podman", ""},
		{"container", "kubernetes", func(p *patient) { p.files["/proc/1/cgroup"] = "12:devices:/kubepods/besteffort/pod1\n" }, OK, "kubepods", ""},
		{"container", "apptainer", func(p *patient) { p.env = append(p.env, "APPTAINER_CONTAINER=/x.sif") }, OK, "apptainer", ""},
		{"container", "gvisor", func(p *patient) { p.files["/proc/version"] = gvisor + "\n" }, Blocker, "gVisor", "outside"},
		{"container", "gvisor, timeline only", func(p *patient) { p.files["/proc/version"] = gvisor + "\n"; p.opts.Counters = false }, Warning, "gVisor", "outside"},

		{"counters", "restricted", func(p *patient) { p.restrict() }, Blocker, "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"},
		{"counters", "restricted, root", func(p *patient) { p.restrict(); p.effective("000001ffffffffff") }, OK, "CAP_SYS_ADMIN", ""},
		{"counters", "restricted, perfmon", func(p *patient) { p.restrict(); p.effective("0000004000000000") }, OK, "CAP_PERFMON", ""},
		{"counters", "restricted, perfmon, old driver", func(p *patient) {
			p.restrict()
			p.effective("0000004000000000")
			p.files["/proc/driver/nvidia/version"] = ""
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "580.159.04", "550.54.15", 1)}
		}, Blocker, "ERR_NVGPUCTRPERM", "as root"},
		{"counters", "restricted, container root", func(p *patient) {
			p.restrict()
			p.uid = 0
			p.effective("00000000a80425fb")
			p.files["/.dockerenv"] = ""
		}, Blocker, "docker container lacks", "--cap-add=PERFMON"},
		{"counters", "restricted, capabilities unknown", func(p *patient) { p.restrict(); p.uid = 0; delete(p.files, "/proc/self/status") }, Unknown, "could not be read", "small program"},
		{"counters", "no parameters", func(p *patient) { delete(p.files, "/proc/driver/nvidia/params") }, Unknown, "cannot be read", "ERR_NVGPUCTRPERM"},
		{"counters", "other parameters", func(p *patient) { p.files["/proc/driver/nvidia/params"] = "RmMsg: \"\"\n" }, Unknown, "RmProfilingAdminOnly", "small program"},
		{"counters", "no driver", (*patient).noGPU, NotApplicable, "no driver", ""},
		{"counters", "not wanted", func(p *patient) { p.opts.Counters = false }, NotApplicable, "", ""},
		{"counters", "sampled only, open", func(p *patient) { p.opts.Counters, p.opts.Sampled = false, true }, OK, "open to all users", ""},
		{"counters", "sampled only, restricted", func(p *patient) { p.restrict(); p.opts.Counters, p.opts.Sampled = false, true }, Warning, "will not be sampled", "NVreg_RestrictProfilingToAdminUsers=0"},

		{"perf-events", "fine", func(p *patient) { p.opts.Sample = "process-tree" }, OK, "is 2", ""},
		{"perf-events", "too strict", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.files["/proc/sys/kernel/perf_event_paranoid"] = "4\n"
		}, Warning, "perf_event_paranoid is 4", "perf_event_paranoid=2"},
		{"perf-events", "system-wide", func(p *patient) { p.opts.Sample = "system-wide" }, Warning, "needs 0", "paranoid=0"},
		{"perf-events", "system-wide, allowed", func(p *patient) { p.opts.Sample = "system-wide"; p.effective("000001ffffffffff") }, OK, "", ""},
		{"perf-events", "seccomp", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.answers["/opt/nvidia/nsight-systems/2025.3.1/bin/nsys status -e"] = answer{out: "Linux perf_event_open syscall available: Fail\n"}
		}, Warning, "refused", "seccomp=unconfined"},
		{"perf-events", "unreadable", func(p *patient) {
			p.opts.Sample = "process-tree"
			delete(p.files, "/proc/sys/kernel/perf_event_paranoid")
		}, Unknown, "cannot be read", ""},
		{"perf-events", "odd", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.files["/proc/sys/kernel/perf_event_paranoid"] = "x"
		}, Unknown, `"x"`, ""},
		{"perf-events", "not wanted", func(p *patient) {}, NotApplicable, "", ""},

		{"profilers", "dcgm", func(p *patient) { p.files["/proc/77/cmdline"] = "/usr/bin/nv-hostengine\x00-n\x00" }, Warning, "nv-hostengine (77)", "dcgmi profile --pause"},
		{"profilers", "stuck agent", func(p *patient) { p.files["/proc/78/cmdline"] = "/opt/nsys\x00--start-agent\x00--session-name=x\x00" }, Warning, "nsys agent (78)", "kill 78"},
		{"profilers", "two agents", func(p *patient) {
			p.files["/proc/78/cmdline"] = "/opt/nsys\x00--start-agent\x00"
			p.files["/proc/80/cmdline"] = "/opt/nsys\x00--start-agent\x00"
		}, Warning, "nsys agent (78, 80)", "kill 78 80 if"},
		{"profilers", "ncu", func(p *patient) { p.files["/proc/79/cmdline"] = "ncu\x00--set\x00full\x00" }, Warning, "ncu (79)", "take turns"},
		{"profilers", "not wanted", func(p *patient) { p.opts.Timeline, p.opts.Counters = false, false }, NotApplicable, "", ""},

		{"injection", "cuda", func(p *patient) { p.env = append(p.env, "CUDA_INJECTION64_PATH=/x.so") }, Blocker, "CUDA_INJECTION64_PATH=/x.so", "unset CUDA_INJECTION64_PATH"},
		{"injection", "preload", func(p *patient) { p.env = append(p.env, "LD_PRELOAD=/a/libToolsInjectionProxy64.so") }, Blocker, "LD_PRELOAD", "unset LD_PRELOAD"},
		{"injection", "not wanted", func(p *patient) {
			p.env = append(p.env, "NVTX_INJECTION64_PATH=/x")
			p.opts.Timeline, p.opts.Counters = false, false
		}, Warning, "NVTX", "unset"},

		{"ncu-lock", "own", func(p *patient) { p.lock = &lock{1000, 0o666} }, OK, "this user", ""},
		{"ncu-lock", "of another", func(p *patient) { p.lock = &lock{1001, 0o666} }, Blocker, "belongs to user 1001", "nsight-compute-lock"},
		{"ncu-lock", "of another, as root", func(p *patient) { p.lock = &lock{1001, 0o600}; p.uid = 0 }, Blocker, "1001", "TMPDIR"},
		{"ncu-lock", "unprotected", func(p *patient) { p.lock = &lock{1001, 0o666}; p.files["/proc/sys/fs/protected_regular"] = "0\n" }, OK, "can be opened", ""},
		{"ncu-lock", "unprotected, closed", func(p *patient) { p.lock = &lock{1001, 0o644}; p.files["/proc/sys/fs/protected_regular"] = "0\n" }, Blocker, "1001", "owner"},
		{"ncu-lock", "unknown", func(p *patient) { p.lockErr = denied }, Unknown, "permission denied", "ls -l"},
		{"ncu-lock", "not wanted", func(p *patient) { p.opts.Counters = false }, NotApplicable, "", ""},

		{"run-store", "low", func(p *patient) { p.free[filepath.Dir(filepath.Dir(p.opts.RunDir))] = 2 * gib }, Warning, "2.0 GiB free", "runs clean"},
		{"run-store", "full", func(p *patient) { p.free[filepath.Dir(filepath.Dir(p.opts.RunDir))] = 1 << 20 }, Blocker, "1.0 MiB free", "hydra.run.dir"},
		{"run-store", "read-only", func(p *patient) { p.denied[filepath.Dir(filepath.Dir(p.opts.RunDir))] = denied }, Blocker, "cannot be written", "hydra.run.dir"},
		{"run-store", "unknown", func(p *patient) { p.freeErr[filepath.Dir(filepath.Dir(p.opts.RunDir))] = errors.New("odd") }, Unknown, "odd", ""},

		{"temp", "low", func(p *patient) { p.free[p.opts.TempDir] = 3 * gib }, Warning, "3.0 GiB free", "TMPDIR"},
		{"temp", "full", func(p *patient) { p.free[p.opts.TempDir] = 1 << 20 }, Blocker, "1.0 MiB", "TMPDIR"},
		{"temp", "missing", func(p *patient) { p.opts.TempDir = "/no/such/folder" }, Blocker, "no such file", "set TMPDIR"},
		{"temp", "read-only", func(p *patient) { p.denied[p.opts.TempDir] = denied }, Blocker, "cannot be written", ""},
		{"temp", "unknown", func(p *patient) { p.freeErr[p.opts.TempDir] = errors.New("odd") }, Unknown, "odd", ""},

		{"shm", "old nsys", func(p *patient) { p.oldNsys() }, OK, "/dev/shm", ""},
		{"shm", "old nsys, tiny", func(p *patient) { p.oldNsys(); p.free["/dev/shm"] = 64 << 10 }, Blocker, "0.1 MiB free", "--shm-size"},
		{"shm", "old nsys, table left locked", func(p *patient) { p.oldNsys(); p.files["/dev/shm/NSys-2022.4.2.1"] = "" }, Warning, "left locked", "a run removes it"},
		{"shm", "old nsys, unknown", func(p *patient) { p.oldNsys(); p.freeErr["/dev/shm"] = errors.New("odd") }, Unknown, "odd", ""},
		{"shm", "no nsys", func(p *patient) { delete(p.tools, tool.Nsys) }, NotApplicable, "no nsys", ""},
		{"shm", "new nsys", func(p *patient) { p.free["/dev/shm"] = 1 }, NotApplicable, "", ""},

		{"home", "not set", func(p *patient) { p.env = []string{"PATH="} }, Warning, "HOME is not set", "set HOME"},
		{"home", "read-only", func(p *patient) { p.denied["/home/u"] = denied }, Warning, "permission denied", "set HOME"},
		{"home", "no ncu", func(p *patient) { delete(p.tools, tool.Ncu) }, NotApplicable, "", ""},

		{"python", "missing", func(p *patient) { delete(p.tools, tool.Python) }, Blocker, "not found", "install python"},
		{"python", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Python); p.opts.Torch = false }, NotApplicable, "", ""},
		{"python", "old", func(p *patient) { p.tools[tool.Python] = tool.Tool{Path: "python3", Version: tool.V(3, 6, 9)} }, Blocker, "3.6.9", "3.9"},

		{"torch", "missing", func(p *patient) { p.says(`{"torch": ""}`) }, Blocker, "no torch", "DEEPPROF_PYTHON"},
		{"torch", "without CUDA", func(p *patient) { p.says(`{"torch": "2.11.0+cpu"}`) }, Blocker, "without CUDA", "built for CUDA"},
		{"torch", "without CUDA, none wanted", func(p *patient) { p.says(`{"torch": "2.11.0+cpu"}`); p.opts.CUDA, p.opts.Counters = false, false }, OK, "CUDA none", ""},
		{"torch", "noisy", func(p *patient) { p.says("hello from sitecustomize\n" + `{"torch": "2.11.0", "torch_cuda": "13.0"}`) }, OK, "torch 2.11.0", ""},
		{"torch", "python fails", func(p *patient) { p.answers["python3 -c "+inspect] = answer{err: "boom", exit: tool.Exit{Code: 1}} }, Unknown, "boom", "import torch"},
		{"torch", "rubbish", func(p *patient) { p.says("rubbish") }, Unknown, "invalid character", "import torch"},
		{"torch", "no python", func(p *patient) { delete(p.tools, tool.Python) }, NotApplicable, "no Python", ""},
		{"torch", "not wanted", func(p *patient) { p.opts.Torch = false }, NotApplicable, "", ""},

		{"packages", "there", func(p *patient) {
			p.needs(`{"torch": "2.11.0", "packages": {"transformers": "5.17.0", "PIL": "unknown"}}`)
		}, OK, "transformers 5.17.0, PIL unknown", ""},
		{"packages", "missing", func(p *patient) { p.needs(`{"torch": "2.11.0", "packages": {}}`) }, Blocker, "python3 has no transformers and no PIL", "python3 -m pip install transformers Pillow; or name another interpreter with pipeline.workload.python=PATH"},
		{"packages", "python fails", func(p *patient) { p.needs("rubbish") }, Unknown, "invalid character", "import transformers"},
		{"packages", "no python", func(p *patient) { p.needs("{}"); delete(p.tools, tool.Python) }, NotApplicable, "no Python", ""},
		{"packages", "not wanted", func(p *patient) {}, NotApplicable, "", ""},
		{"gpus", "a device that is there", func(p *patient) { p.opts.Device = "cuda:0" }, OK, "one", ""},
		{"gpus", "a device that is not there", func(p *patient) { p.opts.Device = "cuda:7" }, Blocker, "device=cuda:7, and the last one is cuda:0", "device=cuda:N"},

		{"nvtx", "package", func(p *patient) { p.says(`{"torch": "x", "torch_cuda": "", "nvtx": "0.2.13"}`) }, Warning, "torch.cuda.nvtx", "torch"},
		{"nvtx", "missing", func(p *patient) { p.says(`{"torch": "x", "torch_cuda": ""}`) }, Warning, "no stages", "torch"},
		{"nvtx", "python fails", func(p *patient) { p.says("rubbish") }, Unknown, "", ""},
		{"nvtx", "no python", func(p *patient) { delete(p.tools, tool.Python) }, NotApplicable, "", ""},
		{"nvtx", "not wanted", func(p *patient) { p.opts.Torch = false }, NotApplicable, "", ""},
	} {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			p := healthy(t)
			tt.set(p)
			r := p.examine(t)
			row := r.row(tt.check)
			if row.Status != tt.status || !strings.Contains(row.Evidence, tt.say) || !strings.Contains(row.Fix, tt.fix) {
				t.Errorf("%+v", row)
			}
			if needs := row.Status == Blocker || row.Status == Warning; needs && row.Fix == "" || row.Status == OK && row.Fix != "" {
				t.Errorf("fix of %+v", row)
			}
			if (row.Status == Blocker) && !r.HasBlocker() {
				t.Error("the report has no blocker")
			}
		})
	}
}

func (r Report) row(check string) Row {
	for _, row := range r.Rows {
		if row.Check == check {
			return row
		}
	}
	return Row{}
}

func (p *patient) restrict() {
	p.files["/proc/driver/nvidia/params"] = strings.Replace(p.files["/proc/driver/nvidia/params"], "RmProfilingAdminOnly: 0", "RmProfilingAdminOnly: 1", 1)
}

func (p *patient) effective(bits string) {
	p.files["/proc/self/status"] = "CapPrm:\tffffffffffffffff\nCapEff:\t" + bits + "\n"
}

func (p *patient) oldNsys() {
	p.tools[tool.Nsys] = tool.Tool{Name: tool.Nsys, Path: "/usr/bin/nsys", Version: tool.V(2022, 4, 2)}
}

func (p *patient) needs(answers string) {
	p.opts.Packages = []string{"transformers", "PIL"}
	p.answers["python3 -c "+inspect+" transformers PIL"] = answer{out: answers}
}

func (p *patient) says(text string) { p.answers["python3 -c "+inspect] = answer{out: text} }

// Every status that a check can have is tested above; a new check without
// tests fails here.
func TestEveryCheckHasAnIdentifier(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks {
		if c.id == "" || c.name == "" || seen[c.id] {
			t.Errorf("check %+v", c.id)
		}
		seen[c.id] = true
	}
}

func TestForms(t *testing.T) {
	p := healthy(t)
	p.noGPU()
	r := p.examine(t)
	if !r.HasBlocker() || !r.Blocked {
		t.Error("a machine without a GPU is not blocked")
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema  int
		Blocked bool
		Rows    []map[string]string
	}
	if err := json.Unmarshal(data, &back); err != nil || back.Schema != schema || !back.Blocked || len(back.Rows) != len(checks) {
		t.Fatalf("%v %+v", err, back)
	}
	for _, row := range back.Rows {
		if row["check"] == "" || row["name"] == "" || row["status"] == "" || row["evidence"] == "" {
			t.Errorf("%v", row)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"blocker", "GPU present", "no NVIDIA driver loaded", "fix: run on a machine with an NVIDIA GPU"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s\nlacks %q", &text, want)
		}
	}
}

// The examination of the machine that runs the tests: whatever it is, every
// check answers, and nothing is left behind.
func TestThisMachine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	o := Options{Timeline: true, Counters: true, CUDA: true, Torch: true}
	o.RunDir, o.TempDir = filepath.Join(dir, "runs"), dir
	r := Check(t.Context(), o, Host{})
	for _, row := range r.Rows {
		if row.Status == "" || row.Evidence == "" || row.Status == Blocker && row.Fix == "" {
			t.Errorf("%+v", row)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &text)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInspectRunsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	out, errs, exit, err := tool.Output(t.Context(), tool.Command{Path: python, Args: []string{"-c", inspect}})
	var m modules
	if err != nil || !exit.OK() || json.Unmarshal(out, &m) != nil || m.Executable == "" {
		t.Errorf("%s %s %v %v", out, errs, exit, err)
	}
}

// The real importers: those of Nsight Systems start, the one inside Nsight
// Compute may lack a library and then names it.
func TestRealImporters(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real tools")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, dist := range []string{"bookworm", "trixie"} {
		o := Options{Timeline: true, NsysPath: filepath.Join(folder, dist, "nsys"), TempDir: t.TempDir(), RunDir: t.TempDir()}
		row := Check(t.Context(), o, Host{}).row("nsys-importer")
		if row.Status != OK && !strings.Contains(row.Evidence, "cannot load") {
			t.Errorf("%s: %+v", dist, row)
		}
	}
}

// On a terminal evidence and fix stay under their column; where that is too
// narrow, under the name. Words are not cut.
func TestWrapped(t *testing.T) {
	r := Report{Rows: []Row{
		{Name: "Nsight Systems", Status: Blocker, Evidence: "not found in PATH, /opt/nvidia/nsight-systems/*/bin/nsys and 13 more places", Fix: "install Nsight Systems (it comes with the CUDA toolkit), or set DEEPPROF_NSYS"},
		{Name: "disk space", Status: OK, Evidence: "900 GB free"},
	}}
	for _, c := range []struct{ width, column int }{{0, 25}, {72, 25}, {50, 9}} {
		var text bytes.Buffer
		if err := r.WriteText(&text, c.width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			line = strings.TrimSuffix(line, "\n")
			if c.width > 0 && len(line) > c.width {
				t.Errorf("width %d: %q", c.width, line)
			}
			named := strings.HasPrefix(line, "blocker  Nsight Systems") || strings.HasPrefix(line, "ok       disk space")
			if !named && (strings.TrimSpace(line[:c.column]) != "" || line[c.column] == ' ') {
				t.Errorf("width %d: not in column %d: %q", c.width, c.column, line)
			}
		}
		if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, r.Rows[0].Evidence+" fix: "+r.Rows[0].Fix) {
			t.Errorf("width %d:\n%s", c.width, &text)
		}
		if rows := strings.Count(text.String(), "\n"); c.width == 0 && rows != 3 {
			t.Errorf("%d lines without a terminal", rows)
		}
	}
}
