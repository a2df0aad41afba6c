package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// compareCommand has its flags and its work in the type comparing.
func compareCommand() command {
	return command{
		use: "compare [BASE NEW | --base RUN... --new RUN... | --self RUN... | --run N [OVERRIDE...] -- CMD_A --- CMD_B]", short: "Say what is faster or slower between two sides, how sure that is, and where it comes from",
		long: `Compare two sides. A side is a run, several runs, a packed run, files that nsys
and ncu wrote (joined by commas if they belong together), or a baseline that
'deepprof baseline set' named. Each process is one sample: a run that was made
with pipeline.repeats=N has N of them, and --base and --new may be repeated.

The answer first lists how the sides differ (GPU, software, inputs, ...), and which
conclusions that rules out. Then come every stage, region, layer, step, kernel,
operator, rank, MFU and MBU, and what clients of a server saw: old, new, the change
with its interval, and a verdict: faster, slower, no change (within --min-effect), or
cannot tell, with the number of repetitions that would tell. One process a side is
always "cannot tell", except for what has no noise: launches, kernels, bytes. The
parts of a waterfall add up to the change of the total.

--gate RULE limits a change: KIND:NAME.METRIC < LIMIT, where the limit is the change
from BASE, +3% relative or 0 absolute; FILE.yaml holds several under the key rules.
A rule passes if the whole interval keeps it and fails if the whole interval breaks
it. Exit codes: 0 every rule passes, 1 a rule fails, 2 it cannot tell, or the input
cannot be compared. Without a gate the exit code is 0 once both sides were compared.

--run N runs two commands N times each, in the order A B B A, and compares them.
--self measures how far runs of one program differ and suggests limits.`,
		example: `  deepprof compare base.deepprof.tar.zst new.deepprof.tar.zst
  deepprof compare --base r1 --base r2 --base r3 --new n1 --new n2 --new n3 --md
  deepprof compare main latest --gate 'stage:decode.time < +3%' --gate 'launches:decode <= 0'
  deepprof compare before.sqlite after.sqlite --html compare.html
  deepprof compare --run 5 -- ./old --- ./new
  deepprof compare --self r1 r2 r3 r4 r5`,
		args: cobra.ArbitraryArgs,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c := &comparing{flags: f, streams: s, asked: show.NewRequest()}
			c.register()
			return c.run
		},
	}
}

// comparing is a call of compare.
type comparing struct {
	flags   *pflag.FlagSet
	streams streams
	config  configFlags

	asked *show.Request // the sides, and what is compared
	// rules and files of rules, in the order in which they were given
	gates                 []string
	self, all             bool
	json, csv, md, github bool
	html, junit, gitlab   string
	repeats               int  // runs of each command for --run; 0 if it was not given
	ignore                bool // --ignore-blockers
}

// The flags of the sides and of what is compared are those of the view, which the
// server and the agents have too.
func (c *comparing) register() {
	f := c.flags
	for _, p := range show.CompareView().Params {
		registerParam(f, p, c.asked)
	}
	f.StringArrayVar(&c.gates, "gate", nil, "a `RULE` that limits a change, or a YAML file of rules; may be repeated")
	f.BoolVar(&c.self, "self", false, "measure the noise of several runs of one program and suggest limits")
	f.IntVar(&c.repeats, "run", 0, "run the commands after -- and --- `N` times each, in turns, and compare them")
	f.BoolVar(&c.ignore, "ignore-blockers", false, "with --run: run in spite of what 'deepprof doctor' calls a blocker")
	f.BoolVar(&c.all, "all", false, "print every row, not only those with the largest changes")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.csv, "csv", false, "print every value as CSV")
	f.BoolVar(&c.md, "md", false, "print Markdown that fits a comment on a pull request")
	f.StringVar(&c.html, "html", "", "also write a page to `FILE`")
	f.StringVar(&c.junit, "junit", "", "also write the rules as JUnit XML to `FILE`")
	f.StringVar(&c.gitlab, "gitlab", "", "also write rules that did not pass as a GitLab code quality report to `FILE`")
	f.BoolVar(&c.github, "github", false, "also print rules that did not pass as annotations of GitHub Actions")
	f.Uint64Var(&c.asked.Seed, "seed", 0, "the seed `N` of the bootstrap")
	f.StringVar(&c.asked.Store, "store", c.asked.Store, "the `DIR` that holds runs and baselines")
	c.config.register(f)
}

