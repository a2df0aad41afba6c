// Package experiment proposes what to run next: it turns what an analysis found,
// and what it could not tell, into runs of deepprof with the settings that would
// try the change or measure what is missing.
package experiment

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of what an experiment is for.
const (
	tryGraphs    fact.Code = "try-cuda-graphs"        // stage
	tryCompile   fact.Code = "try-compile"            //
	tryBatch     fact.Code = "try-larger-batch"       // stage, n
	changeFirst  fact.Code = "change-program-first"   // change
	measure      fact.Code = "measure-what-is-absent" // missing
	repeatBefore fact.Code = "repeat-for-intervals"   //
)

// Why an experiment has no command line.
const (
	noCommand   fact.Code = "no-command-known"  //
	ownModel    fact.Code = "model-not-shipped" // model
	lineRemoved fact.Code = "command-redacted"  //
)

// An Experiment is a run that is worth making.
type Experiment struct {
	Why fact.Fact // what it tries or measures
	// From is the ID of the finding or opportunity, or the code of the missing
	// value, that it follows from; "" where it follows from none.
	From      string
	Overrides []string // settings that differ from the run's, in Hydra's syntax
	// SavesNS is what the change can save, in nanoseconds of the unprofiled run or
	// the timeline; nil for a measurement and where nothing is known.
	// Estimated: it is no proven bound.
	SavesNS *int64
	// Estimated: SavesNS is about that, not at most.
	Estimated bool
	// Line is the command line to type; "" where it is not known, and NoLine says
	// why.
	Line string
	// NoLine is why there is no Line; the zero fact where there is one.
	NoLine fact.Fact
}

// Next proposes experiments, the most promising change first, then what would
// measure what is missing. started is the command line that made the run, nil
// where there was none.
// The list is nil where nothing is missing and nothing can be saved.
func Next(r *analysis.Result, started []string) []Experiment {
	all := append(changes(r), measurements(r)...)
	if len(all) > 0 && !repeated(r) {
		all = append(all, Experiment{Why: fact.New(repeatBefore), Overrides: []string{"pipeline.repeats=5"}})
	}
	for i := range all {
		all[i].Line, all[i].NoLine = line(r, started, all[i].Overrides)
	}
	return all
}

// changes are those that the opportunities of a result ask for, each set of
// settings once: of changes to the program itself the one that saves most.
func changes(r *analysis.Result) []Experiment {
	var out []Experiment
	for i := range r.Opportunities {
		o := &r.Opportunities[i]
		e := Experiment{From: o.ID, SavesNS: nanoseconds(o.Seconds), Estimated: o.Estimated}
		e.Why, e.Overrides = change(r, o)
		e.Estimated = e.Estimated || len(e.Overrides) > 0 // settings may change more than what is bounded
		same := func(x Experiment) bool { return slices.Equal(x.Overrides, e.Overrides) }
		if !slices.ContainsFunc(out, same) {
			out = append(out, e)
		}
	}
	if e, ok := largerBatch(r); ok {
		out = append(out, e)
	}
	return out
}

func nanoseconds(s float64) *int64 {
	return new(int64(s * 1e9))
}

// change is what tries an opportunity. Programs of others have no settings that
// deepprof could turn: their code has to change first.
func change(r *analysis.Result, o *analysis.Opportunity) (fact.Fact, []string) {
	switch {
	case !shipped(r):
	case o.Kind == "gaps" && o.Stage == "decode" && off(r, "cuda_graphs"):
		return fact.New(tryGraphs, fact.Stage("stage", o.Stage)), []string{"infer.cuda_graphs=true", "infer.kv_cache=static"}
	case (o.Kind == "gaps" || o.Kind == "fusion") && off(r, "torch_compile"):
		return fact.New(tryCompile), []string{"infer.compile=true"}
	}
	return fact.New(changeFirst, fact.Because("change", o.Title)), nil
}

// shipped tells whether the workload is one of deepprof's, which has settings.
func shipped(r *analysis.Result) bool {
	return slices.Contains([]string{"llm", "vlm"}, r.Workload.Kind)
}

func off(r *analysis.Result, setting string) bool { return shape(r, setting) == "no" }

// shape is a setting that the workload told of itself; "" where it did not.
func shape(r *analysis.Result, name string) string {
	i := slices.IndexFunc(r.Workload.Shape, func(f analysis.Fact) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return r.Workload.Shape[i].Value
}

// largerBatch follows from a decode stage that is busy and has the memory as its limiter:
// all its sequences share one read of the weights.
func largerBatch(r *analysis.Result) (Experiment, bool) {
	batch := shape(r, "batch_size")
	if !shipped(r) || batch != "1" {
		return Experiment{}, false
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Name == "decode" && s.Split.WallNS > 0 && !s.Split.LaunchBound && s.Split.BusyNS*2 > s.Split.WallNS {
			const n = 8
			return Experiment{Why: fact.New(tryBatch, fact.Stage("stage", s.Name), fact.Count("n", n)), Overrides: []string{"infer.batch_size=8"}}, true
		}
	}
	return Experiment{}, false
}

// remedies are the settings that measure what a result lacks, by the code of what
// is missing.
var remedies = map[fact.Code][]string{
	"no-timeline":        {"pipeline.nsys.enable=true"},
	"no-baseline":        {"pipeline.unprofiled.enable=true"},
	"no-counters":        {"pipeline.ncu.enable=true"},
	"counters-empty":     {"pipeline.ncu.enable=true"},
	"causes-untold":      {"pipeline/ncu=causes"},
	"no-kernel-counters": {"pipeline.ncu.ncu_cli.replay_mode=kernel"},
	"no-operators":       {"pipeline.torch_profiler.enable=true"},
}

// Each missing value whose remedy is known gives one experiment.
func measurements(r *analysis.Result) []Experiment {
	var out []Experiment
	for _, n := range r.Missing {
		if n.Code == "no-operators" && !shipped(r) {
			continue // the torch profiler runs inside the shipped programs only
		}
		if overrides, ok := remedies[n.Code]; ok {
			out = append(out, Experiment{Why: fact.New(measure, fact.Because("missing", n.Fact)), From: string(n.Code), Overrides: overrides})
		}
	}
	return out
}

// repeated tells whether the run was made of several processes.
func repeated(r *analysis.Result) bool {
	for _, p := range r.Parts {
		if p.Of.Repeat > 0 {
			return true
		}
	}
	return false
}
