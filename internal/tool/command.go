package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
)

// A Command is a process to start, as a value. Nothing is expanded by a shell.
type Command struct {
	Path string   // the program; a name without a slash is looked up in PATH
	Args []string // without the program itself
	Dir  string   // "" is the working directory of this process

	// Env is the whole environment of the process. Nil means the environment
	// of this process; Environ builds one from another.
	Env []string

	Stdin          io.Reader // nil reads as empty
	Stdout, Stderr io.Writer // nil discards

	// MaxOutput bounds what Output keeps of each stream, in bytes; the rest is
	// read and dropped so that the process never blocks. 0 means 16 MiB.
	MaxOutput int
}

// An Exit says how a process ended.
type Exit struct {
	Code     int            // exit code; -1 where a signal ended the process
	Signal   syscall.Signal // 0 where the process exited by itself
	PID      int
	Started  time.Time
	Duration time.Duration

	// Truncated is set by Output where a stream was longer than MaxOutput.
	Truncated bool
}

// OK reports whether the process exited by itself with code 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == 0 }

// Shell gives the code a shell would show: 128+N for signal N.
func (e Exit) Shell() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// maxOutput is enough for any --help or query output, and a bound against a
// program that prints for ever.
const maxOutput = 16 << 20

// pipeGrace is how long pipes may stay open after the process group is gone;
// only a descendant that left the group can hold them.
const pipeGrace = 2 * time.Second

// Argv is the program and its arguments.
func (c Command) Argv() []string { return append([]string{c.Path}, c.Args...) }

// String gives a line to paste into a shell, without the environment.
func (c Command) String() string {
	return shellescape.QuoteCommand(c.Argv())
}

// Line gives a line to paste into a shell that also changes to Dir and sets
// those variables of Env that differ from base.
func (c Command) Line(base []string) string {
	var b strings.Builder
	if c.Dir != "" {
		fmt.Fprintf(&b, "cd %s && ", shellescape.Quote(c.Dir))
	}
	for _, kv := range changed(base, c.Env) {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&b, "%s=%s ", name, shellescape.Quote(value))
	}
	b.WriteString(c.String())
	return b.String()
}

func changed(base, env []string) []string {
	if env == nil {
		return nil
	}
	var out []string
	for _, kv := range env {
		if !slices.Contains(base, kv) {
			out = append(out, kv)
		}
	}
	slices.Sort(out)
	return out
}

// Environ returns base with each NAME=value of set added or replaced, and
// each bare NAME of set removed. Base is not changed; of duplicates in base
// the last counts, as it does for os/exec.
func Environ(base []string, set ...string) []string {
	drop := map[string]bool{}
	for _, kv := range set {
		name, _, _ := strings.Cut(kv, "=")
		drop[name] = true
	}
	at := map[string]int{}
	out := make([]string, 0, len(base)+len(set))
	add := func(kv string) {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			return
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	for _, kv := range base {
		if name, _, ok := strings.Cut(kv, "="); ok && !drop[name] {
			add(kv)
		}
	}
	for _, kv := range set {
		if strings.Contains(kv, "=") {
			add(kv)
		}
	}
	return out
}

// Run starts the process in a group of its own and waits for it. A non-zero
// exit code is not an error: the caller judges it. The error is set where the
// process could not be started or ctx ended first; then the whole group was
// killed. Whatever the process leaves behind in its group is killed as well.
func (c Command) Run(ctx context.Context) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{Code: -1}, fmt.Errorf("run %s: %w", filepath.Base(c.Path), err)
	}
	ctx, watch := limited(ctx)
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = pipeGrace

	exit := Exit{Code: -1, Started: time.Now()}
	if err := cmd.Start(); err != nil {
		return exit, fmt.Errorf("start %s: %w", c.Path, startError(err))
	}
	exit.PID = cmd.Process.Pid

	defer watch(exit.PID)()
	stop := context.AfterFunc(ctx, func() { killGroup(exit.PID) })
	stopped := false
	if settles {
		settle(exit.PID)
		stopped = !stop()
	}
	err := cmd.Wait()
	if !settles {
		stopped = !stop()
	}
	exit.Duration = time.Since(exit.Started)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		exit.Code = ws.ExitStatus()
		if ws.Signaled() {
			exit.Signal = ws.Signal()
		}
	}
	if stopped {
		return exit, fmt.Errorf("run %s: %w", filepath.Base(c.Path), context.Cause(ctx))
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		return exit, fmt.Errorf("run %s: %w", filepath.Base(c.Path), err)
	}
	return exit, nil
}

// startError drops the path that os/exec repeats in its own wording.
func startError(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Output runs c and returns what it printed. Its Stdout and Stderr, where
// set, receive the same bytes as well.
func Output(ctx context.Context, c Command) (stdout, stderr []byte, exit Exit, err error) {
	limit := c.MaxOutput
	if limit <= 0 {
		limit = maxOutput
	}
	out, errs := &head{limit: limit}, &head{limit: limit}
	c.Stdout, c.Stderr = tee(out, c.Stdout), tee(errs, c.Stderr)
	exit, err = c.Run(ctx)
	exit.Truncated = out.cut || errs.cut
	return out.buf.Bytes(), errs.buf.Bytes(), exit, err
}

func tee(keep io.Writer, also io.Writer) io.Writer {
	if also == nil {
		return keep
	}
	return io.MultiWriter(keep, also)
}

// head keeps the first limit bytes and swallows the rest.
type head struct {
	buf   bytes.Buffer
	limit int
	cut   bool
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.limit-h.buf.Len())
	h.buf.Write(p[:keep])
	h.cut = h.cut || keep < len(p)
	return len(p), nil
}

// A Runner runs a command and returns its output. Output is the real one;
// tests pass recordings.
type Runner func(ctx context.Context, c Command) (stdout, stderr []byte, exit Exit, err error)

// maxQuote bounds a line of foreign output that is quoted, in characters: a
// workload may print megabytes without an end of line.
const maxQuote = 300

// terminalSequence is a command to a terminal: colors, cursor moves, titles.
var terminalSequence = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")

// Quote makes one line of a program's output fit to be stored and shown: at most
// about 300 characters, valid UTF-8, and nothing that commands a terminal. Blanks
// and control characters in a row become one blank.
func Quote(text string) string {
	const look = 16 * maxQuote // what is dropped may be longer than what is kept
	cut := len(text) > look
	if cut {
		text = text[:look]
	}
	text = terminalSequence.ReplaceAllLiteralString(text, "")
	words := strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	text = strings.Join(words, " ")
	if utf8.RuneCountInString(text) > maxQuote {
		text, cut = string([]rune(text)[:maxQuote]), true
	}
	if cut {
		text += "..."
	}
	return text
}

// Text runs a program for what it prints; one that fails is an error.
func Text(ctx context.Context, path string, args ...string) ([]byte, error) {
	stdout, stderr, exit, err := Output(ctx, Command{Path: path, Args: args})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %s", exit, strings.TrimSpace(string(stderr)))
	}
	return stdout, err
}

// Match returns the paths below a folder that match a pattern of path.Match, in
// order. The pattern is a constant of the program and has no ".."; the folder is
// taken as it is, whatever characters its name has. A folder that cannot be read
// holds nothing.
func Match(dir, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(dir), pattern) // fails for a bad pattern only
	for i, name := range found {
		found[i] = filepath.Join(dir, name)
	}
	return found
}
