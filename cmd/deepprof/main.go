// Command deepprof profiles programs on NVIDIA GPUs from timeline to counters.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	code := exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr)
	if code != 0 && ctx.Err() != nil { // whatever the interrupt broke
		code = exitInterrupted
	}
	stop()
	os.Exit(code)
}
