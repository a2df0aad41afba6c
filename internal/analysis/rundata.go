package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// readRun takes from the run directory what the pipeline recorded.
func (a *analyzer) readRun(context.Context) error {
	if a.in.Run == "" {
		return nil
	}
	abs, err := filepath.Abs(a.in.Run)
	if err != nil {
		abs = a.in.Run
	}
	a.res.Source.Run = filepath.Base(abs)
	a.readManifest()
	a.readEnv()
	a.readInputs()
	a.readDeviations()
	return nil
}

func (a *analyzer) readManifest() {
	m, err := runs.ReadManifest(a.in.Run)
	if errors.Is(err, runs.ErrNotRun) {
		return
	}
	if err != nil {
		a.notes.unreadable(err)
		return
	}
	if a.in.kind != "" && a.in.kind != "command" && len(m.Command) > 0 {
		// The program of a shipped session is deepprof's own, with a file that it
		// wrote: what a person can repeat is the command that started the run.
		a.res.Workload.Command = append([]string{"deepprof"}, m.Command[1:]...)
	}
	a.res.Source.Created, a.res.Source.Status = m.Created.UTC().Format(time.RFC3339), string(m.Status)
	if a.in.Status != "" {
		a.res.Source.Status = a.in.Status
	}
	if m.Recorded != nil {
		a.res.Source.Recorded, a.res.Source.Created = true, m.Recorded.UTC().Format(time.RFC3339)
	}
	for _, w := range m.Warnings {
		a.notes.add(Note{Fact: w.Fact})
	}
	a.notes.recorded = map[string]runs.File{}
	for i := range m.Steps {
		s := &m.Steps[i]
		for _, f := range s.Files() {
			a.notes.recorded[f.Path] = f
		}
		if s.Name == plan.StepUnprofiled && s.State == runs.StateDone {
			a.unprofiledSeconds = meanSeconds(s.Attempts)
		}
		if last := s.Last(); s.Name == plan.StepNcu && last != nil && last.Outcome != nil && !last.Outcome.Usable {
			a.noCounters = last.Outcome
		}
		for j, at := range s.Attempts {
			if len(at.Command) == 0 {
				continue
			}
			c := StageCommand{Stage: s.Name, Command: at.Command[0]} // captures record a line for a shell
			if len(at.Command) > 1 {
				c.Command = shellescape.QuoteCommand(at.Command)
			}
			if at.Seconds != nil {
				c.Seconds = *at.Seconds
			}
			if at.Outcome != nil {
				c.Outcome = at.Outcome.Kind
				// What was doubtful in a try that another one replaced no longer is.
				if s.Name == plan.StepUnprofiled || j == len(s.Attempts)-1 {
					for _, w := range at.Outcome.Warnings {
						a.captureWarning(s.Name, w)
					}
				}
			}
			a.res.Method.Commands = append(a.res.Method.Commands, c)
		}
		a.noteCut(s)
		if s.Name == plan.StepNsys {
			a.captured = spanOf(s.Attempts)
		}
	}
}

// spanOf is the time from the start of the first attempt to the end of the last;
// zero where one has no end.
func spanOf(attempts []runs.Attempt) (span [2]time.Time) {
	for _, at := range attempts {
		if at.Seconds == nil {
			return [2]time.Time{}
		}
		if end := at.Started.Add(time.Duration(*at.Seconds * float64(time.Second))); end.After(span[1]) {
			span[1] = end
		}
		if span[0].IsZero() || at.Started.Before(span[0]) {
			span[0] = at.Started
		}
	}
	return span
}

// captureSlack is how far the clock of a capture may be from that of the run.
const captureSlack = time.Minute

// checkCaptureTime warns of a timeline that was not captured while nsys ran in
// this run: a report of another run that was copied in, whatever its hash and
// the time of its file say.
func (a *analyzer) checkCaptureTime(began string) {
	at, err := time.Parse("2006-01-02T15:04:05", began)
	if err != nil || a.captured[0].IsZero() {
		return
	}
	if at.Before(a.captured[0].Add(-captureSlack)) || at.After(a.captured[1].Add(captureSlack)) {
		a.notes.warn(OtherCapture, fact.Name("began", at.Format(time.RFC3339)), fact.Name("ran", a.captured[0].UTC().Format(time.RFC3339)))
	}
}

// noteCut warns, before anything else, of a workload that a profiler saw only a
// part of.
func (a *analyzer) noteCut(s *runs.Step) {
	last := s.Last()
	if s.Name != plan.StepNsys && s.Name != plan.StepNcu || last == nil || last.Outcome == nil || !last.Outcome.Usable || !capture.CutShort(capture.Kind(last.Outcome.Kind)) {
		return
	}
	params := []fact.Param{fact.Name("step", s.Name), fact.Because("how", last.Outcome.Evidence)}
	code := CutShort
	if capture.Kind(last.Outcome.Kind) == capture.DiskFull { // the workload may have gone on to its end
		code = CutByDisk
	} else if a.unprofiledSeconds > 0 && s.Name == plan.StepNsys && last.Seconds != nil && *last.Seconds < a.unprofiledSeconds {
		code = CutShortTimed
		params = append(params, fact.Seconds("ran", *last.Seconds), fact.Seconds("unprofiled", a.unprofiledSeconds))
	}
	a.notes.warnFirst(Note{Fact: fact.New(code, params...)})
}

