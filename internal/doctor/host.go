package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Host is the machine as the checks see it. The zero value of each field
// means the real thing; tests put recordings in place.
// Its functions must be safe for concurrent use: gather calls Find and Run from several
// goroutines.
type Host struct {
	Root string      // prefix of /proc, /dev and so on
	Env  []string    // the environment a workload would get
	Run  tool.Runner // starts processes
	UID  *int        // the user

	Find     func(ctx context.Context, s tool.Spec) (tool.Tool, error)
	Free     func(path string) (bytes int64, err error)               // room for this user
	Writable func(dir string) error                                   // creates and removes a file
	Owner    func(path string) (uid int, mode os.FileMode, err error) // of the file itself
	Importer func(nsys tool.Tool) string
}

// withDefaults leaves what a test has set.
// No field is nil afterward.
func (h Host) withDefaults() Host {
	if h.Env == nil {
		h.Env = os.Environ()
	}
	if h.Run == nil {
		h.Run = tool.Output
	}
	if h.UID == nil {
		h.UID = new(os.Geteuid())
	}
	if h.Find == nil {
		h.Find = tool.Find
	}
	if h.Free == nil {
		h.Free = format.FreeSpace
	}
	if h.Writable == nil {
		h.Writable = capture.TryWrite
	}
	if h.Owner == nil {
		h.Owner = ownerOf
	}
	if h.Importer == nil {
		h.Importer = tool.Importer
	}
	return h
}

// Of a variable that is set twice the last counts, as for a started program.
func (h Host) getenv(name string) string {
	for i := len(h.Env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(h.Env[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// path is where a file of the system lies under Root.
// Folders that the user names (RunDir, TempDir, HOME) are not below Root.
func (h Host) path(p string) string {
	if h.Root == "" {
		return p
	}
	return filepath.Join(h.Root, p)
}

// read reads a file of the system under Root; p is its absolute path there.
func (h Host) read(p string) (string, error) {
	data, err := os.ReadFile(h.path(p))
	return string(data), err
}

// exists follows links. A path that may not be looked at counts as absent.
func (h Host) exists(p string) bool {
	_, err := os.Stat(h.path(p))
	return err == nil
}

// gpuNodes lists the device nodes of GPUs.
func (h Host) gpuNodes() []string { return tool.Match(h.path("/dev"), "nvidia[0-9]*") }

// A failedError is a program that ended badly, and what it printed, at most 300
// bytes of it.
// withoutGPU looks for words in what was printed.
type failedError struct {
	program string
	exit    tool.Exit
	printed string
}

// Error is one line where the program printed one: it ends up in a row.
func (e *failedError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.program, e.exit, e.printed)
}

// ask runs a program and returns its output, or why there is none.
// The output is trimmed. A program that ends badly is a failedError.
// LC_ALL=C keeps messages in English, since some of them are searched for words.
func (h Host) ask(ctx context.Context, path string, args ...string) (string, error) {
	out, errs, exit, err := h.Run(ctx, tool.Command{Path: path, Args: args, Env: tool.Environ(h.Env, "LC_ALL=C")})
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(out))
	if !exit.OK() {
		printed := strings.TrimSpace(text + " " + string(errs))
		if len(printed) > 300 {
			printed = printed[:300] + "..."
		}
		return "", &failedError{filepath.Base(path), exit, printed}
	}
	return text, nil
}
