package experiment

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// synthetic is a result of a shipped model whose decode waits for launches.
func synthetic() *analysis.Result {
	return &analysis.Result{
		Workload: analysis.Workload{Kind: "llm", Model: &analysis.Model{Name: "llama_small"}, Shape: []analysis.Fact{
			{Name: "batch_size", Value: "1"}, {Name: "new_tokens", Value: "32"}, {Name: "cuda_graphs", Value: "no"}, {Name: "torch_compile", Value: "no"},
		}},
		Opportunities: []analysis.Opportunity{{ID: "gaps-launch-decode", Kind: "gaps", Stage: "decode", Seconds: 0.2}},
		Missing:       []analysis.Note{{Fact: fact.New("causes-untold")}},
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		started []string
		want    string
	}{
		{"of its shape", nil, "deepprof run model=llama_small infer.batch_size=1 infer.max_new_tokens=32 infer.cuda_graphs=true infer.kv_cache=static"},
		{"as typed", []string{"/opt/deepprof", "run", "infer.kv_cache=dynamic", "hydra.run.dir=runs/a", "--record", "r", "model=llama_8b", "--", "python3", "a b.py"},
			"deepprof run model=llama_8b infer.cuda_graphs=true infer.kv_cache=static -- python3 'a b.py'"},
		{"redacted", []string{"deepprof", "run", "--config-dir", "/redacted/3"}, "deepprof run model=llama_small infer.batch_size=1 infer.max_new_tokens=32 infer.cuda_graphs=true infer.kv_cache=static"},
	} {
		if got := Next(synthetic(), c.started); len(got) == 0 || got[0].Line != c.want || got[0].Why.Code != tryGraphs {
			t.Errorf("%s: %+v\nwant %s", c.name, got[0], c.want)
		}
	}
}

// TestNoLine: a command line that is not known is absent with the reason.
func TestNoLine(t *testing.T) {
	own, files, removed := synthetic(), synthetic(), synthetic()
	own.Workload.Model.Name = "mine"
	files.Workload = analysis.Workload{}
	removed.Workload = analysis.Workload{Kind: "command", Command: []string{"python3", "/redacted/4.py"}}
	for code, r := range map[fact.Code]*analysis.Result{ownModel: own, noCommand: files, lineRemoved: removed} {
		for _, e := range Next(r, nil) {
			if e.Line != "" || e.NoLine.Code != code {
				t.Errorf("%s: line %q, reason %s", code, e.Line, e.NoLine.Code)
			}
		}
	}
}

// TestMeasurements: what is missing is measured, and repeated last.
func TestMeasurements(t *testing.T) {
	var all []string
	for _, e := range Next(synthetic(), nil) {
		all = append(all, e.Overrides...)
	}
	if want := []string{"infer.cuda_graphs=true", "infer.kv_cache=static", "pipeline/ncu=causes", "pipeline.repeats=5"}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	if got := Next(&analysis.Result{}, nil); len(got) != 0 {
		t.Errorf("nothing found, and %v", got)
	}
}
