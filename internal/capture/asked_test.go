package capture

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

func TestExpectTimeline(t *testing.T) {
	for _, c := range []struct {
		name   string
		nsys   plan.Nsys
		n      int
		tables []string
	}{
		{"nvtx alone", plan.Nsys{Trace: []string{"nvtx"}, CaptureRange: plan.CaptureNone}, 0, []string{DataRanges}},
		{"both", plan.Nsys{Trace: []string{"cuda", "nvtx"}, CaptureRange: plan.CaptureNone}, 0, []string{DataKernels}},
		{"a domain", plan.Nsys{Trace: []string{"cuda", "nvtx"}, NVTXDomainInclude: []string{"x"}, CaptureRange: plan.CaptureNone}, 0, []string{DataKernels, DataRanges}},
		{"repeat", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNVTX, CaptureRangeEnd: "repeat:5"}, 5, nil},
		{"repeat and end", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNVTX, CaptureRangeEnd: "repeat-shutdown:2"}, 2, nil},
		{"no gate", plan.Nsys{Trace: []string{"osrt"}, CaptureRange: plan.CaptureNone, CaptureRangeEnd: "repeat:5"}, 0, nil},
	} {
		if got := ExpectTimeline(c.nsys); got.Reports != c.n || !slices.Equal(got.Tables, c.tables) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := AskedTables(plan.Nsys{Trace: []string{"nvtx", "syscall"}}); got != nil {
		t.Errorf("what cannot be looked for: %q", got)
	}
	all := plan.Nsys{Trace: []string{"cuda", "cublas", "mpi"}, Sample: "process-tree", CPUCtxSw: "none", ExtraArgs: []string{"--gpu-metrics-devices=0"}}
	if got := ExpectTimeline(all).Named; !slices.Equal(got, []string{"cublas", "mpi", "CPU samples", "GPU metrics"}) {
		t.Errorf("named: %q", got)
	}
}

func TestJudgeMissing(t *testing.T) {
	result := func() *Result {
		o := Outcome{Kind: MissingData, Usable: true}
		return &Result{Outcome: o, Reports: []string{"run.nsys-rep"}, Attempts: []Attempt{{Outcome: o}}}
	}
	for _, c := range []struct {
		got    map[string]int64
		usable bool
	}{
		{map[string]int64{"a": 1}, true},
		{map[string]int64{"a": 0, "other": 9}, false},
		{nil, false},
	} {
		r := result()
		r.JudgeMissing([]string{"a", "b"}, c.got)
		if r.Outcome.Usable != c.usable || r.Attempts[0].Outcome.Usable != c.usable {
			t.Errorf("%v: usable %v", c.got, r.Outcome.Usable)
		}
	}
	r := result()
	r.Outcome.Kind = WithWarnings // nothing of what was asked for, whatever else is there
	if r.JudgeMissing([]string{"a"}, nil); r.Outcome.Usable || r.Outcome.Kind != MissingData {
		t.Errorf("%s", r.Outcome.explain())
	}
	r = result()
	r.Outcome.Kind = TimedOut
	if r.JudgeMissing([]string{"a"}, nil); !r.Outcome.Usable {
		t.Error("another verdict was changed")
	}
}

// TestAbsentTraces: what was asked for and is not there is named.
func TestAbsentTraces(t *testing.T) {
	e := Evidence{Expect: Expect{Named: []string{"cublas", "osrt"}}, Content: &Content{Rows: map[string]int64{"osrt": 1}}}
	list := warnings(&e, nil, "")
	if len(list) != 1 || list[0].Code != "trace-empty" || list[0].Scope != "cublas" {
		t.Errorf("%+v", list)
	}
}
