package capture

import (
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
)

// Kinds of data in Content.Rows, beside the names of tables and metrics.
const (
	DataKernels = "cuda-kernels"
	DataRanges  = "nvtx-ranges"
	DataResults = "results" // of a counter report, whatever they hold
)

// dataDomain is the domain of kinds of data as IDs.
const dataDomain = "data"

// ExpectTimeline says what a timeline must hold to be what was asked for. A
// program need not have ranges, unless they are all that was asked for or a
// domain was named. What else was asked for and is absent is named.
func ExpectTimeline(n plan.Nsys) Expect {
	e := Expect{}
	if _, count, ok := strings.Cut(n.CaptureRangeEnd, ":"); ok && n.CaptureRange != plan.CaptureNone {
		e.Reports, _ = strconv.Atoi(count) // nsys.Args has checked it
	}
	if slices.ContainsFunc(n.Trace, ofCUDA) {
		e.Tables = append(e.Tables, DataKernels)
	}
	if slices.Contains(n.Trace, "nvtx") && (len(n.Trace) == 1 || len(n.NVTXDomainInclude) > 0) {
		e.Tables = append(e.Tables, DataRanges)
	}
	for _, name := range asked(n) {
		if nsys.KnowsTrace(name) {
			e.Named = append(e.Named, name)
		}
	}
	return e
}

func ofCUDA(api string) bool { return strings.HasPrefix(api, "cuda") }

// asked are the kinds of data that a timeline is to hold.
func asked(n plan.Nsys) []string {
	var out []string
	for _, api := range n.Trace {
		switch {
		case ofCUDA(api):
			out = append(out, DataKernels)
		case api == "nvtx":
			out = append(out, DataRanges)
		default:
			out = append(out, api)
		}
	}
	if n.Sample != "" && n.Sample != "none" {
		out = append(out, nsys.TraceSampling)
	}
	if n.CPUCtxSw != "" && n.CPUCtxSw != "none" {
		out = append(out, nsys.TraceScheduling)
	}
	return append(out, nsys.OptionTraces(n.ExtraArgs)...)
}

// AskedTables are the kinds of data of which a good timeline has at least one;
// none where something was asked for that cannot be looked for.
func AskedTables(n plan.Nsys) []string {
	list := asked(n)
	if slices.ContainsFunc(list, func(name string) bool { return name != DataKernels && name != DataRanges && !nsys.KnowsTrace(name) }) {
		return nil
	}
	return list
}

// absent are the names that the reports hold nothing of.
func (e Expect) absent(c *Content) []string {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Named), func(name string) bool { return c.Rows[name] > 0 })
}

// JudgeMissing tells a capture that lacks part of what was asked for from one
// that has nothing of it, which is not usable. Got counts what the reports hold.
func (r *Result) JudgeMissing(asked []string, got map[string]int64) {
	if len(asked) == 0 || len(r.Reports) == 0 || slices.ContainsFunc(asked, func(name string) bool { return got[name] > 0 }) {
		return
	}
	o := &r.Outcome
	switch o.Kind {
	case Captured, WithWarnings:
		o.verdict(MissingData, nil)
		o.Evidence = lacks(asked...)
	case MissingData:
	default:
		return
	}
	o.Usable = false
	o.What = o.What.With(fact.ID("but", "left-but", "nothing-of-it"))
	r.amend()
}

// ExplainGate names what may still keep the gate of a timeline shut, in the
// manifest as on the screen.
func (r *Result) ExplainGate(n plan.Nsys) {
	var more []fact.Param
	if n.NVTXRegisterOnly {
		more = append(more, fact.Key("register", "pipeline.nsys.nvtx_register_only=false"))
	}
	if !n.TraceForkBeforeExec {
		more = append(more, fact.Key("fork", forkSetting))
	}
	r.Outcome.Cause = fact.New(causeGate, more...)
	r.amend()
}

// amend makes the verdict on the capture that on its last attempt.
func (r *Result) amend() {
	if n := len(r.Attempts); n > 0 {
		r.Attempts[n-1].Outcome = r.Outcome
	}
}
