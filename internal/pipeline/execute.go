package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// An execution does the steps of a run, one after the other.
type execution struct {
	job     *job
	summary *Summary
	// kept are those whose files are as they were recorded; only a resumed run has any.
	kept    []string // steps that stand as they are
	resumed bool

	interrupted bool // in a step or between two: those that follow stay pending
	unproven    bool // the workload cannot run at all
}

// run does every step and ends the run.
func (e *execution) run(ctx context.Context) (*Summary, error) {
	for _, s := range e.job.steps {
		if slices.Contains(e.kept, s.name) {
			if !s.quiet {
				e.job.tell(stepKept, fact.Name("step", s.name))
			}
			continue
		}
		if err := e.step(ctx, s); err != nil {
			return e.fail(err)
		}
	}
	return e.summary, e.finish()
}

// fail ends a run that cannot be recorded any more.
func (e *execution) fail(err error) (*Summary, error) {
	e.summary.Status = runs.StatusFailed
	return e.summary, errors.Join(err, e.job.store.Finish(runs.StatusFailed, capture.ErrorFact(err)))
}

// finish ends the run as its steps ended.
// The status is that of the worst step: a run whose report was made is still failed
// where a capture failed.
func (e *execution) finish() error {
	status, reason := statusOf(e.summary.Steps)
	if e.interrupted && status != runs.StatusInterrupted {
		status, reason = runs.StatusInterrupted, fact.New(betweenSteps)
	}
	e.summary.Result, e.summary.Status, e.summary.Captured = e.job.result, status, captured(e.job.store.Dir())
	return e.job.store.Finish(status, reason)
}

// step does one step and records what came of it. The error is that of the
// record: a step that failed is a result.
func (e *execution) step(ctx context.Context, s step) error {
	result := StepResult{Name: s.name, Quiet: s.quiet}
	select {
	case <-e.job.Interrupts: // since the step before ended
		e.interrupted = true
	default:
	}
	enabled := s.enabled(e.job.plan)
	if enabled && e.interrupted {
		result.State, result.Reason = runs.StateSkipped, fact.New(runInterrupted)
		e.summary.Steps = append(e.summary.Steps, result)
		return nil
	}
	if reason := e.skips(s, enabled); !reason.IsZero() {
		result.State, result.Reason = runs.StateSkipped, reason
		if enabled || !s.quiet && !s.extra {
			e.summary.Steps = append(e.summary.Steps, result)
		}
		return e.job.store.SkipStep(s.name, reason)
	}
	run := s.run
	if e.resumed {
		var err error
		if run, err = e.again(ctx, s); err != nil {
			return err
		}
	}
	if err := e.job.store.StartStep(s.name); err != nil {
		return err
	}
	e.job.display.start(s, e.job.steps, e.job.plan, e.job.unprofiledTime())
	if !s.quiet {
		e.job.tell(stepStarted, fact.Name("step", s.name))
	}
	start := time.Now()
	o, err := e.do(ctx, s, run)
	result.Seconds = time.Since(start).Seconds()
	result.Outcome = judged(ctx, o, err)
	if result.State = result.Outcome.State(); result.State != runs.StateDone {
		result.Reason = verdictFact(result.Outcome)
	}
	e.interrupted = e.interrupted || result.State == runs.StateInterrupted
	e.unproven = e.unproven || s.proves && result.State == runs.StateFailed
	e.summary.Steps = append(e.summary.Steps, result)
	if !s.quiet || result.State != runs.StateDone {
		e.job.tell(stepEnded, fact.Name("step", s.name), fact.Name("kind", string(result.Outcome.Kind)), fact.Seconds("time", result.Seconds))
	}
	if err := capture.StoreVerdict(e.job.store, s.name, result.Outcome); err != nil {
		return err
	}
	return e.job.store.EndStep(s.name, result.State, result.Reason)
}

