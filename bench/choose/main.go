// Choose takes the launches of a timeline that are worth counting, as deepprof run
// does between nsys and ncu, and prints how many groups there are. With -targets it
// prints the whole choice, so that two versions can be compared.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pick"
)

func main() {
	debug.SetGCPercent(10) // as deepprof does
	targets := flag.Bool("targets", false, "print the choice as targets.json has it")
	flag.Parse()
	if err := run(flag.Args(), *targets); err != nil {
		fmt.Fprintln(os.Stderr, "choose:", err)
		os.Exit(1)
	}
}

func run(args []string, whole bool) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments: want a timeline", len(args))
	}
	ctx := context.Background()
	f, err := nsys.Open(ctx, args[0], nsys.OpenOptions{})
	if err != nil {
		return err
	}
	defer f.Close()
	launches, err := pick.ReadLaunches(ctx, f)
	if err != nil {
		return err
	}
	targets, err := pick.Choose(launches, pick.Policy{MainRegions: true, Coverage: 0.9, Alike: 0.9})
	if err != nil {
		return err
	}
	if whole {
		return json.NewEncoder(os.Stdout).Encode(targets)
	}
	fmt.Printf("groups %d, launches %d\n", len(targets.Groups), targets.Totals.Launches)
	return nil
}
