package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Verdict says how a session ended, by what it left and not by its exit code
// alone.
type Verdict struct {
	OK       bool
	Kind     string   // of the failure, as error.json names it; "" where there is none
	What     string   // one sentence
	Evidence string   // the lines that show it
	Next     string   // what to do
	Partial  bool     // samples were measured before the failure
	Warnings []string // of a session that reached its end
}

// Kinds of failure that error.json names.
const (
	missingPackage = "missing_package"
	missingWeights = "missing_weights"
	untrustedCode  = "untrusted_code"
	badPath        = "bad_path"
	badDataset     = "dataset"
	gpuIndex       = "gpu_index"
	outOfMemory    = "out_of_memory"
	noLogits       = "no_logits"
	noTokens       = "no_tokens"
	exception      = "exception"
)

// tracebackLines is how much of a traceback an outcome shows; error.json and
// the log keep more.
const tracebackLines = 4

// Judge reads what a session left in its folder.
func Judge(exit tool.Exit, dir, mode string) Verdict {
	v := Verdict{}
	metrics, metricsErr := ReadMetrics(dir)
	v.Partial = metrics != nil && len(metrics.Samples) > 0
	failure, err := ReadFailure(dir)
	switch {
	case err != nil && !exit.OK():
		v.What, v.Next = fmt.Sprintf("the session ended with %s, and its %s cannot be read: %v", exit, ErrorName, err), "read its log"
		return v
	case failure != nil:
		return v.failed(*failure, exit)
	case !exit.OK():
		v.What = fmt.Sprintf("the session ended with %s before it could say why", exit)
		v.Next = "read its log"
		return v
	}
	return v.complete(dir, mode, metrics, metricsErr)
}

// failed words an error.json.
func (v Verdict) failed(f Failure, exit tool.Exit) Verdict {
	v.Kind = f.Kind
	if v.Kind == "" {
		v.Kind = exception
	}
	v.What = "the session failed: " + tool.Quote(f.What)
	if exit.OK() {
		v.What += " (and yet its exit code was 0)"
	}
	v.Next = tool.Quote(f.Next)
	if v.Kind == exception || v.Kind == outOfMemory { // the others say in words where they come from
		lines := f.Traceback[max(0, len(f.Traceback)-tracebackLines):]
		var kept []string
		for _, line := range lines {
			// Python underlines the part of a line that failed.
			if line = strings.TrimSpace(line); strings.Trim(line, "^~ ") != "" {
				kept = append(kept, line)
			}
		}
		v.Evidence = tool.Quote(strings.Join(kept, " | "))
	}
	return v
}

// complete checks that a session that reports success has done its work.
func (v Verdict) complete(dir, mode string, m *Metrics, err error) Verdict {
	missing := func(name string, err error) Verdict {
		v.What = fmt.Sprintf("the session ended with exit code 0 and without a good %s", name)
		v.Evidence, v.Next = err.Error(), "read its log; this is a defect of the program, not of the model"
		if errors.Is(err, fs.ErrNotExist) {
			v.Evidence = filepath.Join(dir, name) + " does not exist"
		}
		return v
	}
	switch mode {
	case ModeTorchProfiler:
		o, err := ReadOperators(dir)
		if err != nil {
			return missing(OperatorsName, err)
		}
		if len(o.Operators) == 0 {
			return missing(OperatorsName, errors.New("it lists no operator"))
		}
		v.Warnings = append(v.Warnings, o.Notes...)
	case ModeFlops:
		if err := exists(dir, FlopsName); err != nil {
			return missing(FlopsName, err)
		}
	default:
		switch {
		case err != nil:
			return missing(MetricsName, err)
		case !m.Complete:
			return missing(MetricsName, errors.New("it says that the session is not complete"))
		case len(m.Samples) == 0:
			return missing(MetricsName, errors.New("it holds no sample"))
		}
		v.Warnings = append(v.Warnings, m.Notes...)
		v.Warnings = append(v.Warnings, noDecode(m.Samples)...)
	}
	v.OK, v.What = true, "the session ran to its end"
	return v
}

// noDecode says why samples have no decode stage, each reason once.
func noDecode(samples []SampleTime) []string {
	var said []string
	for _, s := range samples {
		if s.NoDecode != "" && !slices.Contains(said, s.NoDecode) {
			said = append(said, s.NoDecode)
		}
	}
	return said
}

func exists(dir, name string) error {
	st, err := os.Stat(filepath.Join(dir, name))
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	return err
}
