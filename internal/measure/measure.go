// Package measure runs two commands in turns and reads what was measured of each, for
// 'deepprof compare --run'.
package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/tool"
)

// folder holds the runs within a store: they are many, and none of them is the latest
// that a person made.
const folder = ".compared"

// Commands are two commands to compare.
type Commands struct {
	A, B    []string // programs with their arguments; not empty
	Repeats int      // runs of each, at least 1
	// Overrides are of the user and win over ours.
	Overrides []string
	Config    plan.Composer
	Sides     *show.SideLoader // reads the runs, which lie in its store
	// Options are those of the run of a plan.
	Options func(*plan.Composed) pipeline.Options
	Say     func(line string)
}

// A RunError is a run that was not made, or that did not end well: a side with failed
// runs would be compared with fewer samples than asked for.
type RunError struct {
	Command []string
	Summary *pipeline.Summary // nil if nothing was started
	Err     error             // of pipeline.Run; nil if the summary says what went wrong
}

// Error names the command and the run.
func (e *RunError) Error() string {
	line := strings.Join(e.Command, " ")
	if e.Summary == nil || e.Err != nil {
		return fmt.Sprintf("compare --run: %s: %v", line, e.Err)
	}
	return fmt.Sprintf("compare --run: %s did not end well (%s): see %s", line, e.Summary.Status, e.Summary.Dir)
}

// Unwrap may return nil.
func (e *RunError) Unwrap() error { return e.Err }

// Run runs both in the order A B B A, so that a machine that warms up or is loaded for a
// while treats both alike. base are the samples of A, fresh those of B. The first error
// ends it: the runs made before stay in the store.
func (c *Commands) Run(ctx context.Context) (base, fresh []compare.Run, err error) {
	missing, blocked := c.missing(ctx)
	settings := append([]string{"pipeline.ncu.enable=false", "hydra.run.dir=" + filepath.Join(c.Sides.Store, folder, "auto")}, missing...)
	for i := range 2 * c.Repeats {
		name, command, side := "A", c.A, &base
		if i%4 == 1 || i%4 == 2 {
			name, command, side = "B", c.B, &fresh
		}
		c.Say(message.Phrase("compared-run", name, len(*side)+1, c.Repeats))
		more, err := c.once(ctx, slices.Concat(plan.CommandOverrides(command), settings, c.Overrides), blocked)
		if err != nil {
			return nil, nil, err
		}
		*side = append(*side, more...)
	}
	return base, fresh, nil
}

// missing gives overrides for what the machine lacks: without nsys wall times alone are
// compared; without a driver the program's own ranges are, but no CUDA, and doctor calls
// the driver a blocker.
func (c *Commands) missing(ctx context.Context) (overrides []string, blocked bool) {
	if _, err := tool.Find(ctx, tool.Spec{Name: tool.Nsys}); err != nil {
		c.Say(message.Phrase("compared-without-nsys"))
		return []string{"pipeline.nsys.enable=false"}, false
	}
	if _, err := tool.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err != nil {
		return []string{"pipeline.nsys.trace=[nvtx]"}, true
	}
	return nil, false
}

// once makes one run and reads it. If two overrides have one key, the later one counts.
// ignore goes on in spite of blockers.
func (c *Commands) once(ctx context.Context, overrides []string, ignore bool) ([]compare.Run, error) {
	p, err := c.Config.Plan(overrides)
	if err != nil {
		return nil, err
	}
	o := c.Options(p)
	o.IgnoreBlockers = o.IgnoreBlockers || ignore
	summary, err := pipeline.Run(ctx, o)
	if err != nil || summary == nil || summary.Status != runs.StatusDone {
		return nil, &RunError{p.Plan.Pipeline.Workload.Command, summary, err}
	}
	return c.Sides.Measured(ctx, summary.Dir)
}
