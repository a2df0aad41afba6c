package workload

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/workloads"
)

// Serves tells whether the workload of a plan is a server.
func Serves(p *plan.Plan) bool { return p.Pipeline.Workload.Kind == plan.WorkloadServer }

// ShipsServer tells whether it is the server of deepprof's own.
func ShipsServer(p *plan.Plan) bool {
	return Serves(p) && p.Pipeline.Server.Engine == engine.LLMServer
}

// serverModel is the file that the shipped server reads its shape from, beside
// its program.
const serverModel = "llm_server_model.json"

// ServerCommand is how the server of a plan is started, with what its engine
// needs to be profiled, and the variables on top of the environment of the
// workload.
func ServerCommand(p *plan.Plan, at Places, env []string) (e engine.Engine, argv, set []string) {
	w := p.Pipeline.Workload
	e = engine.Find(p.Pipeline.Server.Engine, w.Command)
	if !ShipsServer(p) {
		return e, e.Command(w.Command), e.Environ(env)
	}
	l := p.Pipeline.Server.LLMServer
	argv = []string{
		at.Python, "-m", "llm_server", "--model", filepath.Join(at.Program, serverModel), "--model-name", p.Model.Name, "--dtype", p.Model.DType,
		"--port", strconv.Itoa(l.Port), "--device", l.Device, "--max-batch", strconv.Itoa(l.MaxBatch), "--max-len", strconv.Itoa(l.MaxLen),
		"--kv-cache", l.KVCache, "--step-names", l.StepNames, "--seed", strconv.Itoa(p.Infer.Seed),
	}
	if l.CUDAGraphs {
		argv = append(argv, "--cuda-graphs")
	}
	return e, argv, append(e.Environ(env), append([]string{"PYTHONPATH=" + at.Program}, Env...)...)
}

// PrepareServer writes the program of the shipped server into a folder, with the
// shape of its model; start is the folder of relative paths. A server of the
// user's needs nothing.
func PrepareServer(p *plan.Plan, dir, start string) error {
	if !ShipsServer(p) {
		return nil
	}
	if err := Unpack(workloads.FS, dir); err != nil {
		return err
	}
	var text []byte
	var err error
	if file := p.Model.Config.File; file != "" {
		text, err = format.ReadFile(Abs(file, start), maxFile)
	} else {
		text, err = json.MarshalIndent(p.Model.Config.Values, "", "  ")
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, serverModel), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the shape of the model: %w", err)
	}
	return nil
}