// run does what was asked for. Everything that is wrong ends with exit code 2
// before anything is written.
func (c *comparing) run(ctx context.Context, args []string) (err error) {
	if err := c.check(args); err != nil {
		return err
	}
	c.asked.Analyze = analyzeFiles
	if c.self {
		noise, err := c.asked.Noise(ctx, args)
		if err != nil {
			return cannotCompare(err)
		}
		return c.printNoise(noise)
	}
	var base, fresh []compare.Run
	var made *compare.Comparison
	if c.repeats > 0 {
		if base, fresh, err = c.measure(ctx, args); err == nil {
			made, err = c.asked.Compare(base, fresh)
		}
	} else {
		made, base, fresh, err = show.CompareSides(ctx, c.asked)
	}
	if err != nil {
		return cannotCompare(err)
	}
	if err := c.write(made, base, fresh); err != nil {
		return err
	}
	if err := c.print(made); err != nil {
		return err
	}
	return gateExit(made.Gate)
}

// cannotCompare makes what a reader could not read the caller's error, whatever
// its own exit code elsewhere.
// An interrupt, and a failure with another code than exitNothing, pass as they are.
func cannotCompare(err error) error {
	var f *failure
	if errors.Is(err, context.Canceled) || errors.As(err, &f) && f.code != exitNothing {
		return err
	}
	return usage(err)
}

// gateExit: the verdicts of the rules are on the screen already.
// nil stands for no gate. A gate that cannot tell ends with 2, as the help says.
func gateExit(g *compare.Gate) error {
	switch {
	case g == nil || g.Outcome == compare.Pass:
		return nil
	case g.Outcome == compare.Fail:
		return answerNo()
	}
	return &failure{code: exitUsage}
}

// check reads the flags and the rules into the request.
// It reads no run. Every error ends with exit code 2.
func (c *comparing) check(args []string) (err error) {
	if err := (&output{json: c.json, csv: c.csv, md: c.md}).check(); err != nil {
		return err
	}
	sides := len(c.asked.Base) > 0 || len(c.asked.New) > 0
	switch {
	case c.flags.Changed("run") && c.repeats < 1:
		return usagef("compare: --run %d: each command runs at least once; three times or more can tell anything", c.repeats)
	case c.self && (sides || c.repeats > 0 || len(c.gates) > 0):
		return usagef("compare: --self measures one side; it goes without --base, --new, --run and --gate")
	case c.repeats > 0 && sides:
		return usagef("compare: --run makes both sides; it goes without --base and --new")
	case c.self && len(args) < 1:
		return usagef("compare: --self needs runs of one program")
	case c.self || c.repeats > 0:
	case sides && (len(c.asked.Base) == 0 || len(c.asked.New) == 0):
		return usagef("compare: a side is empty; give both --base and --new")
	case sides && len(args) > 0:
		return usagef("compare: %q stands beside --base and --new; give it as one of them", args[0])
	case !sides && len(args) != 2:
		return usagef("compare needs two sides, and got %d: deepprof compare BASE NEW; give several runs of a side with --base and --new", len(args))
	case !sides:
		c.asked.Base, c.asked.New = args[:1], args[1:]
	}
	if _, err := c.asked.CompareOptions(); err != nil {
		return err
	}
	if c.asked.Rules, err = compare.LoadRules(c.gates); err != nil {
		return usagef("compare --gate: %w", err)
	}
	return nil
}

