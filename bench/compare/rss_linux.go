package main

import (
	"os"
	"syscall"
)

// peakBytes is the most memory that a process held.
func peakBytes(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * 1024
	}
	return 0
}