// do runs a step, one that starts no workload until the first interrupt.
// Clocks and power are sampled meanwhile where nvidia-smi can be asked.
func (e *execution) do(ctx context.Context, s step, run stepFunc) (o capture.Outcome, err error) {
	if !s.quick {
		if smi, err := e.job.finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil && !s.extra { // the runs of a repeat sample themselves
			defer capture.SampleConditions(ctx, smi, e.job.store, s.name)()
		}
		return run(ctx, e.job)
	}
	err = tool.UntilInterrupted(ctx, e.job.Interrupts, func(ctx context.Context) error {
		o, err = run(ctx, e.job)
		return err
	})
	return o, err
}

// judged is the outcome of a step whose error, where there is one, decides.
// A canceled context outweighs everything: what was under way is not to blame.
func judged(ctx context.Context, o capture.Outcome, err error) capture.Outcome {
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled): // whatever it broke
		return capture.Outcome{Kind: capture.Interrupted, What: fact.New(capture.StoppedBySignal), Usable: o.Usable, Reports: o.Reports}
	case runs.IsDiskFull(err):
		return capture.Outcome{Kind: capture.DiskFull, What: capture.ErrorFact(err), Cause: fact.New(capture.CauseFull)}
	case errors.Is(err, runs.ErrGone):
		return capture.Outcome{Kind: capture.RunRemoved, What: capture.ErrorFact(err), Cause: capture.RunRemoved.Cause()}
	case err != nil:
		return capture.Outcome{Kind: capture.Unknown, What: capture.ErrorFact(err)}
	}
	return o
}

// skips says why a step is not done; zero where it is.
func (e *execution) skips(s step, enabled bool) fact.Fact {
	switch {
	case !enabled:
		return fact.New(stepOff)
	case e.unproven:
		return fact.New(stepUnproven)
	case s.reports && !captured(e.job.store.Dir()):
		return fact.New(stepNothing)
	}
	return fact.Fact{}
}

// statusOf is how a run stands by its steps, and why.
// An interrupt decides over a failure before it: the run can go on.
func statusOf(list []StepResult) (status runs.Status, reason fact.Fact) {
	status = runs.StatusDone
	for _, s := range list {
		switch s.State {
		case runs.StateInterrupted:
			return runs.StatusInterrupted, s.Reason
		case runs.StateFailed:
			if status == runs.StatusDone {
				status, reason = runs.StatusFailed, ofStep(s.Name, s.Reason)
			}
		}
	}
	return status, reason
}

// again is what a resumed run does for a step: what is left of it, or all of it
// after what earlier attempts left was set aside.
func (e *execution) again(ctx context.Context, s step) (stepFunc, error) {
	if s.continues != nil {
		if run, err := s.continues(ctx, e.job); run != nil || err != nil {
			return run, err
		}
	}
	folders := s.folders
	if p := e.job.plan; s.name == plan.StepUnprofiled && !workload.Shipped(p) && !workload.Serves(p) {
		folders = []string{runs.WorkloadFolder} // a command of the user's has it to itself
	}
	asides, err := e.job.store.SetAsideStep(s.name, folders, s.files)
	for _, aside := range asides {
		e.job.tell(stepAside, fact.Name("step", s.name), fact.File("dir", e.job.store.Path(aside)))
	}
	return s.run, err
}

// Replay runs the pipeline over a recorded run: the steps that need a GPU take
// what the recording holds, with its commands, outcomes and times, and what
// follows them is computed now. Every page says that it was recorded.
func Replay(ctx context.Context, from *runs.Run, o Options) (*Summary, error) {
	o.Plan = &plan.Plan{}
	j, err := newJob(o, "")
	if err != nil {
		return nil, err
	}
	last := table[len(table)-1] // the report, the only step that is done now
	j.steps, j.played = []step{last}, true
	if err := createPlayed(j, from.Manifest(), last); err != nil {
		return nil, err
	}
	e := &execution{job: j, summary: &Summary{Dir: j.store.Dir(), Recorded: true}}
	err = tool.UntilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error {
		for _, s := range from.Manifest().Steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			if s.Name != last.name {
				result, err := playStep(ctx, j, from, s)
				if err != nil {
					return err
				}
				e.summary.Steps = append(e.summary.Steps, result)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, context.Canceled):
		e.summary.Status = runs.StatusInterrupted
		return e.summary, j.store.Finish(runs.StatusInterrupted, fact.New(whilePlaying))
	case err != nil:
		return e.fail(err)
	}
	return e.run(ctx)
}

