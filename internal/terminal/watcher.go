package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// A Watcher shows progress on a terminal and passes Ctrl-C on.
type Watcher struct {
	w          io.Writer
	terminal   io.Writer // behind w, for sequences of our own
	live       bool      // w is a terminal on which a line can be rewritten
	width      int       // columns; 0 where not live
	shown      bool      // a progress line stands on the screen
	signals    chan os.Signal
	Interrupts chan os.Signal // for the run: the first asks it to finish, the second kills
	Stop       func()         // ends watching; to be called once
}

// StopSignals are the signals that ask a run to finish. A closed terminal and
// Ctrl-\ count as well, unless whoever started us had them ignored, as nohup
// does.
func StopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// repeatWindow is the time in which signals count as one key press: a terminal
// sends it to the whole group, and the group may pass it on.
const repeatWindow = 100 * time.Millisecond

// NewWatcher returns the context of the run: a first Ctrl-C does not end it,
// because the profiler is asked to finish and its report is read afterwards; a
// second one does.
func NewWatcher(ctx context.Context, w io.Writer) (*Watcher, context.Context) {
	early := ctx.Done() // by a signal that came before this watches for them
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &Watcher{w: w, signals: make(chan os.Signal, 4), Interrupts: make(chan os.Signal, 4)}
	// The line needs a terminal that can go back, not color.
	if f, ok := fileOf(w); ok && os.Getenv("TERM") != "dumb" {
		x.terminal = f
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			if width <= 0 {
				width = 80 // a terminal that does not tell
			}
			x.live, x.width = true, width
		}
	}
	done := make(chan struct{})
	x.Stop = func() {
		signal.Stop(x.signals)
		close(done)
		cancel()
	}
	signal.Notify(x.signals, StopSignals()...)
	// A reader of our messages that goes away must not end the run: the write
	// fails, and that is all. The channel is not read and never stopped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case <-early:
				if early = nil; first.IsZero() {
					first = time.Now()
					x.Interrupts <- os.Interrupt
				}
			case sig := <-x.signals:
				now := time.Now()
				if first.IsZero() {
					first = now
				}
				select {
				case x.Interrupts <- sig:
				default: // two are enough to kill
				}
				if now.Sub(first) > repeatWindow {
					cancel()
				}
			}
		}
	}()
	return x, ctx
}

// Progress rewrites one line, cut to the width; without a terminal it prints nothing.
// The Watcher has no lock: its callers take care that Progress, Say and Clear come one by one.
func (x *Watcher) Progress(line string) {
	if !x.live {
		return
	}
	if r := []rune(runs.Text(line)); len(r) >= x.width {
		line = string(r[:max(0, x.width-1)])
	} else {
		line = string(r)
	}
	io.WriteString(x.terminal, "\r\033[K")
	io.WriteString(x.w, line)
	x.shown = true
}

// Clear removes the progress line before anything else is printed.
func (x *Watcher) Clear() {
	if x.shown {
		io.WriteString(x.terminal, "\r\033[K")
		x.shown = false
	}
}

// Say prints a line that stays.
func (x *Watcher) Say(line string) {
	x.Clear()
	if x.live {
		line = report.Wrap(line, x.width, "  ")
	}
	fmt.Fprintln(x.w, line)
}
