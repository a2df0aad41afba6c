package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Spec says which tool is wanted and where the user says it is.
type Spec struct {
	Name string // Nsys, Ncu, NvidiaSMI or Python

	// Path is the configured place: a program, a folder that holds it, or a
	// command name to look up in PATH. Nothing else is tried where it is set;
	// "" and "auto" mean to look around.
	Path string

	System System
}

// A System is the machine as this package sees it; the zero value is the real
// one. Tests put a folder in place of the root and recordings in place of
// processes.
type System struct {
	Root string   // prefix of install folders, "" for the real root
	Env  []string // nil is the environment of this process
	Run  Runner   // nil is Output

	// CacheDir holds what was learnt of each binary; "" is a folder in the
	// user's cache directory, "off" learns anew each time.
	CacheDir string
}

// versionTimeout bounds one --version: the programs answer in well under a
// second, except from a cold network file system.
const versionTimeout = 30 * time.Second

// Find returns the installation to use, with the remaining ones in Others: the
// one the configuration names, else the one that the environment names, else
// the newest. Of Pythons the first in the search order counts, because the
// workload runs in it.
func Find(ctx context.Context, s Spec) (Tool, error) {
	known, ok := places[s.Name]
	if !ok {
		return Tool{}, fmt.Errorf("find %s: not a tool this program knows", s.Name)
	}
	if s.Path != "" && s.Path != "auto" {
		return findConfigured(ctx, s, known)
	}
	if name, value := s.System.firstEnv(known.env); value != "" {
		s.Path = value
		t, err := findConfigured(ctx, s, known)
		if err != nil {
			return Tool{}, fmt.Errorf("%w (named by %s)", err, name)
		}
		return t, nil
	}
	found, tried := candidates(s, known)
	if len(found) == 0 {
		return Tool{}, &NotFoundError{Name: s.Name, Tried: tried, Hint: known.hint}
	}
	if s.Name == Python {
		return s.System.firstUsable(ctx, found), nil
	}
	for i := range found {
		s.System.identify(ctx, &found[i])
	}
	slices.SortStableFunc(found, better)
	best := found[0]
	best.Others = found[1:]
	return best, nil
}

// firstUsable is the first of the programs that works, or the first of all. A
// shell would take it too, so the others are not asked: each may take a second.
func (s System) firstUsable(ctx context.Context, found []Tool) Tool {
	for i := range found {
		if s.identify(ctx, &found[i]); usable(found[i]) > 0 {
			return found[i]
		}
	}
	return found[0]
}

// better puts working installations before broken ones, whole ones before the
// nsys inside Nsight Compute, and newer before older.
func better(a, b Tool) int {
	if d := usable(b) - usable(a); d != 0 {
		return d
	}
	if a.Bundled != b.Bundled {
		if a.Bundled {
			return 1
		}
		return -1
	}
	return b.Version.Compare(a.Version)
}

func usable(t Tool) int {
	if t.Version.IsZero() {
		return 0
	}
	return 1
}

func findConfigured(ctx context.Context, s Spec, known place) (Tool, error) {
	path, tried := s.Path, []string{s.Path}
	if !strings.ContainsRune(path, '/') {
		found := s.System.lookPath(path)
		if found == "" {
			return Tool{}, &NotFoundError{Name: s.Name, Tried: []string{"PATH (as " + path + ")"}, Hint: "correct the configured path, or remove it to look in the usual folders"}
		}
		path = found
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		tried = nil
		for _, sub := range known.inside {
			matches := Match(path, sub)
			tried = append(tried, filepath.Join(path, sub))
			if i := slices.IndexFunc(matches, executable); i >= 0 {
				path = matches[i]
				break
			}
		}
	}
	if !executable(path) {
		return Tool{}, &NotFoundError{Name: s.Name, Tried: tried, Hint: "the configured path is not an executable file; correct it, or remove it to look in the usual folders"}
	}
	t := newTool(s.Name, path)
	s.System.identify(ctx, &t)
	if t.Version.IsZero() {
		return Tool{}, fmt.Errorf("find %s: %s: %s", s.Name, t.Path, t.Problem)
	}
	return t, nil
}

