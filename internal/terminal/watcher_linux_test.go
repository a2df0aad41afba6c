package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens the two ends of a pseudo-terminal.
func terminal(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return control, tty
}

// The progress line needs a terminal, not color, and never lets a program
// command the terminal.
func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		want          string
	}{
		{"", "xterm", "\r\x1b[Kncu: \uFFFD[31mred"},
		{"1", "xterm", "\r\x1b[Kncu: \uFFFD[31mred"},
		{"", "dumb", ""},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		control, tty := terminal(t)
		w, _ := NewWatcher(context.Background(), tty)
		w.Progress("ncu: \x1b[31mred")
		w.Stop()
		if w.live != (c.want != "") {
			t.Errorf("NO_COLOR=%s TERM=%s: live %v", c.noColor, c.term, w.live)
		}
		if c.want == "" {
			continue
		}
		buf := make([]byte, 200)
		n, err := control.Read(buf)
		if err != nil || string(buf[:n]) != c.want {
			t.Errorf("NO_COLOR=%s TERM=%s: %q, %v; want %q", c.noColor, c.term, buf[:n], err, c.want)
		}
	}
}

// A terminal that was never told its size has rows for a screen.
func TestTerminalWithoutRows(t *testing.T) {
	control, tty := terminal(t)
	for _, c := range []struct {
		columns, rows uint16
		width, height int
	}{{0, 0, 0, screenRows}, {100, 0, 100, screenRows}, {60, 10, 60, 10}} {
		if err := unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: c.rows, Col: c.columns}); err != nil {
			t.Fatal(err)
		}
		if width, height := Size(tty); width != c.width || height != c.height {
			t.Errorf("%d x %d: got %d x %d", c.columns, c.rows, width, height)
		}
	}
}

// A signal that came before the watcher is an interrupt all the same, and only one.
func TestEarlySignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, run := NewWatcher(ctx, io.Discard)
	defer w.Stop()
	<-w.Interrupts
	if run.Err() != nil || len(w.Interrupts) > 0 {
		t.Errorf("%v, %d more", run.Err(), len(w.Interrupts))
	}
}
