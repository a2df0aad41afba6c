package config

import (
	"io/fs"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Source is one place of the search path. The first source that has a file
// wins, so a user's folder before the embedded tree overlays it file by file.
type Source struct {
	Provider string // who added it: "main", "command-line", ...
	Path     string // shown in errors and origins: a folder, or a name such as "deepprof"
	FS       fs.FS  // its root holds the groups
	Check    bool   // the folder must exist: composing fails if it does not or is a file
}

// Options says what to compose.
type Options struct {
	// in the order in which they are searched, after Hydra's own tree
	Sources    []Source
	ConfigName string                           // the primary config, without ".yaml"; "" for none
	Overrides  []string                         // one per command-line argument
	Env        func(name string) (string, bool) // nil: no variable is set
	Now        time.Time                        // for ${now:...}; zero: the time of the call
	Cwd        string                           // absolute; where relative run directories start
	JobName    string                           // hydra.job.name unless configured
	OpenDir    func(path string) fs.FS          // opens a folder of hydra.searchpath; nil: os.DirFS
	// dotted key of a mapping to which Resolve adds hydra.job.env_set; "" for none
	JobEnv string
	// keys that files and overrides may still call by an older name
	Renames []Rename
}

// Rename is a key that has another name today. A key with a To is moved there
// with a warning, in files and in overrides; one without is left to be refused
// as unknown, with Advice as the next step.
type Rename struct {
	// dotted key, with all that lies below it; of a group override, group or group@package
	From   string
	To     string // dotted key of today; "" if nothing takes its place one to one
	Advice string // what to write instead; read only if To is ""
}

// Config is a composed configuration, its interpolations not yet resolved.
// It is not safe for concurrent use: Run and Resolve store what they find.
type Config struct {
	Root     *Node    // the job's config, without the hydra node
	Hydra    *Node    // the hydra node, with the values that a run has
	Warnings []string // what composing found odd

	task []string // overrides of the job as they were typed
	full *Node    // Root and Hydra in one tree: what hydra's interpolations see
	repo *repo
	// with the defaults of newComposer filled in
	opts Options
	// nil until Run succeeded
	run *Run
}

// Keys lists the dotted keys of a tree in key order, for completion.
// Lists count with their indices, as in a.0.b; a mapping stands before its own keys.
func Keys(n *Node) []string {
	var keys []string
	n.Walk(func(path string, n *Node) bool {
		keys = append(keys, path)
		return true
	})
	return keys
}

// Error is a problem with the configuration, in the words of Hydra if it
// has words for it, with the place and a suggestion.
type Error struct {
	// what went wrong, of the closed list in docs/hydra.md: "unknown-key", "override-syntax", ...
	Kind    string
	Message string // one or more lines without place or suggestion
	Key     string // the dotted key concerned, if there is one
	Origin  Origin // the file and line, or the override; zero if neither is to blame
	Column  int    // 1-based column in the override; 0 if unknown
	Line    string // the source line that the caret points into; "" if not known
	Hint    string // the next step or the nearest valid name; "" if there is none
	Err     error  // cause, if it is another error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error gives the place, the message, the line with a caret and the hint.
// Files are named in front, overrides below the message with a caret: that is where
// users look for each.
// A line that is not UTF-8 gets no caret, because its columns cannot be counted.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Origin.File != "" {
		b.WriteString(e.Origin.String())
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	line, column := e.Line, e.Origin.Column
	if e.Origin.Override != "" {
		line, column = e.Origin.Override, e.Column
	}
	if line != "" && column > 0 && utf8.ValidString(line) {
		b.WriteString("\n    ")
		b.WriteString(strings.Map(visible, line))
		b.WriteString("\n    ")
		b.WriteString(strings.Repeat(" ", column-1))
		b.WriteByte('^')
	} else if e.Origin.Override != "" {
		b.WriteString("\n    in the override ")
		b.WriteString(e.Origin.Override)
	}
	if e.Hint != "" {
		b.WriteString("\n")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// visible keeps a line on one line, and the caret under its character, whatever it holds.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