// candidates lists every installation once, in search order, and the places
// that were looked at.
func candidates(s Spec, known place) (found []Tool, tried []string) {
	seen := map[string]bool{}
	add := func(path string) {
		if !executable(path) {
			return
		}
		t := newTool(s.Name, path)
		if key := t.Real; !seen[key] {
			seen[key] = true
			found = append(found, t)
		}
	}
	sys := s.System
	for _, v := range known.envDirs {
		if dir := sys.getenv(v); dir != "" {
			tried = append(tried, "$"+v)
			for _, sub := range known.inside {
				for _, m := range Match(dir, sub) {
					add(m)
				}
			}
		}
	}
	tried = append(tried, "PATH")
	for _, name := range known.commands {
		for _, dir := range filepath.SplitList(sys.getenv("PATH")) {
			if filepath.IsAbs(dir) {
				add(filepath.Join(dir, name))
			}
		}
	}
	for _, pattern := range known.install {
		tried = append(tried, "/"+pattern)
		for _, m := range Match(filepath.Join("/", sys.Root), pattern) {
			add(m)
		}
	}
	return found, tried
}

func newTool(name, path string) Tool {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs
	}
	return Tool{Name: name, Path: abs, Real: real, Bundled: name == Nsys && insideNcu(real)}
}

// insideNcu recognizes .../nsight-compute-2025.3.1/host/target-linux-x64/nsys
// and the same in /usr/lib/nsight-compute and Nsight_Compute of the HPC SDK.
func insideNcu(path string) bool {
	lower := strings.ReplaceAll(strings.ToLower(path), "_", "-")
	_, after, ok := strings.Cut(lower, "/nsight-compute")
	return ok && strings.Contains(after, "/host/")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// identify fills in the version, from the cache where the binary is known. A
// Python is asked each time: a version manager's shim is one file for all.
func (s System) identify(ctx context.Context, t *Tool) {
	cache := s.cache()
	if t.Name == Python {
		cache.dir = ""
	}
	key, err := fingerprint(t.Real)
	if err != nil {
		t.Problem = err.Error()
		return
	}
	if v, ok := cache.version(key); ok {
		t.Version = v
		return
	}
	v, err := s.askVersion(ctx, *t)
	if err != nil {
		t.Problem = err.Error()
		return
	}
	t.Version = v
	cache.put(key, func(e *entry) { e.Name, e.Path, e.Version = t.Name, t.Real, v })
}

func (s System) askVersion(ctx context.Context, t Tool) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	flags := []string{"--version"}
	if t.Name == NvidiaSMI {
		flags = []string{"--version", "-h"} // drivers before 530 know only -h
	}
	var last error
	for _, flag := range flags {
		out, errs, exit, err := s.run(ctx, Command{Path: t.Path, Args: []string{flag}, Env: Environ(s.environ(), "LC_ALL=C")})
		if err != nil {
			return Version{}, err
		}
		v, err := ParseVersion(t.Name, string(out)+"\n"+string(errs))
		if err == nil {
			return v, nil
		}
		last = err
		if !exit.OK() {
			last = fmt.Errorf("%s %s: %s: %s", filepath.Base(t.Path), flag, exit, firstLine(string(errs)+string(out)))
		}
	}
	return Version{}, last
}

func (s System) run(ctx context.Context, c Command) ([]byte, []byte, Exit, error) {
	if s.Run != nil {
		return s.Run(ctx, c)
	}
	return Output(ctx, c)
}

func (s System) environ() []string {
	if s.Env != nil {
		return s.Env
	}
	return os.Environ()
}

func (s System) getenv(name string) string {
	env := s.environ()
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

func (s System) firstEnv(names []string) (name, value string) {
	for _, n := range names {
		if v := s.getenv(n); v != "" {
			return n, v
		}
	}
	return "", ""
}

func (s System) lookPath(name string) string {
	for _, dir := range filepath.SplitList(s.getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path
		}
	}
	return ""
}

// A Finder is Find for the length of one run: it asks no program twice for its
// version, and several side by side. Failures are not remembered. The zero
// value is ready.
type Finder struct {
	mu    sync.Mutex
	found map[finderKey]*answer
}

// finderKey is what the answer depends on, besides the machine.
type finderKey struct{ name, path, root, env string }

// An answer is locked while the program is asked.
type answer struct {
	mu    sync.Mutex
	tool  Tool
	known bool
}

