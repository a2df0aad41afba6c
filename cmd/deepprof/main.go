// Command deepprof profiles programs on NVIDIA GPUs from timeline to counters.
//
// Its lines are the flags and the help of some forty commands, and the terminal:
// progress, paging, exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
)

func main() {
	collectOften()
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	out, err := onScreen(os.Stdout), onScreen(os.Stderr)
	code := exitCode(run(ctx, os.Args[1:], out, err), err)
	if code != 0 && ctx.Err() != nil { // whatever the interrupt broke
		code = exitInterrupted
	}
	stop()
	os.Exit(code)
}

// ballast makes the collector wait until at least a quarter of it is garbage. It is never
// touched, so that it takes no memory.
var ballast []byte

// collectOften keeps the memory of a large timeline close to what is in use. Its
// events hold no pointers, so that collecting more often costs next to nothing. Where
// little is in use, as while rows are written, the ballast keeps it from collecting all
// the time.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, 64<<20)
		debug.SetGCPercent(25)
	}
}
