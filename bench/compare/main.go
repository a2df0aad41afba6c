// Compare measures deepprof beside the vendor's tools and the plain reading of
// the same file, in rounds that take turns, and prints one Markdown table of
// ratios. What cannot be measured stays in the table with the reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// inputs are the programs and files of a run. One that is empty makes the rows
// that need it "not measured".
type inputs struct {
	deepprof, scan, choose, nsys, ncu, python string
	small, large, metrics                     string // timelines
	report, counters                          string // .ncu-rep files; counters fits the timelines
	store                                     string // a folder of 10,000 runs
	rounds                                    int
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var in inputs
	var nsight string
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&in.deepprof, "deepprof", "", "the deepprof binary")
	flags.StringVar(&in.scan, "scan", "", "the binary of bench/scan")
	flags.StringVar(&in.choose, "choose", "", "the binary of bench/choose")
	flags.StringVar(&in.counters, "counters", "", "an .ncu-rep of the program of the timelines")
	flags.StringVar(&in.metrics, "metrics", os.Getenv("DEEPPROF_BENCH_METRICS"), "a timeline with samples of GPU metrics")
	flags.StringVar(&in.small, "small", "", "a timeline of 3 million kernels")
	flags.StringVar(&in.large, "large", "", "a timeline of 10 million kernels")
	flags.StringVar(&in.report, "report", os.Getenv("DEEPPROF_BENCH_REPORT"), "an .ncu-rep")
	flags.StringVar(&in.store, "store", "", "a store of 10,000 runs")
	flags.StringVar(&in.python, "python", os.Getenv("DEEPPROF_BENCH_PYTHON"), "a python3 that can import ncu_report")
	flags.StringVar(&nsight, "nsight", os.Getenv("DEEPPROF_NSIGHT"), "a folder with trixie/nsys and trixie/ncu")
	flags.IntVar(&in.rounds, "rounds", 7, "rounds; commands of many seconds take part in 3 of them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	in.nsys, in.ncu = vendor(nsight, "nsys"), vendor(nsight, "ncu")
	fmt.Fprint(stdout, describeMachine())
	for _, f := range []struct{ name, path string }{{"small", in.small}, {"large", in.large}, {"report", in.report}, {"counters", in.counters}, {"metrics", in.metrics}} {
		fmt.Fprintf(stdout, "- %s: %s\n", f.name, describeFile(f.path))
	}
	results, err := measureAll(ctx, commands(in), in.rounds, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "- load average when it ended: %s\n\n", loadAverage())
	writeCommands(stdout, results)
	fmt.Fprintln(stdout)
	if missed := writeRatios(stdout, ratios, results); missed > 0 {
		return fmt.Errorf("%d goals are missed", missed)
	}
	return nil
}

// vendor finds a tool below the Nsight folder, or on the PATH without one.
func vendor(nsight, name string) string {
	if nsight == "" {
		return lookPath(name)
	}
	return lookPath(nsight + "/trixie/" + name)
}
