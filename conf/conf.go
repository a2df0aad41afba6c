// Package conf holds the configuration tree that ships inside the binary:
// config.yaml and the groups beside it. The defaults of every key live here
// and nowhere else.
package conf

import "embed"

// FS is the tree, config.yaml at its root. A user's ./conf or --config-dir
// overlays it file by file.
//
//go:embed *.yaml *.rules dataset model pipeline workload
var FS embed.FS
