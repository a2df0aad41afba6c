// Package tool owns everything outside this program that a capture needs:
// it finds nsys, ncu, nvidia-smi and Python, knows their versions and what
// they can do, and is the one place that starts a process.
//
// 1,900 lines supervise processes so that nothing is left behind, on Linux and
// elsewhere; the rest finds tools and remembers what they can do.
package tool

import (
	"errors"
	"fmt"
	"strings"
)

// The tools this package knows how to find. Find refuses other names.
const (
	Nsys      = "nsys"
	Ncu       = "ncu"
	NvidiaSMI = "nvidia-smi"
	Python    = "python"
)

// A Tool is one installed program, resolved once.
type Tool struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"`           // absolute, as it should be started
	Real    string  `json:"real,omitempty"` // Path with symbolic links resolved
	Source  Source  `json:"source"`
	Version Version `json:"version"`

	// Bundled marks the nsys that Nsight Compute carries for its own use. It
	// can collect, but its importer often lacks libraries, so that it leaves a
	// .qdstrm and no report; Find takes it only where there is no other.
	Bundled bool `json:"bundled,omitempty"`

	// Problem says why the version is unknown: the program could not be read
	// or started, or printed something else. "" where all is well.
	Problem string `json:"problem,omitempty"`

	// Others are the remaining installations of the same tool, best first.
	Others []Tool `json:"others,omitempty"`
}

// A Source says why a tool was looked for where it was found.
type Source string

const (
	fromConfig  Source = "config"      // the path the configuration names
	fromEnv     Source = "environment" // DEEPPROF_NSYS and the like, VIRTUAL_ENV for Python
	fromPath    Source = "PATH"
	fromInstall Source = "install folder"
)

func (t Tool) String() string {
	if t.Version.IsZero() {
		return fmt.Sprintf("%s (%s, version unknown)", t.Name, t.Path)
	}
	return fmt.Sprintf("%s %s (%s)", t.Name, t.Version, t.Path)
}

// ErrNotFound is wrapped by the error of Find where the tool is not installed
// in any place that was looked at.
var ErrNotFound = errors.New("not found")

// A NotFoundError names the places that were looked at and what to do.
type NotFoundError struct {
	Name  string
	Tried []string // paths and folders, in order
	Hint  string
}

func (e *NotFoundError) Error() string {
	places := strings.Join(e.Tried, ", ")
	if n := len(e.Tried) - 4; n > 0 {
		places = fmt.Sprintf("%s and %d more places", strings.Join(e.Tried[:4], ", "), n)
	}
	text := fmt.Sprintf("find %s: not found in %s", e.Name, places)
	if len(e.Tried) == 0 {
		text = fmt.Sprintf("find %s: not found", e.Name)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *NotFoundError) Unwrap() error { return ErrNotFound }
