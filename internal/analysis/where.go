package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Where is what shows the evidence of a finding; at most one of its fields but WaitNS is set.
type Where struct {
	Kernel      string `json:"kernel,omitempty"`      // ID
	Opportunity string `json:"opportunity,omitempty"` // ID
	Region      string `json:"region,omitempty"`      // path
	Stage       string `json:"stage,omitempty"`       // how its time is divided
	// Part of the result: ranks, kernels, operators, use, steps.
	Part string `json:"part,omitempty"`
	// WaitNS is how long ranks wait, where that is what was found.
	WaitNS int64 `json:"wait_ns,omitempty"`
}

// evidenceParts are the parts of the result that findings rest on, by their codes.
var evidenceParts = map[fact.Code]string{
	codeStraggler: "ranks", codeWaiting: "ranks", codeImbalance: "ranks", codeStageApart: "ranks", codeRankMissing: "ranks", codeOtherKernel: "ranks",
	codeLargestPart: "kernels", codeLargestHalf: "kernels", codeLimitedMostly: "kernels", codeLimitedOften: "kernels",
	codeLargestOperator: "operators",
	codeUtilization:     "use", codeContradiction: "use", codeExecutedMore: "use", codeExecutedPadding: "use",
	codeNextToken: "steps",
}

// Where tells what shows the evidence of a finding; the zero value where nothing does but its words.
func (r *Result) Where(f *Finding) (w Where) {
	switch f.Code {
	case codeFirstSaving, codeNextSaving:
		at := 0
		if f.Code == codeNextSaving {
			at = r.nextSaving()
		}
		if at >= 0 && at < len(r.Opportunities) {
			w.Opportunity = r.Opportunities[at].ID
		}
	case codeKernelLimited:
		if at := slices.IndexFunc(r.Kernels, func(k Kernel) bool { return kernelFinding(&k) == f.ID }); at >= 0 {
			w.Kernel = r.Kernels[at].ID
		}
	case codeRegionLimited:
		w.Region = f.Params["region"].Text
	case codeExposed:
		w.Stage = f.Params["stage"].Text
		if r.Job != nil {
			w = Where{Part: "ranks"}
		}
	default:
		if w.Part = evidenceParts[f.Code]; w.Part == "" {
			w.Stage = f.Params["stage"].Text
		}
	}
	if f.Code == codeStraggler || f.Code == codeWaiting {
		w.WaitNS = int64(f.Params["ns"].Number)
	}
	return w
}

// kernelFinding is the ID of the finding about a kernel.
func kernelFinding(k *Kernel) string { return "kernel-" + k.ID }
