// Package engine owns what deepprof knows about LLM engines: how their command
// line is recognized, what they need to be profiled, where they tell that they
// are ready, how their own profiler is switched, and how they name a step. Each
// engine is a row of data; nothing here starts a process.
//
// The rows follow the sources and documentation of the engines as of autumn
// 2026. docs/server.md says which of them were run.
package engine

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// Names of engines, as pipeline.server.engine takes them.
const (
	Auto      = "auto"   // by the command
	Plain     = "server" // an engine that nothing is known about
	LLMServer = "llm_server"
	VLLM      = "vllm"
	SGLang    = "sglang"
	TRTLLM    = "trtllm"
	Dynamo    = "dynamo"
	LlamaCpp  = "llamacpp"
)

// An Engine is one row.
type Engine struct {
	Name string
	// Commands are words that stand in the command line of this engine: a program,
	// or a module after -m.
	Commands []string
	// Env is set where the environment does not have it; Args are added where the
	// command line does not name their option.
	Env  []string
	Args []string
	// Port is what it listens on where its command line does not say; PortFlags are
	// the options that say.
	Port      string
	PortFlags []string
	Ready     string // path of the URL that answers 200 once requests are served
	// Profile is how its own profiler is switched; nil where it cannot be.
	Profile *Profile
	// CacheMetric is the line of /metrics that gives the used share of the
	// key-value cache, MemoryMetric the peak of GPU memory in bytes; "" where there
	// is none.
	CacheMetric, MemoryMetric string
	// ReadMetric is the line of /metrics that gives the places of the key-value cache
	// that a decode step reads for each sequence, used or not; "" where only those
	// that are used are read, or it does not say.
	ReadMetric string
	// StepMetric is the line of /metrics that counts its steps.
	StepMetric string
	// PromptsAlone: a step runs each prompt whole in a pass of its own, with nothing of
	// it in the cache, and the sequences that decode in another pass. Other engines run
	// all in one pass, and may have the beginning of a prompt in the cache.
	PromptsAlone bool
}

// Profile is a pair of endpoints that call cudaProfilerStart and Stop.
type Profile struct {
	Start, Stop string
	Body        string // JSON of the request to start
	Port        string // where it is another than that of the requests
}

// engines are all rows; the first whose words stand in a command is taken.
var engines = []Engine{
	{
		Name: LLMServer, Commands: []string{"llm_server"}, Port: "8000", PortFlags: []string{"--port"}, Ready: "/health",
		Profile:     &Profile{Start: "/start_profile", Stop: "/stop_profile", Body: "{}"},
		CacheMetric: "llm_server_kv_cache_usage_ratio", MemoryMetric: "llm_server_gpu_memory_peak_bytes", StepMetric: "llm_server_steps_total",
		ReadMetric: "llm_server_kv_cache_read_tokens", PromptsAlone: true,
	},
	{
		// The front end serves requests; its workers have the profile endpoints, on the
		// port of the system status server. They hand what is asked to their engine:
		// SGLang's would start the profiler of PyTorch.
		Name: Dynamo, Commands: []string{"dynamo.sglang"},
		Env: []string{"DYN_NVTX=1", "DYN_SYSTEM_PORT=9090", "SGLANG_ENABLE_NVTX_SCHEDULER=1"}, Port: "8000", PortFlags: []string{"--http-port"}, Ready: "/health",
		Profile: &Profile{Start: "/engine/control/start_profile", Stop: "/engine/control/stop_profile", Body: `{"activities":["CUDA_PROFILER"]}`, Port: "9090"},
	},
	{
		// Its workers of TensorRT-LLM have no profile endpoints.
		Name: Dynamo, Commands: []string{"dynamo.trtllm"},
		Env: []string{"DYN_NVTX=1", "TLLM_LLMAPI_ENABLE_NVTX=1", "TLLM_NVTX_DEBUG=1"}, Port: "8000", PortFlags: []string{"--http-port"}, Ready: "/health",
	},
	{
		// What vLLM needs, as it is handed on.
		Name: Dynamo, Commands: []string{"dynamo.vllm"},
		Env:  []string{"DYN_NVTX=1", "DYN_SYSTEM_PORT=9090", "VLLM_WORKER_MULTIPROC_METHOD=spawn", "VLLM_NVTX_SCOPES_FOR_PROFILING=1"},
		Args: []string{`--profiler-config={"profiler":"cuda"}`}, Port: "8000", PortFlags: []string{"--http-port"}, Ready: "/health",
		Profile: &Profile{Start: "/engine/control/start_profile", Stop: "/engine/control/stop_profile", Body: "{}", Port: "9090"},
	},
	{
		Name: Dynamo, Commands: []string{"dynamo.frontend", "dynamo"},
		Env: []string{"DYN_NVTX=1", "DYN_SYSTEM_PORT=9090", "VLLM_WORKER_MULTIPROC_METHOD=spawn"}, Port: "8000", PortFlags: []string{"--http-port"}, Ready: "/health",
		Profile: &Profile{Start: "/engine/control/start_profile", Stop: "/engine/control/stop_profile", Body: "{}", Port: "9090"},
	},
	{
		// The endpoints exist with --profiler-config since 0.13; step names come with
		// the NVTX scopes. A forked worker would be invisible to nsys.
		Name: VLLM, Commands: []string{"vllm", "vllm.entrypoints.openai.api_server"},
		Env: []string{"VLLM_WORKER_MULTIPROC_METHOD=spawn", "VLLM_NVTX_SCOPES_FOR_PROFILING=1"}, Args: []string{"--profiler-config.profiler=cuda"},
		Port: "8000", PortFlags: []string{"--port"}, Ready: "/health",
		Profile:     &Profile{Start: "/start_profile", Stop: "/stop_profile", Body: "{}"},
		CacheMetric: "vllm:kv_cache_usage_perc", StepMetric: "vllm:iteration_tokens_total_count",
	},
	{
		// Its ranges need the Python package nvtx, without which it only warns.
		Name: SGLang, Commands: []string{"sglang.launch_server", "sglang"},
		Env: []string{"SGLANG_ENABLE_NVTX_SCHEDULER=1"}, Port: "30000", PortFlags: []string{"--port"}, Ready: "/health",
		Profile:     &Profile{Start: "/start_profile", Stop: "/stop_profile", Body: `{"activities":["CUDA_PROFILER"]}`},
		CacheMetric: "sglang:token_usage",
	},
	{
		// It has no endpoints: TLLM_PROFILE_START_STOP=A-B profiles steps by their number.
		Name: TRTLLM, Commands: []string{"trtllm-serve", "tensorrt_llm.commands.serve"},
		Env: []string{"TLLM_LLMAPI_ENABLE_NVTX=1", "TLLM_NVTX_DEBUG=1"}, Port: "8000", PortFlags: []string{"--port"}, Ready: "/health",
	},
	{
		// /metrics exists where it is asked for, and no longer tells the use of the cache.
		// A step is a call of llama_decode().
		Name: LlamaCpp, Commands: []string{"llama-server", "llama.cpp"}, Env: []string{"LLAMA_ARG_ENDPOINT_METRICS=1"}, Port: "8080", PortFlags: []string{"--port"}, Ready: "/health",
		StepMetric: "llamacpp:n_decode_total",
	},
	{Name: Plain, Port: "8000", PortFlags: []string{"--port"}},
}

