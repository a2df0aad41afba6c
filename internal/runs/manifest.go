package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// schemaVersion is the version of run.json that this package writes. It reads
// this one and every earlier one; see ParseManifest.
const schemaVersion = 2

// maxManifest bounds how much of a foreign run.json is read.
const maxManifest = 64 << 20

// Status is the state of a whole run.
type Status string

// A run is Running until its process ends it. Interrupted is written on Ctrl-C,
// and shown for a run whose process is gone.
const (
	StatusRunning     Status = "running"
	StatusDone        Status = "done"
	StatusFailed      Status = "failed"
	StatusInterrupted Status = "interrupted"
)

// Statuses lists every status in the order used in tables.
var Statuses = []Status{StatusRunning, StatusDone, StatusFailed, StatusInterrupted}

// seen is the status to show: running without a process is interrupted.
func (s Status) seen(l ownerState) Status {
	if s == StatusRunning && l == ownerDead {
		return StatusInterrupted
	}
	return s
}

// State is the state of one step.
type State string

// Skipped means turned off or not needed; its reason says which.
const (
	StatePending     State = "pending"
	StateRunning     State = "running"
	StateDone        State = "done"
	StateFailed      State = "failed"
	StateSkipped     State = "skipped"
	StateInterrupted State = "interrupted"
)

// states lists every state in the order used in tables.
var states = []State{StatePending, StateRunning, StateDone, StateFailed, StateSkipped, StateInterrupted}

// Manifest is run.json.
type Manifest struct {
	Schema   int           `json:"schema" jsonschema:"version of this file's layout"`
	ID       string        `json:"id" jsonschema:"identity of the run; stays the same in a copy or a pack"`
	Status   Status        `json:"status" jsonschema:"state of the whole run"`
	Label    string        `json:"label,omitempty" jsonschema:"what the run measures, for people"`
	Version  string        `json:"version,omitempty" jsonschema:"version of the program that made the run"`
	Command  []string      `json:"command,omitempty" jsonschema:"command line that started the run"`
	Start    string        `json:"start,omitempty" jsonschema:"folder that the run was started in; absent in runs of schema 1"`
	Created  time.Time     `json:"created" jsonschema:"when the run was created, UTC"`
	Updated  time.Time     `json:"updated" jsonschema:"when this file was last written, UTC"`
	Finished *time.Time    `json:"finished,omitempty" jsonschema:"when the run ended; absent while it runs or when its process was killed"`
	Reason   fact.Stored   `json:"reason,omitzero" jsonschema:"why the run failed or was interrupted"`
	Resumed  int           `json:"resumed,omitempty" jsonschema:"how often the run was resumed"`
	Owner    Owner         `json:"owner" jsonschema:"the process that works or last worked in the run"`
	Steps    []Step        `json:"steps" jsonschema:"pipeline steps in the order they run"`
	Warnings []fact.Stored `json:"warnings,omitempty" jsonschema:"doubts about the whole run"`
	Recorded *time.Time    `json:"recorded,omitempty" jsonschema:"when the captures were made, if they come from a recording"`
	Pack     *PackNote     `json:"pack,omitempty" jsonschema:"present when this is a copy out of a pack: what packing changed"`
}

// Owner identifies a process beyond the reuse of its pid. A field that could
// not be determined is absent.
type Owner struct {
	PID    int    `json:"pid,omitempty" jsonschema:"process id"`
	Start  uint64 `json:"start_ticks,omitempty" jsonschema:"start of the process in clock ticks since boot (Linux)"`
	BootID string `json:"boot_id,omitempty" jsonschema:"boot of the machine (Linux)"`
	Host   string `json:"host,omitempty" jsonschema:"host name"`
	User   string `json:"user,omitempty" jsonschema:"login name"`
}

// Step is one step of the pipeline.
type Step struct {
	Name     string      `json:"name" jsonschema:"name of the step, unique in the run"`
	Needs    []string    `json:"needs,omitempty" jsonschema:"steps whose files it reads: it is done again when one of them is"`
	State    State       `json:"state" jsonschema:"state of the step"`
	Reason   fact.Stored `json:"reason,omitzero" jsonschema:"why the step was skipped, failed or interrupted"`
	Started  *time.Time  `json:"started,omitempty" jsonschema:"when the step started, UTC"`
	Seconds  *float64    `json:"seconds,omitempty" jsonschema:"duration of the step over all attempts and pauses between them; absent until it ends"`
	Attempts []Attempt   `json:"attempts,omitempty" jsonschema:"every attempt, in order"`
}

// Attempt is one try at a step. A step that starts no process has attempts
// without a command.
type Attempt struct {
	Command  []string  `json:"command,omitempty" jsonschema:"program and arguments as started"`
	Dir      string    `json:"dir,omitempty" jsonschema:"working directory of the command"`
	Started  time.Time `json:"started" jsonschema:"when the attempt started, UTC"`
	Seconds  *float64  `json:"seconds,omitempty" jsonschema:"duration; absent while it runs or when it was cut off"`
	ExitCode *int      `json:"exit_code,omitempty" jsonschema:"exit code; absent when the command never started, was killed by a signal, or still runs"`
	Signal   string    `json:"signal,omitempty" jsonschema:"signal that ended the command"`
	Outcome  *Outcome  `json:"outcome,omitempty" jsonschema:"what came of it; absent while it runs"`
	Files    []File    `json:"files,omitempty" jsonschema:"files the attempt left, with size and hash"`
}

