package runs

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/redact"
)

// line reads a file of one line.
func (c *Collector) line(path string) (string, error) {
	b, err := c.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// osName is the pretty name of the distribution, or its name and version.
func (c *Collector) osName() (string, error) {
	b, err := c.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	fields := map[string]string{}
	for l := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			fields[k] = strings.Trim(v, `"'`)
		}
	}
	if v := fields["PRETTY_NAME"]; v != "" {
		return v, nil
	}
	if v := strings.TrimSpace(fields["NAME"] + " " + fields["VERSION"]); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("/etc/os-release names no system")
}

// cpu counts from /proc/cpuinfo: on ARM it names no sockets and cores, which are then
// missing.
func (c *Collector) cpu(env *Env) {
	b, err := c.ReadFile("/proc/cpuinfo")
	if err != nil {
		for _, f := range []string{"cpu", "sockets", "cores", "threads"} {
			env.missing("host."+f, err)
		}
		return
	}
	h := &env.Host
	sockets, cores := map[string]bool{}, map[string]bool{}
	var socket string
	for l := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(l, ":")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || v == "" {
			continue
		}
		switch k {
		case "processor":
			h.Threads++
		case "model name", "Model", "cpu model":
			if h.CPU == "" {
				h.CPU = v
			}
		case "physical id":
			socket = v
			sockets[v] = true
		case "core id":
			cores[socket+"/"+v] = true
		}
	}
	h.Sockets, h.Cores = len(sockets), len(cores)
	for f, absent := range map[string]bool{"cpu": h.CPU == "", "threads": h.Threads == 0, "sockets": h.Sockets == 0, "cores": h.Cores == 0} {
		if absent {
			env.missing("host."+f, errors.New("/proc/cpuinfo does not say"))
		}
	}
	h.CPULimit = c.cpuLimit()
}

// cpuLimit reads the quota of control group v2 or v1; nil without one.
func (c *Collector) cpuLimit() *float64 {
	if s, err := c.line("/sys/fs/cgroup/cpu.max"); err == nil {
		quota, period, _ := strings.Cut(s, " ")
		return quotient(quota, period)
	}
	quota, err := c.line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	if err != nil {
		return nil
	}
	period, err := c.line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	if err != nil {
		return nil
	}
	return quotient(quota, period)
}

// quotient is the number of processors; nil for "max" and for -1, which mean no limit.
func quotient(quota, period string) *float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return nil
	}
	return new(q / p)
}

// memory is in bytes; the kernel's kB are 1,024 each.
func (c *Collector) memory(env *Env) {
	b, err := c.ReadFile("/proc/meminfo")
	if err != nil {
		env.missing("host.memory_bytes", err)
		env.missing("host.memory_available_bytes", err)
		return
	}
	h := &env.Host
	sc := bufio.NewScanner(strings.NewReader(string(b)))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 3 || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 0 || n > 1<<50 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			h.Memory = n << 10
		case "MemAvailable:":
			h.MemoryFree = n << 10
		}
	}
	if h.Memory == 0 {
		env.missing("host.memory_bytes", errors.New("/proc/meminfo does not say"))
	}
	if h.MemoryFree == 0 {
		env.missing("host.memory_available_bytes", errors.New("/proc/meminfo does not say"))
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		s, err := c.line(path)
		if err != nil {
			continue
		}
		// v1 writes "no limit" as a number larger than any memory.
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n < 1<<60 {
			h.MemoryLimit = &n
		}
		break
	}
}

// container looks for the marks that container engines leave. None of them is
// certain to be there, so nil means "none found".
func (c *Collector) container() *Container {
	vars := map[string]string{}
	for _, kv := range c.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			vars[k] = v
		}
	}
	switch {
	case vars["APPTAINER_CONTAINER"] != "":
		return &Container{"apptainer", "APPTAINER_CONTAINER", vars["APPTAINER_CONTAINER"]}
	case vars["SINGULARITY_CONTAINER"] != "":
		return &Container{"singularity", "SINGULARITY_CONTAINER", vars["SINGULARITY_CONTAINER"]}
	case vars["KUBERNETES_SERVICE_HOST"] != "":
		return &Container{Kind: "kubernetes", Evidence: "KUBERNETES_SERVICE_HOST"}
	}
	if b, err := c.ReadFile("/run/.containerenv"); err == nil {
		return &Container{"podman", "/run/.containerenv", containerImage(string(b))}
	}
	if _, err := c.ReadFile("/.dockerenv"); err == nil {
		return &Container{Kind: "docker", Evidence: "/.dockerenv"}
	}
	if k := vars["container"]; k != "" {
		return &Container{Kind: k, Evidence: "container"}
	}
	b, _ := c.ReadFile("/proc/1/cgroup")
	for l := range strings.Lines(string(b)) {
		for _, k := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
			if strings.Contains(l, "/"+k) {
				return &Container{Kind: strings.Replace(k, "kubepods", "kubernetes", 1), Evidence: "/proc/1/cgroup: " + strings.TrimSpace(l)}
			}
		}
	}
	return nil
}

