package plan

import "time"

// Server says how a server is profiled: a program that never ends by itself and
// works while requests come.
type Server struct {
	// Engine is the engine of the server, which decides what is set for it; auto goes by the command.
	Engine string `key:"engine" oneof:"auto,server,llm_server,vllm,sglang,trtllm,dynamo,llamacpp"`
	// URL is where requests go.
	URL string `key:"url" form:"http://host:port" null:"127.0.0.1 and the port of the command line"`
	// Ready is what shows that requests are served.
	Ready string `key:"ready" form:"a URL that answers 200, tcp:HOST:PORT, or log:TEXT for a line of its output that holds the text" null:"the health check of the engine, or that the port is open"`
	// ReadyTimeout ends a start that takes longer.
	ReadyTimeout time.Duration `key:"ready_timeout_s" above:"0"`
	// Warmup is how long the load runs at least before the first window.
	Warmup time.Duration `key:"warmup_s" min:"0"`
	// WarmupLimit is how long it is waited for a steady state.
	WarmupLimit time.Duration `key:"warmup_limit_s" above:"0"`
	// Steady is the share by which throughput and time per token may differ between two intervals of a steady state.
	Steady float64 `key:"steady" above:"0" max:"1"`
	// Windows is the number of profiled windows, with an idle one before each and after the last.
	Windows int `key:"windows" min:"1" max:"100"`
	// Window is the length of a profiled window.
	Window time.Duration `key:"window_s" above:"0"`
	// WindowRequests ends a profiled window once so many requests have ended in it, window_s at the latest.
	WindowRequests int `key:"window_requests" min:"1" null:"windows last window_s"`
	// WindowSteps ends a profiled window once the engine has made so many steps in it, window_s at the latest. The engine must count them in /metrics.
	WindowSteps int `key:"window_steps" min:"1" null:"windows last window_s"`
	// Idle is the length of an idle window: the session is there and collects nothing.
	Idle time.Duration `key:"idle_s" above:"0"`
	// StartupWindow also profiles the start, in which CUDA graphs are captured: without it their kernels have no layers.
	StartupWindow bool `key:"startup_window"`
	// Stop is how long the server gets to end after SIGTERM before it is killed.
	Stop time.Duration `key:"stop_s" above:"0"`
	// MaxLog ends a server that prints more megabytes than this to its output or its errors.
	MaxLog int `key:"max_log_mb" min:"1" absent:"1000"`
	// CountersTime ends the start under ncu after this many seconds of load; what was counted by then is kept.
	CountersTime time.Duration `key:"counters_s" above:"0"`
	// Load is what drives the server.
	Load Load `key:"load"`
	// LLMServer configures the server that ships with deepprof.
	LLMServer LLMServer `key:"llm_server"`
}

// The kinds of load.
const (
	LoadClient  = "client"
	LoadCommand = "command"
	LoadNone    = "none"
)

// Load is what drives a server.
type Load struct {
	// Kind is the built-in client, a command of yours, or none for traffic from outside.
	Kind string `key:"kind" oneof:"client,command,none"`
	// Command is a load program and its arguments, of kind command only; it is ended when the last window is done.
	Command []string `key:"command"`
	// Endpoint is the API that the client uses.
	Endpoint string `key:"endpoint" oneof:"completions,chat"`
	// Model is the name of the model in each request.
	Model string `key:"model" null:"the first that /v1/models lists"`
	// Concurrency is the number of clients that each wait for their answer; with rate, the largest number of open requests.
	Concurrency int `key:"concurrency" min:"1"`
	// Rate sends requests at random moments, so many a second, whether answers came or not.
	Rate float64 `key:"rate" above:"0" null:"each client sends its next request when it has its answer"`
	// Prompt is the distribution of prompt lengths in tokens.
	Prompt string `key:"prompt" digits:"yes" form:"N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"`
	// Output is the distribution of answer lengths in tokens, in the same form.
	Output string `key:"output" digits:"yes" form:"N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"`
	// Seed makes the requests repeatable.
	Seed int `key:"seed" min:"0"`
	// Vocabulary bounds the token ids of prompts.
	Vocabulary int `key:"vocabulary" min:"20" null:"prompts are words, about one token each, as they are for chat"`
	// IgnoreEOS asks for answers of full length, which vLLM, SGLang, TensorRT-LLM and llama.cpp understand.
	IgnoreEOS bool `key:"ignore_eos"`
	// Wait is how long kind none waits for traffic before the first window.
	Wait time.Duration `key:"wait_s" above:"0" absent:"it does not wait"`
	// Timeout ends one request.
	Timeout time.Duration `key:"timeout_s" above:"0"`
	// TTFT is the time to the first token that a good request meets.
	TTFT time.Duration `key:"target_ttft_s" above:"0" null:"no target"`
	// TPOT is the time per token after the first that a good request meets.
	TPOT time.Duration `key:"target_tpot_s" above:"0" null:"no target"`
}

// LLMServer configures the server that ships with deepprof. Its model is that of the configuration.
type LLMServer struct {
	// Port is where it listens.
	Port int `key:"port" min:"1" max:"65535"`
	// Device is the torch device.
	Device string `key:"device"`
	// MaxBatch is the number of sequences in a step.
	MaxBatch int `key:"max_batch" min:"1"`
	// MaxLen is the largest number of tokens of a sequence, prompt and answer together.
	MaxLen int `key:"max_len" min:"2"`
	// KVCache is the kind of key-value cache.
	KVCache string `key:"kv_cache" oneof:"static,paged"`
	// CUDAGraphs replays decode steps as CUDA graphs.
	CUDAGraphs bool `key:"cuda_graphs"`
	// StepNames is the engine whose names of steps it uses.
	StepNames string `key:"step_names" oneof:"vllm,sglang,trtllm"`
}
