package pipeline

import (
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

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
	reportSecrets    fact.Code = "report-secrets"    // file, names, more
	noOneTimeline    fact.Code = "no-one-timeline"   // key
	samplesGivenUp   fact.Code = "samples-given-up"  // why
	samplesTooLong   fact.Code = "samples-too-long"  // rate
	samplesUnbounded fact.Code = "samples-unbounded"
	samplesSlower    fact.Code = "samples-slower"    // rate
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
