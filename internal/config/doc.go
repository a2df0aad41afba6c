// Package config composes a configuration from YAML groups and command-line
// overrides by the rules of Hydra 1.3 and omegaconf 2.3.
//
// It owns everything between the files and a tree of values: reading YAML,
// defaults lists, packages, the override grammar, merging, struct mode,
// interpolation and the hydra node. Every value of the tree knows the file and
// line, or the override, that it came from. The package knows nothing of what
// the keys mean: package plan does.
//
// The path of a configuration, in the order in which errors are found:
//
//	override.go         overrides -> *override; sweeps are read to be refused
//	compose.go          search path
//	repo.go, yaml.go    files -> trees, each read once
//	defaults*.go        defaults lists -> the final list of configs with packages
//	merge.go            the list -> one tree
//	override_apply.go   values of overrides, in the order of the command line
//	run.go              the hydra node, the folder of the run
//	resolve.go          interpolations -> values, in key order
//
// Two grammars are read by hand, that of overrides and that of interpolations;
// lexer.go has what they share. They follow ANTLR's rule that the longest token
// wins, so that text is split where Hydra splits it. Whatever reads or walks
// recursively gives up with a panic of type failure, which the function that began
// turns into its error.
//
// What counts as right is testdata/hydra.jsonl.gz: small config trees with the
// answers of the real Hydra. All core cases and 97 % of the edge cases must
// agree. docs/hydra.md says what is left out and what differs on purpose. Hydra's
// own words are kept in errors where users may search for them.
//
// The package is larger than a reader of flags would be because Hydra's rules
// are: two grammars, packages of nested defaults lists, and interpolations that
// refer to each other.
package config
