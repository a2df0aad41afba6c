// Package workloads holds the Python programs that ship inside the binary: one
// session of a model, started as `python main.py --spec spec.json`. They need
// torch, and transformers where a Hugging Face model is named.
package workloads

import "embed"

// FS is the tree to unpack: main.py at its root, the package session beside
// it, and in annotate what opens ranges in programs that have none. The tests of the programs are not part of it.
//
//go:embed main.py session/*.py annotate/*.py
var FS embed.FS
