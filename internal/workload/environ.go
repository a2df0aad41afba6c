package workload

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// Environ is the environment of the program: that of this process, the variables
// of the configuration, the device, and for a shipped program what it needs.
func Environ(p *plan.Plan) ([]string, error) {
	var set []string
	for name, value := range p.Pipeline.Workload.Env {
		set = append(set, name+"="+value)
	}
	switch device, numbered := strings.CutPrefix(p.Device, "cuda:"); {
	case p.Device == "all":
	case p.Device == "cpu":
		set = append(set, "CUDA_VISIBLE_DEVICES=")
	case !numbered:
		set = append(set, "CUDA_VISIBLE_DEVICES="+p.Device)
	default:
		visible, err := VisibleDevice(os.Getenv("CUDA_VISIBLE_DEVICES"), device)
		if err != nil {
			return nil, err
		}
		set = append(set, "CUDA_VISIBLE_DEVICES="+visible)
	}
	env := tool.Environ(os.Environ(), set...)
	if Shipped(p) {
		env = tool.Environ(env, Env...)
	}
	return env, nil
}

// VisibleDevice gives the device of that index among those that are visible
// already.
// visible is a value of CUDA_VISIBLE_DEVICES; its entries, numbers or UUIDs, are taken as they
// are.
func VisibleDevice(visible, index string) (string, error) {
	if visible == "" {
		return index, nil
	}
	list := strings.Split(visible, ",")
	var n int
	if _, err := fmt.Sscanf(index, "%d", &n); err != nil || n < 0 || n >= len(list) {
		return "", fmt.Errorf("device cuda:%s: CUDA_VISIBLE_DEVICES=%s shows %d devices", index, visible, len(list))
	}
	return strings.TrimSpace(list[n]), nil
}

// Label says in a few words what a plan measures.
func Label(p *plan.Plan) string {
	if Shipped(p) {
		return p.Pipeline.Workload.Kind + " " + p.Model.Name
	}
	if ShipsServer(p) {
		return p.Pipeline.Server.Engine + " " + p.Model.Name
	}
	return commandLabel(p.Pipeline.Workload.Command)
}

var pythonName = regexp.MustCompile(`^python[0-9.]*$`)

// commandLabel names a program, with the script or module of Python, which
// alone tells one workload from another.
// command must not be empty.
func commandLabel(command []string) string {
	name := filepath.Base(command[0])
	if !pythonName.MatchString(name) {
		return name
	}
	for i := 1; i < len(command); i++ {
		switch arg := command[i]; {
		case arg == "-m" && i+1 < len(command):
			return name + " -m " + command[i+1]
		case arg == "-c" || arg == "-":
			return name + " " + arg
		case arg == "-X" || arg == "-W":
			i++ // with a value
		case !strings.HasPrefix(arg, "-"):
			return name + " " + filepath.Base(arg)
		}
	}
	return name
}

// PassedEnv names the variables that a workload under nsys gets even if they look
// secret: the configuration asks for them.
func PassedEnv(p *plan.Plan) []string {
	w := p.Pipeline.Workload
	return append(slices.Sorted(maps.Keys(w.Env)), w.PassEnv...)
}

// defaultPython is what the shipped configuration names: whatever interpreter
// is active.
const defaultPython = "python3"

// PythonPath is where to look for the interpreter, as tool.Spec takes it: ""
// means the active environment (DEEPPROF_PYTHON, VIRTUAL_ENV, CONDA_PREFIX,
// PATH, in this order).
func PythonPath(configured string) string {
	if configured == defaultPython {
		return ""
	}
	return configured
}

// FindPython resolves the interpreter of the shipped programs; find is tool.Find
// or that of a tool.Finder.
func FindPython(ctx context.Context, configured string, find func(context.Context, tool.Spec) (tool.Tool, error)) (tool.Tool, error) {
	t, err := find(ctx, tool.Spec{Name: tool.Python, Path: PythonPath(configured)})
	if err != nil {
		return tool.Tool{}, fmt.Errorf("pipeline.workload.python: %w", err)
	}
	return t, nil
}

// Needs are the packages that the program of a plan imports beside torch.
func Needs(p *plan.Plan) []string {
	kind, out := p.Pipeline.Workload.Kind, []string(nil)
	if kind == plan.WorkloadLLM || kind == plan.WorkloadVLM {
		out = append(out, "transformers")
	}
	if p.Dataset.Root != "" && (kind == plan.WorkloadVLM || kind == plan.WorkloadResNet) {
		out = append(out, "PIL") // image files
	}
	return out
}

// Unpack writes a tree of programs into a folder, which need not exist yet.
func Unpack(tree fs.FS, dir string) error {
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
	if err != nil {
		return fmt.Errorf("unpack the workload programs: %w", err)
	}
	return nil
}
