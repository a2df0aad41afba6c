package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// runsCommand looks after the store; --store names another than ./runs.
func runsCommand() command {
	return command{
		use: "runs", short: "List, show, resume, clean and pack runs",
		example: `  deepprof runs list
  deepprof runs show latest
  deepprof runs clean --keep 10 --older-than 30d --dry-run
  deepprof runs pack latest --strip-cubins --redact`,
		sub: []command{runsListCommand(), runsShowCommand(), runsResumeCommand(), runsCleanCommand(), runsPackCommand(), runsStatsCommand()},
	}
}

// storeFlag names the folder that holds runs.
// The default is relative to the working directory.
func storeFlag(f *pflag.FlagSet) *string {
	return f.String("store", runs.DefaultRoot, "the `DIR` that holds the runs")
}

// hasStore refuses a store that was named and is not there; the default one may
// be still to come.
func hasStore(f *pflag.FlagSet, dir string) error {
	if !f.Changed("store") {
		return nil
	}
	switch st, err := os.Stat(dir); {
	case err != nil:
		return usagef("--store: %w", err)
	case !st.IsDir():
		return usagef("--store: %s is no folder", dir)
	}
	return nil
}

// printAs prints v as JSON, or as write does for people.
func printAs(w io.Writer, asJSON bool, v any, write func(io.Writer) error) error {
	if asJSON {
		return printJSON(w, v)
	}
	return write(w)
}

// printJSON prints v indented, with a line feed at the end.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// runsListCommand is the view of runs, with the filters that the server has too.
func runsListCommand() command {
	v := show.RunsView()
	return command{
		use: "list", short: "List the runs of a store, newest first", example: v.Example,
		args: exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			r := show.NewRequest()
			f.StringVar(&r.Store, "store", r.Store, "the `DIR` that holds the runs")
			for _, p := range v.Params {
				registerParam(f, p, r)
			}
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, _ []string) error {
				if err := hasStore(f, r.Store); err != nil {
					return err
				}
				a, err := v.Answer(ctx, r)
				if err != nil {
					return err
				}
				return showFormat(*asJSON).answer(s, a)
			}
		},
	}
}

// runsShowCommand reads the manifest and the sizes of files; --verify reads every file
// and ends with exitNo if one differs.
func runsShowCommand() command {
	return command{
		use: "show RUN", short: "Show one run: pipeline steps, outcomes, files", example: "  deepprof runs show latest\n  deepprof runs show 20260102T030405Z --verify",
		args: exactly("RUN"),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			verify := f.Bool("verify", false, "compare every file with its recorded hash; exit code 1 if one differs")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, args []string) error {
				d, err := show.DescribeRun(ctx, *store, args[0], *verify)
				if err != nil {
					return err
				}
				if d.Verified != "" {
					fmt.Fprintln(s.err, d.Verified)
				}
				err = printAs(s.out, *asJSON, d.RunDetail, func(w io.Writer) error { return report.WriteRun(w, d.RunDetail) })
				if err == nil && d.Differs {
					return answerNo()
				}
				return err
			}
		},
	}
}

// runsResumeCommand goes on by the plan that the run stored. A packed run and a played
// recording cannot go on.
func runsResumeCommand() command {
	return command{
		use: "resume RUN", short: "Go on with a run after its last good step", example: "  deepprof runs resume latest",
		args: exactly("RUN"),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			ignore := f.Bool("ignore-blockers", false, "run in spite of what 'deepprof doctor' calls a blocker")
			return func(ctx context.Context, args []string) error {
				dir, p, warnings, err := runs.FindResumable(*store, args[0])
				if err != nil {
					return usage(err)
				}
				printWarnings(s, warnings)
				sorted, err := (&configFlags{}).categories()
				if err != nil {
					return err
				}
				w, ctx := terminal.NewWatcher(ctx, s.err)
				defer w.Stop()
				o := runOptions(w)
				o.Categories, o.Plan, o.IgnoreBlockers = sorted, p, *ignore
				summary, err := pipeline.Resume(ctx, dir, o)
				return ended(s, w, summary, err)
			}
		},
	}
}

// runsCleanCommand wants at least one condition, and never touches a run that is or may
// be running, nor what is no run.
func runsCleanCommand() command {
	return command{
		use: "clean", short: "Remove runs; never one that is running", example: "  deepprof runs clean --keep 10 --dry-run\n  deepprof runs clean --older-than 30d --larger-than 1GB",
		args: exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			keep := f.Int("keep", 0, "keep the newest `N`")
			older := f.String("older-than", "", "only runs older than `AGE`, such as 12h or 30d")
			larger := f.String("larger-than", "", "only runs larger than `SIZE`, such as 500MB or 2GB")
			dry := f.Bool("dry-run", false, "only print what would be removed")
			asJSON := f.Bool("json", false, "print JSON")
			return func(context.Context, []string) error {
				if err := hasStore(f, *store); err != nil {
					return err
				}
				plan := runs.CleanPlan{Root: *store}
				if f.Changed("keep") {
					plan.Keep = keep
				}
				var err error
				if plan.OlderThan, err = runs.ParseAge(*older); err != nil {
					return usagef("--older-than: %w", err)
				}
				if plan.LargerThan, err = runs.ParseSize(*larger); err != nil {
					return usagef("--larger-than: %w", err)
				}
				if err := plan.Check(); err != nil {
					return usage(err)
				}
				done, err := runs.Clean(plan, *dry)
				if err != nil {
					return err
				}
				report.WordCleaned(&done)
				return printAs(s.out, *asJSON, done, func(w io.Writer) error { return report.WriteCleaned(w, &done) })
			}
		},
	}
}

