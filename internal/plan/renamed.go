package plan

import "github.com/deepprof/deepprof/internal/config"

// Renames are the keys of older versions that have another name today, for
// config.Options.
var Renames = []config.Rename{
	{From: "pipeline.baseline", To: "pipeline.unprofiled"}, // a baseline is a run to compare with
}
