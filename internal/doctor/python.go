package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// modules is what the workload's Python holds. "" means that a module is not
// there.
type modules struct {
	Executable   string `json:"executable"`
	Torch        string `json:"torch"`        // version
	TorchCUDA    string `json:"torch_cuda"`   // CUDA that it was built for; "" for a CPU build
	NVTX         string `json:"nvtx"`         // NVIDIA's package
	Transformers string `json:"transformers"` //
	TorchNVTX    bool   `json:"torch_nvtx"`   // torch.cuda.nvtx
	// Packages are those that were asked for and are there, with their versions.
	Packages map[string]string `json:"packages"`
	err      error
}

// inspect finds modules without importing them: importing PyTorch takes up to
// half a minute.
const inspect = `
import importlib.util, importlib.metadata, json, os, sys
def version(name):
    try: return importlib.metadata.version(name)
    except Exception: return ""
out = {"executable": sys.executable, "torch": "", "torch_cuda": "", "torch_nvtx": False, "nvtx": "", "transformers": version("transformers")}
try: spec = importlib.util.find_spec("torch")
except Exception: spec = None
if spec is not None and spec.submodule_search_locations:
    root = list(spec.submodule_search_locations)[0]
    facts = {}
    try:
        with open(os.path.join(root, "version.py"), encoding="utf-8") as f: exec(f.read(), facts)
    except Exception: pass
    out["torch"] = str(facts.get("__version__") or version("torch") or "unknown")
    out["torch_cuda"] = str(facts.get("cuda") or "")
    out["torch_nvtx"] = os.path.exists(os.path.join(root, "cuda", "nvtx.py"))
try: found = importlib.util.find_spec("nvtx") is not None
except Exception: found = False
if found: out["nvtx"] = version("nvtx") or "unknown"
out["packages"] = {}
for name in sys.argv[1:]:
    try: found = importlib.util.find_spec(name) is not None
    except Exception: found = False
    if found: out["packages"][name] = version(name) or "unknown"
print(json.dumps(out))
`

// askModules asks where a check wants to know: those of PyTorch and of packages,
// and that of the driver, which must suit a PyTorch that is there.
func (e *exam) askModules(ctx context.Context) *modules {
	if e.python.Path == "" || !e.Torch && len(e.Packages) == 0 && !e.wantsGPU() {
		return nil
	}
	m := &modules{}
	h := e.Host
	if e.PythonEnv != nil {
		h.Env = e.PythonEnv
	}
	text, err := h.ask(ctx, e.python.Path, append([]string{"-c", inspect}, e.Packages...)...)
	if err == nil {
		// A site customisation may print before it.
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
		err = json.Unmarshal([]byte(text), m)
	}
	if err != nil {
		m.err = fmt.Errorf("ask %s for its modules: %w", e.python.Path, err)
	}
	return m
}

func checkPython(_ context.Context, e *exam) finding {
	t, err := e.python.Tool, e.python.err
	if err != nil {
		return missing(e.Torch, err, "name the interpreter of the workload in pipeline.workload.python, or set DEEPPROF_PYTHON")
	}
	if !t.Version.AtLeast(3, 9) {
		return problem(e.Torch, "use Python 3.9 or later", "%s %s", t.Version, t.Path)
	}
	return ok("%s %s", t.Version, t.Path)
}

func checkTorch(_ context.Context, e *exam) finding {
	if !e.Torch {
		return notApplicable("no PyTorch wanted")
	}
	if e.python.Path == "" {
		return notApplicable("no Python")
	}
	m := e.modules
	switch {
	case m.err != nil:
		return unknown("run it by hand: "+e.python.Path+" -c 'import torch'", "%v", m.err)
	case m.Torch == "":
		return problem(true, e.install("torch"), "%s has no torch", e.python.Path)
	case m.TorchCUDA == "" && e.wantsGPU():
		return problem(true, "install a PyTorch built for CUDA", "torch %s is built without CUDA", m.Torch)
	}
	return ok("torch %s, CUDA %s", m.Torch, or(m.TorchCUDA, "none"))
}

// install is the remedy for packages that the interpreter lacks.
func (e *exam) install(packages ...string) string {
	line := e.python.Path + " -m pip install"
	for _, name := range packages {
		if name == "PIL" {
			name = "Pillow"
		}
		line += " " + name
	}
	return line + "; or name another interpreter with pipeline.workload.python=PATH or DEEPPROF_PYTHON"
}

func checkPackages(_ context.Context, e *exam) finding {
	if len(e.Packages) == 0 {
		return notApplicable("no other package wanted")
	}
	if e.python.Path == "" {
		return notApplicable("no Python")
	}
	if err := e.modules.err; err != nil {
		return unknown("run it by hand: "+e.python.Path+" -c 'import "+e.Packages[0]+"'", "%v", err)
	}
	var lacking, found []string
	for _, name := range e.Packages {
		if version := e.modules.Packages[name]; version == "" {
			lacking = append(lacking, name)
		} else {
			found = append(found, name+" "+version)
		}
	}
	if len(lacking) > 0 {
		return problem(true, e.install(lacking...), "%s has no %s", e.python.Path, strings.Join(lacking, " and no "))
	}
	return ok("%s", strings.Join(found, ", "))
}

func checkNVTX(_ context.Context, e *exam) finding {
	if !e.Torch {
		return notApplicable("no Python workload wanted")
	}
	if e.python.Path == "" {
		return notApplicable("no Python")
	}
	m := e.modules
	switch {
	case m.err != nil:
		return unknown("", "%v", m.err)
	case m.TorchNVTX && m.TorchCUDA != "":
		return ok("torch.cuda.nvtx")
	case m.NVTX != "":
		return warning(e.install("torch"), "the package nvtx %s is there, but the sessions use torch.cuda.nvtx, which needs a PyTorch with CUDA: no stages in the timeline", m.NVTX)
	}
	return warning(e.install("torch"), "no torch.cuda.nvtx, which the sessions use and which needs a PyTorch with CUDA: no stages in the timeline")
}