// createPlayed makes the run that a recording is played into.
// The steps are those of the recording, in its order, with the report at the end.
func createPlayed(j *job, recording runs.Manifest, last step) error {
	o := runs.CreateOptions{Command: j.Argv, Label: recording.Label, Setting: "--output DIR", Steps: recording.Steps}
	if recording.Step(last.name) == nil {
		o.Steps = append(o.Steps, planned([]step{last})...)
	}
	if err := j.createRun(o); err != nil {
		return err
	}
	made := recording.CapturedAt()
	return j.store.Update(func(m *runs.Manifest) error { m.Recorded = &made; return nil })
}

// playStep takes one step over from a recording.
// Nothing is judged again: state, outcome and seconds are those of the recording.
func playStep(ctx context.Context, j *job, from *runs.Run, s runs.Step) (StepResult, error) {
	quiet := slices.ContainsFunc(table, func(row step) bool { return row.name == s.Name && row.quiet })
	result := StepResult{Name: s.Name, State: s.State, Reason: s.Reason.Fact, Seconds: -1, Recorded: true, Quiet: quiet}
	var took []fact.Param
	if s.Seconds != nil {
		result.Seconds = *s.Seconds
		took = append(took, fact.Seconds("time", *s.Seconds))
	}
	if err := j.store.Play(ctx, from, s); err != nil {
		return result, err
	}
	for _, a := range s.Attempts {
		if a.Outcome != nil {
			result.Outcome = capture.FromStored(*a.Outcome)
		}
	}
	if !quiet && s.State != runs.StateSkipped {
		j.tell(stepRecorded, append(took, fact.Name("step", s.Name), fact.Name("kind", string(result.Outcome.Kind)))...)
	}
	return result, nil
}

// packRecording packs a run for 'deepprof demo --from', without what is the
// machine's own business. The run itself is there whatever becomes of that.
// A recording that is there already is replaced.
func packRecording(ctx context.Context, j *job, s *Summary) error {
	if s.Status == runs.StatusInterrupted {
		return errors.New("no recording: the run was interrupted; deepprof runs pack --strip-cubins --redact makes one of what there is")
	}
	r, err := runs.Open(ctx, s.Dir)
	if err != nil {
		return fmt.Errorf("no recording: %w", err)
	}
	defer r.Close()
	path := filepath.Join(j.Recording, "recording"+runs.PackExt)
	packed, err := runs.Pack(ctx, r, path, runs.PackOptions{StripCubins: true, Redact: true, Overwrite: true})
	if err != nil {
		return fmt.Errorf("no recording: %w", err)
	}
	j.tell(recordingWritten, fact.File("file", path), fact.Bytes("size", packed.Bytes))
	return nil
}

