package analysis

import (
	"cmp"
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

// A runRecord is what the pipeline recorded of a run. Its zero value is that of files
// on their own.
type runRecord struct {
	source      Source // but for its files
	environment Environment
	workload    Workload
	commands    []StageCommand
	deviations  []Deviation
	files       map[string]runs.File // of the manifest, by path; nil without one

	// memoryHz has UUIDs without the prefix GPU-, as nsys writes them.
	memoryHz          map[string]int64 // highest clock of the memory of each GPU, by UUID
	unprofiledSeconds float64          // mean of the unprofiled runs as a whole; 0 where that is not known
	// captured bounds when the timeline must have begun; see checkCaptureTime.
	captured      [2]time.Time  // from the first start to the last end of nsys; zero where that is not known
	noCounters    *runs.Outcome // why ncu failed, nil where it did not
	countersAhead bool          // counters are asked for and still to be taken: the run goes on, or was stopped before
}

// readRun takes from the run directory what the pipeline recorded.
func readRun(in *Input, n *notes) *runRecord {
	r := &runRecord{source: Source{Recorded: in.Recorded, Files: []File{}}, environment: Environment{GPUs: []GPU{}}}
	if in.Run == "" {
		return r
	}
	abs, err := filepath.Abs(in.Run)
	if err != nil {
		abs = in.Run
	}
	r.source.Run = filepath.Base(abs)
	if in.unread != nil {
		n.unreadable(in.unread)
	}
	r.readManifest(in, n)
	r.readEnv(in.Run, n)
	r.readInputs(in.Run, n)
	r.readDeviations(in.Run, n)
	return r
}

// readManifest leaves everything absent, without a warning, for a folder that is not a run.
func (r *runRecord) readManifest(in *Input, n *notes) {
	m, err := runs.ReadManifest(in.Run)
	if errors.Is(err, runs.ErrNotRun) {
		return
	}
	if err != nil {
		n.unreadable(err)
		return
	}
	if in.kind != "" && in.kind != "command" && len(m.Command) > 0 {
		// The program of a shipped session is deepprof's own, with a file that it
		// wrote: what a person can repeat is the command that started the run.
		r.workload.Command = append([]string{"deepprof"}, m.Command[1:]...)
	}
	r.source.Created, r.source.Status = m.Created.UTC().Format(time.RFC3339), cmp.Or(in.Status, string(m.Status))
	if m.Recorded != nil {
		r.source.Recorded, r.source.Created = true, m.Recorded.UTC().Format(time.RFC3339)
	}
	for _, w := range m.Warnings {
		n.add(Note{Fact: w.Fact})
	}
	r.files = map[string]runs.File{}
	for i := range m.Steps {
		r.takeStep(&m.Steps[i], n)
	}
}

// takeStep takes what one step of the pipeline left: files, commands, warnings. Steps
// come in the order of the manifest, in which the unprofiled run is first.
func (r *runRecord) takeStep(s *runs.Step, n *notes) {
	for _, f := range s.Files() {
		r.files[f.Path] = f
	}
	if s.Name == plan.StepUnprofiled && s.State == runs.StateDone {
		r.unprofiledSeconds = mean(secondsOf(s.Attempts))
	}
	if s.Name == plan.StepNcu && (s.State == runs.StatePending || s.State == runs.StateRunning || s.State == runs.StateInterrupted) {
		r.countersAhead = true
	}
	if last := s.Last(); s.Name == plan.StepNcu && last != nil && last.Outcome != nil && !last.Outcome.Usable {
		r.noCounters = last.Outcome
	}
	for i, at := range s.Attempts {
		if len(at.Command) == 0 {
			continue
		}
		r.commands = append(r.commands, commandOf(s.Name, &at))
		// What was doubtful in a try that another one replaced no longer is.
		if at.Outcome != nil && (s.Name == plan.StepUnprofiled || i == len(s.Attempts)-1) {
			for _, w := range at.Outcome.Warnings {
				n.ofCapture(s.Name, w)
			}
		}
	}
	r.noteCut(s, n)
	if s.Name == plan.StepNsys {
		r.captured = spanOf(s.Attempts)
	}
}

// commandOf is the command of an attempt that has one.
func commandOf(step string, at *runs.Attempt) StageCommand {
	c := StageCommand{Stage: step, Command: at.Command[0]} // captures record a line for a shell
	if len(at.Command) > 1 {
		c.Command = shellescape.QuoteCommand(at.Command)
	}
	if at.Seconds != nil {
		c.Seconds = *at.Seconds
	}
	if at.Outcome != nil {
		c.Outcome = at.Outcome.Kind
	}
	return c
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
func (r *runRecord) checkCaptureTime(began string, n *notes) {
	at, err := time.Parse("2006-01-02T15:04:05", began)
	if err != nil || r.captured[0].IsZero() {
		return
	}
	if at.Before(r.captured[0].Add(-captureSlack)) || at.After(r.captured[1].Add(captureSlack)) {
		n.warn(OtherCapture, fact.Name("began", at.Format(time.RFC3339)), fact.Name("ran", r.captured[0].UTC().Format(time.RFC3339)))
	}
}

// noteCut warns, before anything else, of a workload that a profiler saw only a
// part of.
func (r *runRecord) noteCut(s *runs.Step, n *notes) {
	last := s.Last()
	if s.Name != plan.StepNsys && s.Name != plan.StepNcu || last == nil || last.Outcome == nil || !last.Outcome.Usable || !capture.CutShort(capture.Kind(last.Outcome.Kind)) {
		return
	}
	params := []fact.Param{fact.Name("step", s.Name), fact.Because("how", last.Outcome.Evidence)}
	code := cutShort
	if capture.Kind(last.Outcome.Kind) == capture.DiskFull { // the workload may have gone on to its end
		code = cutByDisk
	} else if r.unprofiledSeconds > 0 && s.Name == plan.StepNsys && last.Seconds != nil && *last.Seconds < r.unprofiledSeconds {
		code = cutShortTimed
		params = append(params, fact.Seconds("ran", *last.Seconds), fact.Seconds("unprofiled", r.unprofiledSeconds))
	}
	n.warnFirst(Note{Fact: fact.New(code, params...)})
}

// usedUnits begin the names of the counters that a decision or a roofline uses.
var usedUnits = []string{"gpu__", "dram__", "lts__", "l1tex__", "sm__", "smsp__", "gpc__", "launch__", "device__", "derived__", "inst_", "sass__"}

// ofCapture takes over a warning of a capture. Counters that the machine does
// not have and nothing here uses are no reason to doubt.
func (n *notes) ofCapture(step string, w runs.Note) {
	f := recognized(step, w.Fact)
	names := f.Params[capture.Absent].List
	isUsed := func(name string) bool {
		return name == "" || slices.ContainsFunc(usedUnits, func(u string) bool { return strings.HasPrefix(name, u) })
	}
	if len(names) > 0 && !slices.ContainsFunc(names, isUsed) {
		absent := fact.New(metricsAbsent, fact.Count("n", len(names)), fact.Names("units", fact.KindMetric, unitsOf(names)))
		n.addMissing(Note{Fact: absent, Step: step})
		return
	}
	n.add(Note{Fact: f, Step: step, Scope: w.Scope})
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

// secondsOf are the times of the attempts that were timed and of which something could be used.
func secondsOf(attempts []runs.Attempt) (list []float64) {
	for _, at := range attempts {
		if at.Seconds != nil && at.Outcome != nil && at.Outcome.Usable {
			list = append(list, *at.Seconds)
		}
	}
	return list
}

// mean is 0 without values.
func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(1, len(list)))
}

// readDeviations reads what the steps changed of the configuration.
func (r *runRecord) readDeviations(run string, n *notes) {
	var file struct {
		Deviations []workload.Deviation `json:"deviations"`
	}
	readRecord(run, runs.DeviationsFile, json.Unmarshal, &file, n)
	r.deviations = mergedDeviations(file.Deviations)
}

// readRecord reads a file of a run, and warns of one that is there and cannot be read.
func readRecord(run, name string, decode func([]byte, any) error, into any, n *notes) bool {
	data, err := readFile(filepath.Join(run, filepath.FromSlash(name)))
	if err == nil {
		err = decode(data, into)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.unreadable(fmt.Errorf("read %s: %w", name, err))
	}
	return err == nil
}

// mergedDeviations names the steps of one change together, with all reasons.
func mergedDeviations(list []workload.Deviation) (out []Deviation) {
	steps := map[[3]string][]string{} // of each change
	for _, d := range list {
		change := [3]string{d.Key, d.Configured, d.Used}
		at := slices.IndexFunc(out, func(o Deviation) bool { return change == [3]string{o.Key, o.Configured, o.Used} })
		if at < 0 {
			at, out = len(out), append(out, Deviation{Key: d.Key, Configured: d.Configured, Used: d.Used})
		}
		for _, why := range d.Why {
			if !slices.ContainsFunc(out[at].Why, why.Equal) {
				out[at].Why = append(out[at].Why, why)
			}
		}
		if d.Stage != "" && !slices.Contains(steps[change], d.Stage) {
			steps[change] = append(steps[change], d.Stage)
		}
		out[at].Stage = strings.Join(steps[change], ", ")
	}
	return out
}

// readEnv takes the machine that captured; UUIDs lose their prefix, as nsys writes
// them.
func (r *runRecord) readEnv(run string, n *notes) {
	var e runs.Env
	if !readRecord(run, runs.EnvName, json.Unmarshal, &e, n) {
		return
	}
	env := &r.environment
	env.Host, env.CPU, env.OS = e.Host.Name, e.Host.CPU, e.Host.OS
	if e.Driver != nil {
		env.Driver, env.CUDA = e.Driver.Version, e.Driver.CUDA
	}
	r.memoryHz = map[string]int64{}
	for _, g := range e.GPUs {
		if g.ClockMemMax != nil {
			r.memoryHz[strings.TrimPrefix(g.UUID, "GPU-")] = int64(*g.ClockMemMax * 1e6)
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

// readInputs keeps a command that the manifest told: it is what a person can repeat.
func (r *runRecord) readInputs(run string, n *notes) {
	var in runs.Inputs
	if !readRecord(run, runs.InputsName, yaml.Unmarshal, &in, n) {
		return
	}
	w := &r.workload
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
