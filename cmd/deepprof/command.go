package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/suggest"
)

// streams are where a command writes: data to out, everything else to err.
// No command closes them.
type streams struct{ out, err io.Writer }

// A command is one row of the command table.
type command struct {
	use     string // name and arguments
	short   string
	long    string
	example string
	args    cobra.PositionalArgs // nil takes any
	// setup registers the flags and returns what runs. It is nil for a command
	// that only has commands below it.
	// It runs once for each tree, before the flags are parsed.
	setup    func(*pflag.FlagSet, streams) func(context.Context, []string) error
	complete func(args []string, word string) ([]string, cobra.ShellCompDirective) // of arguments; nil has none
	sub      []command
	hidden   bool // not in --help
	raw      bool // every argument, also one that looks like a flag, is the command's own
}

// run is the whole program: args are those after the program's name.
// It prints no error: exitCode does. Tests call it with whole command lines.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	format.SweepTemp() // of commands that were killed
	capture.SweepTemp()
	c := root(streams{stdout, stderr})
	c.SetArgs(args)
	return c.ExecuteContext(ctx)
}

// root is the command tree.
// Every call makes a new tree, because flags hold their values in it.
func root(s streams) *cobra.Command {
	c := build(&command{
		use:   "deepprof",
		short: "Profile LLM inference, and any CUDA program, deeply on NVIDIA GPUs",
		long: `deepprof profiles LLM inference, and any CUDA program, deeply on NVIDIA GPUs.

It runs a command, or a model, under Nsight Systems, counts the kernels that matter
under Nsight Compute, judges what came out, and reports where the time goes and
what limits each kernel. The reports of both tools are read natively, without
the vendor's tools, and a run is configured by Hydra's rules.`,
		example: `  deepprof demo
  deepprof run -- python3 infer.py
  deepprof analyze report.sqlite report.ncu-rep
  deepprof show kernels report.sqlite
  deepprof show metrics report.ncu-rep --kernel nvjet
  deepprof config show infer.max_new_tokens=64`,
		sub: commands(),
	}, s)
	c.SetOut(s.out)
	c.SetErr(s.err)
	c.CompletionOptions.DisableDefaultCmd = true
	c.InitDefaultHelpCmd()
	for _, sub := range c.Commands() {
		if sub.Name() == "help" {
			sub.Run, sub.RunE = nil, helpOn
		}
	}
	c.Version = readVersion().String()
	c.SetVersionTemplate("{{.Version}}\n")
	return c
}

// build makes the cobra command of a row and of all rows below it.
// Every error of arguments or flags becomes a failure with exitUsage here.
func build(c *command, s streams) *cobra.Command {
	cc := &cobra.Command{
		Use: c.use, Short: c.short, Long: c.long, Example: c.example,
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true, Hidden: c.hidden, DisableFlagParsing: c.raw,
	}
	cc.Flags().SortFlags = false
	cc.SetFlagErrorFunc(flagError)
	if c.complete != nil {
		cc.ValidArgsFunction = func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return c.complete(args, word)
		}
	}
	for i := range c.sub {
		cc.AddCommand(build(&c.sub[i], s))
	}
	if c.setup == nil {
		cc.Args = cobra.ArbitraryArgs
		cc.RunE = func(cc *cobra.Command, args []string) error { return noSuchCommand(cc, args) }
		return cc
	}
	execute := c.setup(cc.Flags(), s)
	cc.Args = func(cc *cobra.Command, args []string) error {
		if c.args == nil {
			return nil
		}
		if err := c.args(cc, args); err != nil {
			return usagef("%s: %w; see '%s --help'", cc.CommandPath(), err, cc.CommandPath())
		}
		return nil
	}
	cc.RunE = func(cc *cobra.Command, args []string) error {
		if err := notEmpty(cc); err != nil {
			return err
		}
		return execute(cc.Context(), args)
	}
	return cc
}

