package tool

import "errors"

// ErrLinux refuses to capture elsewhere.
var ErrLinux = errors.New("the profilers capture on Linux only; reading, analyzing, comparing and exporting work here")
