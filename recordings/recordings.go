// Package recordings holds runs of real GPUs that can be played without one:
// packed, with embedded binaries and the environment of the machine removed.
// docs/recording.md says how one is made.
package recordings

import _ "embed"

// LLM is a session of a random-weight Llama on an H200.
//
//go:embed llm-h200.deepprof.tar.zst
var LLM []byte
