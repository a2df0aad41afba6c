package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// overheadLimit is the overhead above which a lighter capture is advised.
func overheadLimit(r *analysis.Result) float64 {
	if limit := r.Method.OverheadLimit; limit > 0 {
		return limit
	}
	return analysis.DefaultThresholds.Overhead // older results lack it
}

func limitText(r *analysis.Result) string {
	return strconv.FormatFloat(100*overheadLimit(r), 'g', 4, 64) + " %"
}

// heavy tells a stage that the timeline slowed too much.
func heavy(r *analysis.Result, s *analysis.Stage) bool {
	return s.Overhead != nil && *s.Overhead > overheadLimit(r)
}

// untold stands in the place of an overhead that cannot be told.
func untold(s *analysis.Stage) string {
	if s.OverheadWhy == nil {
		return absent
	}
	return message.Short(*s.OverheadWhy)
}

// preset tells whether a lighter preset of nsys is advised for a stage.
func preset(r *analysis.Result, s *analysis.Stage) bool {
	return slices.ContainsFunc(r.Warnings, func(n analysis.Note) bool {
		advice := n.Params["advice"].Facts
		return n.Is(analysis.OverheadHigh) && n.Stage == s.Name && len(advice) > 0 && advice[0].Is(analysis.UseLight, analysis.UseDefault)
	})
}

// lighter is what to do about a stage that the timeline slowed too much.
func lighter(r *analysis.Result, s *analysis.Stage) string {
	for _, n := range r.Warnings {
		if n.Is(analysis.OverheadHigh) && n.Stage == s.Name {
			return message.Next(n.Fact)
		}
	}
	return "go by the times of the unprofiled run"
}

// stages writes the time of each stage, clean and under nsys.
func (d *doc) stages(r *analysis.Result) {
	if len(r.Stages) == 0 {
		d.line("Stages: %s%s", absent, d.note(missing(r, "Neither a timeline nor the times of the workload tell where a stage begins and ends.", append(withoutTimeline[:3:3], analysis.NoKernels)...)))
		return
	}
	n := len(r.Stages)
	ns := make([]float64, 0, 3*n)
	for _, get := range []func(*analysis.Stage) *float64{
		func(s *analysis.Stage) *float64 { return s.CleanMS },
		func(s *analysis.Stage) *float64 { return s.CleanStdMS },
		func(s *analysis.Stage) *float64 { return s.NsysMS },
	} {
		for i := range r.Stages {
			ns = append(ns, ms(get(&r.Stages[i])))
		}
	}
	unit, cells := times(ns)
	under := ">Under nsys (" + unit + ")"
	if text := ownClock(r); text != "" {
		under += d.note(text)
	}
	g := newGrid("Stage", "NVTX region", ">Clean ("+unit+")", ">Std ("+unit+")", under, ">Median, min to max", ">Overhead", ">Passes", ">Tokens/s, clean", ">A kernel runs, under nsys")
	for i := range r.Stages {
		s := &r.Stages[i]
		clean, nsys, over, tokens, busy := cells[i], cells[2*n+i], absent, "", absent
		if s.CleanMS == nil {
			clean += d.note(missing(r, "This stage has no time without a profiler.", withoutUnprofiled...))
		}
		if s.NsysMS == nil {
			nsys += d.note(missing(r, "This stage is not in a timeline.", withoutTimeline...))
		}
		if s.Overhead != nil {
			over = percent(*s.Overhead)
			if heavy(r, s) {
				over = "**" + over + "**" + d.slowed(r, s)
			}
		} else if s.OverheadWhy != nil {
			over = untold(s) + d.note(prose(upperFirst(sentence(message.Text(*s.OverheadWhy)))))
		}
		if s.TokensPS != nil {
			tokens = significant(*s.TokensPS)
		}
		if s.Split.WallNS > 0 {
			busy = percent(float64(s.Split.BusyNS) / float64(s.Split.WallNS))
		}
		std := cells[n+i]
		if s.CleanStdMS == nil {
			std = ""
		}
		region := ""
		if len(s.Regions) > 1 {
			region = codes(s.Regions, 3)
		} else if s.Region != s.Name && s.Region != "" {
			region = code(s.Region)
		}
		g.add(code(s.Name), region, clean, std, nsys, rangeOf(s.NsysTimes), over, strconv.Itoa(s.Passes), tokens, busy)
	}
	g.drop("NVTX region")
	g.drop("Std (" + unit + ")")
	g.drop("Tokens/s, clean")
	g.drop("Median, min to max")
	d.table(g)
	d.subStages(r)
}

// rangeOf tells how the passes of a stage differ; "" for one pass.
func rangeOf(t *analysis.Spread) string {
	if t == nil || t.N < 2 {
		return ""
	}
	return fmt.Sprintf("%s, %s to %s", elapsed(t.MedianMS*1e6), elapsed(t.MinMS*1e6), elapsed(t.MaxMS*1e6))
}

// sameClock is how far the time of a stage under nsys may be from that of its
// NVTX range for both to be the same.
const sameClock = 0.001

// ownClock explains stages whose time under nsys is not that of their NVTX range,
// with the times of the ranges; "" where there are none.
func ownClock(r *analysis.Result) string {
	var parts []string
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.NsysMS == nil || s.NsysClock == "range" || s.Passes <= 0 || s.Split.WallNS <= 0 {
			continue
		}
		wall := float64(s.Split.WallNS) / float64(s.Passes)
		if math.Abs(wall-ms(s.NsysMS)) > sameClock*wall {
			parts = append(parts, code(s.Name)+" "+elapsed(wall))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "By the session's own clock, from the first to the last mark of a pass, as the unprofiled time is. The NVTX range, which *Where the time goes* divides, also holds what the program does around these marks, such as starting and synchronizing. A pass of the range under nsys: " +
		strings.Join(parts, ", ") + "."
}

// slowed refers to the warning about the overhead of a stage.
func (d *doc) slowed(r *analysis.Result, s *analysis.Stage) string {
	for _, n := range r.Warnings {
		if n.Is(analysis.OverheadHigh) && n.Stage == s.Name {
			return d.remark(n)
		}
	}
	return d.note("Over " + limitText(r) + ": the timeline of " + code(s.Name) + " is much slower than the program alone. " + prose(upperFirst(sentence(lighter(r, s)))))
}

// codes lists names, and how many more there are.
func codes(list []string, most int) string {
	parts := make([]string, 0, most+1)
	for _, s := range list[:min(len(list), most)] {
		parts = append(parts, code(s))
	}
	if more := len(list) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// subStages notes the parts of a stage, which are in its time already.
func (d *doc) subStages(r *analysis.Result) {
	var items []string
	for _, s := range r.Stages {
		if len(s.Sub) == 0 {
			continue
		}
		parts := make([]string, len(s.Sub))
		for i, sub := range s.Sub {
			parts[i] = code(sub.Name) + " " + elapsed(sub.MS*1e6)
		}
		when := ""
		if s.CleanMS == nil {
			when = " under nsys"
		}
		items = append(items, fmt.Sprintf("%s includes %s%s. They are parts of it and are not added to it.", code(s.Name), strings.Join(parts, ", "), when))
	}
	d.list(items)
}
