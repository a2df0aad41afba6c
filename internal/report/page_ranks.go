package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// addRanks adds the tables of several timelines; a result of one has none.
func addRanks(tables map[string]PageTable, r *analysis.Result) {
	if len(r.Parts) == 0 {
		return
	}
	ranks := shownAll(RankView.only("part", "wall_ns", "gpu_busy_ns", "communication_ns", "exposed_ns", "over_median", "wait_ns", "late", "late_ns", "meanwhile", "lost"))
	ranks.Legend = message.Phrase("parts-apart")
	tables["ranks"] = pageTable(ranks, rankRows(r))
	if r.Across != nil {
		tables["rank_stages"] = pageTable(stageMatrix(r))
	}
	tables["rank_steps"] = pageTable(rankStepView, rankSteps(r))
	if r.Job == nil {
		return
	}
	collectives := shownAll(CollectiveView.without("source"))
	collectives.Legend += "; " + message.Text(r.Job.Clock.Text())
	tables["collectives"] = pageTable(collectives, pointers(r.Job.Collectives))
	messages, _ := messageRows(r)
	tables["messages"] = pageTable(MessageView, pointers(messages))
	tables["nodes"] = pageTable(shownAll(NodeView), pointers(nodeRows(r)))
}

// RankLabels name the lanes of the overview that are of whole ranks.
func RankLabels(r *analysis.Result) []string {
	return each(r.Overview.Ranks, func(l *analysis.RankLane) string { return partName(r, l.Part) })
}

// A rankStep is the distribution of the steps of a stage in one part.
type rankStep struct {
	part string
	*timeline.StepGroup
}

// rankStepView is the steps of each rank, side by side by stage.
var rankStepView = View[rankStep]{
	Name: "rank_steps", Order: Order{Words: "stage, then rank"},
	Columns: append([]Column[rankStep]{{Key: "part", Value: func(s *rankStep) any { return s.part }}},
		columnsOf(StepGroupView.only("stage", "steps", "step_median_ns", "step_min_ns", "step_p90_ns", "step_max_ns", "gpu_median_ns", "slowest"), func(s *rankStep) *timeline.StepGroup { return s.StepGroup })...),
}

// rankSteps are the rows of rankStepView: those of a stage beside each other.
func rankSteps(r *analysis.Result) (rows []*rankStep) {
	for i := range r.Parts {
		for k := range r.Parts[i].Steps {
			rows = append(rows, &rankStep{partName(r, i), &r.Parts[i].Steps[k]})
		}
	}
	slices.SortStableFunc(rows, func(x, y *rankStep) int { return cmp.Compare(x.Stage, y.Stage) })
	return rows
}

// A stagePasses is the mean pass of each stage of one part, in the order of
// Across.Stages.
type stagePasses struct {
	part string
	// ns is nil for a stage that the part did not run.
	ns []*int64
}

// stageMatrix is the mean pass of each stage, a row a part and a column a stage.
func stageMatrix(r *analysis.Result) (View[stagePasses], []*stagePasses) {
	v := View[stagePasses]{Columns: []Column[stagePasses]{{Key: "part", Value: func(p *stagePasses) any { return p.part }}}}
	for i, s := range r.Across.Stages {
		v.Columns = append(v.Columns, Column[stagePasses]{
			Key: "stage" + strconv.Itoa(i), Title: s.Name, Named: true, Unit: Nanoseconds, Group: "time", Value: func(p *stagePasses) any { return p.ns[i] },
		})
	}
	rows := make([]*stagePasses, len(r.Parts))
	for i := range r.Parts {
		rows[i] = &stagePasses{part: partName(r, i), ns: make([]*int64, len(r.Across.Stages))}
		for k, d := range r.Across.Stages {
			for _, s := range r.Parts[i].Stages {
				if s.Stage == d.Name && s.Passes > 0 {
					rows[i].ns[k] = &s.PassNS
				}
			}
		}
	}
	return v, rows
}
