package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// chips are the chips that a compute capability names without doubt; others
// are shared by several that differ in their counters.
var chips = map[string]string{"7.0": "gv100", "8.0": "ga100", "9.0": "gh100", "10.0": "gb100"}

// CheckMetrics refuses metrics that the GPU of this machine cannot count; key is
// the setting that names them. Where its chip, or the answer, cannot be told, the
// capture itself shows.
func (c *Capabilities) CheckMetrics(ctx context.Context, smi Tool, key string, metrics []string) error {
	text, _, exit, err := Output(ctx, Command{Path: smi.Path, Args: []string{"--query-gpu=compute_cap", "--format=csv,noheader"}})
	if err != nil || !exit.OK() {
		return nil
	}
	caps := strings.Fields(string(text))
	slices.Sort(caps)
	if caps = slices.Compact(caps); len(caps) != 1 || chips[caps[0]] == "" {
		return nil
	}
	chip := chips[caps[0]]
	var problems []error
	for _, m := range metrics {
		if answer, err := c.metric(ctx, chip, m); err == nil && answer == No {
			problems = append(problems, fmt.Errorf("%s: %s does not count %q on %s; ncu --query-metrics --chips %s lists what it does", key, c.Tool, m, chip, chip))
		}
	}
	return errors.Join(problems...)
}
