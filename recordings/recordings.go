// Package recordings holds runs of real GPUs that can be played without one:
// packed, with embedded binaries and the environment of the machine removed.
// docs/recording.md says how each is made.
package recordings

import _ "embed"

// LLM is a session of a random-weight Llama on an H200.
//
//go:embed llm-h200.deepprof.tar.zst
var LLM []byte

// LLMGraphs is the same Llama with CUDA graphs on an H200, without counters.
//
//go:embed llm-graphs-h200.deepprof.tar.zst
var LLMGraphs []byte

// Eager and Graphs are baselines of the same Llama on an H200: five processes
// without, and two with CUDA graphs, unprofiled and under Nsight Systems.
var (
	//go:embed llm-eager-h200.baseline.zst
	Eager []byte
	//go:embed llm-graphs-h200.baseline.zst
	Graphs []byte
)
