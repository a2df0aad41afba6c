package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/deepprof/deepprof/internal/fact"
)

// Filter narrows List. The zero value keeps everything.
type Filter struct {
	Status []Status  // any of these; nil: every one
	Since  time.Time // created at or after
	Until  time.Time // created before
	Label  string    // part of the label, in any case
	GPU    string    // part of the name of its GPU, in any case
	Tag    string    // a whole tag
	Order  string    // a key of Orders, with "-" for the largest first; "" is "-created"
	Limit  int       // the first so many; 0: all
}

// Summary is one row of `runs list`.
type Summary struct {
	ID     string `json:"id"`
	Path   string `json:"path"` // absolute
	Status Status `json:"status"`
	// how the status was told; "" if nothing is unusual
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	Seconds *float64  `json:"seconds,omitempty"` // absent while it runs, or when it was cut off
	Label   string    `json:"label,omitempty"`
	// the first, with the number of GPUs before it if there are several
	GPU   string      `json:"gpu,omitempty"`
	Steps []StepState `json:"stages"`
	Bytes int64       `json:"bytes"` // of all plain files of the run
	Files int         `json:"files"`
	// Recorded is when the captures were made, if a recording was played:
	// Created and Seconds are of the playing.
	Recorded *time.Time `json:"recorded,omitempty"`
	// Tags and Comment are what people wrote about the run.
	Tags    []string `json:"tags,omitempty"`
	Comment string   `json:"comment,omitempty"`
}

// StepState is a step in a row of `runs list`.
type StepState struct {
	Name  string `json:"name"`
	State State  `json:"state"`
}

// Warning names something in the store that could not be used, and why.
type Warning struct {
	Path string `json:"path"`
	// Text is Why in words. This package leaves it empty and internal/report fills
	// it; packs of earlier versions hold it without Why.
	Text string    `json:"text,omitempty"`
	Why  fact.Fact `json:"why,omitzero"`
}

// List returns the runs of a store, newest first, and a warning for each
// directory that ought to be a run and cannot be read as one. Other things in the store are
// left alone. A store that does not exist yet is empty.
func List(root string, f Filter) ([]Summary, []Warning, error) {
	found, warnings, err := summaries(root)
	if err != nil {
		return nil, warnings, err
	}
	out := []Summary{}
	for _, s := range found {
		if f.keeps(&s) {
			out = append(out, s)
		}
	}
	f.sort(out)
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	return out, warnings, nil
}

