package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/deepprof/deepprof/internal/tool"
)

// paged lets write print through the pager of the user, as git does: $PAGER, or
// less, which leaves at once where everything fits on the screen. Output that is
// no terminal is not paged.
func paged(out io.Writer, write func(io.Writer) error) error {
	command := pagerCommand(os.LookupEnv, exec.LookPath)
	if _, height := terminalSize(out); height == 0 || command == "" {
		return write(out)
	}
	pager := exec.Command("sh", "-c", command)
	terminal, _ := fileOf(out)
	pager.Stdout, pager.Stderr = terminal, os.Stderr
	pager.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		pager.Env = tool.Environ(pager.Env, "LESS=FRX")
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the pager %s: %w", command, err)
	}
	if err := pager.Start(); err != nil {
		return write(out)
	}
	err = write(harmlessWriter{in})
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the reader has left
	}
	in.Close()
	if left := pager.Wait(); err == nil && left != nil {
		err = fmt.Errorf("pager %s: %w; --no-pager prints without it", command, left)
	}
	return err
}

// pagerCommand is what a shell runs; "" pages nothing.
func pagerCommand(env func(string) (string, bool), find func(string) (string, error)) string {
	if pager, set := env("PAGER"); set {
		if pager == "cat" {
			return ""
		}
		return pager
	}
	if _, err := find("less"); err != nil {
		return ""
	}
	return "less"
}