// containerImage reads the file that podman leaves.
func containerImage(env string) string {
	for l := range strings.Lines(env) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), "image="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// Python is the workload's interpreter and those of its packages that change
// what is measured.
type Python struct {
	Path     string            `json:"path,omitempty" jsonschema:"path of the interpreter"`
	Version  string            `json:"version,omitempty" jsonschema:"version of Python"`
	Packages map[string]string `json:"packages" jsonschema:"installed packages that matter, and their versions"`
}

// Git is the state of the working directory.
type Git struct {
	Commit    string `json:"commit,omitempty" jsonschema:"commit checked out"`
	Branch    string `json:"branch,omitempty" jsonschema:"branch; absent on a detached head"`
	Describe  string `json:"describe,omitempty" jsonschema:"git describe"`
	Remote    string `json:"remote,omitempty" jsonschema:"URL of origin, without credentials"`
	Dirty     *bool  `json:"dirty,omitempty" jsonschema:"whether tracked files differ from the commit"`
	Changed   int    `json:"changed,omitempty" jsonschema:"tracked files that differ"`
	Untracked int    `json:"untracked,omitempty" jsonschema:"files that git does not know"`
}

// pythonScript lists packages from their metadata. It imports none of them:
// importing torch takes longer than many runs.
const pythonScript = `import json, platform, sys
from importlib import metadata
names = set("""torch torchvision torchaudio transformers tokenizers accelerate datasets safetensors huggingface-hub
triton pytorch-triton flash-attn flashinfer-python xformers vllm sglang deepspeed bitsandbytes peft apex megatron-core
transformer-engine tensorrt tensorrt-llm onnx onnxruntime onnxruntime-gpu jax jaxlib tensorflow numpy nvtx cupy
numba pynvml cuda-python cuda-bindings hydra-core omegaconf pillow einops timm""".split())
out = {}
for d in metadata.distributions():
    n = (d.metadata["Name"] or "").lower().replace("_", "-")
    if n in names or n.startswith(("nvidia-", "cupy-", "jax-cuda")):
        out.setdefault(n, d.version)
print(json.dumps({"path": sys.executable, "version": platform.python_version(), "packages": out}))
`

// python asks the interpreter of the workload, never another one.
func (c *Collector) python(ctx context.Context, env *Env) {
	if c.Python == "" {
		env.missing("python", errors.New("no Python interpreter was found"))
		return
	}
	out, err := c.ask(ctx, c.Python, "-c", pythonScript)
	if err != nil {
		env.missing("python", fmt.Errorf("%s: %v", c.Python, err))
		return
	}
	// A sitecustomize may print lines of its own before ours.
	last := out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]
	var p Python
	if err := json.Unmarshal([]byte(last), &p); err != nil {
		env.missing("python", fmt.Errorf("%s: parse its answer %.60q: %v", c.Python, last, err))
		return
	}
	if p.Packages == nil {
		p.Packages = map[string]string{}
	}
	env.Python = &p
}

// git takes no lock in the repository (--no-optional-locks) and reads no file contents.
func (c *Collector) git(ctx context.Context, env *Env) {
	if c.Git == "" {
		env.missing("git", errors.New("git was not found"))
		return
	}
	ask := func(args ...string) (string, error) {
		out, err := c.ask(ctx, c.Git, append([]string{"--no-optional-locks", "-C", c.Dir}, args...)...)
		return strings.TrimRight(out, "\n"), err
	}
	if out, err := ask("rev-parse", "--is-inside-work-tree"); err != nil || out != "true" {
		env.missing("git", fmt.Errorf("%s is not in a git work tree%s", cmp.Or(c.Dir, "the working directory"), because(err)))
		return
	}
	g := &Git{}
	env.Git = g
	text := func(field string, dst *string, args ...string) {
		out, err := ask(args...)
		if err != nil || out == "" {
			env.missing("git."+field, fmt.Errorf("git %s gives none%s", args[0], because(err)))
			return
		}
		*dst = out
	}
	text("commit", &g.Commit, "rev-parse", "--verify", "HEAD")
	text("branch", &g.Branch, "symbolic-ref", "--quiet", "--short", "HEAD")
	text("describe", &g.Describe, "describe", "--always", "--dirty", "--tags")
	text("remote", &g.Remote, "config", "--get", "remote.origin.url")
	g.Remote = redact.Remote(g.Remote)
	status, err := ask("status", "--porcelain=v1", "-z", "--untracked-files=normal")
	if err != nil {
		env.missing("git.dirty", fmt.Errorf("git status: %v", err))
		return
	}
	g.Changed, g.Untracked = countStatus(status)
	g.Dirty = new(g.Changed > 0)
}

// because is ": cause", or "" without one.
func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(": %v", err)
}

// countStatus counts the entries of `git status --porcelain -z`. A rename or
// copy is followed by the old name as an entry of its own.
func countStatus(out string) (changed, untracked int) {
	entries := strings.Split(out, "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		switch {
		case len(e) < 3:
		case strings.HasPrefix(e, "??"):
			untracked++
		case strings.HasPrefix(e, "!!"):
		default:
			changed++
			if strings.ContainsAny(e[:2], "RC") {
				i++
			}
		}
	}
	return changed, untracked
}
