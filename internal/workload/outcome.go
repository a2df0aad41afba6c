package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Verdict says how a session ended, by what it left and not by its exit code
// alone.
type Verdict struct {
	OK       bool
	Kind     string // of the failure, as error.json names it; "" where there is none
	What     fact.Fact
	Evidence fact.Fact   // what shows it; zero where nothing does
	Next     fact.Fact   // what to do; zero where What says it
	Partial  bool        // samples were measured before the failure
	Warnings []fact.Fact // of a session that reached its end
}

// Kinds of failure that error.json names and whose traceback is shown; failure.py has
// the others.
const (
	outOfMemory = "out_of_memory"
	exception   = "exception"
)

// Codes of how a session ended. internal/message has their words, also for the
// notes that a session writes itself; a comment names the parameters.
const (
	sessionComplete      fact.Code = "session-complete"
	sessionFailed        fact.Code = "session-failed"         // why; error in earlier versions
	sessionFailedQuietly fact.Code = "session-failed-quietly" // why; error in earlier versions
	sessionEnded         fact.Code = "session-ended"          // exit
	sessionErrorUnread   fact.Code = "session-error-unread"   // exit, file, error
	sessionLeftNothing   fact.Code = "session-left-nothing"   // file
	fileAbsent           fact.Code = "session-file-absent"    // file
	fileUnusable         fact.Code = "session-file-unusable"  // error
	traceback            fact.Code = "session-traceback"      // text
	sessionAdvice        fact.Code = "session-advice"         // why; text in earlier versions
	readLog              fact.Code = "session-read-log"       //
	programDefect        fact.Code = "session-program-defect" //
	linksLost            fact.Code = "operators-links-lost"   // n
)

// tracebackLines is how much of a traceback an outcome shows; error.json and
// the log keep more.
const tracebackLines = 4

// Judge reads what a session left in its folder.
// mode is one of the modes of a program. error.json goes before the exit code, because a
// session can fail and still end with 0.
func Judge(exit tool.Exit, dir, mode string) Verdict {
	v := Verdict{}
	metrics, metricsErr := ReadMetrics(dir)
	v.Partial = metrics != nil && len(metrics.Samples) > 0
	failure, err := ReadFailure(dir)
	switch {
	case err != nil && !exit.OK():
		v.What = fact.New(sessionErrorUnread, fact.Name("exit", exit.String()), fact.File("file", runs.ErrorName), fact.Error("error", err))
		v.Next = fact.New(readLog)
		return v
	case failure != nil:
		return v.failed(*failure, exit)
	case !exit.OK():
		v.What, v.Next = fact.New(sessionEnded, fact.Name("exit", exit.String())), fact.New(readLog)
		return v
	}
	return v.complete(dir, mode, metrics, metricsErr)
}

// failed takes an error.json for its word.
func (v Verdict) failed(f Failure, exit tool.Exit) Verdict {
	v.Kind = f.Kind
	if v.Kind == "" {
		v.Kind = exception
	}
	why := fact.Because("why", f.cause())
	v.What, v.Next = fact.New(sessionFailed, why), fact.New(sessionAdvice, why)
	if exit.OK() {
		v.What = fact.New(sessionFailedQuietly, why)
	}
	if v.Kind == exception || v.Kind == outOfMemory { // the others name where they come from
		lines := f.Traceback[max(0, len(f.Traceback)-tracebackLines):]
		var kept []string
		for _, line := range lines {
			// Python underlines the part of a line that failed.
			if line = strings.TrimSpace(line); strings.Trim(line, "^~ ") != "" {
				kept = append(kept, line)
			}
		}
		if len(kept) > 0 {
			v.Evidence = fact.New(traceback, fact.ErrorText("text", tool.Quote(strings.Join(kept, " | "))))
		}
	}
	return v
}

// complete checks that a session that reports success has done its work.
func (v Verdict) complete(dir, mode string, m *Metrics, err error) Verdict {
	missing := func(name string, err error) Verdict {
		v.What, v.Next = fact.New(sessionLeftNothing, fact.File("file", name)), fact.New(programDefect)
		v.Evidence = fact.New(fileUnusable, fact.Error("error", err))
		if errors.Is(err, fs.ErrNotExist) {
			v.Evidence = fact.New(fileAbsent, fact.File("file", filepath.Join(dir, name)))
		}
		return v
	}
	switch mode {
	case ModeTorchProfiler:
		o, err := ReadOperators(dir)
		if err != nil {
			return missing(runs.OperatorsName, err)
		}
		if len(o.Operators) == 0 {
			return missing(runs.OperatorsName, errors.New("it lists no operator"))
		}
		v.Warnings = append(v.Warnings, facts(o.Notes)...)
	case ModeFlops:
		if err := exists(dir, runs.FlopsName); err != nil {
			return missing(runs.FlopsName, err)
		}
	default:
		switch {
		case err != nil:
			return missing(runs.MetricsName, err)
		case !m.Complete:
			return missing(runs.MetricsName, errors.New("it says that the session is not complete"))
		case len(m.Samples) == 0:
			return missing(runs.MetricsName, errors.New("it holds no sample"))
		}
		v.Warnings = append(v.Warnings, facts(m.Notes)...)
		v.Warnings = append(v.Warnings, noDecode(m.Samples)...)
	}
	v.OK, v.What = true, fact.New(sessionComplete)
	return v
}

// noDecode says why samples have no decode stage, each reason once.
func noDecode(samples []SampleTime) (why []fact.Fact) {
	for _, s := range samples {
		if !s.NoDecode.IsZero() && !slices.ContainsFunc(why, s.NoDecode.Equal) {
			why = append(why, s.NoDecode.Fact)
		}
	}
	return why
}

// facts are notes of a session, also those that earlier versions wrote as sentences.
func facts(notes []fact.Stored) []fact.Fact {
	all := make([]fact.Fact, len(notes))
	for i, n := range notes {
		all[i] = n.Fact
	}
	return all
}

// exists is nil for a plain file.
func exists(dir, name string) error {
	st, err := os.Stat(filepath.Join(dir, name))
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	return err
}