// write writes the files that were asked for, all or none.
// The page draws the first run of each side. A path that cannot be written is exit code 2.
func (c *comparing) write(made *compare.Comparison, base, fresh []compare.Run) error {
	var files []report.Output
	for _, f := range []struct {
		path string
		make func(io.Writer) error
	}{
		{c.html, func(w io.Writer) error { return html.WriteCompare(w, made, base[0].Result, fresh[0].Result) }},
		{c.junit, func(w io.Writer) error { return report.GateJUnit(w, made) }},
		{c.gitlab, func(w io.Writer) error { return report.GateGitLab(w, made) }},
	} {
		if f.path == "" {
			continue
		}
		var out bytes.Buffer
		if err := f.make(&out); err != nil {
			return err
		}
		files = append(files, report.Output{Path: f.path, Data: out.Bytes()})
	}
	if err := report.WriteOutputs(files); err != nil {
		return usage(err)
	}
	return nil
}

// Annotations of GitHub go to the error stream, so that data stays data.
// check has made sure that at most one format is set.
func (c *comparing) print(made *compare.Comparison) error {
	if c.github {
		if err := report.GateGitHub(c.streams.err, made); err != nil {
			return err
		}
	}
	switch out := c.streams.out; {
	case c.json:
		return printJSON(out, made)
	case c.csv:
		return report.CompareRowView.Table(made.Rows).WriteCSV(out)
	case c.md:
		return report.CompareMarkdown(out, made)
	default:
		return report.CompareText(out, made, report.CompareOptions{Width: terminal.Width(out), All: c.all})
	}
}

// printNoise prints what --self measured; notes go to the error stream.
func (c *comparing) printNoise(n *compare.SelfNoise) error {
	if c.json {
		return printJSON(c.streams.out, n)
	}
	t := report.CompareNoise(n)
	switch {
	case c.csv:
		return t.WriteCSV(c.streams.out)
	case c.md:
		return t.WriteMarkdown(c.streams.out)
	}
	err := t.WriteText(c.streams.out, terminal.Width(c.streams.out))
	printLines(c.streams, "note: ", t.Footnotes())
	return err
}

// baselineCommand keeps sides under names.
func baselineCommand() command {
	return command{
		use: "baseline", short: "Keep runs under a name, to compare with later",
		example: "  deepprof baseline set main latest\n  deepprof compare main latest\n  deepprof baseline list\n  deepprof baseline rm main",
		sub: []command{
			{
				use: "set NAME RUN...", short: "Keep the results of runs as a baseline; it outlives the runs", args: atLeast("NAME"),
				setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
					store := storeFlag(f)
					return func(ctx context.Context, args []string) error { return setBaseline(ctx, s, *store, args) }
				},
			},
			{
				use: "list", short: "List baselines", args: exactly(),
				setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
					v, r := show.BaselinesView(), show.NewRequest()
					f.StringVar(&r.Store, "store", r.Store, "the `DIR` that holds the runs")
					asJSON := f.Bool("json", false, "print JSON")
					return func(ctx context.Context, _ []string) error {
						a, err := v.Answer(ctx, r)
						if err != nil {
							return err
						}
						return showFormat(*asJSON).answer(s, a)
					}
				},
			},
			{
				use: "rm NAME", short: "Forget a baseline", args: exactly("NAME"),
				setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
					store := storeFlag(f)
					return func(_ context.Context, args []string) error {
						if err := compare.RemoveBaseline(*store, args[0]); err != nil {
							return usage(err)
						}
						return nil
					}
				},
			},
		},
	}
}

// args are the name and the runs. A baseline of that name is replaced.
func setBaseline(ctx context.Context, s streams, store string, args []string) error {
	if len(args) < 2 {
		return usagef("baseline set %s: RUN is missing", args[0])
	}
	r := show.NewRequest()
	r.Store, r.Analyze = store, analyzeFiles
	n, path, notes, err := r.SetBaseline(ctx, args[0], args[1:])
	if err != nil {
		return cannotCompare(err)
	}
	printLines(s, "note: ", notes)
	processes := fmt.Sprintf("%d processes", n)
	if n == 1 {
		processes = "1 process"
	}
	_, err = fmt.Fprintf(s.out, "%s: %s, in %s\n", args[0], processes, path)
	return err
}
