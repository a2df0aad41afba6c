package capture

import (
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
)

// Codes of what is stated about counted FLOPs.
const (
	flopsCounted    fact.Code = "flops-counted"
	noFlops         fact.Code = "flops-not-counted" // error
	causeOfFlops    fact.Code = "cause-flops"
	flopsUncompared fact.Code = "flops-not-compared" // error
	flopsAgree      fact.Code = "flops-agree"
	flopsDisagree   fact.Code = "flops-disagree"
	flopsDiffer     fact.Code = "flops-differ" // stage, ours, torch, relative
)

// FlopsCounted is the verdict on a count of FLOPs from a model's config, or on the
// error that there is none.
func FlopsCounted(r flops.Report, err error) Outcome {
	o := Outcome{Kind: Captured, What: fact.New(flopsCounted), Usable: true}
	if err != nil {
		o.Kind, o.What, o.Cause = MissingData, fact.New(noFlops, fact.Error("error", err)), fact.New(causeOfFlops)
		return o
	}
	o.doubtFlops(r.Warnings)
	return o
}

// JudgeFlops is the verdict on a session that counted FLOPs with torch, by how its
// count compares with ours.
func (o *Outcome) JudgeFlops(c flops.Comparison, err error) {
	if err != nil {
		o.Kind, o.What = MissingData, fact.New(flopsUncompared, fact.Error("error", err))
		return
	}
	o.What = fact.New(flopsAgree)
	for _, d := range c.Stages {
		if !d.Agree {
			o.Kind, o.What = WithWarnings, fact.New(flopsDisagree)
			o.Warnings = append(o.Warnings, Warning{Fact: fact.New(flopsDiffer,
				fact.Stage("stage", d.Stage), fact.Count("ours", d.Ours), fact.Count("torch", d.Torch), fact.Share("relative", d.Relative)), Scope: d.Stage})
		}
	}
	o.doubtFlops(c.Warnings)
}

// doubtFlops keeps the outcome usable: the counts stand, with doubts.
func (o *Outcome) doubtFlops(list []fact.Fact) {
	for _, w := range list {
		o.Kind = WithWarnings
		o.Warnings = append(o.Warnings, Warning{Fact: w})
	}
}
