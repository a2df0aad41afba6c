package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of the verdict: the one sentence that a report begins with.
const (
	codeVerdictRank   fact.Code = "headline-rank"   // rank or process, ns, share
	codeVerdictLaunch fact.Code = "headline-launch" // stage, share; gain and of where they are known
	codeVerdictAhead  fact.Code = "headline-ahead"  // the same, of a stage that runs from CUDA graphs
	codeVerdictIdle   fact.Code = "headline-idle"   // stage, share, cause
	codeVerdictBusy   fact.Code = "headline-busy"   // stage, share; limits where it is known
	codeVerdictToken  fact.Code = "headline-token"  // period, busy
	codeVerdictLimit  fact.Code = "headline-limit"  // share, kind
	codeVerdictTimes  fact.Code = "headline-times"  // total
	codeVerdictKernel fact.Code = "headline-kernel" // kernel or region, kind
	codeVerdictPart   fact.Code = "headline-part"   // category, share
	codeVerdictServed fact.Code = "headline-served" // ttft, token
	codeVerdictNoWork fact.Code = "headline-no-work"
	codeVerdictDamage fact.Code = "headline-damage"
	codeVerdictNone   fact.Code = "headline-none"
)

// verdicts make the verdict of the finding that matters most among those that
// have one.
var verdicts = map[fact.Code]func(*Result, fact.Fact) fact.Fact{
	codeStraggler:   verdictOf(codeVerdictRank, "rank", "process", "ns", "share"),
	codeLaunchBound: (*Result).launchVerdict,
	codeStageIdle: func(_ *Result, f fact.Fact) fact.Fact {
		return fact.New(codeVerdictIdle, append(taken(f, "stage", "cause"), fact.Share("share", 1-f.Number("busy_share")))...)
	},
	codeStageBusy: func(_ *Result, f fact.Fact) fact.Fact {
		return fact.New(codeVerdictBusy, append(taken(f, "stage", "limits"), fact.Share("share", f.Number("busy_share")))...)
	},
	codeNextToken:     verdictOf(codeVerdictToken, "period", "busy"),
	codeLimitedMostly: verdictOf(codeVerdictLimit, "share", "kind"),
	codeLimitedOften:  verdictOf(codeVerdictLimit, "share", "kind"),
	codeKernelLimited: verdictOf(codeVerdictKernel, "kernel", "kind"),
	codeRegionLimited: verdictOf(codeVerdictKernel, "region", "kind"),
	codeLargestPart:   verdictOf(codeVerdictPart, "category", "share"),
	codeLargestHalf:   verdictOf(codeVerdictPart, "category", "share"),
	codeNoKernels:     verdictOf(codeVerdictNoWork),
	codeCleanTimes:    verdictOf(codeVerdictTimes, "total"),
	codeDamaged:       verdictOf(codeVerdictDamage),
	codeLost:          verdictOf(codeVerdictDamage),
}

// verdictOf makes a verdict of some parameters of a finding.
func verdictOf(code fact.Code, keys ...string) func(*Result, fact.Fact) fact.Fact {
	return func(_ *Result, f fact.Fact) fact.Fact { return fact.New(code, taken(f, keys...)...) }
}

// Verdict is what the result says in one sentence.
// It goes by the findings alone, so that a result that was stored says what it said
// then.
func (r *Result) Verdict() fact.Fact {
	for _, f := range r.Findings {
		if make, ok := verdicts[f.Code]; ok {
			return make(r, f.Fact)
		}
	}
	if w := r.Serving.LastMeasured(); w != nil {
		return fact.New(codeVerdictServed, fact.NS("ttft", w.Stats.TTFT.P50), fact.NS("token", w.Stats.TPOT.P50))
	}
	return fact.New(codeVerdictNone)
}

// launchVerdict tells how long a stage waits for the host and what that can save.
func (r *Result) launchVerdict(f fact.Fact) fact.Fact {
	code, params := codeVerdictLaunch, append(taken(f, "stage"), fact.Share("share", f.Number("wait_share")))
	at := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == f.Text("stage") || f.Text("stage") == "" && s.whole() })
	if at < 0 || r.Stages[at].LaunchGain == nil {
		return fact.New(code, params...)
	}
	s := &r.Stages[at]
	if s.fromGraphs() {
		code = codeVerdictAhead
	}
	return fact.New(code, append(params, fact.NS("gain", s.LaunchGain.NS), fact.NS("of", s.LaunchGain.OfNS))...)
}

// taken gives the parameters of a fact that have these keys.
func taken(f fact.Fact, keys ...string) (params []fact.Param) {
	for _, key := range keys {
		if v, ok := f.Params[key]; ok {
			params = append(params, fact.Param{Key: key, Value: v})
		}
	}
	return params
}