// runsPackCommand packs one run, or with --older-than all old ones; with --remove a
// folder goes only after its pack was unpacked and checked.
func runsPackCommand() command {
	return command{
		use: "pack [RUN]", short: "Pack a run into one file that every command opens, or all old runs", example: "  deepprof runs pack latest -o run.deepprof.tar.zst\n  deepprof runs pack latest --strip-cubins --redact\n  deepprof runs pack --older-than 7d --remove",
		args: atMostOne,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			out := f.StringP("output", "o", "", "the `FILE` to write; by default, or if empty, the name of the run in the working directory. With --older-than: the folder of the packs, by default the store")
			older := f.String("older-than", "", "pack every run of the store older than `AGE`, such as 12h or 7d")
			remove := f.Bool("remove", false, "with --older-than: delete the folder of each run after its pack was unpacked and checked; .nsys-rep files are packed too")
			takesEmpty(f, "output")
			strip := f.Bool("strip-cubins", false, "drop the binaries embedded in .ncu-rep files; ncu still opens them")
			redact := f.Bool("redact", false, "remove paths, host and user names and the environment")
			reports := f.Bool("with-nsys-rep", false, "pack .nsys-rep files too and print what is in them: the environment in them cannot be removed")
			force := f.Bool("force", false, "overwrite FILE")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, args []string) error {
				options := runs.PackOptions{StripCubins: *strip, Redact: *redact, NsysReports: *reports, Overwrite: *force}
				switch {
				case len(args) == 0 && *older == "":
					return usagef("runs pack: RUN is missing; or pack all old runs with --older-than")
				case len(args) > 0 && (*older != "" || *remove):
					return usagef("runs pack %s: --older-than and --remove are for all old runs of the store; name no run", args[0])
				case *older != "":
					if err := hasStore(f, *store); err != nil {
						return err
					}
					return packOld(ctx, s, *store, *older, *out, *remove, *asJSON, options)
				}
				return packOne(ctx, s, *store, args[0], *out, *asJSON, options)
			}
		},
	}
}

// packOne packs one run; out is "" for its name in the working directory.
func packOne(ctx context.Context, s streams, store, ref, out string, asJSON bool, o runs.PackOptions) error {
	r, err := runs.Find(ctx, store, ref)
	if err != nil {
		return usage(err)
	}
	defer r.Close()
	packed, err := runs.Pack(ctx, r, cmp.Or(out, r.ID()+runs.PackExt), o)
	if errors.Is(err, runs.ErrExists) || errors.Is(err, os.ErrExist) {
		return usagef("runs pack: %w; --force overwrites it", err)
	}
	if _, ok := errors.AsType[*runs.UnwritableError](err); ok {
		return usagef("%w; choose another place with -o FILE", err)
	}
	if err != nil {
		return err
	}
	report.WordPacked(&packed)
	return printAs(s.out, asJSON, packed, func(w io.Writer) error { return report.WritePacked(w, &packed) })
}

// packOld packs the old runs of a store. With remove nothing but what --redact
// takes out may be lost, so that .nsys-rep files are packed.
// age counts from the creation of a run, not from its end.
// into is the folder of the packs; "" is the store.
func packOld(ctx context.Context, s streams, store, older, into string, remove, asJSON bool, o runs.PackOptions) error {
	age, err := runs.ParseAge(older)
	if err != nil {
		return usagef("--older-than: %w", err)
	}
	into = cmp.Or(into, store)
	o.NsysReports = o.NsysReports || remove && !o.Redact
	done, err := runs.PackOld(ctx, runs.CleanPlan{Root: store, OlderThan: age}, into, remove, o)
	if err != nil {
		return err
	}
	report.WordPackedRuns(&done)
	return printAs(s.out, asJSON, done, func(w io.Writer) error { return report.WritePackedRuns(w, &done) })
}

// runsStatsCommand counts over all runs of a store; recordings that were played are left out.
func runsStatsCommand() command {
	return command{
		use: "stats", short: "Success rates and durations by pipeline step over all runs of a store", example: "  deepprof runs stats\n  deepprof runs stats --json",
		args: exactly(),
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			store := storeFlag(f)
			asJSON := f.Bool("json", false, "print JSON")
			return func(context.Context, []string) error {
				if err := hasStore(f, *store); err != nil {
					return err
				}
				stats, err := runs.StoreStats(*store)
				if err != nil {
					return err
				}
				if *asJSON {
					report.WordWarnings(stats.Warnings)
					return printJSON(s.out, stats)
				}
				return showFormat(false).print(s, report.StatsTable(&stats))
			}
		},
	}
}