// Find returns what it found before, or else what the function Find does.
func (f *Finder) Find(ctx context.Context, s Spec) (Tool, error) {
	a := f.answer(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known {
		return a.tool, nil
	}
	t, err := Find(ctx, s)
	if err == nil {
		a.tool, a.known = t, true
	}
	return t, err
}

func (f *Finder) answer(s Spec) *answer {
	key := finderKey{s.Name, s.Path, s.System.Root, strings.Join(s.System.environ(), "\x00")}
	if s.Path == "auto" {
		key.path = ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = map[finderKey]*answer{}
	}
	if f.found[key] == nil {
		f.found[key] = &answer{}
	}
	return f.found[key]
}

// A place says where one tool is usually installed.
type place struct {
	env      []string // variables that name the program itself
	envDirs  []string // variables that name a folder it lies in
	commands []string // names in PATH
	inside   []string // globs relative to a configured folder or one of envDirs
	install  []string // globs below the root, newest installers first
	hint     string
}

var places = map[string]place{
	Nsys: {
		env:      []string{"DEEPPROF_NSYS"},
		envDirs:  []string{"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVHPC_ROOT", "CONDA_PREFIX"},
		commands: []string{"nsys"},
		inside: []string{
			"nsys", "bin/nsys", "target-linux-*/nsys",
			"nsight-systems*/bin/nsys", "nsight-systems*/target-linux-*/nsys",
			"profilers/Nsight_Systems/bin/nsys", "profilers/Nsight_Systems/target-linux-*/nsys",
		},
		install: []string{
			"opt/nvidia/nsight-systems/*/bin/nsys",
			"opt/nvidia/nsight-systems/*/target-linux-*/nsys",
			"opt/nvidia/nsight-systems-cli/*/bin/nsys",
			"opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys",
			"opt/nvidia/nsight-systems*/bin/nsys",
			"usr/local/cuda*/bin/nsys",
			"usr/local/cuda*/nsight-systems*/bin/nsys",
			"usr/local/cuda*/nsight-systems*/target-linux-*/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/bin/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/target-linux-*/nsys",
			"usr/lib/nsight-systems/bin/nsys",
			"usr/lib/*/nsight-systems/target-linux-*/nsys",
			"opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
			"usr/local/cuda*/nsight-compute*/host/target-linux-*/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute/host/target-linux-*/nsys",
			"usr/lib/nsight-compute/host/target-linux-*/nsys",
		},
		hint: "install Nsight Systems (it comes with the CUDA toolkit), or set DEEPPROF_NSYS to the program",
	},
	Ncu: {
		env:      []string{"DEEPPROF_NCU"},
		envDirs:  []string{"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVHPC_ROOT", "CONDA_PREFIX"},
		commands: []string{"ncu", "nv-nsight-cu-cli"},
		inside:   []string{"ncu", "bin/ncu", "nsight-compute*/ncu", "profilers/Nsight_Compute/ncu"},
		install: []string{
			"opt/nvidia/nsight-compute/*/ncu",
			"usr/local/cuda*/bin/ncu",
			"usr/local/cuda*/nsight-compute*/ncu",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute/ncu",
			"usr/local/NVIDIA-Nsight-Compute*/ncu",
			"usr/lib/nsight-compute/ncu",
		},
		hint: "install Nsight Compute (it comes with the CUDA toolkit), or set DEEPPROF_NCU to the program",
	},
	NvidiaSMI: {
		env:      []string{"DEEPPROF_NVIDIA_SMI"},
		commands: []string{"nvidia-smi"},
		inside:   []string{"nvidia-smi", "bin/nvidia-smi"},
		install:  []string{"usr/bin/nvidia-smi", "usr/local/nvidia/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi", "opt/bin/nvidia-smi"},
		hint:     "it comes with the NVIDIA driver; in a container start it with --gpus all",
	},
	Python: {
		env:      []string{"DEEPPROF_PYTHON"},
		envDirs:  []string{"VIRTUAL_ENV", "CONDA_PREFIX"},
		commands: []string{"python3", "python"},
		inside:   []string{"python", "bin/python", "bin/python3", "python3"},
		install:  []string{"usr/bin/python3", "usr/local/bin/python3"},
		hint:     "install Python 3, or set DEEPPROF_PYTHON to the interpreter of the workload",
	},
}
