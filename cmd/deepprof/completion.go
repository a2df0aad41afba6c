package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/suggest"
)

// shells are the shells that completion can be generated for.
var shells = []struct {
	name string
	// the command line that installs the script, for the help
	setup string
	write func(*cobra.Command, io.Writer) error
}{
	{"bash", "deepprof completion bash > /etc/bash_completion.d/deepprof", func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }},
	{"zsh", `deepprof completion zsh > "${fpath[1]}/_deepprof"`, func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) }},
	{"fish", "deepprof completion fish > ~/.config/fish/completions/deepprof.fish", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
}

// shellNames is in the order of the help.
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
		long: `Print a script that lets a shell complete commands and flags and, if a command
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

// manCommand writes the man pages for packages.
func manCommand() command {
	return command{
		use: "man DIR", short: "Write man pages into a folder", hidden: true, args: exactly("DIR"),
		setup: func(_ *pflag.FlagSet, s streams) func(context.Context, []string) error {
			return func(_ context.Context, args []string) error {
				if err := os.MkdirAll(args[0], 0o755); err != nil {
					return usage(err)
				}
				return writeMan(root(s), args[0])
			}
		},
	}
}

// writeMan writes a page for a command and for each below it.
// Hidden commands get no page. Pages that exist are replaced.
func writeMan(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(c)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manDate is that of the source if a build says it, so that the same source
// gives the same page.
// SOURCE_DATE_EPOCH is in seconds; one that is no number is ignored.
func manDate() string {
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(n, 0).UTC().Format(time.DateOnly)
	}
	return time.Now().UTC().Format(time.DateOnly)
}

// manPage is the page of a command in the man macros.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	title := strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-"))
	fmt.Fprintf(&b, ".TH %q 1 %q \"deepprof\" \"User Commands\"\n", title, manDate())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(strings.ReplaceAll(c.CommandPath(), " ", "-")), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmp.Or(c.UseLine(), c.CommandPath())))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roffText(cmp.Or(c.Long, c.Short)))
	if c.Flags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, c.Parent().CommandPath())
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, sub.CommandPath())
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, name := range also {
			end := ","
			if i == len(also)-1 {
				end = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(strings.ReplaceAll(name, " ", "-")), end)
		}
	}
	return b.String()
}

// manFlag leaves out hidden flags.
func manFlag(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, help := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(help))
}

// roff writes a text so that no character of it is a request: backslashes are
// escaped, minus signs stay minus signs, and no line begins with a dot or an
// apostrophe.
func roff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// roffText keeps paragraphs.
func roffText(s string) string { return strings.ReplaceAll(roff(s), "\n\n", "\n.PP\n") }
