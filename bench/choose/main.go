// Choose takes the launches of a timeline that are worth counting, as deepprof run
// does between nsys and ncu, and prints how many groups there are.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pick"
)

func main() {
	debug.SetGCPercent(10) // as deepprof does
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "choose:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments: want a timeline", len(args))
	}
	ctx := context.Background()
	f, err := nsys.Open(ctx, args[0], nsys.OpenOptions{})
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, nsys.Regions|nsys.Machine)
	if err != nil {
		return err
	}
	targets, err := pick.Choose(pick.Load(t.Attribute()), pick.Policy{MainRegions: true, Coverage: 0.9, Alike: 0.9})
	if err != nil {
		return err
	}
	fmt.Printf("groups %d, launches %d\n", len(targets.Groups), targets.Totals.Launches)
	return nil
}
