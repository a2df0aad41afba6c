package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/measure"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/terminal"
)

// between parts the two commands of --run.
const between = "---"

// measure runs the two commands that stand after -- and gives what was measured.
// A run that did not end well has the exit code that 'deepprof run' would have.
func (c *comparing) measure(ctx context.Context, args []string) (base, fresh []compare.Run, err error) {
	overrides, a, b, err := c.commands(args)
	if err != nil {
		return nil, nil, err
	}
	w, ctx := terminal.NewWatcher(ctx, c.streams.err)
	defer w.Stop()
	m := measure.Commands{
		A: a, B: b, Repeats: c.repeats, Overrides: overrides, Config: c.config.Composer, Sides: c.asked.Sides("compare"), Say: w.Say,
		Options: func(p *plan.Composed) pipeline.Options {
			o := planOptions(p, w)
			o.IgnoreBlockers = c.ignore
			return o
		},
	}
	base, fresh, err = m.Run(ctx)
	w.Clear()
	failed, ok := errors.AsType[*measure.RunError](err)
	switch {
	case !ok:
		return base, fresh, err
	case failed.Err != nil || failed.Summary == nil:
		return nil, nil, errors.Join(ended(c.streams, w, failed.Summary, failed.Err), failed.Err)
	}
	return nil, nil, fmt.Errorf("%w: %w", err, verdict(failed.Summary))
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
		return nil, nil, nil, usagef("compare --run: two commands are needed, with --- between them: deepprof compare --run %d -- CMD_A --- CMD_B", c.repeats)
	}
	if i := slices.IndexFunc(overrides, func(o string) bool { return !strings.ContainsAny(o, "=~") }); i >= 0 {
		return nil, nil, nil, usagef("compare --run: %q is no override; commands go after --", overrides[i])
	}
	return overrides, rest[:at], rest[at+1:], nil
}
