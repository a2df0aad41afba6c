package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
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
	free    map[string]int64  // by path
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
			"python3 -c " + inspect: {out: `{"torch": "2.11.0+cu130", "torch_cuda": "13.0", "torch_nvtx": true, "nvtx": ""}` + "\n"},
			"/opt/nvidia/nsight-systems/2025.3.1/bin/nsys status -e": {out: "CPU Profiling Environment Check\nRoot privilege: enabled\nLinux Kernel Paranoid Level = 2\nLinux perf_event_open syscall available: OK\n"},
		},
		free:    map[string]int64{},
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
		Free: func(path string) (int64, error) {
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
