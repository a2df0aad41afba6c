//go:build unix

package capture

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mayExecute asks whether this user may execute a file.
func mayExecute(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// lockFile locks a file until it is closed, or fails at once.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// raise sends this process a signal.
func raise(s syscall.Signal) { _ = unix.Kill(os.Getpid(), s) }

// signalName is the name of a signal, SIGKILL for example.
func signalName(s syscall.Signal) string { return unix.SignalName(s) }
