//go:build !linux

package main

import "os"

// peakBytes is not known here: the tools that are compared run on Linux.
func peakBytes(*os.ProcessState) int64 { return 0 }
