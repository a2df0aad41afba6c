package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Page lets write print through the pager of the user, as git does: $DEEPPROF_PAGER,
// $PAGER, or less, which leaves at once where everything fits on the screen. started
// is false where there is no pager, or it cannot be started, and nothing was written.
// How a pager that ran ends is no error: the reader left it.
func Page(terminal *os.File, write func(io.Writer) error) (started bool, err error) {
	command := pagerCommand(os.LookupEnv, exec.LookPath)
	if command == "" {
		return false, nil
	}
	pager := exec.Command("sh", "-c", command)
	pager.Stdout, pager.Stderr = terminal, os.Stderr
	pager.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		pager.Env = Environ(pager.Env, "LESS=FRX")
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return false, fmt.Errorf("start the pager %s: %w", command, err)
	}
	if err := pager.Start(); err != nil {
		return false, nil
	}
	err = write(in)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the reader has left
	}
	in.Close()
	var exit *exec.ExitError
	if left := pager.Wait(); err == nil && errors.As(left, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127) {
		err = fmt.Errorf("start the pager %s: %w; --no-pager prints without it", command, left) // the shell found no program
	}
	return true, err
}

// pagerCommand is what a shell runs; "" pages nothing.
func pagerCommand(env func(string) (string, bool), find func(string) (string, error)) string {
	for _, name := range []string{"DEEPPROF_PAGER", "PAGER"} {
		switch pager, set := env(name); {
		case pager == "cat":
			return ""
		case set:
			return pager
		}
	}
	if _, err := find("less"); err != nil {
		return ""
	}
	return "less"
}