// Codes of what this package states. internal/message has their words; a comment
// names the parameters.
const (
	provenanceRecorded fact.Code = "provenance-recorded"
	reportsWritten     fact.Code = "reports-written"
	reportsUnwritten   fact.Code = "reports-not-written"
	noReport           fact.Code = "no-report-made"
	causeOfReport      fact.Code = "cause-report" // dir
	noFirstAnswer      fact.Code = "no-first-answer"
	operatorsTaken     fact.Code = "operators-taken"
	repeatsDone        fact.Code = "repeats-done"
	repeatStopped      fact.Code = "repeat-stopped"    // n
	repeatFailed       fact.Code = "repeat-failed"     // n, dir
	stepOff            fact.Code = "step-off"          //
	stepUnproven       fact.Code = "step-unproven"     //
	stepNothing        fact.Code = "step-nothing"      //
	runInterrupted     fact.Code = "run-interrupted"   //
	betweenSteps       fact.Code = "run-between-steps" //
	whilePlaying       fact.Code = "run-while-playing" //
	stepVerdict        fact.Code = "step-verdict"      // kind, what, evidence
	runStep            fact.Code = "run-step"          // step, why

	// Where counting of a server begins.
	beginsByURL     fact.Code = "server-counted-by-url" // url
	beginsInSteps   fact.Code = "server-counted-in-steps"
	beginsAtModules fact.Code = "server-counted-at-modules"
	beginsAtStart   fact.Code = "server-counted-from-start"
	beginsLater     fact.Code = "server-counting-undecided"
)

// verdictFact is why a step is not done, by its verdict.
func verdictFact(o capture.Outcome) fact.Fact {
	params := []fact.Param{fact.ID("kind", capture.KindDomain, string(o.Kind)), fact.Because("what", o.What)}
	if o.Kind == capture.Interrupted {
		params = params[1:]
	}
	if !o.Evidence.IsZero() {
		params = append(params, fact.Because("evidence", o.Evidence))
	}
	return fact.New(stepVerdict, params...)
}

// ofStep is why a run failed: a step, and why that did.
func ofStep(step string, why fact.Fact) fact.Fact {
	return fact.New(runStep, fact.Name("step", step), fact.Because("why", why))
}

// Codes of what a run tells on the screen while it goes on. internal/message has
// their words; a comment names the parameters.
const (
	runIs            fact.Code = "run-is"            // dir
	stepStarted      fact.Code = "step-started"      // step
	stepKept         fact.Code = "step-kept"         // step
	stepEnded        fact.Code = "step-ended"        // step, kind, time
	stepRecorded     fact.Code = "step-recorded"     // step, kind, time where one took any
	stepAgain        fact.Code = "step-again"        // file, why, step
	stepAside        fact.Code = "step-aside"        // step, dir
	nothingToDo      fact.Code = "nothing-to-do"     //
	toldError        fact.Code = "told-error"        // level, error
	firstAnswerIs    fact.Code = "first-answer"      // time, file
	firstAnswerItem  fact.Code = "first-answer-item" // n, finding
	firstAnswerNote  fact.Code = "first-answer-note" // note
	recordingWritten fact.Code = "recording-written" // file, size
	annotationFails  fact.Code = "annotation-fails"  // step
	osrtHuge         fact.Code = "osrt-huge"         //
	toldAhead        fact.Code = "told-ahead"        // what
	noOneTimeline    fact.Code = "no-one-timeline"   // key
	samplesGivenUp   fact.Code = "samples-given-up"  // why
	noCommunicator   fact.Code = "no-communicator"   // tool
	noPerConfig      fact.Code = "no-per-config"     // tool, n
	sectionsUnlisted fact.Code = "sections-unlisted" // tool, error
	ranksStand       fact.Code = "ranks-stand"       // what
	ranksUnasked     fact.Code = "ranks-unasked"     // error
	runsAhead        fact.Code = "runs-ahead"        // runs
	runsNone         fact.Code = "runs-none"         //
	runsOfStep       fact.Code = "runs-of-step"      // n, how
	costOfRanges     fact.Code = "cost-of-ranges"    // cost
	costOfLaunches   fact.Code = "cost-of-launches"  // cost
	costUnknown      fact.Code = "cost-unknown"      // n
)

// tell says on the screen what goes on.
func (o *Options) tell(code fact.Code, params ...fact.Param) {
	o.Say(message.Text(fact.New(code, params...)))
}

// tellError tells of an error after which the run goes on; level is note or warning.
func (o *Options) tellError(level string, err error) {
	o.tell(toldError, fact.Name("level", level), fact.Error("error", err))
}
