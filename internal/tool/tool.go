// Package tool owns everything outside this program that a capture needs:
// it finds nsys, ncu, nvidia-smi and Python, knows their versions and what
// they can do, and is the one place that starts a process.
//
// 2,100 lines start and supervise processes so that nothing is left behind, on Linux and
// elsewhere; the rest finds tools and remembers what they can do.
package tool

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
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

func (t Tool) String() string {
	if t.Version.IsZero() {
		return fmt.Sprintf("%s (%s, version unknown)", t.Name, t.Path)
	}
	return fmt.Sprintf("%s %s (%s)", t.Name, t.Version, t.Path)
}

// A NotFoundError says that a tool is not installed: it names the places that were looked at and what to do.
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

// A Version is a release of a tool. The zero Version means that it could not
// be told, and is older than every other.
type Version struct {
	Major int `json:"major"` // the year, for Nsight tools
	Minor int `json:"minor"`
	Patch int `json:"patch"`
	Build int `json:"build,omitempty"` // fourth number of nsys, "build" of ncu

	Edition string `json:"edition,omitempty"` // "public-release" of ncu, the commit of nsys; often ""
	Raw     string `json:"raw,omitempty"`     // the line it was read from
}

// V builds a version to compare with.
func V(major, minor, patch int) Version {
	return Version{Major: major, Minor: minor, Patch: patch}
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v.Major == 0 && v.Minor == 0 && v.Patch == 0 }

// Compare orders versions by number; editions do not count.
func (v Version) Compare(w Version) int {
	return cmp.Or(
		cmp.Compare(v.Major, w.Major),
		cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.Patch, w.Patch),
		cmp.Compare(v.Build, w.Build),
	)
}

// AtLeast reports whether v is of release major.minor or later. An unknown
// version is not.
func (v Version) AtLeast(major, minor int) bool {
	return !v.IsZero() && cmp.Or(cmp.Compare(v.Major, major), cmp.Compare(v.Minor, minor)) >= 0
}

// String gives the numbers, without the edition.
func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// versionLines maps each tool to the forms its version has taken. The first
// group is the number; a second, where there is one, the build; a third the
// edition.
var versionLines = map[string][]*regexp.Regexp{
	// NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0
	// NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0
	Nsys: {regexp.MustCompile(`(?m)^NVIDIA Nsight Systems version (\d+(?:\.\d+)+)()(?:-(\S+))?`)},
	// Version 2024.1.1.0 (build 33998838) (public-release)
	Ncu: {regexp.MustCompile(`(?m)^Version (\d+(?:\.\d+)+)(?: \(build (\d+)\))?(?: \(([^)]+)\))?`)},
	NvidiaSMI: {
		// NVIDIA-SMI version  : 580.95.05
		regexp.MustCompile(`(?m)^NVIDIA-SMI version\s*:\s*(\d+(?:\.\d+)+)`),
		// NVIDIA System Management Interface -- v470.82.01
		regexp.MustCompile(`(?m)^NVIDIA System Management Interface -- v(\d+(?:\.\d+)+)`),
	},
	// Python 3.12.3, Python 3.13.0rc2
	Python: {regexp.MustCompile(`(?m)^Python (\d+(?:\.\d+)+)()(\S*)`)},
}

// ParseVersion reads what the named tool prints for --version. It fails, with
// the first line that was printed, where the text is of another program.
func ParseVersion(name, output string) (Version, error) {
	for _, re := range versionLines[name] {
		m := re.FindStringSubmatch(output)
		if m == nil {
			continue
		}
		v, err := numbers(m[1])
		if err != nil {
			return Version{}, fmt.Errorf("parse version of %s: %w", name, err)
		}
		v.Raw = strings.TrimSpace(m[0])
		if len(m) > 2 && m[2] != "" {
			if v.Build, err = strconv.Atoi(m[2]); err != nil {
				return Version{}, fmt.Errorf("parse build of %s: %w", name, err)
			}
		}
		if len(m) > 3 {
			v.Edition = m[3]
		}
		return v, nil
	}
	return Version{}, fmt.Errorf("parse version of %s: no version in output %q", name, firstLine(output))
}

func numbers(dotted string) (Version, error) {
	var v Version
	fields := []*int{&v.Major, &v.Minor, &v.Patch, &v.Build}
	for i, part := range strings.Split(dotted, ".") {
		if i == len(fields) {
			break
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return Version{}, fmt.Errorf("number %q of %q: %w", part, dotted, err)
		}
		*fields[i] = n
	}
	return v, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > 120 {
		line = line[:120] + "..."
	}
	return line
}

// ErrLinux refuses to capture elsewhere.
var ErrLinux = errors.New("the profilers capture on Linux only; reading, analyzing, comparing and exporting work here")
