package capture

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// play stands in for a profiler: it prints what the recording holds at the
// recorded times divided by speed, writes the recorded files where args tell
// the profiler to write, and returns the exit code. It does not start the
// workload. SIGINT and SIGTERM end it as the recording says.
func play(r Recording, args []string, stdout, stderr io.Writer, speed float64) int {
	if speed <= 0 {
		speed = 1
	}
	keys := make(chan os.Signal, 2)
	signal.Notify(keys, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(keys)

	output := outputArg(r.Tool, args)
	place := strings.NewReplacer("{output}", output, "{dir}", filepath.Dir(output), "{tmp}", os.TempDir())
	began := time.Now()
	for _, e := range r.Events {
		due := time.Duration(float64(e.At) / speed)
		if code, stopped := wait(due-time.Since(began), keys, r); stopped {
			return code
		}
		to := stdout
		if e.Stderr {
			to = stderr
		}
		fmt.Fprintln(to, place.Replace(e.Text))
	}
	for _, f := range r.Files {
		if err := writePlayed(place.Replace(f.Name), f); err != nil {
			fmt.Fprintln(stderr, "play:", err)
			return 1
		}
	}
	if r.Hang {
		if code, stopped := wait(24*time.Hour, keys, r); stopped {
			return code
		}
	}
	if r.Signal != 0 {
		die(syscall.Signal(r.Signal))
	}
	return r.Exit
}

// PlayFile plays the recording in a file.
func PlayFile(path string, args []string, stdout, stderr io.Writer, speed float64) int {
	text, err := os.ReadFile(path)
	if err == nil {
		var r Recording
		if r, err = parseRecording(string(text)); err == nil {
			return play(r, args, stdout, stderr, speed)
		}
	}
	fmt.Fprintln(stderr, "play:", err)
	return 1
}

// wait lets time pass, unless a signal comes first.
func wait(d time.Duration, keys <-chan os.Signal, r Recording) (code int, stopped bool) {
	select {
	case s := <-keys:
		if r.OnInterrupt == 0 {
			die(s.(syscall.Signal))
		}
		return r.OnInterrupt, true
	case <-time.After(max(d, 0)):
		return 0, false
	}
}

// die ends this process by a signal, so that its parent sees one.
func die(s syscall.Signal) {
	signal.Reset(s)
	raise(s)
	time.Sleep(time.Second)
	os.Exit(128 + int(s))
}

// outputArg finds the path after -o, without the extension of the report.
func outputArg(t Tool, args []string) string {
	path := "report1"
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		switch {
		case joined && (name == "--output" || name == "-o" || name == "--export"):
			path = value
		case (a == "-o" || a == "--output" || a == "--export") && i+1 < len(args):
			path = args[i+1]
		}
	}
	path = strings.TrimSuffix(path, "."+string(t)+"-rep")
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// writePlayed writes the recorded beginning, and zeros up to the recorded size.
func writePlayed(path string, f RecordedFile) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(f.Head); err != nil {
		return err
	}
	return file.Truncate(f.Size)
}
