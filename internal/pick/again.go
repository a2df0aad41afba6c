package pick

import (
	"context"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// countAgain follows up a capture as written that profiled nothing: it gives
// advice that fits and, where no timeline tells which ranges there are, counts
// once more with the includes in their other form, or else without them. The
// outcome says what was tried; the options are those that it came of.
func (c *Counting) countAgain(ctx context.Context, o ncu.Options, first capture.Outcome) (capture.Outcome, ncu.Options, error) {
	if first.Kind != capture.NothingMatched {
		return first, o, nil
	}
	again, tried := c.otherFilter(o)
	if tried.IsZero() {
		first.Cause = advice(&o, c.Timeline != nil, tried)
		return first, o, nil
	}
	c.Say("ncu: " + message.Text(fact.New(countingAgain, fact.Because("tried", tried))))
	second, err := c.Count(ctx, Request{Options: again, Output: runs.NcuOutput("again")})
	if err != nil {
		return capture.Outcome{}, o, err
	}
	switch {
	case second.Usable:
		changed := fact.New(filterChanged, fact.Names("include", fact.KindRegion, o.NVTXInclude), fact.Because("tried", tried))
		second.WarnFirst(capture.Warning{Fact: changed, Scope: "pipeline.ncu.ncu_cli.nvtx_include"})
	case second.Kind == capture.NothingMatched:
		second.Cause = advice(&o, false, tried)
	}
	return second, again, nil
}

// adviseLadder adds the replay modes that were tried before to the advice after
// the last one.
func adviseLadder(o *capture.Outcome, steps []Step) {
	var tried []string
	for _, s := range steps {
		if s.Tried && s.Mode != plan.ReplayKernel {
			tried = append(tried, s.Mode)
		}
	}
	if o.Kind == capture.NothingMatched && len(tried) > 0 {
		o.Cause = o.Cause.With(fact.Names("modes", fact.KindName, tried))
	}
}

// otherFilter is a filter that may select what the one as written did not, and
// says which; zero where there is none. With a timeline the includes were resolved
// against its ranges. Ranges cannot be measured without an include, and launches
// without one only up to a number.
func (c *Counting) otherFilter(o ncu.Options) (ncu.Options, fact.Fact) {
	if c.Timeline != nil || len(o.NVTXInclude) == 0 {
		return o, fact.Fact{}
	}
	var other []string
	for _, text := range o.NVTXInclude {
		if form := otherForm(text); form != "" && !slices.Contains(o.NVTXInclude, form) {
			other = append(other, form)
		}
	}
	switch {
	case len(other) > 0:
		o.NVTXInclude = other
		return o, fact.New(otherForms, fact.Names("include", fact.KindRegion, other))
	case o.ReplayMode == plan.ReplayKernel && o.LaunchCount > 0:
		o.NVTXInclude = nil
		return o, fact.New(noInclude)
	}
	return o, fact.Fact{}
}

// otherForm is the push/pop form of a start/end expression and the other way
// round; "" for an expression of several ranges, which has one form.
func otherForm(text string) string {
	name, slash := strings.CutSuffix(text, "/")
	if name == "" || strings.ContainsAny(name, "/,") {
		return ""
	}
	if slash {
		return name
	}
	return name + "/"
}

// advice is why nothing was profiled and what to do: by replay mode and by the filters
// that were given, with and without a timeline that names what there is. Tried is what
// a second attempt did.
func advice(o *ncu.Options, timeline bool, tried fact.Fact) fact.Fact {
	code, find, compare := causeFilter, findRanges, compareFilter
	switch {
	case o.ReplayMode == plan.ReplayRange:
		code = causeRange
	case o.ReplayMode == plan.ReplayAppRange:
		code = causeAppRange
	case len(o.NVTXInclude)+len(o.NVTXExclude) == 0:
		code, find, compare = causeNameFilter, findKernels, compareKernels
	}
	if timeline {
		find = compare
	}
	params := []fact.Param{fact.Because("find", fact.New(find))}
	if code == causeNameFilter && o.KernelName != "" {
		params = append(params, fact.Name("kernel", o.KernelName))
	}
	if !tried.IsZero() {
		params = append(params, fact.Because("tried", tried))
	}
	return fact.New(code, params...)
}
