package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
	"github.com/deepprof/deepprof/internal/tool"
)

// between parts the two commands of --run.
const between = "---"

// comparedFolder holds the runs of --run within a store: they are many, and none of
// them is the latest that a person made.
const comparedFolder = ".compared"

// measure runs two commands in turns, A B B A, so that a machine that warms up or
// is loaded for a while treats both alike, and gives what was measured.
// base are the samples of A, fresh those of B. Overrides of the user come last and win over
// ours. An error ends it at once: the runs made before stay in the store.
func (c *comparing) measure(ctx context.Context, l *show.SideLoader, args []string) (base, fresh []compare.Run, err error) {
	overrides, a, b, err := c.commands(args)
	if err != nil {
		return nil, nil, err
	}
	settings := append([]string{"pipeline.ncu.enable=false", "hydra.run.dir=" + filepath.Join(c.asked.Store, comparedFolder, "auto")}, c.timelines(ctx)...)
	w, ctx := terminal.NewWatcher(ctx, c.streams.err)
	defer w.Stop()
	for i := range 2 * c.repeats {
		isNew := i%4 == 1 || i%4 == 2
		command, side, name := a, &base, "A"
		if isNew {
			command, side, name = b, &fresh, "B"
		}
		w.Say(fmt.Sprintf("%s, run %d of %d", name, len(*side)+1, c.repeats))
		more, err := c.once(ctx, l, w, slices.Concat(plan.CommandOverrides(command), settings, overrides))
		if err != nil {
			return nil, nil, err
		}
		*side = append(*side, more...)
	}
	w.Clear()
	return base, fresh, nil
}

// commands parts what stands after -- into the two commands.
// Neither command is empty. Errors end with exit code 2.
func (c *comparing) commands(args []string) (overrides, a, b []string, err error) {
	dash := c.flags.ArgsLenAtDash()
	if dash < 0 {
		return nil, nil, nil, usagef("compare --run: the commands stand after --: deepprof compare --run %d -- CMD_A --- CMD_B", c.repeats)
	}
	overrides, rest := args[:dash], args[dash:]
	at := slices.Index(rest, between)
	if at <= 0 || at == len(rest)-1 {
		return nil, nil, nil, usagef("compare --run: two commands are needed, parted by ---: deepprof compare --run %d -- CMD_A --- CMD_B", c.repeats)
	}
	if i := slices.IndexFunc(overrides, func(o string) bool { return !strings.ContainsAny(o, "=~") }); i >= 0 {
		return nil, nil, nil, usagef("compare --run: %q is no override; commands go after --", overrides[i])
	}
	return overrides, rest[:at], rest[at+1:], nil
}

// timelines turns the timeline off where there is no nsys: wall times are compared
// then. Without a driver CUDA is not traced, and a program's own ranges are.
// It gives overrides; nil where both tools are found.
func (c *comparing) timelines(ctx context.Context) []string {
	var finder tool.Finder
	if _, err := finder.Find(ctx, tool.Spec{Name: tool.Nsys}); err != nil {
		fmt.Fprintln(c.streams.err, "note: nsys is not installed: wall times alone are compared")
		return []string{"pipeline.nsys.enable=false"}
	}
	if _, err := finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err != nil {
		c.ignore = true
		return []string{"pipeline.nsys.trace=[nvtx]"}
	}
	return nil
}

// once makes one run and reads it.
// A run that did not end well stops the comparison: a side with failed runs would be
// compared with fewer samples than asked for.
// Of two overrides of one key the later one counts.
func (c *comparing) once(ctx context.Context, l *show.SideLoader, w *terminal.Watcher, overrides []string) ([]compare.Run, error) {
	p, err := c.config.Plan(overrides)
	if err != nil {
		return nil, usage(err)
	}
	o := planOptions(p, w)
	o.IgnoreBlockers = c.ignore
	summary, err := pipeline.Run(ctx, o)
	if err != nil || summary == nil {
		return nil, errors.Join(ended(c.streams, w, summary, err), err)
	}
	if err := verdict(summary); err != nil {
		return nil, fmt.Errorf("compare --run: %s did not end well (%s): see %s: %w", strings.Join(p.Plan.Pipeline.Workload.Command, " "), summary.Status, summary.Dir, err)
	}
	return l.Measured(ctx, summary.Dir)
}
