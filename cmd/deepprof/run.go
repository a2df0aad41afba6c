package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/terminal"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// runCommand checks the command line and the configuration, then makes one call:
// pipeline.Run or pipeline.DryRun. ended prints what came of it.
func runCommand() command {
	var c configFlags
	return command{
		use: "run [OVERRIDE...] [-- COMMAND [ARG...]]", short: "Profile a command, or a model, from timeline to counters to a report",
		long: `Run a workload without a profiler, then under Nsight Systems for the timeline;
choose the launches that matter, count them under Nsight Compute, and write a
report that says where the time goes and what limits each kernel.

Without a command the workload is a model that ships as configuration: workload=llm
(the default), vlm or resnet, with model=NAME. 'deepprof config groups' lists them.

Each capture is judged by what it produced, not by its exit code. The run
directory holds everything, with the exact commands, logs, environment and hashes.

After the timeline, the findings that need no counters are on the screen and in
report.html; counters refine them. --first-answer stops there. Ctrl-C asks the
profiler to finish and keeps its report; a second Ctrl-C kills everything that was
started.`,
		example: `  deepprof run
  deepprof run model=llama_8b infer.max_new_tokens=64
  deepprof run -- python3 infer.py
  deepprof run --first-answer -- python3 infer.py
  deepprof run pipeline.ncu.enable=false -- ./train --steps 10
  deepprof run pipeline.ranks=[0,7] -- torchrun --nproc-per-node 8 train.py
  deepprof run --print-sbatch -- srun -N 2 -n 16 python3 infer.py > job.sh
  deepprof run pipeline/ncu=memory pipeline.ncu.ncu_cli.nvtx_include=[decode] -- python3 infer.py`,
		complete: c.complete,
		setup: func(f *pflag.FlagSet, s streams) func(context.Context, []string) error {
			c.register(f)
			ignore := f.Bool("ignore-blockers", false, "run in spite of what 'deepprof doctor' calls a blocker")
			first := f.Bool("first-answer", false, "stop after the timeline, without counters: the same as pipeline.ncu.enable=false")
			dry := f.Bool("dry-run", false, "print the commands and start nothing")
			batch := f.Bool("print-sbatch", false, "print a batch script of Slurm for the same command, which begins with srun, and start nothing")
			record := f.String("record", "", "also make a recording in `DIR` that can be played without a GPU: the packed run, and what each profiler printed")
			return func(ctx context.Context, args []string) error {
				if at := slices.IndexFunc(args, func(arg string) bool { return !strings.ContainsAny(arg, "=~") }); f.ArgsLenAtDash() < 0 && at >= 0 {
					line := slices.Insert(slices.Clone(args), at, "--")
					return usagef("run: %q is no override; a command goes after --: deepprof run %s", args[at], shellescape.QuoteCommand(line))
				}
				if f.ArgsLenAtDash() == len(args) {
					return usagef("run: no command stands after --; leave -- out to profile a workload that ships with deepprof")
				}
				if *batch {
					return printSbatch(s, args[max(0, f.ArgsLenAtDash()):])
				}
				overrides := withCommand(f, args)
				if *first {
					overrides = append(overrides, "pipeline.ncu.enable=false")
				}
				p, err := c.plan(s, overrides)
				if err != nil {
					return err
				}
				printDoubts(s, plan.Doubts(p.Root, p.Plan))
				sorted, err := c.categories()
				if err != nil {
					return err
				}
				w, ctx := terminal.NewWatcher(ctx, s.err)
				defer w.Stop()
				o := planOptions(p, w)
				o.Categories, o.IgnoreBlockers, o.Recording = sorted, *ignore, *record
				if *dry {
					lines, err := pipeline.DryRun(ctx, o)
					for _, l := range lines {
						fmt.Fprintln(s.out, l)
					}
					return ended(s, w, nil, err)
				}
				if runtime.GOOS != "linux" {
					return &failure{exitNothing, fmt.Errorf("run: %w", tool.ErrLinux)}
				}
				summary, err := pipeline.Run(ctx, o)
				return ended(s, w, summary, err)
			}
		},
	}
}

// printSbatch writes the batch script for the command line without the flag that
// asked for it.
// It takes os.Args as they are, so that all flags and overrides of this call reach the job.
func printSbatch(s streams, command []string) error {
	argv := slices.DeleteFunc(slices.Clone(os.Args), func(arg string) bool { return arg == "--print-sbatch" })
	script, ok := workload.Sbatch(argv, command)
	if !ok {
		return usagef("run: --print-sbatch needs a command that begins with srun: deepprof run --print-sbatch -- srun -N 2 -n 16 ./program")
	}
	_, err := fmt.Fprint(s.out, script)
	return err
}

// withCommand turns what stands after "--" into the overrides that make it the
// workload.
// The command comes first, so that overrides of the user win over it.
func withCommand(f *pflag.FlagSet, args []string) []string {
	at := f.ArgsLenAtDash()
	if at < 0 || at == len(args) {
		return args
	}
	return append(plan.CommandOverrides(args[at:]), args[:at]...)
}

// ended prints what came of a run and chooses the exit code.
// summary is nil if no run was made. Steps, the summary of the result and the last
// line share one screen.
// An error that a run with a summary ended with comes back as it is; else the error is a failure
// with the exit code.
func ended(s streams, w *terminal.Watcher, summary *pipeline.Summary, err error) error {
	w.Clear()
	var blocked *doctor.BlockedError
	if errors.As(err, &blocked) {
		for _, row := range blocked.Report.Rows {
			if row.Status != doctor.Blocker {
				continue
			}
			for _, line := range report.CheckLines(row) {
				fmt.Fprintln(s.err, line)
			}
		}
		if blocked.Report.OfWorkload() {
			return &failure{exitWorkload, errors.New("the workload cannot run as it is configured; nothing was started")}
		}
		remedy := "fix it, or turn the pipeline step off"
		if !blocked.Report.OfTools() {
			remedy += ", or use --ignore-blockers"
		}
		return &failure{exitNothing, fmt.Errorf("%w; %s", err, remedy)}
	}
	if summary == nil {
		var missing *doctor.MissingError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &missing):
			return &failure{exitNothing, err}
		case errors.Is(err, context.Canceled):
			return &failure{exitInterrupted, errors.New("interrupted before anything was captured")}
		case runs.IsDiskFull(err):
			return &failure{exitNothing, err}
		}
		return usage(err)
	}
	if err := terminal.PrintRun(s.out, summary, err); err != nil {
		return err
	}
	return verdict(summary)
}

// verdict is the exit code of a run: the first step that went wrong decides.
// Only steps that failed count. nil if none did.
func verdict(summary *pipeline.Summary) error {
	if summary.Status == runs.StatusInterrupted {
		return &failure{code: exitInterrupted}
	}
	for _, st := range summary.Steps {
		switch {
		case st.State != runs.StateFailed:
		case st.Outcome.Kind == capture.WorkloadFailed, st.Outcome.Kind == capture.WorkloadCrashed, st.Outcome.Kind == capture.WorkloadMissing,
			st.Outcome.Usable && st.Outcome.CutShort():
			return &failure{code: exitWorkload}
		default:
			return &failure{code: exitNothing}
		}
	}
	return nil
}

// runOptions are what every run gets from its watcher and from this process.
// Plan and Dir are left to the caller.
func runOptions(w *terminal.Watcher) pipeline.Options {
	return pipeline.Options{Version: readVersion().String(), Argv: os.Args, Interrupts: w.Interrupts, Progress: w.Progress, Say: w.Say}
}
