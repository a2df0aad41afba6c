package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// An output is how a table is printed.
// The zero value prints a table for people, without a pager.
type output struct {
	json, csv, md bool
	noPager, all  bool
	pages         bool   // the command shows a view, which may be long
	raw           bool   // CSV as it is
	whole         bool   // a number of rows was asked for: nothing is summed up
	head          string // above a table for people
}

// register is for every command that prints a table.
func (o *output) register(fs *pflag.FlagSet) {
	fs.BoolVar(&o.json, "json", false, "print JSON: an object with a schema version and rows")
	fs.BoolVar(&o.csv, "csv", false, "print CSV with every column and exact values")
	fs.BoolVar(&o.md, "md", false, "print a Markdown table")
	fs.BoolVar(&o.all, "all", false, "print every row: a table of thousands of rows is summed up, unlike JSON, CSV and Markdown")
	o.registerPager(fs)
}

// registerPager also lets the command page; without it output is never paged.
func (o *output) registerPager(fs *pflag.FlagSet) {
	fs.BoolVar(&o.noPager, "no-pager", false, "print without a pager, even if it is longer than the screen")
	o.pages = true
}

// check refuses two formats at once.
func (o *output) check() error {
	if o.json && o.csv || o.json && o.md || o.csv && o.md {
		return usagef("--json, --csv and --md exclude each other")
	}
	return nil
}

// showFormat is the choice between a table and JSON of commands that have no
// other format.
func showFormat(asJSON bool) *output { return &output{json: asJSON} }

// print writes a table in the format that was asked for. Notes go where they do
// not mix with data.
func (o *output) print(s streams, t report.Printable) error {
	switch {
	case o.json:
		return t.WriteJSON(s.out)
	case o.md:
		return t.WriteMarkdown(s.out)
	case o.csv:
		if o.raw {
			t.Raw()
		}
		if err := t.WriteCSV(s.out); err != nil {
			return err
		}
	default:
		if err := o.printText(s, t); err != nil {
			return err
		}
	}
	printLines(s, "note: ", t.Footnotes())
	return nil
}

// printLines writes to the error stream, wrapped to its terminal.
// A failed write is ignored: these lines are not the answer.
func printLines(s streams, lead string, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(s.err, report.Wrap(lead+line, terminal.Width(s.err), "  "))
	}
}

// readableRows are those that a person goes through; a view with more sums them
// up.
// --all, and a number of rows that was asked for, turn this off.
const readableRows = 1000

// printText writes a table for people, through a pager if it may be long.
// The width is read first, because a pager is written to through a pipe.
func (o *output) printText(s streams, t report.Printable) error {
	width := terminal.Width(s.out)
	if !o.all && !o.whole {
		t.SumUp(readableRows)
	}
	return o.paged(s.out, func(w io.Writer) error {
		if o.head != "" {
			fmt.Fprintf(w, "%s\n\n", o.head)
		}
		return t.WriteText(w, width)
	})
}

// paged lets write print through a pager if the command may print much.
// write runs once, with a pager or without.
func (o *output) paged(out io.Writer, write func(io.Writer) error) error {
	if o.noPager || !o.pages {
		return write(out)
	}
	return terminal.Paged(out, write)
}

// showCommand has a command for each row of the views, and one for the sections of ncu.
func showCommand() command {
	c := command{
		use: "show", short: "Show what a report holds, without the vendor's tools",
		long: `Show what a report of Nsight Systems or Nsight Compute holds. The files are read
natively: no GPU, no driver and, except for .nsys-rep files, no vendor tool.

PATH is an SQLite export, a .nsys-rep, a .ncu-rep (each also compressed, .gz or
.zst), CSV of 'ncu --csv' or of 'nsys stats --format csv', a run folder or a
packed run, or a run of the store ./runs by its id or as "latest".`,
		example: `  deepprof show kernels report.sqlite --top 10
  deepprof show kernels report.sqlite --region 'decode/' --by launch-config
  deepprof show regions report.sqlite
  deepprof show metrics report.ncu-rep --metric '^dram__' --csv
  deepprof show info report.ncu-rep`,
	}
	for _, v := range show.Views() {
		c.sub = append(c.sub, viewCommand(v))
	}
	c.sub = append(c.sub, showSectionsCommand())
	return c
}