// sweepHalfMade removes runs that their creator was killed over before they had
// a name: nobody holds their lock. One that is younger than a second may not
// have it yet, and one of another host must be older than a day: its lock may
// not hold here.
func sweepHalfMade(root string, entries []os.DirEntry) {
	for _, e := range entries {
		id, half := strings.CutPrefix(e.Name(), tempPrefix)
		if !half || !ValidID(id) {
			continue
		}
		dir := filepath.Join(root, e.Name())
		young := time.Second
		if madeElsewhere(dir) {
			young = 24 * time.Hour
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < young {
			continue
		}
		lock := flock.New(filepath.Join(dir, lockName))
		if ok, err := lock.TryLock(); err == nil && ok {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// Order and Limit are not looked at here.
func (f Filter) keeps(s *Summary) bool {
	switch {
	case len(f.Status) > 0 && !slices.Contains(f.Status, s.Status):
		return false
	case !f.Since.IsZero() && s.Created.Before(f.Since):
		return false
	case !f.Until.IsZero() && !s.Created.Before(f.Until):
		return false
	}
	return holds(s.Label, f.Label) && holds(s.GPU, f.GPU) && (f.Tag == "" || slices.Contains(s.Tags, f.Tag))
}

// holds tells whether a text has a part, in any case.
func holds(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// orders compare runs by a key, the smallest first.
var orders = map[string]func(a, b *Summary) int{
	"created": func(a, b *Summary) int { return a.Created.Compare(b.Created) },
	"seconds": func(a, b *Summary) int { return cmp.Compare(seconds(a), seconds(b)) },
	"bytes":   func(a, b *Summary) int { return cmp.Compare(a.Bytes, b.Bytes) },
	"label":   func(a, b *Summary) int { return strings.Compare(a.Label, b.Label) },
	"gpu":     func(a, b *Summary) int { return strings.Compare(a.GPU, b.GPU) },
	"status":  func(a, b *Summary) int { return strings.Compare(string(a.Status), string(b.Status)) },
}

// seconds puts a run whose duration is absent before every other.
func seconds(s *Summary) float64 {
	if s.Seconds == nil {
		return -1
	}
	return *s.Seconds
}

// Orders are the keys by which runs are sorted.
func Orders() []string { return slices.Sorted(maps.Keys(orders)) }

// sort orders runs that come newest first; equal ones stay in that order.
// An unknown key leaves the order as it is; callers check it against Orders.
func (f Filter) sort(rows []Summary) {
	key, descending := strings.CutPrefix(f.Order, "-")
	compare := orders[key]
	if compare == nil {
		return
	}
	slices.SortStableFunc(rows, func(a, b Summary) int {
		if descending {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
}

// It visits every file of the run for its size.
func summarize(r *Run) Summary {
	s := Summary{
		ID: r.m.ID, Path: r.source, Status: r.Status(), Note: r.note, Created: r.m.Created,
		Label: r.m.Label, GPU: gpuOf(r), Steps: []StepState{}, Recorded: clonePtr(r.m.Recorded),
	}
	if r.m.Finished != nil {
		s.Seconds = new(r.m.Finished.Sub(r.m.Created).Seconds())
	}
	for i := range r.m.Steps {
		s.Steps = append(s.Steps, StepState{r.m.Steps[i].Name, r.m.Steps[i].seen(r.liveness, r.m.Status)})
	}
	written := ReadTags(r.dir)
	s.Tags, s.Comment = written.Tags, written.Comment
	s.Bytes, s.Files = dirSize(r.dir)
	return s
}

// seen is the state to show: a step left running by a process that is gone was
// interrupted.
func (s *Step) seen(l ownerState, run Status) State {
	if s.State == StateRunning && (run != StatusRunning || l == ownerDead) {
		return StateInterrupted
	}
	return s.State
}

// gpuOf names the first GPU of env.json and how many there are; empty if that
// is not recorded.
func gpuOf(r *Run) string {
	var env struct {
		GPUs []struct{ Name string }
	}
	if readInto(r.Path(EnvName), json.Unmarshal, &env) != nil || len(env.GPUs) == 0 {
		return ""
	}
	if n := len(env.GPUs); n > 1 {
		return fmt.Sprintf("%d x %s", n, env.GPUs[0].Name)
	}
	return env.GPUs[0].Name
}

// dirSize adds up the plain files below dir. What cannot be read counts as
// nothing: the size is for people and for --larger-than.
func dirSize(dir string) (bytes int64, files int) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if fi, err := d.Info(); err == nil {
			bytes += fi.Size()
			files++
		}
		return nil
	})
	return bytes, files
}

// Detail is what `runs show` prints. Facts have no JSON here: internal/report
// words them.
type Detail struct {
	Summary Summary   `json:"summary"`
	Reason  fact.Fact `json:"-"` // zero if there is none
	Version string    `json:"version,omitempty"`
	Command []string  `json:"command,omitempty"`
	Resumed int       `json:"resumed,omitempty"` // how often
	Pack    *PackNote `json:"pack,omitempty"`    // nil if the run did not come out of a pack
	Steps   []StepRow `json:"stages"`
	Files   []FileRow `json:"files"`
	// present when the run is not done, nobody works in it and it is no recording that was played
	Resume   *ResumePlan `json:"resume,omitempty"`
	Warnings []fact.Fact `json:"-"`
	// Annotation is what deepprof's own ranges came to, which analysis tells;
	// absent if none were asked for.
	Annotation []fact.Fact `json:"annotation,omitempty"`
}

// StepRow is one step of `runs show`: its state and its last attempt.
type StepRow struct {
	Name     string    `json:"name"`
	State    State     `json:"state"`
	Reason   fact.Fact `json:"-"`
	Seconds  *float64  `json:"seconds,omitempty"` // over all attempts; nil until it ends
	Attempts int       `json:"attempts"`
	// Outcomes are those of several processes that each did a part of the step,
	// in order; absent if one did it.
	Outcomes []*Outcome `json:"-"`
	// of the last attempt; nil if a signal ended it, or none was started
	ExitCode *int     `json:"exit_code,omitempty"`
	Signal   string   `json:"signal,omitempty"`
	Outcome  *Outcome `json:"-"` // nil while it runs
	Command  []string `json:"command,omitempty"`
}

// FileRow is one file that a step stands on.
type FileRow struct {
	Step string `json:"stage"`
	File
	// missing, or another size than recorded; zero if it is as it was
	Problem fact.Fact `json:"-"`
}

// Show describes a run. Files are compared by presence and size; Verify
// compares contents.
func Show(r *Run) Detail {
	m := r.Manifest()
	d := Detail{
		Summary: summarize(r), Reason: m.Reason.Fact, Version: m.Version, Command: m.Command,
		Resumed: m.Resumed, Pack: m.Pack, Steps: []StepRow{}, Files: []FileRow{},
	}
	for _, w := range m.Warnings {
		d.Warnings = append(d.Warnings, w.Fact)
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		row := StepRow{Name: s.Name, State: s.seen(r.liveness, m.Status), Reason: s.Reason.Fact, Seconds: s.Seconds, Attempts: len(s.Attempts)}
		if a := s.Last(); a != nil {
			row.ExitCode, row.Signal, row.Outcome, row.Command = a.ExitCode, a.Signal, a.Outcome, a.Command
		}
		if parts := s.parts(); len(parts) > 1 {
			for _, a := range parts {
				if a.Outcome != nil {
					row.Outcomes = append(row.Outcomes, a.Outcome)
				}
			}
		}
		d.Steps = append(d.Steps, row)
		for _, f := range s.Files() {
			d.Files = append(d.Files, FileRow{Step: s.Name, File: f, Problem: sizeProblem(r, f)})
		}
	}
	if st := d.Summary.Status; m.Recorded == nil && (st == StatusFailed || st == StatusInterrupted) {
		p := planResume(&m, r.liveness, func(f File) fact.Fact { return sizeProblem(r, f) })
		d.Resume = &p
	}
	return d
}

// sizeProblem is zero for a file that is there with its recorded size. Links that
// lead out of the run are not followed.
func sizeProblem(r *Run, f File) fact.Fact {
	if !f.Omitted.IsZero() {
		return fact.New(fileLeftOut, fact.Because("why", f.Omitted.Fact))
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return fact.New(fileNotRead, fact.Error("error", err))
	}
	defer root.Close()
	fi, err := root.Stat(filepath.FromSlash(f.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fact.New(fileMissing)
	case err != nil:
		return fact.New(fileNotRead, fact.Error("error", err))
	case !fi.Mode().IsRegular():
		return fact.New(fileNotPlain)
	case fi.Size() != f.Size:
		return fact.New(fileResized, fact.Count("size", fi.Size()), fact.Count("recorded", f.Size))
	}
	return fact.Fact{}
}
