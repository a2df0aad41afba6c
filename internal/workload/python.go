package workload

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

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
