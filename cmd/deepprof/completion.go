package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/suggest"
)

// shells are the shells that completion can be generated for.
var shells = []struct {
	name  string
	setup string
	write func(*cobra.Command, io.Writer) error
}{
	{"bash", "deepprof completion bash > /etc/bash_completion.d/deepprof", func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }},
	{"zsh", `deepprof completion zsh > "${fpath[1]}/_deepprof"`, func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) }},
	{"fish", "deepprof completion fish > ~/.config/fish/completions/deepprof.fish", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
}

func shellNames() []string {
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	return names
}

// completionCommand prints a script; it installs nothing.
func completionCommand() command {
	example := make([]string, len(shells))
	for i, s := range shells {
		example[i] = "  " + s.setup
	}
	return command{
		use: "completion SHELL", short: "Print the completion script of a shell: bash, zsh or fish",
		long: `Print a script that lets a shell complete commands and flags and, where a command
takes overrides, config groups, their options and the keys of the composed
config. bash needs the package bash-completion.`,
		example: strings.Join(example, "\n"),
		args:    exactly("SHELL"),
		complete: func(args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return shellNames(), cobra.ShellCompDirectiveNoFileComp
		},
		setup: func(_ *pflag.FlagSet, s streams) func(context.Context, []string) error {
			return func(_ context.Context, args []string) error {
				for _, sh := range shells {
					if sh.name == args[0] {
						return sh.write(root(s), s.out)
					}
				}
				return usagef("completion: unknown shell %q%s", args[0], suggest.DidYouMean(args[0], shellNames()))
			}
		},
	}
}
