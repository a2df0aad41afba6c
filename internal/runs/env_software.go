package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/redact"
)

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
