package capture

import (
	"os"
	"syscall"

	"github.com/deepprof/deepprof/internal/tool"
)

// These are asked by captures alone, which package tool refuses to start here.

// Captures are made on Linux; these let the rest of the program build here.
func mayExecute(string) error { return tool.ErrLinux }

func lockFile(*os.File) error { return tool.ErrLinux }

func raise(syscall.Signal) {}

// signalName is the name of a signal.
func signalName(s syscall.Signal) string { return s.String() }
