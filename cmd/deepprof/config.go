package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// configFlags choose the configuration that is composed; the flags mean what
// they mean in Hydra.
type configFlags struct{ plan.Composer }

// register is for every command that composes a configuration.
func (c *configFlags) register(f *pflag.FlagSet) {
	f.StringVar(&c.Path, "config-path", "", "compose from `DIR` instead of the tree that ships with deepprof")
	f.StringVar(&c.Dir, "config-dir", "", "add `DIR` to the search path: its files overlay the shipped ones")
	f.StringVar(&c.Name, "config-name", "config", "the primary config, `NAME`.yaml; empty for none")
	takesEmpty(f, "config-name")
}

// plan composes, resolves and decodes, and prints what composing found odd. What is
// wrong with the configuration ends with exitUsage.
// Warnings are printed only if there is a plan.
func (c *configFlags) plan(s streams, overrides []string) (*plan.Composed, error) {
	p, err := c.Plan(overrides)
	if err != nil {
		return nil, usage(err)
	}
	printWarnings(s, p.Config.Warnings)
	return p, nil
}

// configCommand and those below it start nothing and write nothing.
func configCommand() command {
	return command{
		use: "config", short: "Compose, list and check the configuration",
		long: `The configuration is composed by Hydra's rules from YAML files and overrides:
  key=value     change a value          +key=value    add one
  ++key=value   change or add           ~key          remove
  group=option  choose a file of a group, for example pipeline/ncu=roofline
The tree that ships with deepprof comes first; a folder ./conf overlays it file
by file.`,
		example: `  deepprof config show infer.max_new_tokens=64
  deepprof config groups
  deepprof config check pipeline/nsys=full`,
		sub: []command{configShowCommand(), configGroupsCommand(), configCheckCommand()},
	}
}

// configShowCommand does not check the plan: what is shown is what was composed, even
// if a run would refuse it.
func configShowCommand() command {
	var c configFlags
	return command{
		use: "show [OVERRIDE...]", short: "Compose the configuration and print it",
		long: `Compose the configuration and print it as YAML, interpolations as written unless
--resolve is given. Unknown keys of the plan are not refused here; 'config check'
does that. Exit code 2 if composition fails.`,
		example: `  deepprof config show
  deepprof config show --resolve pipeline/ncu=roofline infer.max_new_tokens=64
  deepprof config show --origin
  deepprof config show --config-path ./conf --config-name experiment --json`,
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			resolve := f.Bool("resolve", false, "resolve interpolations")
			asJSON := f.Bool("json", false, "print canonical JSON")
			origin := f.Bool("origin", false, "print each value with the file and line, or the override, that it comes from")
			hydra := f.Bool("hydra", false, "with the hydra node")
			return func(_ context.Context, overrides []string) error {
				composed, err := c.Compose(overrides)
				if err != nil {
					return usage(err)
				}
				root, err := composed.View(*resolve, *hydra)
				if err != nil {
					return usage(err)
				}
				printWarnings(s, composed.Warnings)
				switch {
				case *origin:
					return showFormat(*asJSON).print(s, report.ValueView.Table(show.Origins(root)))
				case *asJSON:
					_, err = s.out.Write(root.JSON(true))
				default:
					_, err = s.out.Write(root.YAML())
				}
				return err
			}
		},
	}
}

// configGroupsCommand lists folders of the search path; an unknown group is exitUsage.
func configGroupsCommand() command {
	var c configFlags
	return command{
		use: "groups [GROUP]", short: "List the groups and their options with what each is for",
		example: "  deepprof config groups\n  deepprof config groups pipeline/ncu",
		args:    atMostOne,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(_ context.Context, args []string) error {
				rows, err := show.ConfigGroups(&c.Composer, args...)
				if err != nil {
					return err
				}
				return showFormat(*asJSON).print(s, report.OptionView.Table(rows))
			}
		},
	}
}

// configCheckCommand finds what run would refuse before it looks at the machine. Doubts
// are warnings and leave the exit code 0.
func configCheckCommand() command {
	var c configFlags
	return command{
		use: "check [OVERRIDE...]", short: "Check the configuration and print every problem at once",
		long: `Compose the configuration, resolve it and check it against the plan: unknown keys,
wrong types, values out of range and contradictions, all reported together.
What only the installed tools know, such as the sets, sections and metrics of
ncu, is checked by 'doctor' and 'run'; a set that no ncu comes with is a warning.
Exit code 2 if there is a problem.`,
		example: `  deepprof config check infer.max_new_tokens=64
  deepprof config check pipeline/nsys=full pipeline.nsys.capture_range=nvtx`,
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			return func(_ context.Context, overrides []string) error {
				p, err := c.plan(s, overrides)
				if err != nil {
					return err
				}
				verdict := "no problems"
				if n := printDoubts(s, plan.Doubts(p.Root, p.Plan)) + len(p.Config.Warnings); n > 0 {
					verdict = "no errors, " + terminal.Plural(n, "warning")
				}
				_, err = fmt.Fprintln(s.out, verdict)
				return err
			}
		},
	}
}

// printWarnings says what composing found odd, such as keys under an old name.
func printWarnings(s streams, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(s.err, "warning: %s\n", w)
	}
}

// printDoubts says what of a sound plan is probably a mistake, and how much
// that is.
func printDoubts(s streams, doubts plan.Problems) int {
	for _, doubt := range doubts {
		fmt.Fprintf(s.err, "warning: %s\n", doubt)
	}
	return len(doubts)
}

// planOptions are those of a run of the plan, under the eyes of a watcher.
// Categories, IgnoreBlockers and Recording are left to the caller.
func planOptions(p *plan.Composed, w *terminal.Watcher) pipeline.Options {
	o := runOptions(w)
	o.Plan, o.Config, o.Files, o.Dir = p.Plan, p.Root.YAML(), p.Run.Record, p.Run.Path
	return o
}

// complete offers groups, options and keys for the word of an override.
// The flags of the line count, such as --config-dir; overrides before the word do not.
func (c *configFlags) complete(_ []string, word string) ([]string, cobra.ShellCompDirective) {
	words, final, open := c.Complete(word)
	directive := cobra.ShellCompDirectiveDefault
	if !open {
		directive |= cobra.ShellCompDirectiveNoFileComp
	}
	if !final {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return words, directive
}
