// Command deepprof profiles programs on NVIDIA GPUs from timeline to counters.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	out, err := onScreen(os.Stdout), onScreen(os.Stderr)
	code := exitCode(run(ctx, os.Args[1:], out, err), err)
	if code != 0 && ctx.Err() != nil { // whatever the interrupt broke
		code = exitInterrupted
	}
	stop()
	os.Exit(code)
}
