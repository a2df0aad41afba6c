package pick

import (
	"context"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
)

// rangePage is where the requirements of range replay are.
const rangePage = "docs/range-replay.md"

// countAgain follows up a capture as written that profiled nothing: it gives
// advice that fits and, where no timeline tells which ranges there are, counts
// once more with the includes in their other form, or else without them. The
// outcome says what was tried; the options are those that it came of.
func (c *Counting) countAgain(ctx context.Context, o ncu.Options, first capture.Outcome) (capture.Outcome, ncu.Options, error) {
	if first.Kind != capture.NothingMatched {
		return first, o, nil
	}
	again, tried := c.otherFilter(o)
	if tried == "" {
		advise(&first, o.ReplayMode, c.Timeline != nil, "")
		return first, o, nil
	}
	c.Say("ncu: nothing was profiled; once more " + tried)
	second, err := c.Count(ctx, Request{Options: again, Output: "ncu/again/run"})
	if err != nil {
		return capture.Outcome{}, o, err
	}
	switch {
	case second.Usable:
		text := "nothing was profiled with nvtx_include " + strings.Join(o.NVTXInclude, ", ") + "; this was counted " + tried
		second.Warnings = slices.Insert(second.Warnings, 0, capture.Warning{ID: "filter-changed", Text: text, Next: "write the filter so in pipeline.ncu.ncu_cli.nvtx_include"})
		if second.Kind == capture.Captured {
			second.Kind, second.Evidence = capture.WithWarnings, text
		}
	case second.Kind == capture.NothingMatched:
		advise(&second, o.ReplayMode, false, tried)
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
		o.Cause += "; replay modes tried before: " + strings.Join(tried, ", ")
		o.Next += "; " + rangePage + " lists what a range needs to be measured as a whole"
	}
}

// otherFilter is a filter that may select what the one as written did not, and
// says which; "" where there is none. With a timeline the includes were resolved
// against its ranges. Ranges cannot be measured without an include, and launches
// without one only up to a number.
func (c *Counting) otherFilter(o ncu.Options) (ncu.Options, string) {
	if c.Timeline != nil || len(o.NVTXInclude) == 0 {
		return o, ""
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
		return o, "with nvtx_include " + strings.Join(other, ", ")
	case o.ReplayMode == plan.ReplayKernel && o.LaunchCount > 0:
		o.NVTXInclude = nil
		return o, "without nvtx_include"
	}
	return o, ""
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

// advise says what to do after nothing was profiled: per replay mode, with and
// without a timeline that names the ranges. Tried is what a second attempt did.
func advise(o *capture.Outcome, mode string, timeline bool, tried string) {
	find := "look at the ranges first: pipeline.nsys.enable=true, then deepprof show regions RUN"
	if timeline {
		find = "compare the filter with deepprof show regions RUN and deepprof show kernels RUN"
	}
	switch mode {
	case plan.ReplayRange:
		o.Cause = "no range was measured: none matches the filter, or it has no active CUDA context when it opens, launches nothing, or calls an API that ncu cannot record"
		o.Next = find + "; " + rangePage + " lists what a range needs; pipeline.ncu.ncu_cli.replay_mode=app-range needs less"
	case plan.ReplayAppRange:
		o.Cause = "no range was measured: none matches the filter, or it launches nothing"
		o.Next = find + "; " + rangePage + " lists what a range needs; pipeline.ncu.ncu_cli.replay_mode=kernel counts single launches"
	default:
		o.Cause = "no launch passed the filters of NVTX range, kernel name and launch number"
		o.Next = find + "; a push/pop range is written with a slash (decode/), a start/end range without"
	}
	if tried != "" {
		o.Cause += "; tried as written, then " + tried
	}
}