// Outcome is the judgement of an attempt. Usable says whether what it left can
// be worked with; the exit code alone does not.
type Outcome struct {
	Kind     string    `json:"kind" jsonschema:"kind of outcome, for programs"`
	Usable   bool      `json:"usable" jsonschema:"whether what the attempt left can be worked with"`
	Text     fact.Fact `json:"text,omitzero" jsonschema:"what happened"`
	Evidence fact.Fact `json:"evidence,omitzero" jsonschema:"the line or observation it was decided from"`
	Cause    fact.Fact `json:"cause,omitzero" jsonschema:"the likely cause; its code also names the next step"`
	Warnings []Note    `json:"warnings,omitempty" jsonschema:"doubts about what was captured"`
}

// UnmarshalJSON also takes the sentences of earlier versions.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	var file struct {
		Kind                  string
		Usable                bool
		Text, Evidence, Cause fact.Stored
		Next                  string
		Warnings              []Note
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	*o = Outcome{file.Kind, file.Usable, file.Text.Fact, file.Evidence.Fact, file.Cause.WithNext(file.Next), file.Warnings}
	return nil
}

// A Note is a doubt about what an attempt captured; its code also names the next
// step.
type Note struct {
	fact.Fact
	Scope string `json:"scope,omitempty" jsonschema:"what it is about; absent for the whole capture"`
}

// UnmarshalJSON also takes the sentences of earlier versions: a text, or an object
// with one.
func (n *Note) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		var stored fact.Stored
		err := json.Unmarshal(data, &stored)
		*n = Note{Fact: stored.Fact}
		return err
	}
	var file struct {
		fact.Fact
		Scope, Text, Next string
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	*n = Note{file.Fact, file.Scope}
	if file.Text != "" {
		n.Fact = fact.Stored{Fact: fact.FromText(file.Text)}.WithNext(file.Next)
	}
	return nil
}

// File is a file of the run. Path is relative to the run directory, with
// slashes.
type File struct {
	Path    string      `json:"path" jsonschema:"path relative to the run directory, with slashes"`
	Size    int64       `json:"size" jsonschema:"size in bytes"`
	SHA256  string      `json:"sha256" jsonschema:"SHA-256 of the content, lower-case hex"`
	Altered string      `json:"altered,omitempty" jsonschema:"what packing changed in the file; size and hash are those of the changed file"`
	Omitted fact.Stored `json:"omitted,omitzero" jsonschema:"why packing left the file out"`
	// Of tells timelines and reports of counters of one run apart.
	Of *timeline.Identity `json:"of,omitempty" jsonschema:"rank, host, window or repeat that the file is of; absent if a run has one"`
}

// PackNote records what packing changed.
type PackNote struct {
	Created  time.Time `json:"created" jsonschema:"when the pack was made, UTC"`
	Stripped bool      `json:"stripped,omitempty" jsonschema:"embedded binaries were dropped from .ncu-rep files"`
	Redacted bool      `json:"redacted,omitempty" jsonschema:"paths, host and user names and the environment were removed"`
}

// Last returns the last attempt, or nil.
func (s *Step) Last() *Attempt {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[len(s.Attempts)-1]
}

// parts are the attempts that each did a part of the step, or did it again as
// planned: the last, and those before it that were not done again because
// something was wrong with them.
func (s *Step) parts() []*Attempt {
	var out []*Attempt
	for i := range s.Attempts {
		a := &s.Attempts[i]
		good := a.Outcome != nil && a.Outcome.Usable && strings.HasPrefix(a.Outcome.Kind, "captured")
		aside := slices.ContainsFunc(a.Files, func(f File) bool { return setAside(f.Path) })
		if i == len(s.Attempts)-1 || good && !aside {
			out = append(out, a)
		}
	}
	return out
}