// helpOn is the command help; cobra's own answers a typo with exit code 0.
// A name that does not exist ends with exit code 2.
func helpOn(cc *cobra.Command, args []string) error {
	of, rest, err := cc.Root().Find(args)
	switch {
	case err != nil:
		return usage(err)
	case len(rest) > 0:
		return noSuchCommand(of, rest)
	}
	of.InitDefaultHelpFlag()
	return of.Help()
}

// emptyValue marks a flag for which the empty text is a value.
const emptyValue = "deepprof_empty_value"

// takesEmpty marks flags for which the empty text is a value.
// Call it after the flags were registered: a name that the set lacks is ignored.
func takesEmpty(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if f := fs.Lookup(name); f != nil {
			f.Annotations = map[string][]string{emptyValue: nil}
		}
	}
}

// notEmpty refuses a flag that was given the empty text, as an unset variable of
// a shell does: it would read as a flag that was not given. Flags marked with
// takesEmpty take it.
// If several are empty the last one is named.
func notEmpty(cc *cobra.Command) error {
	var name string
	cc.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			if values = list.GetSlice(); len(values) == 0 {
				values = []string{""}
			}
		}
		for _, v := range values {
			if _, takes := f.Annotations[emptyValue]; strings.TrimSpace(v) == "" && !takes {
				name = f.Name
			}
		}
	})
	if name == "" {
		return nil
	}
	return usagef("%s: --%s is empty; give it a value or leave it out", strings.TrimPrefix(cc.CommandPath(), cc.Root().Name()+" "), name)
}

// noSuchCommand answers a command that was called without, or with an unknown,
// command below it.
// Without arguments it prints the help, and the exit code is 0.
func noSuchCommand(cc *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cc.Help()
	}
	var names []string
	for _, sub := range cc.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usagef("unknown command '%s %s'%s", cc.CommandPath(), args[0], suggest.OneOf(args[0], names))
}

// flagError names the nearest flag for one that does not exist.
// ErrHelp passes: cobra prints the help for it.
// All other errors become a failure with exitUsage.
func flagError(cc *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cc.Flags().Args(); cc.HasSubCommands() && len(args) > 0 { // the flag is of a command that is not there
		return noSuchCommand(cc, args)
	}
	var unknown *pflag.NotExistError
	hint := ""
	if errors.As(err, &unknown) {
		var names []string
		cc.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		hint = suggest.DidYouMean("--"+strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names)
	}
	if hint == "" {
		hint = fmt.Sprintf("; see '%s --help'", cc.CommandPath())
	}
	return usagef("%s: %w%s", cc.CommandPath(), plainValue(err), hint)
}

// plainValue words a value that is no number without the names of Go's
// functions.
// An error about anything else comes back as it is.
func plainValue(err error) error {
	var value *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &value) || !errors.As(err, &number) {
		return err
	}
	problem := "is no whole number"
	switch {
	case errors.Is(number, strconv.ErrRange):
		problem = "is too large"
	case value.GetFlag().Value.Type() == "bool":
		problem = "is neither true nor false"
	}
	return fmt.Errorf("--%s %q %s", value.GetFlag().Name, value.GetValue(), problem)
}

// exactly asks for the named arguments, no more and no fewer. The names are only for
// messages: they say what is missing. It and the two below are checked before a command
// runs; their errors end with exit code 2.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing", strings.Join(names[len(args):], ", "))
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// atMostOne takes one argument or none.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q", args[1])
	}
	return nil
}

// atLeast wants one argument or more.
func atLeast(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s is missing", name)
		}
		return nil
	}
}

// commands is the command table, in the order of --help.
// A new command is a function that returns a row, and a line here.
func commands() []command {
	return []command{
		runCommand(),
		demoCommand(),
		analyzeCommand(),
		showCommand(),
		compareCommand(),
		baselineCommand(),
		exportCommand(),
		runsCommand(),
		serveCommand(),
		mcpCommand(),
		doctorCommand(),
		selfcheckCommand(),
		configCommand(),
		versionCommand(),
		completionCommand(),
		playCommand(),
		manCommand(),
	}
}
