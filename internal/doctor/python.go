package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// modules is what the workload's Python holds. "" means that a module is not
// there.
// err is set where Python could not be asked; the other fields mean nothing then.
type modules struct {
	Torch     string `json:"torch"`      // version
	TorchCUDA string `json:"torch_cuda"` // CUDA that it was built for; "" for a CPU build
	NVTX      string `json:"nvtx"`       // NVIDIA's package
	TorchNVTX bool   `json:"torch_nvtx"` // torch.cuda.nvtx
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
out = {"torch": "", "torch_cuda": "", "torch_nvtx": False, "nvtx": ""}
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

// The shipped sessions need Python 3.9.
func checkPython(_ context.Context, e *exam) finding {
	t, err := e.python.Tool, e.python.err
	if err != nil {
		return missing(e.Torch, err, tool.Python)
	}
	if !t.Version.AtLeast(3, 9) {
		return problem(e.Torch, pythonOld, fact.Name("version", t.Version.String()), fact.File("path", t.Path))
	}
	return ok(toolFound, fact.Name("version", t.Version.String()), fact.File("path", t.Path))
}

// ofPython names the interpreter of the workload, which is not always the first in PATH.
func (e *exam) ofPython() fact.Param { return fact.File("python", e.python.Path) }

// checkTorch: the shipped sessions cannot do without torch. A torch without CUDA is a
// blocker only where a GPU is wanted.
func checkTorch(_ context.Context, e *exam) finding {
	if !e.Torch {
		return unwanted("torch")
	}
	if e.python.Path == "" {
		return absent("python")
	}
	m := e.modules
	switch {
	case m.err != nil:
		return unknown(torchUnknown, fact.Error("error", m.err), e.ofPython())
	case m.Torch == "":
		return problem(true, torchAbsent, e.ofPython())
	case m.TorchCUDA == "" && e.wantsGPU():
		return problem(true, torchNoCUDA, fact.Name("version", m.Torch))
	}
	seen := []fact.Param{fact.Name("version", m.Torch)}
	if m.TorchCUDA != "" {
		seen = append(seen, fact.Name("cuda", m.TorchCUDA))
	}
	return ok(torchFound, seen...)
}

// distribution is the name under which pip knows a module.
// Only modules that deepprof needs are listed; for the others both names are equal.
func distribution(module string) string {
	if module == "PIL" {
		return "Pillow"
	}
	return module
}

// Modules are looked for by the names that import takes; the advice has pip's.
func checkPackages(_ context.Context, e *exam) finding {
	if len(e.Packages) == 0 {
		return unwanted("package")
	}
	if e.python.Path == "" {
		return absent("python")
	}
	if err := e.modules.err; err != nil {
		return unknown(packsUnknown, fact.Error("error", err), e.ofPython(), fact.Name("name", e.Packages[0]))
	}
	var lacking, install, found []string
	for _, name := range e.Packages {
		if version := e.modules.Packages[name]; version == "" {
			lacking, install = append(lacking, name), append(install, distribution(name))
		} else {
			found = append(found, name+" "+version)
		}
	}
	if len(lacking) > 0 {
		return problem(true, packsAbsent, e.ofPython(), fact.Names("names", fact.KindName, lacking), fact.Name("arguments", strings.Join(install, " ")))
	}
	return ok(packsFound, fact.Names("names", fact.KindName, found))
}

// checkNVTX: without ranges a session still runs, but its stages and layers have no
// names on the timeline. That is a warning.
func checkNVTX(_ context.Context, e *exam) finding {
	if !e.Torch {
		return unwanted("python-workload")
	}
	if e.python.Path == "" {
		return absent("python")
	}
	m := e.modules
	switch {
	case m.err != nil:
		return unknown(nvtxUnknown, fact.Error("error", m.err))
	case m.TorchNVTX && m.TorchCUDA != "":
		return ok(nvtxFound)
	case m.NVTX != "":
		return warning(nvtxAbsent, e.ofPython(), fact.Name("version", m.NVTX))
	}
	return warning(nvtxAbsent, e.ofPython())
}