// Find gives the engine of that name, or for Auto and "" the one that the command
// is of: Plain where it is of none. Of several rows of a name the one that the command
// is of is taken, or else the last.
// An unknown name gives Plain too; the plan refuses it before.
func Find(name string, command []string) Engine {
	found := engines[len(engines)-1]
	for _, e := range engines {
		switch named := e.Name == name; {
		case (named || name == Auto || name == "") && e.runs(command):
			return e
		case named:
			found = e
		}
	}
	return found
}

// runs tells whether a command line starts this engine: its program, or the
// module that Python runs, is one of its words.
func (e *Engine) runs(command []string) bool {
	for i, arg := range command {
		base := arg[strings.LastIndexByte(arg, '/')+1:]
		program := i == 0 || command[i-1] == "-m" || i == 1 && strings.Contains(command[0], "python") || i == 1 && strings.HasSuffix(command[0], "env")
		if program && slices.Contains(e.Commands, base) {
			return true
		}
	}
	return false
}

// Command is the command line with what the engine needs to be profiled.
// command is not changed. An option that the user gave in any spelling is left alone.
func (e *Engine) Command(command []string) []string {
	out := slices.Clone(command)
	for _, arg := range e.Args {
		option, _, _ := strings.Cut(arg, "=")
		option, _, _ = strings.Cut(option, ".") // --profiler-config.profiler, --profiler-config
		if !slices.ContainsFunc(command, func(have string) bool {
			return have == option || strings.HasPrefix(have, option+"=") || strings.HasPrefix(have, option+".")
		}) {
			out = append(out, arg)
		}
	}
	return out
}

// Environ are the variables of the engine that an environment does not have.
func (e *Engine) Environ(env []string) []string {
	var out []string
	for _, kv := range e.Env {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}

// URL is where the server answers, by its command line.
// The host is always 127.0.0.1: the server runs on this machine.
func (e *Engine) URL(command []string) string {
	host, port := "127.0.0.1", e.Port
	for i, arg := range command {
		for _, flag := range e.PortFlags {
			if value, ok := strings.CutPrefix(arg, flag+"="); ok {
				port = value
			} else if arg == flag && i+1 < len(command) {
				port = command[i+1]
			}
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// ProfileURLs are the endpoints that switch the profiler of the server at base;
// false where it has none.
func (e *Engine) ProfileURLs(base string) (start, stop string, ok bool) {
	if e.Profile == nil {
		return "", "", false
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", "", false
	}
	if e.Profile.Port != "" {
		u.Host = net.JoinHostPort(u.Hostname(), e.Profile.Port)
	}
	root := strings.TrimSuffix(u.String(), "/")
	return root + e.Profile.Start, root + e.Profile.Stop, true
}
