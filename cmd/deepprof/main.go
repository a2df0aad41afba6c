// Command deepprof profiles programs on NVIDIA GPUs from timeline to counters.
//
// Its lines are the flags, the help and the output formats of some forty commands, and
// their exit codes; what a command does is in the package that it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/terminal"
)

// main turns the error of a command into an exit code; everything else is in run.
func main() {
	ballast := collectOften()
	ctx, stop := signal.NotifyContext(context.Background(), terminal.StopSignals()...)
	out, err := terminal.On(os.Stdout), terminal.On(os.Stderr)
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
// so that it takes no memory. nil if the user sets GOGC.
func collectOften() []byte {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(10)
	return make([]byte, 96<<20)
}

// Exit codes, the same for every command.
const (
	exitNo       = 1 // the answer is no: a regression, a blocker, a difference
	exitUsage    = 2 // usage or configuration
	exitWorkload = 3 // the workload failed
	exitNothing  = 4 // nothing usable was captured, or could be read
	// as a shell reports Ctrl-C; also for the other signals that stop a run
	exitInterrupted = 130
)

// A failure is an error that ends the program with a code of its own. Its
// error is nil if everything there is to say has been printed already.
type failure struct {
	// an exit code, never 0
	code int
	err  error
}

// Error is never printed if err is nil: see exitCode.
func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

// Unwrap may return nil: then there is nothing left to print.
func (f *failure) Unwrap() error { return f.err }

// usage marks an error as the caller's: wrong arguments or configuration.
func usage(err error) error { return &failure{exitUsage, err} }

// usagef is usage for an error made on the spot.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// answerNo ends a command whose answer is no and is already on the screen.
func answerNo() error { return &failure{code: exitNo} }

// exitCode prints the error of a command, if there is one to print, and gives
// the code to leave with.
// Errors without a code of their own: a missing file or right is the caller's, anything
// else counts as nothing readable. A closed pipe is no error.
func exitCode(err error, stderr io.Writer) int {
	var f *failure
	var wrong *show.UsageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EPIPE):
		return 0 // the reader, head for example, has seen enough
	case errors.As(err, &f):
		if f.err != nil {
			fmt.Fprintf(stderr, "deepprof: %v\n", f.err)
		}
		return f.code
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "deepprof: %v\n", err)
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "deepprof: interrupted")
		return exitInterrupted
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		fmt.Fprintf(stderr, "deepprof: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "deepprof: %v\n", err)
	return exitNothing
}