// Files returns the files that the step stands on: those of all attempts that were not set aside, the last of each path.
func (s *Step) Files() []File {
	var out []File
	for i := range s.Attempts {
		for _, f := range s.Attempts[i].Files {
			if setAside(f.Path) {
				continue
			}
			if j := slices.IndexFunc(out, func(o File) bool { return o.Path == f.Path }); j >= 0 {
				out[j] = f
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// setAside tells files of an attempt that was done again.
func setAside(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if asideName.MatchString(part) {
			return true
		}
	}
	return false
}

// Step returns the step of that name, or nil.
// It points into the manifest: valid until Steps grows.
func (m *Manifest) Step(name string) *Step {
	i := slices.IndexFunc(m.Steps, func(s Step) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Steps[i]
}

// It takes only name and needs of the steps in o.
func newManifest(id string, now time.Time, o CreateOptions) Manifest {
	m := Manifest{
		Schema: schemaVersion, ID: id, Status: StatusRunning, Label: o.Label, Version: o.Version,
		Command: slices.Clone(o.Command), Start: o.Start, Created: now.UTC(), Updated: now.UTC(), Owner: self(), Steps: []Step{},
	}
	for _, s := range o.Steps {
		m.Steps = append(m.Steps, Step{Name: s.Name, Needs: slices.Clone(s.Needs), State: StatePending})
	}
	return m
}

// It copies everything that an Update may change, so that a failed change leaves no
// trace.
func (m *Manifest) clone() Manifest {
	c := *m
	c.Command = slices.Clone(m.Command)
	c.Warnings = slices.Clone(m.Warnings)
	c.Finished = clonePtr(m.Finished)
	c.Pack = clonePtr(m.Pack)
	c.Steps = make([]Step, len(m.Steps))
	for i, s := range m.Steps {
		s.Needs = slices.Clone(s.Needs)
		s.Started, s.Seconds = clonePtr(s.Started), clonePtr(s.Seconds)
		s.Attempts = slices.Clone(s.Attempts)
		for j := range s.Attempts {
			a := &s.Attempts[j]
			a.Command, a.Files = slices.Clone(a.Command), slices.Clone(a.Files)
			a.Seconds, a.ExitCode, a.Outcome = clonePtr(a.Seconds), clonePtr(a.ExitCode), clonePtr(a.Outcome)
			if a.Outcome != nil {
				a.Outcome.Warnings = slices.Clone(a.Outcome.Warnings)
			}
		}
		c.Steps[i] = s
	}
	return c
}

// clonePtr copies one level; nil stays nil.
func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// validate reports everything that is wrong with the manifest.
func (m *Manifest) validate() error {
	var errs []error
	bad := func(err error) { errs = append(errs, err) }
	if m.Schema > schemaVersion {
		return fmt.Errorf("schema %d is newer than this program, which reads up to %d; use a newer deepprof", m.Schema, schemaVersion)
	}
	if m.Schema < 1 {
		bad(errors.New("schema is missing"))
	}
	if !ValidID(m.ID) {
		bad(fmt.Errorf("id %q is not a run id", m.ID))
	}
	if !slices.Contains(Statuses, m.Status) {
		bad(fmt.Errorf("status %q is not one of %v", m.Status, Statuses))
	}
	if m.Created.IsZero() {
		bad(errors.New("created is missing"))
	}
	seen := map[string]bool{}
	for i := range m.Steps {
		s := &m.Steps[i]
		if s.Name == "" || seen[s.Name] {
			bad(fmt.Errorf("step %d: name %q is empty or used twice", i, s.Name))
		}
		seen[s.Name] = true
		if !slices.Contains(states, s.State) {
			bad(fmt.Errorf("step %s: state %q is not one of %v", s.Name, s.State, states))
		}
		for _, a := range s.Attempts {
			for _, f := range a.Files {
				if !localPath(f.Path) || f.Size < 0 {
					bad(fmt.Errorf("step %s: file %q (%d bytes) is not a path inside the run", s.Name, f.Path, f.Size))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// ReadManifest reads and validates dir/run.json. A directory without one gives
// ErrNotRun.
// It reads at most 64 MiB and follows no link.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	data, err := readRegular(path, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return Manifest{}, fmt.Errorf("%s: %w: it has no %s", dir, ErrNotRun, ManifestName)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", path, err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", path, err)
	}
	return m, nil
}

// ParseManifest decodes and validates the content of a run.json. One of an
// earlier schema is returned in the form of this one.
func ParseManifest(data []byte) (Manifest, error) {
	var file struct {
		Manifest
		Stages []Step `json:"stages"` // of schema 1
	}
	m := &file.Manifest
	if len(bytes.TrimSpace(data)) == 0 {
		return *m, errors.New("the file is empty")
	}
	if err := json.Unmarshal(data, &file); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return *m, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
		}
		return *m, err
	}
	if m.Schema == 1 {
		m.Schema, m.Steps = schemaVersion, file.Stages
		for i := range m.Steps {
			m.Steps[i].Name = StepName(m.Steps[i].Name)
			for _, before := range m.Steps[:i] { // every step needed those before it
				m.Steps[i].Needs = append(m.Steps[i].Needs, before.Name)
			}
		}
	}
	return *m, m.validate()
}

// openRegular opens a plain file, and refuses what is none (a pipe would block, a
// device never ends).
func openRegular(path string) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("not a plain file (%s)", fi.Mode().Type())
	}
	return os.Open(path)
}

// readInto decodes a plain file of at most maxManifest bytes.
func readInto(path string, unmarshal func([]byte, any) error, value any) error {
	data, err := readRegular(path, maxManifest)
	if err == nil {
		err = unmarshal(data, value)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// readRegular reads a plain file of at most limit bytes.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if fi, err := f.Stat(); err == nil {
		text.Grow(int(min(fi.Size(), limit)) + bytes.MinRead) // read at once
	}
	if _, err := text.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(text.Len()) > limit {
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return text.Bytes(), nil
}
