// Package config composes a configuration from YAML groups and command-line
// overrides by the rules of Hydra 1.3 and omegaconf 2.3.
//
// It owns everything between the files and a tree of values: reading YAML,
// defaults lists, packages, the override grammar, merging, struct mode,
// interpolation and the hydra node. Every value of the tree knows the file and
// line, or the override, that it came from. The package knows nothing of what
// the keys mean.
package config
