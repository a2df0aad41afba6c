package pipeline

import (
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// Codes of what this package states. internal/message has their words; a comment
// names the parameters.
const (
	provenanceRecorded fact.Code = "provenance-recorded"
	reportsWritten     fact.Code = "reports-written"
	reportsUnwritten   fact.Code = "reports-not-written"
	noReport           fact.Code = "no-report-made"
	causeOfReport      fact.Code = "cause-report" // dir
	flopsCounted       fact.Code = "flops-counted"
	noFlops            fact.Code = "flops-not-counted" // error
	causeOfFlops       fact.Code = "cause-flops"
	flopsUncompared    fact.Code = "flops-not-compared" // error
	flopsAgree         fact.Code = "flops-agree"
	flopsDisagree      fact.Code = "flops-disagree"
	flopsDiffer        fact.Code = "flops-differ" // stage, ours, torch, relative
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

// errorFact is an error as evidence.
func errorFact(err error) fact.Fact {
	return fact.New(capture.SystemError, fact.ErrorText("error", tool.Quote(err.Error())))
}

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