// usedUnits begin the names of the counters that a decision or a roofline uses.
var usedUnits = []string{"gpu__", "dram__", "lts__", "l1tex__", "sm__", "smsp__", "gpc__", "launch__", "device__", "derived__", "inst_", "sass__"}

// captureWarning takes over a warning of a capture. Counters that the machine does
// not have and nothing here uses are no reason to doubt.
func (a *analyzer) captureWarning(step string, w runs.Note) {
	f := recognized(step, w.Fact)
	names := f.Params[capture.Absent].List
	if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return n == "" || isUsed(n) }) {
		absent := fact.New(MetricsAbsent, fact.Count("n", len(names)), fact.Names("units", fact.KindMetric, unitsOf(names)))
		a.notes.addMissing(Note{Fact: absent, Step: step})
		return
	}
	a.notes.add(Note{Fact: f, Step: step, Scope: w.Scope})
}

// recognized is a warning of a step. Earlier versions stored the line that a
// profiler printed in place of a fact.
func recognized(step string, f fact.Fact) fact.Fact {
	profiler := map[string]capture.Tool{plan.StepNsys: capture.Nsys, plan.StepNcu: capture.Ncu}[step]
	if !f.Is(fact.Text) || profiler == "" {
		return f
	}
	if known, ok := capture.Recognize(profiler, f.Text("text")); ok {
		return known
	}
	return f
}

func isUsed(counter string) bool {
	return slices.ContainsFunc(usedUnits, func(u string) bool { return strings.HasPrefix(counter, u) })
}

// unitsOf are the counters without how they are summed, each once.
func unitsOf(counters []string) []string {
	var out []string
	for _, name := range counters {
		if name, _, _ = strings.Cut(name, "."); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// meanSeconds is how long the attempts of a stage took on average.
func meanSeconds(list []runs.Attempt) float64 {
	sum, n := 0.0, 0
	for _, at := range list {
		if at.Seconds != nil && at.Outcome != nil && at.Outcome.Usable {
			sum += *at.Seconds
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// readDeviations reads what the stages changed of the configuration.
func (a *analyzer) readDeviations() {
	path := filepath.Join(a.in.Run, "workload", "deviations.json")
	var file struct {
		Deviations []workload.Deviation `json:"deviations"`
	}
	switch err := readJSON(path, &file); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		a.notes.unreadable(err)
	}
	for _, d := range file.Deviations {
		a.res.Method.Deviations = addDeviation(a.res.Method.Deviations, Deviation{d.Stage, d.Key, d.Configured, d.Used, d.Why})
	}
}

// addDeviation names the stages of one change together, with all reasons.
func addDeviation(list []Deviation, d Deviation) []Deviation {
	for i := range list {
		have := &list[i]
		if have.Key != d.Key || have.Configured != d.Configured || have.Used != d.Used {
			continue
		}
		if !slices.Contains(strings.Split(have.Stage, ", "), d.Stage) {
			have.Stage = strings.Trim(have.Stage+", "+d.Stage, ", ")
		}
		for _, why := range d.Why {
			if !slices.ContainsFunc(have.Why, why.Equal) {
				have.Why = append(have.Why, why)
			}
		}
		return list
	}
	return append(list, d)
}

func (a *analyzer) readEnv() {
	data, err := readFile(filepath.Join(a.in.Run, "env.json"))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			a.notes.unreadable(err)
		}
		return
	}
	var e runs.Env
	if err := json.Unmarshal(data, &e); err != nil {
		a.notes.unreadable(fmt.Errorf("read env.json: %w", err))
		return
	}
	env := &a.res.Environment
	env.Host, env.CPU, env.OS = e.Host.Name, e.Host.CPU, e.Host.OS
	if e.Driver != nil {
		env.Driver, env.CUDA = e.Driver.Version, e.Driver.CUDA
	}
	a.memoryHz = map[string]int64{}
	for _, g := range e.GPUs {
		if g.ClockMemMax != nil {
			a.memoryHz[strings.TrimPrefix(g.UUID, "GPU-")] = int64(*g.ClockMemMax * 1e6)
		}
	}
	for _, t := range e.Tools {
		switch t.Name {
		case "nsys":
			env.Nsys = t.Version
		case "ncu":
			env.Ncu = t.Version
		}
	}
}

func (a *analyzer) readInputs() {
	data, err := readFile(filepath.Join(a.in.Run, "inputs.yaml"))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			a.notes.unreadable(err)
		}
		return
	}
	var in runs.Inputs
	if err := yaml.Unmarshal(data, &in); err != nil {
		a.notes.unreadable(fmt.Errorf("read inputs.yaml: %w", err))
		return
	}
	w := &a.res.Workload
	if len(w.Command) == 0 {
		w.Command = in.Workload.Command
	}
	w.Kind = "command"
	if in.Workload.Name != "" {
		w.Kind = strings.TrimPrefix(in.Workload.Name, runs.ShippedPrefix)
	}
	if in.Model != nil && in.Model.Name != "" {
		w.Model = &Model{Name: in.Model.Name, DType: in.Model.Dtype}
	}
}