// viewCommand is the command of a row of the table of views.
func viewCommand(v show.View) command {
	c := command{use: v.Name + " PATH", short: v.Short, long: v.Long, example: v.Example, args: exactly("PATH")}
	if v.Many {
		c.use, c.args = v.Name+" PATH...", atLeast("PATH")
	}
	c.setup = func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
		var o output
		o.register(fs)
		r := show.NewRequest()
		r.Analyze = analyzeFiles
		for _, p := range v.Params {
			registerParam(fs, p, r)
		}
		if fs.Lookup("raw") == nil { // that of show metrics prints ncu's own page
			fs.BoolVar(&o.raw, "raw", false, "with --csv: print texts that a spreadsheet takes for formulas as they are, without an apostrophe")
		}
		return func(ctx context.Context, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			fs.Visit(func(f *pflag.Flag) { r.Given[f.Name] = true })
			r.Paths, r.Data, r.Grouped, r.All, o.whole = args, o.json || o.csv || o.md, !o.json && !o.csv, o.all, r.Top > 0
			a, err := v.Answer(ctx, r)
			if err != nil {
				return err
			}
			defer a.Close()
			return o.answer(s, a)
		}
	}
	return c
}

// registerParam makes a flag of a parameter.
// The default of the flag is what r holds now. A type without a flag panics when the tree is
// built, so every test that runs a command finds it.
func registerParam(fs *pflag.FlagSet, p show.Param, r *show.Request) {
	switch v := p.Value(r).(type) {
	case *string:
		fs.StringVar(v, p.Name, *v, p.Help)
	case *bool:
		fs.BoolVar(v, p.Name, *v, p.Help)
	case *int:
		fs.IntVar(v, p.Name, *v, p.Help)
	case *int64:
		fs.Int64Var(v, p.Name, *v, p.Help)
	case *[]string:
		fs.StringArrayVar(v, p.Name, *v, p.Help) // a comma belongs to the value: files of one capture are joined by it
	case *[]int:
		fs.IntSliceVar(v, p.Name, *v, p.Help)
	default:
		panic(fmt.Sprintf("parameter %s has a type that no flag has", p.Name))
	}
}

// answer prints an answer and what there is to say after it.
// The error of After, such as a damaged input, comes after everything was printed.
// The caller closes a.
func (o *output) answer(s streams, a *show.Answer) error {
	var err error
	lead := "note: "
	switch {
	case a.Page != nil:
		lead = "warning: " // a page has no rows that a note could be about
		err = o.paged(s.out, a.Page)
	default:
		o.head = a.Head
		err = o.print(s, a)
	}
	if err != nil {
		return err
	}
	notes, err := a.After()
	printLines(s, lead, notes)
	return err
}

// showSectionsCommand lists what the installed ncu can count. It reads no report.
func showSectionsCommand() command {
	return command{
		use: "sections", short: "Sets and sections of the installed ncu, with the passes that each costs", example: "  deepprof show sections\n  deepprof show sections --ncu /opt/nvidia/nsight-compute/2025.3.1 --json",
		args: exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			path := f.String("ncu", "auto", "the ncu to ask: a program or its `FOLDER`")
			var o output
			o.registerPager(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, _ []string) error {
				name, costs, err := pick.InstalledSections(ctx, *path)
				if err != nil {
					return err
				}
				if *asJSON {
					return printJSON(s.out, costs)
				}
				return o.paged(s.out, func(w io.Writer) error { return report.WriteSections(w, name, costs) })
			}
		},
	}
}
