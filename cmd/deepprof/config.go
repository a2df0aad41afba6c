package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
)

// shippedTree is how the embedded configuration is named in errors and origins.
const shippedTree = "deepprof:conf"

// configFlags choose the configuration that is composed; the flags mean what
// they mean in Hydra.
type configFlags struct {
	path, dir, name string // --config-path, --config-dir, --config-name; "" is not given, and no primary config for name
}

// register is for every command that composes a configuration.
func (c *configFlags) register(f *pflag.FlagSet) {
	f.StringVar(&c.path, "config-path", "", "compose from `DIR` instead of the tree that ships with deepprof")
	f.StringVar(&c.dir, "config-dir", "", "add `DIR` to the search path: its files overlay the shipped ones")
	f.StringVar(&c.name, "config-name", "config", "the primary config, `NAME`.yaml; empty for none")
	takesEmpty(f, "config-name")
}

// sources is the search path; the first that has a file wins. A folder ./conf
// overlays the shipped tree file by file, --config-dir overlays both. Where
// --config-path names the tree, it comes first, as in Hydra, and ./conf stays
// out.
func (c *configFlags) sources() []config.Source {
	folder := func(provider, dir string) config.Source {
		return config.Source{Provider: provider, Path: dir, FS: os.DirFS(dir), Check: true}
	}
	var extra []config.Source
	if c.dir != "" {
		extra = []config.Source{folder("command-line", c.dir)}
	}
	if c.path != "" {
		return append([]config.Source{folder("main", c.path)}, extra...)
	}
	if st, err := os.Stat("conf"); err == nil && st.IsDir() {
		extra = append(extra, folder("working directory", "conf"))
	}
	return append(extra, config.Source{Provider: "main", Path: shippedTree, FS: conf.FS})
}

// Nothing is resolved or checked against the plan yet. What is wrong with the
// configuration ends with exitUsage.
func (c *configFlags) compose(overrides []string) (*config.Config, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	composed, err := config.Compose(config.Options{
		Sources: c.sources(), ConfigName: strings.TrimSuffix(c.name, ".yaml"), Overrides: overrides,
		Env: os.LookupEnv, Cwd: cwd, JobName: "deepprof", Renames: plan.Renames, JobEnv: plan.EnvKey,
	})
	var wrong *config.Error
	if errors.As(err, &wrong) && wrong.Kind == "group-override-no-match" {
		if file := c.groupless(); file != "" {
			wrong.Hint = file + " stands in place of the shipped config.yaml as a whole and has no defaults list, which names the groups; begin it with that of the shipped file (conf/config.yaml of deepprof), or remove it"
		}
	}
	if err != nil {
		return nil, usage(err)
	}
	return composed, nil
}

// groupless is the primary config where it hides the shipped one and lacks its
// defaults list; "" where that is not so.
func (c *configFlags) groupless() string {
	name := strings.TrimSuffix(c.name, ".yaml") + ".yaml"
	for _, source := range c.sources() {
		text, err := fs.ReadFile(source.FS, name)
		if err != nil {
			continue
		}
		if _, err := fs.Stat(conf.FS, name); err != nil || source.Path == shippedTree || defaultsList.Match(text) {
			return ""
		}
		return filepath.Join(source.Path, name)
	}
	return ""
}

var defaultsList = regexp.MustCompile(`(?m)^["']?defaults["']?\s*:`)

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

