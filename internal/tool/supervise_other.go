//go:build !linux

package tool

import "context"

// Supervise needs Linux, as the profilers do.
func Supervise(context.Context, Job) (Ended, error) {
	return Ended{Exit: Exit{Code: -1}}, ErrLinux
}

// ClearStuckSessions does nothing here: Nsight Systems captures on Linux.
func ClearStuckSessions() ([]string, error) { return nil, nil }

// StuckSessions finds nothing here.
func StuckSessions(string) []string { return nil }

// Connections cannot be told here.
func Connections(int) (int, bool) { return 0, false }

// PortHolder finds nobody here.
func PortHolder(int) (Process, bool) { return Process{}, false }
