package report

import (
	"strconv"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
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
	if r.Job == nil {
		return
	}
	collectives := shownAll(CollectiveView.without("source"))
	collectives.Legend += "; clocks: " + message.Text(r.Job.Clock.Text())
	tables["collectives"] = pageTable(collectives, pointers(r.Job.Collectives))
	messages, _ := messageRows(r)
	tables["messages"] = pageTable(MessageView, pointers(messages))
	tables["nodes"] = pageTable(shownAll(NodeView), pointers(nodeRows(r)))
}

// A stagePasses is the mean pass of each stage of one part, in the order of
// Across.Stages.
type stagePasses struct {
	part string
	ns   []*int64
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