// configShowCommand does not check the plan: what is shown is what was composed, also
// where a run would refuse it.
func configShowCommand() command {
	var c configFlags
	return command{
		use: "show [OVERRIDE...]", short: "Compose the configuration and print it",
		long: `Compose the configuration and print it as YAML, interpolations as written unless
--resolve is given. Unknown keys of the plan are not refused here; 'config check'
does that. Exit code 2 where composition fails.`,
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
				composed, err := c.compose(overrides)
				if err != nil {
					return err
				}
				root, err := composed.View(*resolve, *hydra)
				if err != nil {
					return usage(err)
				}
				printWarnings(s, composed)
				switch {
				case *origin:
					return showFormat(*asJSON).print(s, report.ValueView.Table(originsOf(root)))
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

// originsOf lists the values of a tree with the places they were written in.
func originsOf(root *config.Node) []report.Value {
	var rows []report.Value
	root.Walk(func(path string, n *config.Node) bool {
		if path != "" && (n.Len() == 0 || n.Kind() == config.List) {
			rows = append(rows, report.Value{Key: path, Value: n.JSON(false), Origin: n.Origin().String()})
			return false
		}
		return true
	})
	return rows
}

// configGroupsCommand lists folders of the search path; an unknown group is exitUsage.
func configGroupsCommand() command {
	var c configFlags
	return command{
		use: "groups [GROUP]", short: "List the groups and their options with what each is for",
		example: "  deepprof config groups\n  deepprof config groups pipeline/ncu",
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(_ context.Context, args []string) error {
				if len(args) > 1 {
					return usagef("config groups: unexpected argument %q", args[1])
				}
				sources := c.sources()
				for _, src := range sources {
					if _, err := fs.Stat(src.FS, "."); err != nil {
						return usagef("config folder %s: %w", src.Path, err)
					}
				}
				var rows []report.Option
				var names []string
				for _, g := range config.Groups(sources) {
					names = append(names, g.Name)
					for _, o := range g.Options {
						if len(args) == 0 || args[0] == g.Name {
							rows = append(rows, report.Option{Group: g.Name, Option: o.Name, Comment: o.Comment, File: o.File})
						}
					}
				}
				if len(rows) == 0 && len(args) == 1 {
					return usagef("config groups: no group %q%s", args[0], suggest.DidYouMean(args[0], names))
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
Exit code 2 where there is a problem.`,
		example: `  deepprof config check infer.max_new_tokens=64
  deepprof config check pipeline/nsys=full pipeline.nsys.capture_range=nvtx`,
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			return func(_ context.Context, overrides []string) error {
				p, err := c.plan(overrides)
				if err != nil {
					return err
				}
				printWarnings(s, p.composed)
				verdict := "no problems"
				if n := printDoubts(s, plan.Doubts(p.root, p.plan)) + len(p.composed.Warnings); n > 0 {
					verdict = "no errors, " + plural(n, "warning")
				}
				_, err = fmt.Fprintln(s.out, verdict)
				return err
			}
		},
	}
}

// printWarnings says what composing found odd, such as keys under an old name.
func printWarnings(s streams, composed *config.Config) {
	for _, w := range composed.Warnings {
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

// planned is a configuration that was composed, resolved and checked.
type planned struct {
	composed *config.Config
	root     *config.Node // resolved, without the hydra node
	plan     *plan.Plan
	dir      config.Run // hydra.run.dir and what goes with it
}

// plan composes, resolves and decodes; every problem is in the error, which ends with
// exitUsage.
func (c *configFlags) plan(overrides []string) (planned, error) {
	composed, err := c.compose(overrides)
	if err != nil {
		return planned{}, err
	}
	return decode(composed)
}

// decode turns a composed configuration into the typed plan.
func decode(composed *config.Config) (planned, error) {
	root, err := composed.Resolve()
	if err != nil {
		return planned{}, usage(err)
	}
	p, problems := plan.Decode(root)
	if err := problems.Err(); err != nil {
		return planned{}, usage(err)
	}
	dir, err := composed.Run() // Resolve has looked at it
	if err != nil {
		return planned{}, usage(err)
	}
	return planned{composed, root, p, dir}, nil
}

// options are those of a run of the plan, under the eyes of a watcher.
func (p planned) options(w *watcher) pipeline.Options {
	o := w.options()
	o.Plan, o.Config, o.Files, o.Dir = p.plan, p.root.YAML(), p.dir.Record, p.dir.Path
	return o
}

// complete offers groups, options and keys for the word of an override.
func (c *configFlags) complete(_ []string, word string) ([]string, cobra.ShellCompDirective) {
	prefix := word[:len(word)-len(strings.TrimLeft(word, "+~"))]
	key, value, assigned := strings.Cut(strings.TrimPrefix(word, prefix), "=")
	var out []string
	for _, g := range config.Groups(c.sources()) {
		switch {
		case assigned && g.Name == key:
			for _, o := range g.Options {
				if strings.HasPrefix(o.Name, value) {
					out = append(out, fmt.Sprintf("%s%s=%s\t%s", prefix, key, o.Name, o.Comment))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		case !assigned && g.Name != "" && strings.HasPrefix(g.Name, key):
			out = append(out, prefix+g.Name+"=\tconfig group")
		}
	}
	if assigned {
		for _, k := range plan.Describe() {
			if k.Name == key {
				for _, v := range k.Values {
					if strings.HasPrefix(v, value) {
						out = append(out, prefix+key+"="+v)
					}
				}
			}
		}
		return out, cobra.ShellCompDirectiveDefault
	}
	composed, err := c.compose(nil)
	if err != nil {
		return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range config.Keys(composed.Root) {
		if strings.HasPrefix(k, key) {
			out = append(out, prefix+k+"=")
		}
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
