package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// maxRankRows bounds the rows of a table of ranks in a document.
const maxRankRows = 64

// ranks writes the parts of a result side by side: each as a whole, and the mean
// pass of each stage. It writes nothing for a result without parts.
func (d *doc) ranks(r *analysis.Result) {
	if len(r.Parts) == 0 {
		return
	}
	d.heading(2, "ranks-windows-and-repeats")
	d.say("ranks-rows-note")
	rows := rankRows(r)
	for _, row := range rows {
		if row.Details {
			row.Part += " *"
		}
	}
	cut := max(0, len(rows)-maxRankRows)
	rows = rows[:len(rows)-cut]
	writeView(d, shownAll(RankView.only("part", "wall_ns", "gpu_busy_ns", "communication_ns", "exposed_ns", "launches", "over_median", "lost")), rows)
	if cut > 0 {
		d.say("rows-not-listed", cut)
	}
	if r.Across != nil && len(r.Across.Stages) > 0 {
		v, passes := stageMatrix(r)
		writeView(d, v.titled("part", message.Phrase("mean-pass")), passes[:len(rows)])
	}
	d.job(r, rows)
}

// job writes what ranks exchange, and who waits for whom.
func (d *doc) job(r *analysis.Result, rows []*RankRow) {
	if r.Job == nil {
		return
	}
	if len(r.Job.Collectives) > 0 {
		d.say("exchanges-between-ranks", upperFirst(message.Text(r.Job.Clock.Text())))
		writeView(d, CollectiveView.without("source", "ranks"), pointers(r.Job.Collectives))
		d.messages(r)
	}
	if len(r.Job.Waits) > 0 {
		writeView(d, shownAll(RankView.only("part", "wait_ns", "late", "late_ns", "meanwhile")), rows)
	}
}

// messages writes collectives by the size of their messages, where a kind has
// several sizes.
func (d *doc) messages(r *analysis.Result) {
	if !slices.ContainsFunc(r.Job.Collectives, func(c analysis.Collective) bool { return len(c.Sizes) > 1 }) {
		return
	}
	rows, cut := messageRows(r)
	writeView(d, MessageView, pointers(rows))
	if cut > 0 {
		d.line("%s.", message.Phrase("collective-sizes-left-out", cut))
	}
}

// meanwhile names what a rank took longer for.
func meanwhile(parts []analysis.TimePart) string {
	return strings.Join(each(parts, func(p *analysis.TimePart) string {
		return message.Part(p.ID, p.Label) + " (" + strconv.FormatFloat(float64(p.NS)/1e6, 'f', 3, 64) + " ms)"
	}), ", ")
}
