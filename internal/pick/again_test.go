package pick

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestCountAgainInTheOtherForm(t *testing.T) {
	none := capture.Outcome{Kind: capture.NothingMatched}
	good := capture.Outcome{Kind: capture.Captured, Usable: true, Reports: []string{"x"}}
	for _, tt := range []struct {
		name    string
		include []string
		mode    string
		traced  *Launches
		second  capture.Outcome
		want    []string // includes of the second attempt
		runs    int
		kind    capture.Kind
	}{
		{"push/pop", []string{"decode"}, plan.ReplayRange, nil, good, []string{"decode/"}, 2, capture.WithWarnings},
		{"start/end", []string{"decode/"}, plan.ReplayAppRange, nil, none, []string{"decode"}, 2, capture.NothingMatched},
		{"nested", []string{"a/b/"}, plan.ReplayRange, nil, good, nil, 1, capture.NothingMatched},
		{"nested launches", []string{"a/b/"}, plan.ReplayKernel, nil, good, nil, 2, capture.WithWarnings},
		{"both forms", []string{"decode/", "decode"}, plan.ReplayRange, nil, good, nil, 1, capture.NothingMatched},
		{"no filter", nil, plan.ReplayKernel, nil, good, nil, 1, capture.NothingMatched},
		{"timeline", []string{"decode"}, plan.ReplayKernel, &Launches{}, good, nil, 1, capture.NothingMatched},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests []Request
			c := &Counting{Timeline: tt.traced, Say: func(string) {}, Count: func(_ context.Context, r Request) (capture.Outcome, error) {
				requests = append(requests, r)
				return tt.second, nil
			}}
			o, used, err := c.countAgain(context.Background(), ncu.Options{NcuCLI: plan.NcuCLI{NVTXInclude: tt.include, ReplayMode: tt.mode, LaunchCount: 5}}, none)
			if err != nil {
				t.Fatal(err)
			}
			if len(requests) != tt.runs-1 || o.Kind != tt.kind {
				t.Fatalf("%d more attempts, %s; want %d, %s", len(requests), o.Kind, tt.runs-1, tt.kind)
			}
			if len(requests) > 0 && !slices.Equal(requests[0].Options.NVTXInclude, tt.want) {
				t.Errorf("second include %q, want %q", requests[0].Options.NVTXInclude, tt.want)
			}
			if o.Usable && !slices.Equal(used.NVTXInclude, tt.want) {
				t.Errorf("it came of %q, want %q", used.NVTXInclude, tt.want)
			}
			if o.Usable && (len(o.Warnings) == 0 || !o.Warnings[0].Is(filterChanged)) {
				t.Errorf("the outcome does not say what was tried: %+v", o)
			}
			if !o.Usable && (message.Text(o.Cause) == "" || message.Next(o.Cause) == "") {
				t.Errorf("no advice: %+v", o)
			}
		})
	}
}

// Each mode has advice of its own, with and without a timeline, and a filter by kernel
// name alone has none about ranges.
func TestAdviceDiffers(t *testing.T) {
	seen := map[string]bool{}
	for _, cli := range []plan.NcuCLI{
		{ReplayMode: plan.ReplayKernel, NVTXInclude: []string{"decode/"}}, {ReplayMode: plan.ReplayKernel, KernelName: "regex:nosuch"},
		{ReplayMode: plan.ReplayRange, NVTXInclude: []string{"decode/"}}, {ReplayMode: plan.ReplayAppRange, NVTXInclude: []string{"decode/"}},
	} {
		o := ncu.Options{NcuCLI: cli}
		for _, timeline := range []bool{true, false} {
			why := advice(&o, timeline, fact.Fact{})
			next := message.Next(why)
			if seen[next] || next == "" {
				t.Errorf("%s, timeline %v: advice %q", o.ReplayMode, timeline, next)
			}
			seen[next] = true
			if why.Is(causeNameFilter) != (o.KernelName != "") || o.KernelName != "" && !strings.Contains(message.Text(why), o.KernelName) {
				t.Errorf("%+v: %s, %q", o, why.Code, message.Text(why))
			}
		}
	}
}

// replay_mode auto without a timeline looks for the other form of the include in
// its first mode, and tells at the end which modes it tried.
func TestLadderWithoutTimeline(t *testing.T) {
	for _, include := range []string{"decode", "decode/"} {
		var asked []string
		c := &Counting{
			Base: ncu.Options{NcuCLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel}}, Version: tool.V(2025, 3, 1), Say: func(string) {}, Save: func(*Targets) error { return nil },
			Count: func(_ context.Context, r Request) (capture.Outcome, error) {
				asked = append(asked, r.Options.ReplayMode+" "+strings.Join(r.Options.NVTXInclude, " "))
				return capture.Outcome{Kind: capture.NothingMatched}, nil
			},
		}
		c.Ncu.CLI = plan.NcuCLI{ReplayMode: plan.ReplayAuto, NVTXInclude: []string{include}}
		o, err := c.Do(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"range decode/ decode", "app-range decode/ decode", "kernel decode/ decode"}
		if include == "decode/" { // as ncu takes it: one form
			want = []string{"range decode/", "range decode", "app-range decode/", "kernel decode/", "kernel decode"}
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: asked for %q", include, asked)
		}
		if o.Kind != capture.NothingMatched || !slices.Equal(o.Cause.Params["modes"].List, []string{"range", "app-range"}) {
			t.Errorf("%s: %+v", include, o)
		}
	}
}

// One form of a name is enough where both were asked for.
func TestUnmeasuredForms(t *testing.T) {
	report := filepath.Join(t.TempDir(), "toy_range.ncu-rep")
	if err := os.WriteFile(report, plainReport(t, "toy_range"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := unmeasured([]string{"prefill/", "prefill", "nosuch/", "nosuch"}, []string{report}); !slices.Equal(got, []string{"nosuch/", "nosuch"}) {
		t.Errorf("unmeasured %q", got)
	}
}
