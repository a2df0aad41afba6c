package capture

import (
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// Codes of what this package states. internal/message has their words and the next
// step of each; a comment names the parameters. The code of a message of nsys or
// ncu is its ID in patterns.tsv, and the cause of a verdict has Kind.Cause.
const (
	// What happened.
	toolEnded          fact.Code = "tool-ended"       // tool, exit, left, but
	toolStopped        fact.Code = "tool-stopped"     // tool, stop, exit, left, but
	toolNotStarted     fact.Code = "tool-not-started" // tool
	leftNothing        fact.Code = "left-no-report"
	leftReports        fact.Code = "left-reports" // n
	leftStream         fact.Code = "left-stream"
	leftUnreadable     fact.Code = "left-unreadable"
	workloadNotStarted fact.Code = "workload-not-started"
	workloadStalled    fact.Code = "workload-stalled"
	workloadTooLong    fact.Code = "workload-too-long"
	workloadEnded      fact.Code = "workload-ended"     // code
	workloadEndedBy    fact.Code = "workload-ended-by"  // signal, name
	WorkloadRan        fact.Code = "workload-ran"       // to its end
	StoppedBySignal    fact.Code = "stopped-by-signal"  // by the user's
	exitCode           fact.Code = "exit-code"          // code
	exitSignal         fact.Code = "exit-signal"        // signal, name
	exitPassedOn       fact.Code = "exit-passed-signal" // code, signal, name

	// The evidence for a verdict.
	ToolPrinted   fact.Code = "tool-printed"       // text_of_vendor
	SystemError   fact.Code = "system-error"       // error
	givenArgument fact.Code = "given"              // text
	argumentBytes fact.Code = "given-bytes"        // n
	foundFile     fact.Code = "found-file"         // file
	foundOnly     fact.Code = "found-only"         // file
	notFound      fact.Code = "not-found"          // file
	fileError     fact.Code = "file-error"         // file, error
	notInPath     fact.Code = "not-in-path"        // program
	notAProgram   fact.Code = "not-a-program"      // file, error
	lostScript    fact.Code = "interpreter-absent" // file, line
	nearlyFullDir fact.Code = "nearly-full"        // dir, why
	spaceShort    fact.Code = "space-short"        // dir, free, need
	reportLacks   fact.Code = "report-lacks"       // what
	notAnnounced  fact.Code = "not-announced"
	gateSilent    fact.Code = "gate-silent"
	gateShut      fact.Code = "gate-shut"
	namesNothing  fact.Code = "names-no-report" // tool
	printsNothing fact.Code = "printed-nothing"
	whileReading  fact.Code = "while-reading"
	whileWaiting  fact.Code = "while-waiting" // why

	// Causes that say more than the verdict.
	causeCut           fact.Code = "cause-cut-short"
	causeKilled        fact.Code = "cause-profiler-killed"
	causeAsked         fact.Code = "cause-ended-as-asked"
	causeForks         fact.Code = "cause-forks"          // n, child
	causeMaybeForks    fact.Code = "cause-forks-possible" // what
	causeGate          fact.Code = "cause-gate"           // register, fork
	causeOldName       fact.Code = "cause-old-name"
	causeOldFile       fact.Code = "cause-old-file"
	causeNoStart       fact.Code = "cause-no-start" // tool
	causeNotProfiler   fact.Code = "cause-not-a-profiler"
	causeLongName      fact.Code = "cause-long-name"
	causePercent       fact.Code = "cause-percent"
	causeDashes        fact.Code = "cause-dashes"
	causeCommas        fact.Code = "cause-commas"
	causeNoTrigger     fact.Code = "cause-no-trigger"
	causeLongCommand   fact.Code = "cause-long-command"
	causeNested        fact.Code = "cause-nested" // variable
	causeIsProfiler    fact.Code = "cause-is-profiler"
	causeNotInPath     fact.Code = "cause-not-in-path"      //
	causeNotInPathHere fact.Code = "cause-not-in-path-here" // file
	causeNoFile        fact.Code = "cause-no-file"          // dir
	causeFolder        fact.Code = "cause-program-folder"   //
	causeNotExec       fact.Code = "cause-not-executable"
	causeNoShebang     fact.Code = "cause-no-shebang"
	causeInterpreter   fact.Code = "cause-interpreter" // file
	causeOutputDir     fact.Code = "cause-output-folder"
	causeOutputSpace   fact.Code = "cause-output-space"
	causeTempSpace     fact.Code = "cause-temp-space"
	causeFullLog       fact.Code = "cause-full-log" // dir
	CauseFull          fact.Code = "cause-full"
	causeStart         fact.Code = "cause-workload-start"
	causeStall         fact.Code = "cause-stall"
	causeLimit         fact.Code = "cause-limit"  // key
	causeOwnError      fact.Code = "cause-failed" // log
	causeSilent        fact.Code = "cause-silent"

	// Doubts about a capture that worked.
	warnDiagnostic  fact.Code = "diagnostic"         // text_of_vendor
	warnUnread      fact.Code = "diagnostics-unread" // error
	warnStale       fact.Code = "stale-file"         // file
	warnSpace       fact.Code = "low-space"          // dir
	warnExit        fact.Code = "workload-exit"      // exit
	warnCut         fact.Code = "workload-cut"       // exit
	warnKilled      fact.Code = "profiler-killed"    // tool, exit
	warnAsked       fact.Code = "ended-as-asked"     // code
	warnUnannounced fact.Code = "unannounced"
	warnGateUnseen  fact.Code = "gate-unseen"
	warnNotOpened   fact.Code = "not-opened"
	warnLeft        fact.Code = "processes-left" // processes, after
	warnTraceEmpty  fact.Code = "trace-empty"    // what
	warnReports     fact.Code = "fewer-reports"  // n, of
	warnLaunches    fact.Code = "fewer-launches" // n, of
	SecretsKept     fact.Code = "secrets-kept"   // names: exactly the variables that were removed
	warnFreed       fact.Code = "sessions-freed" // file
	warnStuck       fact.Code = "sessions-stuck" // error
	warnMoved       fact.Code = "report-moved"   // file
	warnNotMoved    fact.Code = "not-moved"      // error, file
	warnImported    fact.Code = "stream-imported"
	warnNotImported fact.Code = "not-imported"   // error, why
	warnNotFollowed fact.Code = "forks-untried"  // error
	warnFollowed    fact.Code = "forks-followed" // why
	warnNothingMore fact.Code = "forks-no-more"  // why
	warnInVain      fact.Code = "forks-in-vain"  // why
	noticeForks     fact.Code = "trying-forks"   // why
)

// VendorText is the parameter that holds what a tool printed.
const VendorText = "text_of_vendor"

// vendorLine is a line that a tool or the workload printed, fit for a screen.
func vendorLine(line string) fact.Param { return fact.Vendor(VendorText, tool.Quote(line)) }

// linePrinted is a line as evidence; zero for "".
func linePrinted(line string) fact.Fact {
	if line == "" {
		return fact.Fact{}
	}
	return fact.New(ToolPrinted, vendorLine(line))
}

// ErrorFact is an error as evidence.
func ErrorFact(err error) fact.Fact { return fact.New(SystemError, errorText(err)) }

// errorText bounds what the error quotes of other programs.
func errorText(err error) fact.Param { return fact.ErrorText("error", tool.Quote(err.Error())) }

// ofFile is a fact about a file alone.
func ofFile(code fact.Code, path string) fact.Fact { return fact.New(code, fact.File("file", path)) }

// Cause is the likely cause of a verdict where nothing better is known, with its
// next step; zero for Captured.
func (k Kind) Cause() fact.Fact {
	if k == Captured || k == "" {
		return fact.Fact{}
	}
	return fact.New(fact.Code("verdict-" + strings.ReplaceAll(string(k), " ", "-")))
}
