package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// DefaultPython is what the shipped configuration names: whatever interpreter
// is active.
const DefaultPython = "python3"

// PythonPath is where to look for the interpreter, as tool.Spec takes it: ""
// means the active environment (DEEPPROF_PYTHON, VIRTUAL_ENV, CONDA_PREFIX,
// PATH, in this order).
func PythonPath(configured string) string {
	if configured == DefaultPython {
		return ""
	}
	return configured
}

// FindPython resolves the interpreter of the shipped programs.
func FindPython(ctx context.Context, configured string, sys tool.System) (tool.Tool, error) {
	t, err := tool.Find(ctx, tool.Spec{Name: tool.Python, Path: PythonPath(configured), System: sys})
	if err != nil {
		return tool.Tool{}, fmt.Errorf("pipeline.workload.python: %w", err)
	}
	return t, nil
}

// Needs are the packages that the program of a plan imports.
func Needs(p *plan.Plan) []string {
	if p.Pipeline.Workload.Kind == plan.WorkloadResNet {
		return []string{"torch"}
	}
	return []string{"torch", "transformers"}
}

// A MissingPackageError says that an interpreter lacks packages.
type MissingPackageError struct {
	Python   string
	Packages []string
}

func (e *MissingPackageError) Error() string {
	return fmt.Sprintf("%s has no package %s; install %s for that interpreter, or name another with pipeline.workload.python=PATH",
		e.Python, strings.Join(e.Packages, " and "), pronoun(len(e.Packages)))
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// find asks for packages without importing them: importing torch takes long.
const find = `import importlib.util, json, sys
def has(name):
    try: return importlib.util.find_spec(name) is not None
    except Exception: return False
print()
print(json.dumps({"executable": sys.executable, "found": [n for n in sys.argv[1:] if has(n)]}))
`

// CheckPackages asks an interpreter, in the environment of the workload, for
// the packages that are needed. The error is a *MissingPackageError where it
// answered and lacks some.
func CheckPackages(ctx context.Context, python string, env []string, needs []string, run tool.Runner) error {
	if run == nil {
		run = tool.Output
	}
	out, errs, exit, err := run(ctx, tool.Command{Path: python, Args: append([]string{"-c", find}, needs...), Env: env})
	if err != nil {
		return fmt.Errorf("ask %s for its packages: %w", python, err)
	}
	if !exit.OK() {
		return fmt.Errorf("ask %s for its packages: %s: %s", python, exit, tool.Quote(lastLine(string(errs))))
	}
	var answer struct {
		Executable string
		Found      []string
	}
	if err := json.Unmarshal([]byte(lastLine(string(out))), &answer); err != nil {
		return fmt.Errorf("ask %s for its packages: it answered %s", python, tool.Quote(lastLine(string(out))))
	}
	missing := slices.DeleteFunc(slices.Clone(needs), func(n string) bool { return slices.Contains(answer.Found, n) })
	if len(missing) == 0 {
		return nil
	}
	name := answer.Executable
	if name == "" {
		name = python
	}
	return &MissingPackageError{Python: name, Packages: missing}
}

// IsMissingPackage tells that error from others.
func IsMissingPackage(err error) bool {
	var e *MissingPackageError
	return errors.As(err, &e)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
