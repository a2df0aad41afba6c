// Package workloads holds the Python programs that ship inside the binary: one
// session of a model, started as `python main.py --spec spec.json`. They need
// torch, and transformers where a Hugging Face model is named.
package workloads

import "embed"

// FS is the tree to unpack: main.py at its root, the package session beside it,
// in annotate what opens ranges in programs that have none, and in llm_server a
// server. The tests of the programs are not part of it.
//
//go:embed main.py session/*.py annotate/*.py llm_server/*.py
var FS embed.FS
