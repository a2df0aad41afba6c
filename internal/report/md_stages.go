package report

import (
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// overheadWarning is the warning about the overhead of a stage; nil without one.
func overheadWarning(r *analysis.Result, s *analysis.Stage) *analysis.Note {
	for i := range r.Warnings {
		if n := &r.Warnings[i]; n.Is(analysis.OverheadHigh) && n.Stage == s.Name {
			return n
		}
	}
	return nil
}

// preset tells whether a lighter preset of nsys is advised for a stage.
// The advice that comes first in the warning decides.
func preset(r *analysis.Result, s *analysis.Stage) bool {
	n := overheadWarning(r, s)
	if n == nil {
		return false
	}
	advice := n.Params["advice"].Facts
	return len(advice) > 0 && advice[0].Is(analysis.UseLight, analysis.UseDefault, analysis.UseSampled)
}

// lighter is what to do about a stage that the timeline slowed too much.
func lighter(r *analysis.Result, s *analysis.Stage) string {
	if n := overheadWarning(r, s); n != nil {
		return message.Next(n.Fact)
	}
	return message.Phrase("overhead-advice")
}

// slowed says that the timeline slowed a stage too much, and what to do.
func slowed(r *analysis.Result, s *analysis.Stage) string {
	if n := overheadWarning(r, s); n != nil {
		return withNext(n.Fact)
	}
	return message.Phrase("overhead-large", percent(r.Method.OverheadLimit), s.Name, upperFirst(sentence(lighter(r, s))))
}

// stages writes the time of each stage, clean and under nsys.
func (d *doc) stages(r *analysis.Result) {
	if len(r.Stages) == 0 {
		d.lacks("stages", noTimeline(r, message.Phrase("stages-unknown")))
		return
	}
	rows := stageRows(r)
	for _, row := range rows {
		row.Region = row.regions
	}
	writeView(d, shownAll(StageView.only("stage", "region", "clean_ms", "clean_std_ms", "nsys_ms", "overhead", "passes", "nsys_median_ms", "nsys_min_ms", "nsys_max_ms", "nsys_std_ms", "host_ms", "synchronous", "tokens_per_s", "gpu_busy_share", "limiter")), rows)
	d.subStages(r)
}

// names3 lists the first names, and how many more there are.
func names3(list []string) string {
	return message.Phrase("some-names", strings.Join(list[:min(len(list), 3)], ", "), max(0, len(list)-3))
}

// withNext is a fact with what to do about it.
func withNext(f fact.Fact) string {
	return paragraph(sentence(message.Text(f)), known("next", sentence(message.Next(f))))
}

// subStages notes the parts of a stage, which are in its time already.
func (d *doc) subStages(r *analysis.Result) {
	var items []string
	for _, s := range r.Stages {
		if len(s.Sub) == 0 {
			continue
		}
		under := ""
		if s.CleanMS == nil {
			under = message.Phrase("under-nsys")
		}
		parts := each(s.Sub, func(sub *analysis.SubMS) string { return code(sub.Name) + " " + elapsed(sub.MS*1e6) })
		items = append(items, message.Phrase("stage-includes", code(s.Name), strings.Join(parts, ", "), under))
	}
	d.list(items)
}
