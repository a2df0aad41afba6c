// Command deepprof profiles programs on NVIDIA GPUs from timeline to counters.
//
// Its lines are the flags and the help of some forty commands, and the terminal:
// progress, paging, exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
)

func main() {
	ballast := collectOften()
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	out, err := onScreen(os.Stdout), onScreen(os.Stderr)
	code := exitCode(run(ctx, os.Args[1:], out, err), err)
	if code != 0 && ctx.Err() != nil { // whatever the interrupt broke
		code = exitInterrupted
	}
	stop()
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// collectOften keeps the memory of a large timeline close to what is in use. Its
// events hold no pointers, so that collecting more often costs next to nothing. Where
// little is in use, as while rows are written, it returns a ballast to keep: the
// collector then waits until at least a tenth of that is garbage. It is never touched,
// so that it takes no memory. nil where the user sets GOGC.
func collectOften() []byte {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(10)
	return make([]byte, 96<<20)
}
