package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// Every finding that rests on something with a place in the result names it.
func TestWhere(t *testing.T) {
	r := &Result{
		Job: &Job{}, Kernels: []Kernel{{ID: "k1"}, {ID: "k2"}},
		Stages:        []Stage{{Name: "decode", Split: Split{LaunchBound: true}}},
		Opportunities: []Opportunity{{ID: "gaps-decode", Kind: "gaps", Stage: "decode"}, {ID: "host-decode", Kind: "host", Stage: "decode"}, {ID: "fusion", Kind: "fusion"}},
	}
	for _, test := range []struct {
		id   string
		code fact.Code
		with []fact.Param
		want Where
	}{
		{"kernel-k2", codeKernelLimited, nil, Where{Kernel: "k2"}},
		{"first-saving", codeFirstSaving, nil, Where{Opportunity: "gaps-decode"}},
		{"next-saving", codeNextSaving, nil, Where{Opportunity: "fusion"}},
		{"straggler-2", codeStraggler, []fact.Param{fact.NS("ns", int64(19915087))}, Where{Part: "ranks", WaitNS: 19915087}},
		{"communication-decode", codeExposed, []fact.Param{fact.Stage("stage", "decode")}, Where{Part: "ranks"}},
		{"main-decode", codeStageBusy, []fact.Param{fact.Stage("stage", "decode")}, Where{Stage: "decode"}},
		{"region-a/b", codeRegionLimited, []fact.Param{fact.Region("region", "a/b")}, Where{Region: "a/b"}},
		{"utilisation-decode", codeUtilization, []fact.Param{fact.Stage("stage", "decode")}, Where{Part: "use"}},
		{"damaged", codeDamaged, nil, Where{}},
	} {
		if got := r.Where(&Finding{ID: test.id, Fact: fact.New(test.code, test.with...)}); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.id, got, test.want)
		}
	}
}
